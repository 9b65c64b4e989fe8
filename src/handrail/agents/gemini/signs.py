"""How a process recognises that Gemini CLI started it. Imports nothing, because many commands read it."""

VARIABLES: tuple[str, ...] = ("GEMINI_CLI",)
PROGRAMS: tuple[str, ...] = ("gemini",)
