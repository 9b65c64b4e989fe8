"""The check `@ID@/says`: a file contains a text."""

import os
from collections.abc import Mapping
from typing import Any

from handrail.extensions.contracts import Check, CheckContext, Field, Finding

CHECK = Check(
    about="A file contains a text.",
    words="is in the file",
    params=(
        Field("text", ("text",), "the text", required=True),
        Field("path", ("text",), "the file", default="hello.txt", names="path"),
    ),
    short="text",
)


async def verify(params: Mapping[str, Any], context: CheckContext) -> Finding:
    path = params.get("path") or "hello.txt"
    try:
        with open(os.path.join(context.project, path), encoding="utf-8") as file:
            found = params["text"] in file.read()
    except OSError as error:
        return Finding(False, f"`{path}` cannot be read: {error.strerror}")
    return Finding(found, f"it is {'' if found else 'not '}in `{path}`")
