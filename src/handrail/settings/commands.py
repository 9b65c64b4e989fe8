"""Commands in the settings."""

from __future__ import annotations

import shlex

from handrail.source.fields import Reader, found


def read_check(reader: Reader, before: tuple[str, ...]) -> tuple[str, ...]:
    """The command that checks the project, as words."""
    if (node := reader.child("check")) is None:
        return before
    try:
        words = shlex.split(node.value) if node.kind == "text" else [part.value for part in node.value]
    except ValueError:
        words = []
    if not words or words[0] == "" or not all(isinstance(word, str) for word in words):
        message = f"`check` has to be a command, found {found(node)}"
        reader.on(node, "bad-value", message, "write `check: make test`, or `check: [make, test]`")
        return before
    return tuple(words)
