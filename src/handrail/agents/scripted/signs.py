"""How a process recognises that the scripted agent started it. Imports nothing, because many commands read it."""

VARIABLES: tuple[str, ...] = ()
PROGRAMS: tuple[str, ...] = ("handrail.agents.scripted",)
