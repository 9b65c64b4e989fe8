"""Calls an agent: starts its program, reads its output, and kills it with every process that it started.

The exit code alone does not decide the outcome: the reader judges by the output.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import AsyncGenerator

from handrail.contracts import AgentJob, AgentReader, AgentSaid, Executor, Launch, NodeError
from handrail.process.child import Task
from handrail.process.logins import without_logins
from handrail.process.stream import Program
from handrail.source.plain import counted

KEEP_NOISE = 2_000


async def call(executor: Executor, job: AgentJob) -> AsyncGenerator[AgentSaid]:
    """Everything that an agent does during a job. The last item is `finished`."""
    folder = tempfile.mkdtemp(prefix="handrail-")
    try:
        launch = executor.launch(job, folder)
        for name, content in launch.files.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
        name = launch.argv[0]
        program = job.program if job.program and name == executor.PROGRAM else _program(name, job)
        argv = (program, *launch.argv[1:])
        task = Task(
            argv=argv,
            cwd=job.cwd,
            env=_env(job, launch, folder),
            timeout=job.timeout,
            stdin=launch.stdin,
            hold=job.hold,
        )
        async with contextlib.aclosing(_read_output(task, executor.reader(job, folder))) as saying:
            async for said in saying:
                yield said
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _env(job: AgentJob, launch: Launch, folder: str) -> dict[str, str]:
    """The environment of the program. Unless the user allows it, it has no logins of git and of forges."""
    env = {**job.env, **launch.env}
    if job.has_logins:
        return env
    empty = os.path.join(folder, "no-logins")
    os.makedirs(empty)
    return without_logins(env, empty, job.keeps)


def _program(name: str, job: AgentJob) -> str:
    found = name if os.path.isabs(name) else shutil.which(name, path=job.env.get("PATH"))
    if found is None:
        raise NodeError("agent-missing", f"the program `{name}` is not installed or not on the PATH", transient=False)
    return found


async def _read_output(task: Task, reader: AgentReader) -> AsyncGenerator[AgentSaid]:
    noise, end, in_time = "", time.monotonic() + task.timeout, True
    async with Program(task) as program:
        lines = program.lines()
        while True:
            try:
                line = await asyncio.wait_for(anext(lines), max(0.0, end - time.monotonic()))
            except StopAsyncIteration:
                break
            except TimeoutError:
                in_time = False
                break
            data = _object(line)
            if data is None:
                noise = (noise + line.decode("utf-8", "replace"))[-KEEP_NOISE:]
                continue
            for said in reader.take(data):
                yield said
    for said in reader.end(program.exit_code or 0, "\n".join(part for part in (program.errors, noise) if part)):
        if said.kind == "finished" and not in_time:
            late = {
                "outcome": "timeout",
                "message": f"not done after {counted(task.timeout, 'second')}",
                "resetsAt": None,
            }
            yield AgentSaid("finished", {**said.data, **late})
        else:
            yield said


def _object(line: bytes) -> dict[str, object] | None:
    """The JSON object in a line; None for any other output."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
