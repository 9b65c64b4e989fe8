"""Events become rows with versions: a run, a session, all of a project. Pure."""
