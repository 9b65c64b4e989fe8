"""pi: called by flows through its stream of JSON lines."""
