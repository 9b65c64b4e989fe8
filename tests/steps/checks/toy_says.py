"""A check that a test registers, as an extension would."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from handrail.extensions.contracts import Check, CheckContext, Finding, OneCheck
from handrail.source.fields import Field

CHECK = Check(
    about="A file holds a word.",
    words="is said",
    short="word",
    params=(
        Field("word", ("text",), "the word", required=True, shortest=1),
        Field("within", ("text",), "the file", default="notes.md", names="path"),
    ),
)


async def verify(params: Mapping[str, Any], context: CheckContext) -> Finding:
    path = os.path.join(context.project, params.get("within", "notes.md"))
    if not os.path.exists(path):
        return Finding(None, "there is no file to read")
    with open(path, encoding="utf-8") as file:
        held = params["word"] in file.read()
    return Finding(held, "found" if held else "not a word of it")


async def _never(params: Mapping[str, Any], context: CheckContext) -> Finding:
    return Finding(False, "never")


NEVER = OneCheck(Check(about="Never holds.", words="holds"), _never)
