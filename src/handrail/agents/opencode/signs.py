"""How a process recognises that OpenCode started it. Imports nothing, because many commands read it."""

VARIABLES: tuple[str, ...] = ("OPENCODE",)
PROGRAMS: tuple[str, ...] = ("opencode", ".opencode")
