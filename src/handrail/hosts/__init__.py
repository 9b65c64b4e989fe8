"""The side that agents call: their hook events, the tool `workflow_step`, and the installer."""
