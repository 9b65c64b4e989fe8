"""`command`: runs a program in the project. Its outputs are the exit code, the output and the last line of JSON.

`argv` is an argument list, never a shell line. The flow says whether it may run again after a crash. `HANDRAIL_KEY`
identifies this piece of work, so that the program can recognise a repeated request. The program gets the
environment without variables that look like secrets; a flow has to pass a secret by name, in `env`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
from typing import Any

from handrail.base.files import why_outside
from handrail.base.processes import KEPT_BYTES, Task, run_task
from handrail.driven.worktrees.records import work_folder
from handrail.extensions.contracts import Node, NodeContext, NodeError, OutputVerdict, Work
from handrail.settings.secrets import without_secrets
from handrail.source.fields import SCALARS, Field, MappingReader, quoted
from handrail.source.plain_text import counted
from handrail.source.tree import TreeNode
from handrail.source.values import as_text, parse_float, shown

SECONDS = 3600.0
MAX_OUTPUT = 16 * 1024 * 1024
LONGEST_LINE = 400


def _check_argv(reader: MappingReader, node: TreeNode) -> None:
    """Warn about a shell line in place of a list of words: there is hardly a program with such a name."""
    items = node.value
    line = items[0].value if len(items) == 1 and items[0].kind == "text" else ""
    if len(line.split()) > 1 and shutil.which(line) is None:
        with contextlib.suppress(ValueError):
            words = ", ".join(
                json.dumps(word) if set(word) & set("[]{},:#&*!|>'\"% ") else word for word in shlex.split(line)
            )
            message, hint = (
                f"{quoted(items[0])} is one word, so it is the name of a program",
                f"write `argv: [{words}]`",
            )
            reader.at((items[0].line, items[0].column, items[0].width), "argv-line", message, hint, "warning")


NODE = Node(
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
            default=KEPT_BYTES,
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


async def run(work: Work, context: NodeContext) -> Any:
    argv, path = words_of(work.params["argv"]), work.params.get("cwd") or "."
    cwd = work_folder(context, path)
    if cwd is None:
        raise NodeError("params", f"`cwd`: `{path}` {why_outside(path)}", transient=False)
    env = without_secrets(context.env, context.pass_env, context.secrets)
    env |= _env(work.params.get("env") or {})
    env |= {"HANDRAIL_RUN": context.run, "HANDRAIL_STEP": work.path, "HANDRAIL_KEY": context.key}
    seconds = float(work.timeout or SECONDS)
    stdin = work.params.get("stdin")
    given = None if stdin is None else as_text(stdin).encode()
    if shutil.which(argv[0], path=env.get("PATH")) is None and not os.path.exists(os.path.join(cwd, argv[0])):
        raise NodeError(
            "program-missing", f"the program `{argv[0]}` is not installed or not on the PATH", transient=False
        )
    ended = await run_task(
        Task(argv=argv, cwd=cwd, env=env, timeout=seconds, stdin=given, hold=context.hold()),
        work.params["maxOutput"],
        context.show,
    )
    if ended.timed_out:
        raise NodeError("timeout", f"`{argv[0]}` was not done after {counted(seconds, 'second')}")
    left_out = f"… {ended.left_out} bytes before this were left out\n" if ended.left_out else ""
    result = _last_json(ended.output)
    value = {"exitCode": ended.exit_code, "output": left_out + ended.output, "result": result}
    if ended.exit_code != 0 and not work.params["mayFail"]:
        last = "".join(f": {shown(line, LONGEST_LINE)}" for line in ended.output.strip().splitlines()[-1:])
        raise NodeError("exit-code", f"`{argv[0]}` ended with {ended.exit_code}{last}")
    return value


def words_of(given: list[Any]) -> list[str]:
    """The arguments as texts. Numbers and booleans are converted; a list or an object becomes JSON."""
    argv = [as_text(part) for part in given]
    if any("\0" in part for part in argv):
        raise NodeError("params", "`argv` holds a NUL character", transient=False)
    return argv


def _env(given: dict[str, Any]) -> dict[str, str]:
    """The additional environment variables as texts."""
    env = {str(name): as_text(value) for name, value in given.items()}
    for name, value in env.items():
        if not name or "=" in name or "\0" in name:
            raise NodeError("params", f"`env`: `{name}` cannot be the name of a variable", transient=False)
        if "\0" in value:
            raise NodeError("params", f"`env`: the value of `{name}` holds a NUL character", transient=False)
    return env


def _last_json(output: str) -> Any:
    """The last line that is a JSON object or list. Numbers keep their texts; `NaN` and `1e999` are text."""
    for line in reversed(output.splitlines()):
        if line.startswith(("{", "[")):
            with contextlib.suppress(ValueError, RecursionError):
                return json.loads(line, parse_constant=lambda name: name, parse_float=parse_float)
    return None
