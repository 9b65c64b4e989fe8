"""`run: COMMAND`: a program that Handrail starts in the project exits with 0 before its time is up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.contracts import Check, CheckContext, Finding
from handrail.source.fields import SCALARS, Field, Reader
from handrail.source.values import as_text
from handrail.source.yamltree import Node

SECONDS = 600
MAX_SECONDS = 86_400


def _check_program(reader: Reader, node: Node) -> None:
    if node.kind == "list" and node.value and node.value[0].kind == "text" and not node.value[0].value.strip():
        reader.on(node, "blank-text", "the name of the program is blank", "write `[PROGRAM, ARGUMENT]`")


CHECK = Check(
    about="A command exits with 0. It is started in the project, and ended with all it started when its time is up.",
    words="exits with 0",
    short="command",
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
            "seconds that the command may take",
            default=SECONDS,
            above=0,
            most=MAX_SECONDS,
            unit="seconds",
        ),
    ),
)


async def verify(params: Mapping[str, Any], context: CheckContext) -> Finding:
    from handrail.process.child import run, tail  # the declaration above is read where no process is started

    timeout = float(params.get("timeout", SECONDS))
    try:
        ended = await run(_argv(params), context.project, context.env, timeout)
    except OSError as error:
        return Finding(None, f"it cannot be started: {error.strerror}")
    said = tail(ended.output)
    if ended.timed_out:
        return Finding(False, _with(f"not done after {timeout:g} seconds", said))
    if ended.exit_code != 0:
        return Finding(False, _with(f"exit code {ended.exit_code}", said))
    return Finding(True, "exit code 0")


def _argv(params: Mapping[str, Any]) -> list[str]:
    """A running session may still follow a plan of 0.1.0, which says `argv` or `line`."""
    command = params.get("command") or params.get("argv") or params.get("line")
    return list(map(as_text, command)) if isinstance(command, list) else ["/bin/sh", "-c", as_text(command)]


def _with(head: str, said: str) -> str:
    return f"{head}\n{said}" if said else head
