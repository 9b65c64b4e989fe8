"""`write-file`: writes a text file inside the project."""

from __future__ import annotations

import os
import stat
import uuid
from typing import Any

from handrail.contracts import Node, NodeContext, NodeError, Work
from handrail.contracts.node import LITTER
from handrail.source.fields import SCALARS, Field
from handrail.state.files import real_inside, write_whole

NODE = Node(
    about="Writes a text file in the project, and creates its folder if needed.",
    params=(
        Field("path", ("text",), "the file, relative to the project", required=True, shortest=1, names="path"),
        Field("text", SCALARS, "the whole content of the file", required=True),
    ),
    outputs={"path": "the path as it was given"},
)


async def run(work: Work, context: NodeContext) -> Any:
    path = str(work.params["path"])
    put_file(inside(context, path), str(work.params["text"]), context)
    return {"path": path}


def inside(context: NodeContext, path: str) -> str:
    """The real path of a file inside the project."""
    real = real_inside(context.project, path)
    if real is None or real == context.project:
        raise NodeError("path-escape", f"`{path}` leads out of the project", transient=False)
    return real


def put_file(real: str, text: str, context: NodeContext) -> None:
    """Write a whole file. It is on disk when this returns. A file that exists keeps its permissions.

    The new content is first written to a file beside it. If this process is killed, the run removes that file later.
    """
    folder = os.path.dirname(real)
    os.makedirs(folder, exist_ok=True)
    new = os.path.join(folder, f"{LITTER}{uuid.uuid4().hex[:12]}")
    try:
        exact = stat.S_IMODE(os.stat(real).st_mode)
    except OSError:
        exact = None
    context.litter(new)
    write_whole(real, text.encode(), durable=True, mode=0o644, new=new, exact=exact)
