"""`command`: runs a program in the project. Its value is how it ended; a line of JSON it printed last is `result`.

`argv` is an argument list, never a shell line. Whether it may be run again after a crash is for the flow to say.
"""

from __future__ import annotations

import json
import os
from typing import Any

from handrail.contracts import NodeContext, NodeError, Work
from handrail.engine.process import run as run_program

RERUN = "ask"
SECONDS = 3600.0


async def run(work: Work, context: NodeContext) -> Any:
    argv = work.params["argv"]
    if not isinstance(argv, list) or not argv or not all(isinstance(part, str) for part in argv):
        raise NodeError("params", "`argv` has to be a list of texts", transient=False)
    cwd = os.path.realpath(os.path.join(context.project, str(work.params.get("cwd") or ".")))
    if cwd != context.project and not cwd.startswith(context.project.rstrip("/") + "/"):
        raise NodeError("params", f"`cwd` leads out of the project: `{work.params['cwd']}`", transient=False)
    env = {**context.env, **{str(k): str(v) for k, v in (work.params.get("env") or {}).items()}}
    ended = await run_program(argv, cwd, env, float(work.timeout or SECONDS))
    if ended.timed_out:
        raise NodeError("timeout", f"`{argv[0]}` was not done after {float(work.timeout or SECONDS):g} seconds")
    value = {"exitCode": ended.exit_code, "output": ended.output, "result": _last_json(ended.output)}
    if ended.exit_code != 0 and not work.params.get("mayFail"):
        last = ended.output.strip().splitlines()[-1:] or [""]
        raise NodeError("exit-code", f"`{argv[0]}` ended with {ended.exit_code}: {last[0][:200]}")
    return value


def _last_json(output: str) -> Any:
    for line in reversed(output.splitlines()):
        if line.startswith(("{", "[")):
            try:
                return json.loads(line)
            except ValueError:
                return None
    return None
