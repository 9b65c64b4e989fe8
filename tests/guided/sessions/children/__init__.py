"""Programs that the journal tests start: each opens a session and prints the results of its commands."""
