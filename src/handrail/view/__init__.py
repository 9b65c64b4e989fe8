"""Events and states → what every screen and `--json` shows."""
