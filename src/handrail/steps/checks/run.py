"""`run: COMMAND`: Handrail runs a command in the project, and it exits with 0 before its timeout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.extensions.contracts import Check, CheckContext, Finding
from handrail.source.fields import SCALARS, Field, MappingReader
from handrail.source.plain_text import counted
from handrail.source.tree import TreeNode
from handrail.source.values import as_text

SECONDS = 600
MAX_SECONDS = 86_400


def _check_program(reader: MappingReader, node: TreeNode) -> None:
    if node.kind == "list" and node.value and node.value[0].kind == "text" and not node.value[0].value.strip():
        reader.on(node, "blank-text", "the name of the program is blank", "write `[PROGRAM, ARGUMENT]`")


CHECK = Check(
    about="A command exits with 0. It runs in the project. After the timeout, it and its child processes are killed.",
    words="exits with 0",
    short="command",
    also=("cmd", "shell", "sh", "exec", "script"),
    params=(
        Field(
            "command",
            ("text", "list"),
            "a line for the shell, or a list: the program and its arguments",
            required=True,
            shortest=1,
            items=SCALARS,
            check=_check_program,
        ),
        Field(
            "timeout",
            ("integer", "number"),
            "the longest time that the command may take, in seconds",
            default=SECONDS,
            above=0,
            most=MAX_SECONDS,
            unit="seconds",
        ),
    ),
)


async def verify(params: Mapping[str, Any], context: CheckContext) -> Finding:
    from handrail.base.processes import run, tail  # reading the declaration above must not import these
    from handrail.source.output_text import clean

    timeout = float(params.get("timeout", SECONDS))
    try:
        result = await run(_argv(params), context.project, context.env, timeout)
    except OSError as error:
        return Finding(None, f"it cannot be started: {error.strerror}")
    except ValueError:  # the system takes no such text
        return Finding(None, "it cannot be started: it contains a NUL character or half of a surrogate pair")
    output = tail(context.mask(clean(result.output)))
    if result.timed_out:
        return Finding(False, _with_output(f"it was not done after {counted(timeout, 'second')}", output))
    if result.exit_code != 0:
        return Finding(False, _with_output(f"it ended with exit code {result.exit_code}", output))
    return Finding(True, "it ended with exit code 0")


def _argv(params: Mapping[str, Any]) -> list[str]:
    """The command as a list. Plans that 0.1.0 pinned have `argv` or `line` instead of `command`."""
    command = params.get("command") or params.get("argv") or params.get("line")
    return list(map(as_text, command)) if isinstance(command, list) else ["/bin/sh", "-c", as_text(command)]


def _with_output(head: str, output: str) -> str:
    return f"{head}\n{output}" if output else head
