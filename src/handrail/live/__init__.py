"""What happens now: topics that follow the journals of runs and sessions, for every surface."""
