"""The commands, one module per subject, imported when a command is called. The command table names them."""
