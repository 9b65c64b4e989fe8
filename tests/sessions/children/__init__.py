"""Programs that the journal tests start: each opens a session and prints what became of its commands."""
