"""What an agent declares so that Handrail notices when the agent calls a command: a module `agents/NAME/signs.py`."""

from __future__ import annotations

from typing import Protocol


class Signs(Protocol):
    """`VARIABLES`: environment variables that the agent sets for the programs that it starts.

    `PROGRAMS`: names of the agent's own program. One with a `/` is the end of the path of a script.
    """

    VARIABLES: tuple[str, ...]
    PROGRAMS: tuple[str, ...]
