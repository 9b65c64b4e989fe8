"""How a process recognises that Claude Code started it. Imports nothing, because many commands read it."""

VARIABLES: tuple[str, ...] = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT")
PROGRAMS: tuple[str, ...] = ("claude", "claude-code/cli.js")
