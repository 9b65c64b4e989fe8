"""Runs command lines of Handrail, each in its own fork: a real process that does not have to start Python.

An order is a line of JSON: `argv`, `folder` (for its output), `cwd`, `env`, `doom`, and `room` (the largest allowed
file size). The answer is a line with the exit code; it is negative for a signal.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import traceback
from importlib import import_module
from typing import Any, NoReturn

from crash.children.doom import Doom, Layer
from handrail.cli.main import main as handrail
from handrail.driven.artifacts.schemas import builtin_schema
from handrail.extensions.registry import Registry


def perform(order: dict[str, Any]) -> NoReturn:
    doom = Doom(**order["doom"])
    signal.alarm(doom.seconds)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    for number, name, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, os.path.join(order["folder"], "out"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, os.path.join(order["folder"], "err"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        os.dup2(os.open(name, flags, 0o600), number)
    if order["room"] is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["room"], resource.RLIM_INFINITY))
    layer = Layer(doom)
    layer.install()
    code = handrail(order["argv"])
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    with open(os.path.join(order["folder"], "layer"), "w", encoding="utf-8") as file:
        json.dump({"writes": layer.writes, "syncs": layer.syncs, "trace": layer.trace}, file)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main() -> None:
    Registry().nodes()  # import what every fork needs once
    builtin_schema("none")
    import_module("jsonschema")
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                perform(json.loads(line))
            except BaseException:  # noqa: BLE001 - a fork must never return into the loop
                traceback.print_exc()
                os._exit(99)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
