"""How a process recognises that Copilot CLI started it. Imports nothing, because many commands read it."""

VARIABLES: tuple[str, ...] = ("COPILOT_CLI",)
PROGRAMS: tuple[str, ...] = ("copilot", "copilot/index.js", "copilot/npm-loader.js")
