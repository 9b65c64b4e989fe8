"""Nodes that look for programs, run them, and run the checks of a project.

`argv` is an argument list, never a shell line. A flow says whether a `command` may run again after a crash.
`HANDRAIL_KEY` identifies this piece of work, so that the program can recognise a repeated request. A program gets the
environment without variables that look like secrets; a flow has to pass a secret by name, in `env`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from handrail.base.files import why_outside
from handrail.driven.worktrees.records import work_folder
from handrail.extensions.contracts import LastingError, Node, NodeContext, NodeError, OneNode, OutputVerdict, Work
from handrail.settings.secrets import without_secrets
from handrail.source.fields import SCALARS, Field, MappingReader, quoted, shape
from handrail.source.output_text import telling_line
from handrail.source.plain_text import counted
from handrail.source.tree import TreeNode
from handrail.source.values import as_text, json_value, parse_float, shown
from handrail.steps.nodes.files import path_inside, write_json
from handrail.steps.nodes.params import text_param, unused_param

if TYPE_CHECKING:
    from handrail.base.processes import ProgramResult
    from handrail.steps.playbook.survey import CheckCommand

SECONDS = 3600.0
OUTPUT_BYTES = 64 * 1024
MAX_OUTPUT = 16 * 1024 * 1024
LONGEST_LINE = 400
LONGEST_NAME = 60


def program_environment(work: Work, context: NodeContext, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without secrets, with `more` variables and with those that identify this piece of work."""
    env = without_secrets(context.env, context.pass_env, context.secrets) | dict(more or {})
    return env | {"HANDRAIL_RUN": context.run, "HANDRAIL_STEP": work.path, "HANDRAIL_KEY": context.key}


def refuse_missing_program(name: str, folder: str, env: Mapping[str, str]) -> None:
    """Raise `NodeError` if a program is neither on the PATH nor below the folder."""
    if shutil.which(name, path=env.get("PATH")) is None and not os.path.exists(os.path.join(folder, name)):
        raise LastingError("program-missing", f"the program `{name}` is not installed or not on the PATH")


def _check_argv(reader: MappingReader, node: TreeNode) -> None:
    """Warn about a shell line in place of a list of words: there is hardly a program with such a name."""
    items = node.value
    line = items[0].value if len(items) == 1 and items[0].kind == "text" else ""
    if len(line.split()) > 1 and shutil.which(line) is None:
        with contextlib.suppress(ValueError):
            special = set("[]{},:#&*!|>'\"% ")
            words = ", ".join(json.dumps(word) if set(word) & special else word for word in shlex.split(line))
            message = f"{quoted(items[0])} is one word, so it is the name of a program"
            reader.at(items[0].place, "argv-line", message, f"write `argv: [{words}]`", "warning")


_COMMAND = Node(
    about="Runs a program in the project. The `timeout` of the step is one hour by default.",
    params=(
        Field(
            "argv",
            ("list",),
            "the program and its arguments",
            required=True,
            items=SCALARS,
            shortest=1,
            check=_check_argv,
            also=("cmd", "command", "run", "args", "shell", "line", "program"),
        ),
        Field(
            "cwd",
            ("text",),
            "the working directory, relative to the project, or a worktree that a step of the run made",
            names="path",
        ),
        Field("env", ("mapping",), "additional environment variables"),
        Field("stdin", SCALARS, "the text on its standard input"),
        Field("mayFail", ("boolean",), "an exit code other than 0 does not fail the step", default=False),
        Field(
            "maxOutput",
            ("integer",),
            "how much of the end of its output is kept",
            default=OUTPUT_BYTES,
            least=1,
            most=MAX_OUTPUT,
            unit="bytes",
        ),
    ),
    outputs={
        "exitCode": "its exit code",
        "output": "its standard output and standard error; if the beginning was left out, the first line says so",
        "result": "the last line that is a JSON object or list; null if there is none",
    },
    rerun="ask",
    verdict=OutputVerdict("exitCode", 0, ("exitCode", "output"), must_be_used=True),
)


async def _run_command(work: Work, context: NodeContext) -> Any:
    argv, path = _words(work.params["argv"]), work.params.get("cwd") or "."
    cwd = work_folder(context, path)
    if cwd is None:
        raise LastingError("params", f"`cwd`: `{path}` {why_outside(path)}")
    env = program_environment(work, context, _more_env(work.params.get("env") or {}))
    refuse_missing_program(argv[0], cwd, env)
    seconds, stdin = float(work.timeout or SECONDS), work.params.get("stdin")
    data = None if stdin is None else as_text(stdin).encode()
    from handrail.base.processes import Task, run_task  # reading the declarations must not import this

    task = Task(argv=argv, cwd=cwd, env=env, timeout=seconds, stdin=data, hold=context.hold())
    result = await run_task(task, work.params["maxOutput"], context.show)
    notice = f"… {result.left_out} bytes before this were left out\n" if result.left_out else ""
    output = notice + result.output
    if result.timed_out:
        raise NodeError("timeout", f"`{_name(argv)}` was not done after {counted(seconds, 'second')}", output=output)
    if result.exit_code != 0 and not work.params["mayFail"]:
        reason = shown(telling_line(result.output), LONGEST_LINE)
        message = f"`{_name(argv)}` ended with {result.exit_code}{f': {reason}' if reason else ''}"
        raise NodeError("exit-code", message, output=output)
    return {"exitCode": result.exit_code, "output": output, "result": _last_json(result.output)}


def _name(argv: list[str]) -> str:
    """What people call a command: its program, or the line that it gives to the shell if that is short."""
    is_line = argv[:2] == ["/bin/sh", "-c"] and len(argv) == 3 and len(argv[2]) <= LONGEST_NAME and "\n" not in argv[2]
    return argv[2] if is_line else argv[0]


def _words(items: list[Any]) -> list[str]:
    """The arguments as texts. Numbers and booleans are converted; a list or an object becomes JSON."""
    argv = [as_text(item) for item in items]
    if any("\0" in word for word in argv):
        raise LastingError("params", "`argv` holds a NUL character")
    return argv


def _more_env(variables: dict[str, Any]) -> dict[str, str]:
    env = {str(name): as_text(value) for name, value in variables.items()}
    for name, value in env.items():
        if not name or "=" in name or "\0" in name:
            raise LastingError("params", f"`env`: `{name}` cannot be the name of a variable")
        if "\0" in value:
            raise LastingError("params", f"`env`: the value of `{name}` holds a NUL character")
    return env


def _last_json(output: str) -> Any:
    """The last line that is a JSON object or list. Numbers keep their texts; `NaN` and `1e999` are text."""
    for line in reversed(output.splitlines()):
        if line.startswith(("{", "[")):
            with contextlib.suppress(ValueError, RecursionError):
                return json.loads(line, parse_constant=lambda name: name, parse_float=parse_float)
    return None


_PROGRAM = shape(
    "command",
    "A program that has to be installed.",
    text_param("commandName", "the name of the program"),
    Field("envVarName", ("text", "null"), "a variable that may hold the path of the program"),
)
_COMMAND_CHECK = Node(
    about="Finds programs: by the path in a variable, else on the PATH. Fails if one is not installed.",
    params=(Field("commands", ("list",), "the programs", required=True, items=("mapping",), item=_PROGRAM),),
    others="ignored",
    outputs={"resolved": "the programs, each with `commandName`, `envVarName` and `path`"},
    is_harmless=True,
)


async def _find_programs(work: Work, context: NodeContext) -> Any:
    """It looks where later steps look. It starts no shell, so aliases and the PATH of a login shell do not count."""
    names = [(item["commandName"], item.get("envVarName") or None) for item in work.params["commands"]]
    if any("\0" in name for name, _ in names):
        raise LastingError("params", "a `commandName` holds a NUL character")
    rows = [{"commandName": n, "envVarName": v, "path": _program_path(n, v, context)} for n, v in names]
    if missing := [f"`{row['commandName']}`" for row in rows if row["path"] is None]:
        raise LastingError("program-missing", f"not installed or not on the PATH: {', '.join(missing)}")
    return {"resolved": rows}


def _program_path(name: str, variable: str | None, context: NodeContext) -> str | None:
    value = context.env.get(variable, "") if variable is not None else ""
    path = os.path.join(context.project, value) if value and "\0" not in value else ""
    if path and os.path.isfile(path) and os.access(path, os.X_OK):
        return path
    if os.sep in name:
        name = os.path.join(context.project, name)
    return shutil.which(name, path=context.env.get("PATH"))


NO_CHECK = "none"
_CURE = "say it: `--param check='make test'`, or `check: make test` in `.handrail/settings.yaml`; `none` means no check"
_FIND_CHECK = Node(
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
        Field("mayBeMissing", ("boolean",), "do not fail if there is none", default=False),
    ),
    outputs={
        "command": "the program and its arguments, as a list; null if there is none",
        "line": "the same as one line, for people; `none` if there is none",
        "source": "where it comes from: `given`, `settings`, or the name of a file; null if there is none",
        "others": "further commands that were found, one line each",
    },
    is_harmless=True,
)


async def _find_check(work: Work, context: NodeContext) -> Any:
    command = work.params.get("command")
    missing = {"command": None, "line": NO_CHECK, "source": "given", "others": list[str]()}
    if isinstance(command, str) and command.strip() == NO_CHECK:
        return missing
    commands = _check_commands(command, context)
    if not commands and work.params["mayBeMissing"]:
        return {**missing, "source": None}
    if not commands:
        raise LastingError("check-missing", f"no command was found that checks this project; {_CURE}")
    first, *others = commands
    return {
        "command": list(first.argv),
        "line": shlex.join(first.argv),
        "source": first.source,
        "others": [shlex.join(other.argv) for other in others],
    }


def _check_commands(command: Any, context: NodeContext) -> list[CheckCommand]:
    from handrail.steps.playbook.survey import CheckCommand, find_check_commands

    if command is not None and command != "":
        return [CheckCommand(_check_words(command), "given")]
    if context.check:
        return [CheckCommand(context.check, "settings")]
    return find_check_commands(context.project)


def _check_words(command: Any) -> tuple[str, ...]:
    words = [as_text(part) for part in command] if isinstance(command, list) else _split(as_text(command), "command")
    if not words or not words[0] or any("\0" in word for word in words):
        raise LastingError("params", f"`command` is no command: {shown(command, 80)}")
    return tuple(words)


def _split(line: str, param: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise LastingError("params", f"`{param}` cannot be split into words: {error}") from error


RESULT_BYTES = 4 * 1024 * 1024
"""The result of a check is looked for in so many bytes at the end of the output."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_TEXTS = ("kind", "stage", "summary", "command")
_SCRIPT_CHECK = Node(
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
        unused_param("labelText"),
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


async def _run_script_check(work: Work, context: NodeContext) -> Any:
    """The result is the last line of the output with a JSON object of the right form.

    A check that fails, prints no result, does not end in time or cannot be started is a result too: `parsed.ok` is
    false, and the step does not fail. With `byExitCode`, a program that cannot be started fails the step.
    """
    words, target = work.params["argv"], work.params.get("outputFile")
    argv = _words(_split(words, "argv") if isinstance(words, str) else words)
    if target is not None:
        path_inside(context, target)
    result = await _run_check_program(argv, work, context)
    output = result.output[-OUTPUT_BYTES:]
    parsed = _printed_result(result.output) if not result.timed_out else None
    if parsed is None or (parsed["ok"] and result.exit_code != 0):
        parsed = _fallback(argv, result, output, is_judged=work.params["byExitCode"])
    if not parsed["ok"] and not isinstance(parsed["details"].get("raw"), str):
        parsed["details"] = {**parsed["details"], "raw": output}
    if target is not None:
        write_json(context, target, parsed)
    return {"output": output, "parsed": parsed}


async def _run_check_program(argv: list[str], work: Work, context: NodeContext) -> ProgramResult:
    env, seconds = program_environment(work, context), float(work.timeout or SECONDS)
    script = os.path.join(context.project, argv[0])
    if argv[0].endswith(".py") and os.path.isfile(script) and not os.access(script, os.X_OK):
        argv = [sys.executable, *argv]
    from handrail.base.processes import ProgramResult, Task, run_task  # see above

    task = Task(argv=argv, cwd=context.project, env=env, timeout=seconds, hold=context.hold())
    try:
        return await run_task(task, RESULT_BYTES, context.show)
    except OSError as error:
        message = f"`{argv[0]}` cannot be started: {error.strerror}"
        if work.params["byExitCode"]:  # no agent can fix a name that a person misspelt
            raise LastingError("program-missing", message) from error
        return ProgramResult(127, f"{message}\n", timed_out=False, seconds=0.0)


def _printed_result(output: str) -> dict[str, Any] | None:
    for line in reversed(_COLOURS.sub("", output).splitlines()):
        data = json_value(line[line.find("{") : line.rfind("}") + 1])
        if isinstance(data, dict) and _is_result(data):
            names = ("ok", "kind", "stage", "exitCode", "summary", "command")
            return {**{name: data[name] for name in names}, "details": data.get("details") or {}}
    return None


def _is_result(data: dict[str, Any]) -> bool:
    number = data.get("exitCode")
    return (
        isinstance(data.get("ok"), bool)
        and all(isinstance(data.get(name), str) for name in _TEXTS)
        and isinstance(number, int | float)
        and not isinstance(number, bool)
        and isinstance(data.get("details", {}), dict)
    )


def _fallback(argv: list[str], result: ProgramResult, output: str, *, is_judged: bool) -> dict[str, Any]:
    """The result of a check that printed none. Unless it is judged by its exit code, it failed."""
    line = " ".join(argv)
    is_ok, why = False, "failed"
    if result.timed_out:
        why = f"was not done after {counted(result.seconds, 'second')}"
    elif result.exit_code == 0:
        is_ok, why = is_judged, "succeeded" if is_judged else "printed no result"
    return {
        "ok": is_ok,
        "kind": "check",
        "stage": line,
        "exitCode": 0 if is_ok else result.exit_code or 1,
        "summary": f"{line} {why}",
        "command": line,
        "details": {"raw": output},
    }


COMMAND = OneNode(_COMMAND, _run_command)
COMMAND_CHECK = OneNode(_COMMAND_CHECK, _find_programs)
FIND_CHECK = OneNode(_FIND_CHECK, _find_check)
SCRIPT_CHECK = OneNode(_SCRIPT_CHECK, _run_script_check)
