"""`local-script-check`: runs a check of the project, such as its tests, and reads the result that it prints.

The result is the last line of the output with a JSON object of the right form. A check that fails, prints no
result, does not end within an hour or cannot be started is a result too: `parsed.ok` is false, and the step does
not fail. Only the `timeout` of a step fails the step, and with `byExitCode` a program that cannot be started.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from typing import Any

from handrail.base.processes import KEPT_BYTES, ProgramResult, Task, run_task
from handrail.extensions.contracts import Node, NodeContext, NodeError, OutputVerdict, Work
from handrail.settings.secrets import without_secrets
from handrail.source.fields import SCALARS, Field
from handrail.source.plain_text import counted
from handrail.steps.nodes.files.json_files import write_json
from handrail.steps.nodes.files.write_file import path_inside
from handrail.steps.nodes.programs.command import words_of

SECONDS = 3600.0
READ = 4 * 1024 * 1024
"""The result is looked for in so many bytes at the end of the output."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_TEXTS = ("kind", "stage", "summary", "command")
NODE = Node(
    about="Runs a check of the project and reads the result that it prints. It does not fail if the check does, "
    "or takes more than one hour; the `timeout` of the step is a failure.",
    params=(
        Field(
            "argv",
            ("list", "text"),
            "the program and its arguments; a text is split into words as a shell does it, but no shell runs it",
            required=True,
            items=SCALARS,
            shortest=1,
        ),
        Field(
            "byExitCode",
            ("boolean",),
            "a check that prints no result is judged by its exit code; a program that cannot be started fails the step",
            default=False,
        ),
        Field("labelText", SCALARS, "accepted because AgentWeaver's flows have it; not used"),
        Field("outputFile", ("text", "null"), "a file for the result, as JSON", names="path"),
    ),
    others="ignored",
    outputs={
        "output": "the end of its standard output and standard error",
        "parsed": "its result: `ok`, `kind`, `stage`, `exitCode`, `summary`, `command` and `details`; `details.raw` of "
        "a failed check is always text",
    },
    members=lambda _params: {"output": None, "parsed": (*_TEXTS, "ok", "exitCode", "details")},
    verdict=OutputVerdict("parsed.ok", True, ("parsed.exitCode", "parsed.summary", "output")),
)


async def run(work: Work, context: NodeContext) -> Any:
    given, target = work.params["argv"], work.params.get("outputFile")
    argv = words_of(_split(given) if isinstance(given, str) else given)
    if target is not None:
        path_inside(context, target)
    ended = await _perform(argv, work, context)
    output = ended.output[-KEPT_BYTES:]
    parsed = _result(ended.output) if not ended.timed_out else None
    if parsed is None or (parsed["ok"] and ended.exit_code != 0):
        parsed = _fallback(argv, ended, output, is_judged=work.params["byExitCode"])
    if not parsed["ok"] and not isinstance(parsed["details"].get("raw"), str):
        parsed["details"] = {**parsed["details"], "raw": output}
    if target is not None:
        write_json(context, target, parsed)
    return {"output": output, "parsed": parsed}


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        message = f"`argv` cannot be split into words: {error}"
        raise NodeError("params", message, transient=False) from error


async def _perform(argv: list[str], work: Work, context: NodeContext) -> ProgramResult:
    env = without_secrets(context.env, context.pass_env, context.secrets)
    env |= {"HANDRAIL_RUN": context.run, "HANDRAIL_STEP": work.path, "HANDRAIL_KEY": context.key}
    seconds, script = float(work.timeout or SECONDS), os.path.join(context.project, argv[0])
    if argv[0].endswith(".py") and os.path.isfile(script) and not os.access(script, os.X_OK):
        argv = [sys.executable, *argv]
    task = Task(argv=argv, cwd=context.project, env=env, timeout=seconds, hold=context.hold())
    try:
        return await run_task(task, READ, context.show)
    except OSError as error:
        told = f"`{argv[0]}` cannot be started: {error.strerror}"
        if work.params["byExitCode"]:  # no agent can fix a name that a person misspelt
            raise NodeError("program-missing", told, transient=False) from error
        return ProgramResult(127, f"{told}\n", timed_out=False, seconds=0.0)


def _result(output: str) -> dict[str, Any] | None:
    """The last result in an output. None if it has none."""
    for line in reversed(_COLOURS.sub("", output).splitlines()):
        inner = line[line.find("{") : line.rfind("}") + 1]
        if not inner:
            continue
        try:
            found = json.loads(inner)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and _is_result(found):
            details = found.get("details") or {}
            return {"ok": found["ok"], **{name: found[name] for name in ("kind", "stage", "exitCode", "summary",
                    "command")}, "details": details}  # fmt: skip
    return None


def _is_result(found: dict[str, Any]) -> bool:
    number = found.get("exitCode")
    return (
        isinstance(found.get("ok"), bool)
        and all(isinstance(found.get(name), str) for name in _TEXTS)
        and isinstance(number, int | float)
        and not isinstance(number, bool)
        and isinstance(found.get("details", {}), dict)
    )


def _fallback(argv: list[str], ended: ProgramResult, output: str, *, is_judged: bool) -> dict[str, Any]:
    """The result of a check that printed none. Unless it is judged by its exit code, it failed."""
    line = " ".join(argv)
    is_ok, why = False, "failed"
    if ended.timed_out:
        why = f"was not done after {counted(ended.seconds, 'second')}"
    elif ended.exit_code == 0:
        is_ok, why = is_judged, "succeeded" if is_judged else "printed no result"
    return {
        "ok": is_ok,
        "kind": "check",
        "stage": line,
        "exitCode": 0 if is_ok else ended.exit_code or 1,
        "summary": f"{line} {why}",
        "command": line,
        "details": {"raw": output},
    }
