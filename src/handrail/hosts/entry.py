"""`handrail hook AGENT`: one message of a host on stdin, at most one JSON object on stdout.

This is a new process for every tool call, so it does little: read the session's card, answer, exit. Without an active
workflow it prints nothing. With one, it denies any call that it cannot decide. Standard library only; for the few
events that need definitions, it makes the installed packages importable first.
"""

from __future__ import annotations

import gc
import os
import sys

from handrail import registry
from handrail.hosts.answer import import_lazily, needs_definitions, respond
from handrail.state import jsonlite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

    from handrail.contracts import Host

SECONDS = 10
"""After this time the system kills the hook. Everything that a hook waits for has to give up earlier."""
STATUS_LINE = "status-line"
USAGE = """\
usage: handrail hook AGENT [status-line]

Answers one hook message of an agent: JSON on stdin, JSON on stdout. Installed stubs call this.
"""


def run(argv: list[str], env: Mapping[str, str]) -> NoReturn:
    """Answer and end the process at once: Python's own clean-up takes longer than the answer."""
    code = main(argv, env)
    try:
        sys.stdout.flush()
    except OSError:
        os._exit(1)  # the host no longer reads
    os._exit(code)


def main(argv: list[str], env: Mapping[str, str]) -> int:
    agent, *rest = argv or [""]
    if agent in ("-h", "--help"):
        sys.stdout.write(f"{USAGE}agents: {', '.join(registry.hosts())}\n")
        return 0
    if "/" in agent and not import_lazily("handrail.hosts.plugged").find_plugins(agent, env):
        return 2
    if not registry.is_host(agent) or rest not in ([], [STATUS_LINE]):
        sys.stderr.write(f"error: `handrail hook` takes one of these agents: {', '.join(registry.hosts())}\n")
        return 2
    gc.disable()  # this process ends before there is garbage to collect
    _end_after(SECONDS)
    host, body = registry.host(agent), sys.stdin.buffer.read().decode("utf-8", "replace")
    if rest:
        from handrail.hosts.statusline import status_line

        sys.stdout.write(status_line(host, agent, body, env) + "\n")
        return 0
    return _answer(host, agent, body, env)


def _end_after(seconds: int) -> None:
    """Let the system kill this process after some seconds: the stub then denies the call."""
    try:
        from _signal import alarm  # type: ignore[import-not-found]  # `signal` imports `enum`, which costs more
    except ImportError:  # another interpreter: only the host's own timeout applies
        return
    alarm(seconds)


def _answer(host: Host, agent: str, body: str, env: Mapping[str, str]) -> int:
    try:
        data = jsonlite.loads(body)
        request = host.request(data)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        sys.stderr.write(f"error: not a request: {type(error).__name__}: {error}\n")
        return 2
    if request is None:
        return 0
    if sys.flags.no_site and needs_definitions(request):
        _add_packages()
    said = respond(host, agent, data, request, env)
    if said is not None:
        sys.stdout.write(jsonlite.dumps(said) + "\n")
    return 0


def _add_packages() -> None:
    """Make the installed packages importable in this process, which was started without them (`-S`)."""
    import site

    site.main()
