"""Topics that follow the journals of runs and sessions while somebody watches, for every surface."""
