"""How a process recognises that an agent of the settings started it: any program can be one, but all have our driver."""

VARIABLES: tuple[str, ...] = ()
PROGRAMS: tuple[str, ...] = ("handrail.agents.acp.driver",)
