"""`write-file`: writes a text file or a JSON file inside the project. Other nodes write their files with it."""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Mapping
from typing import Any

from handrail.base.files import other_kind, real_inside, why_outside, write_whole
from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
from handrail.extensions.contracts.node import LITTER
from handrail.settings.secrets import Secrets
from handrail.source.fields import SCALARS, Field
from handrail.source.values import as_json, as_text

NODE = Node(
    about="Writes a text file in the project, and creates its folder if needed.",
    params=(
        Field(
            "path",
            ("text",),
            "the file, relative to the project",
            required=True,
            shortest=1,
            names="path",
            also=("file", "filename"),
        ),
        Field(
            "text",
            (*SCALARS, "list", "mapping"),
            "the whole content of the file; a list or an object is written as JSON",
            required=True,
            also=("content", "contents", "body", "data"),
        ),
    ),
    outputs={"path": "the path as it was given"},
)


async def run(work: Work, context: NodeContext) -> Any:
    path = as_text(work.params["path"])
    content = work.params["text"]
    text = f"{as_json(content, is_indented=True)}\n" if isinstance(content, list | dict) else as_text(content)
    put_file(path_inside(context, path), text, context)
    return {"path": path}


def path_inside(context: NodeContext, path: str) -> str:
    """The real path of a file inside the project."""
    real = real_inside(context.project, path)
    if real is None or real == context.project:
        raise NodeError("path-escape", f"`{path}` {why_outside(path)}", transient=False)
    return real


def put_file(real: str, content: str | bytes, context: NodeContext) -> None:
    """Write a whole file. It is on disk when this returns. A file that exists keeps its permissions.

    The new content is first written to a file beside it. If this process is killed, the run removes that file later.
    """
    exact = _permissions(real)
    folder = os.path.dirname(real)
    os.makedirs(folder, exist_ok=True)
    new = os.path.join(folder, f"{LITTER}{uuid.uuid4().hex[:12]}")
    context.litter(new)
    data = content.encode() if isinstance(content, str) else content
    write_whole(real, data, durable=True, mode=0o644, new=new, exact=exact)


def put_files(files: Mapping[str, bytes], context: NodeContext) -> None:
    """Write several files. None is written if one of the paths is not a file, or if one of them contains a secret."""
    secrets = Secrets(context.env, context.secrets)
    for real, content in files.items():
        _permissions(real)
        if (name := secrets.found_in(content)) is not None:
            what = f"`{os.path.relpath(real, context.project)}` would contain the value of the secret variable `{name}`"
            raise NodeError("artifact-secret", f"{what}, so nothing is written", transient=False)
    for real, content in files.items():
        put_file(real, content, context)


def _permissions(real: str) -> int | None:
    """The permissions of a file that is overwritten; None if there is none. Raises `NodeError` if it is no file."""
    try:
        mode = os.stat(real).st_mode
    except OSError:
        return None
    if (kind := other_kind(mode)) is not None:
        raise NodeError("file-kind", f"`{real}` is {kind}, not a file", transient=False)
    return stat.S_IMODE(mode)
