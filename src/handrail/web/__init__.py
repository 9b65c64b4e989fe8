"""The web page: a server on this machine that shows runs and sessions, and passes on what a person decides."""
