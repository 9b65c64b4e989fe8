"""How a process recognises that an agent of the settings started it: our driver runs it.

The agent can be any program. Imports nothing, because many commands read it.
"""

VARIABLES: tuple[str, ...] = ()
PROGRAMS: tuple[str, ...] = ("handrail.agents.acp.driver",)
