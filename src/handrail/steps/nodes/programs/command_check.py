"""`command-check`: finds the programs that a flow needs, before the flow begins its work.

It looks where later steps look: in the variable that names the program, and on the PATH. It starts no shell, so
aliases and the PATH of a login shell do not count.
"""

from __future__ import annotations

import os
import shutil
from typing import Any

from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
from handrail.source.fields import Field, shape

COMMAND = shape(
    "command",
    "A program that has to be installed.",
    Field("commandName", ("text",), "the name of the program", required=True, shortest=1),
    Field("envVarName", ("text", "null"), "a variable that may hold the path of the program"),
)
NODE = Node(
    about="Finds programs: by the path in a variable, else on the PATH. Fails if one is not installed.",
    params=(Field("commands", ("list",), "the programs", required=True, items=("mapping",), item=COMMAND),),
    others="ignored",
    outputs={"resolved": "the programs, each with `commandName`, `envVarName` and `path`"},
    is_harmless=True,
)


async def run(work: Work, context: NodeContext) -> Any:
    wanted = [(item["commandName"], item.get("envVarName") or None) for item in work.params["commands"]]
    if any("\0" in name for name, _ in wanted):
        raise NodeError("params", "a `commandName` holds a NUL character", transient=False)
    found = [{"commandName": n, "envVarName": v, "path": _find(n, v, context)} for n, v in wanted]
    missing = [f"`{row['commandName']}`" for row in found if row["path"] is None]
    if missing:
        told = f"not installed or not on the PATH: {', '.join(missing)}"
        raise NodeError("program-missing", told, transient=False)
    return {"resolved": found}


def _find(name: str, variable: str | None, context: NodeContext) -> str | None:
    """The absolute path of a program. None if there is none."""
    named = context.env.get(variable, "") if variable is not None else ""
    own = os.path.join(context.project, named) if named and "\0" not in named else ""
    if own and os.path.isfile(own) and os.access(own, os.X_OK):
        return own
    if os.sep in name:
        name = os.path.join(context.project, name)
    return shutil.which(name, path=context.env.get("PATH"))
