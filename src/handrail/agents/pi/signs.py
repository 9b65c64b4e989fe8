"""How a process recognises that pi started it. Imports nothing, because many commands read it."""

VARIABLES: tuple[str, ...] = ("PI_CODING_AGENT",)
PROGRAMS: tuple[str, ...] = ("pi", "pi-coding-agent/dist/cli.js")
