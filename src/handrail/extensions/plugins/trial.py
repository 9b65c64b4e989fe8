"""Tries a plugin in a process of its own: imports each module and checks it against the contract.

A module that never ends its import, kills its process or prints only harms that process. Run as a program, this module
is that process: it reads a request as JSON, and answers with JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Mapping
from typing import Any

from handrail.base.dataclasses import asdict, dataclass, field
from handrail.extensions.plugins.modules import (
    ImportFailed,
    UnusableFolder,
    contract_problems,
    import_folder,
    import_package,
    read_content,
)

SECONDS = 10.0
MOST_OUTPUT = 1_000_000


@dataclass(frozen=True)
class TrialRequest:
    """What is tried. `package` is empty for a folder, whose files must have this digest.

    `rows` are (kind, name, module), see `PluginManifest.code`.
    """

    id: str
    folder: str
    package: str
    digest: str
    rows: tuple[tuple[str, str, str], ...]
    path: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrialResult:
    """What was found: (kind, name, message) of each problem, and what the modules printed."""

    problems: tuple[tuple[str, str, str], ...] = ()
    printed: str = ""
    timed_out: bool = field(default=False)


def try_out(request: TrialRequest, env: Mapping[str, str], seconds: float) -> TrialResult:
    """Import a plugin in another process. Blocks for at most about this many seconds."""
    made: list[TrialResult] = []
    thread = threading.Thread(target=lambda: made.append(asyncio.run(_try(request, env, seconds))))
    thread.start()  # the caller may be inside of an event loop
    thread.join()
    return made[0] if made else TrialResult((("plugin", request.id, "it could not be tried"),))


async def _try(request: TrialRequest, env: Mapping[str, str], seconds: float) -> TrialResult:
    from handrail.base.processes import Task, capture

    argv = (sys.executable, "-I", "-m", "handrail.extensions.plugins.trial")
    task = Task(argv=argv, cwd=request.folder, env=env, timeout=seconds, stdin=json.dumps(asdict(request)).encode())
    try:
        ended = await capture(task, MOST_OUTPUT)
    except OSError as error:
        return TrialResult((("plugin", request.id, f"Python cannot be started: {error.strerror}"),))
    if ended.timed_out:
        message = f"importing it takes longer than {seconds:g} seconds"
        return TrialResult((("plugin", request.id, message),), ended.errors, timed_out=True)
    try:
        found = [(str(kind), str(name), str(text)) for kind, name, text in json.loads(ended.data)]
    except (ValueError, TypeError):
        message = f"its import ended the process with exit code {ended.exit_code}"
        return TrialResult((("plugin", request.id, message),), ended.errors)
    return TrialResult(tuple(found), ended.errors)


def check_modules(request: TrialRequest) -> list[tuple[str, str, str]]:
    """Import each module, and check it. Runs in the process of the trial."""
    sys.path[:] = [*request.path, *[entry for entry in sys.path if entry not in request.path]]
    load: Any = lambda module: import_package(f"{request.package}.{module}")  # noqa: E731 - one of two ways to load
    if not request.package:
        try:
            content = read_content(request.folder)
        except UnusableFolder as error:
            return [("plugin", request.id, str(error))]
        if content.digest != request.digest:
            return [("plugin", request.id, "its files changed while it was tried")]
        load = lambda module: import_folder(request.id, request.folder, content, module)  # noqa: E731 - see above
    found: list[tuple[str, str, str]] = []
    for kind, name, module in request.rows:
        try:
            found += [(kind, name, text) for text in contract_problems(kind, load(module))]
        except ImportFailed as error:
            found.append((kind, name, f"`{module}` cannot be imported: {error}"))
    return found


def _main() -> None:
    own = os.dup(1)
    os.dup2(2, 1)  # the modules may print
    data = json.load(sys.stdin)
    request = TrialRequest(**{**data, "rows": tuple(map(tuple, data["rows"])), "path": tuple(data["path"])})
    found = check_modules(request)
    sys.stdout.flush()
    os.write(own, json.dumps(found).encode())
    os._exit(0)  # threads of a plugin must not keep this process


if __name__ == "__main__":
    _main()
