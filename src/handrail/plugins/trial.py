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

from handrail.plugins.content import Unusable, read_content
from handrail.plugins.contract import problems_of
from handrail.plugins.importing import Broken, import_folder, import_package
from handrail.source.dataclasses import asdict, dataclass, field

SECONDS = 10.0
MOST = 1_000_000


@dataclass(frozen=True)
class Request:
    """What is tried. `package` is empty for a folder, whose files must have this digest.

    `rows` are (kind, name, module), see `Manifest.code`.
    """

    id: str
    folder: str
    package: str
    digest: str
    rows: tuple[tuple[str, str, str], ...]
    path: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tried:
    """What was found: (kind, name, message) of each problem, and what the modules printed."""

    problems: tuple[tuple[str, str, str], ...] = ()
    printed: str = ""
    timed_out: bool = field(default=False)


def try_out(request: Request, env: Mapping[str, str], seconds: float) -> Tried:
    """Import a plugin in another process. Blocks for at most about this many seconds."""
    made: list[Tried] = []
    thread = threading.Thread(target=lambda: made.append(asyncio.run(_try(request, env, seconds))))
    thread.start()  # the caller may be inside of an event loop
    thread.join()
    return made[0] if made else Tried((("plugin", request.id, "it could not be tried"),))


async def _try(request: Request, env: Mapping[str, str], seconds: float) -> Tried:
    from handrail.process.child import Task, capture

    argv = (sys.executable, "-I", "-m", "handrail.plugins.trial")
    task = Task(argv=argv, cwd=request.folder, env=env, timeout=seconds, stdin=json.dumps(asdict(request)).encode())
    try:
        ended = await capture(task, MOST)
    except OSError as error:
        return Tried((("plugin", request.id, f"Python cannot be started: {error.strerror}"),))
    if ended.timed_out:
        message = f"importing it takes longer than {seconds:g} seconds"
        return Tried((("plugin", request.id, message),), ended.errors, timed_out=True)
    try:
        found = [(str(kind), str(name), str(text)) for kind, name, text in json.loads(ended.data)]
    except (ValueError, TypeError):
        message = f"its import ended the process with exit code {ended.exit_code}"
        return Tried((("plugin", request.id, message),), ended.errors)
    return Tried(tuple(found), ended.errors)


def answer(request: Request) -> list[tuple[str, str, str]]:
    """Import each module, and check it. Runs in the process of the trial."""
    sys.path[:] = [*request.path, *[entry for entry in sys.path if entry not in request.path]]
    load: Any = lambda module: import_package(f"{request.package}.{module}")  # noqa: E731 - one of two ways to load
    if not request.package:
        try:
            content = read_content(request.folder)
        except Unusable as error:
            return [("plugin", request.id, str(error))]
        if content.digest != request.digest:
            return [("plugin", request.id, "its files changed while it was tried")]
        load = lambda module: import_folder(request.id, request.folder, content, module)  # noqa: E731 - see above
    found: list[tuple[str, str, str]] = []
    for kind, name, module in request.rows:
        try:
            found += [(kind, name, text) for text in problems_of(kind, load(module))]
        except Broken as error:
            found.append((kind, name, f"`{module}` cannot be imported: {error}"))
    return found


def _main() -> None:
    own = os.dup(1)
    os.dup2(2, 1)  # the modules may print
    data = json.load(sys.stdin)
    request = Request(**{**data, "rows": tuple(map(tuple, data["rows"])), "path": tuple(data["path"])})
    found = answer(request)
    sys.stdout.flush()
    os.write(own, json.dumps(found).encode())
    os._exit(0)  # threads of a plugin must not keep this process


if __name__ == "__main__":
    _main()
