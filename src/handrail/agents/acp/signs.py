"""How a process recognises that an agent of the settings started it. It can be any program, but our driver runs it."""

VARIABLES: tuple[str, ...] = ()
PROGRAMS: tuple[str, ...] = ("handrail.agents.acp.driver",)
