"""`run: COMMAND`: a program that Handrail starts in the project exits with 0 before its time is up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.contracts import CheckContext, Finding
from handrail.process.child import run, tail


async def verify(params: Mapping[str, Any], context: CheckContext) -> Finding:
    argv = params.get("argv") or ["/bin/sh", "-c", params["line"]]
    timeout = float(params["timeout"])
    try:
        ended = await run(argv, context.project, context.env, timeout)
    except OSError as error:
        return Finding(None, f"it cannot be started: {error.strerror}")
    said = tail(ended.output)
    if ended.timed_out:
        return Finding(False, _with(f"not done after {timeout:g} seconds", said))
    if ended.exit_code != 0:
        return Finding(False, _with(f"exit code {ended.exit_code}", said))
    return Finding(True, "exit code 0")


def _with(head: str, said: str) -> str:
    return f"{head}\n{said}" if said else head
