"""`find-check`: finds the command that checks the project: in a param, in the settings, or by its files.

It only finds the command and runs nothing.
"""

from __future__ import annotations

import shlex
from typing import Any

from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
from handrail.source.fields import SCALARS, Field
from handrail.source.values import as_text, shown
from handrail.steps.playbook.survey import CheckCommand, find_check_commands

NONE = "none"
CURE = "say it: `--param check='make test'`, or `check: make test` in `.handrail/settings.yaml`; `none` means no check"
NODE = Node(
    about="Finds the command that checks the project: the given one, else `check` of the settings, else one that the "
    "files of the project name: a target `test` of a Makefile or a justfile, the script `test` of package.json, the "
    "tests of Python, Go, Rust, Java, .NET, Ruby or Elixir. Fails if there is none. It runs nothing.",
    params=(
        Field(
            "command",
            ("list", *SCALARS, "null"),
            "the command, if it is known: a list, or a text that is split into words; `none` means that there is none",
            items=SCALARS,
        ),
    ),
    outputs={
        "command": "the program and its arguments, as a list; null if the given one is `none`",
        "line": "the same as one line, for people; `none` if there is none",
        "source": "where it comes from: `given`, `settings`, or the name of a file",
        "others": "further commands that were found, one line each",
    },
    is_harmless=True,
)


async def run(work: Work, context: NodeContext) -> Any:
    given = work.params.get("command")
    if isinstance(given, str) and given.strip() == NONE:
        return {"command": None, "line": NONE, "source": "given", "others": []}
    if given is not None and given != "":
        return _outputs([CheckCommand(_words(given), "given")])
    if context.check:
        return _outputs([CheckCommand(context.check, "settings")])
    found = find_check_commands(context.project)
    if not found:
        message = f"no command was found that checks this project; {CURE}"
        raise NodeError("check-missing", message, transient=False)
    return _outputs(found)


def _outputs(found: list[CheckCommand]) -> dict[str, Any]:
    first, *others = found
    return {
        "command": list(first.argv),
        "line": shlex.join(first.argv),
        "source": first.source,
        "others": [shlex.join(other.argv) for other in others],
    }


def _words(given: Any) -> tuple[str, ...]:
    try:
        words = [as_text(part) for part in given] if isinstance(given, list) else shlex.split(as_text(given))
    except ValueError as error:
        raise NodeError("params", f"`command` cannot be split into words: {error}", transient=False) from None
    if not words or not words[0] or any("\0" in word for word in words):
        raise NodeError("params", f"`command` is no command: {shown(given, 80)}", transient=False)
    return tuple(words)
