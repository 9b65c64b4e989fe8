"""What a phase requires of the agent, and what the last probe of the agent measured.

`handrail doctor AGENT --probe` writes the result. It counts only for the program and the version of Handrail that were
probed. Standard library only; sessions read it only if a phase requires something.
"""

from __future__ import annotations

import os

from handrail import __version__
from handrail.base import files, jsonlite
from handrail.base.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from handrail.guided.workflows.plan import Stop
    from handrail.settings.folders import UserFolders

HARD = "hard"
HARD_ROWS = (
    "main agent", "subagent", "headless", "mcp", "shell", "patch", "hook crash", "hook timeout", "bad output",
)  # fmt: skip
"""The rows of a probe that have to be `hard` for a phase with `require: hard`."""


class ProbeRow(Record):
    """One row of a probe. `is_absent`: the agent has no such thing, so there is nothing to enforce."""

    row: str
    level: str
    detail: str
    is_absent: bool = False


class Probe(Record):
    """What a probe measured: which program, in which version, with which version of Handrail, and when.

    `stamp` tells whether the program at this path is still the same file.
    """

    agent: str
    version: str
    program: str
    stamp: list[Any]
    handrail: str
    time: float
    rows: tuple[ProbeRow, ...]


def probe_file(places: UserFolders, agent: str) -> str:
    """The file with the result of an agent's last probe."""
    return os.path.join(places.state, "probes", f"{agent}.json")


def write_probe(places: UserFolders, probe: Probe) -> None:
    path = probe_file(places, probe.agent)
    files.make_private(os.path.dirname(path))
    data = probe._asdict()
    data["rows"] = [list(row) for row in probe.rows]
    files.replace(path, jsonlite.dumps(data).encode(), durable=True)


def read_probe(places: UserFolders, agent: str) -> Probe | None:
    """The result of an agent's last probe; None if there is none or it cannot be read."""
    try:
        data = jsonlite.loads(files.read_regular(probe_file(places, agent)).decode())
        data["rows"] = tuple(ProbeRow(*row) for row in data["rows"])
        return Probe(**data)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def stamp(program: str) -> list[Any]:
    """What tells whether a program is still the same: where its path leads, and the identity of that file."""
    real = os.path.realpath(program)
    try:
        status = os.stat(real)
    except OSError:
        return [real]
    return [real, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def why_outdated(probe: Probe) -> str | None:
    """Why a result does not count any more; None if it does."""
    if probe.handrail != __version__:
        return f"the last probe of {probe.agent} was made with Handrail {probe.handrail}"
    if stamp(probe.program) != probe.stamp:
        return f"{probe.agent} was changed since its last probe, which measured version {probe.version}"
    return None


def unmet(places: UserFolders, agent: str | None) -> str | None:
    """Why this agent does not meet `require: hard`; None if it does. `agent` is None if no agent is known."""
    if agent is None:
        return "no agent is known for this session"
    probe = read_probe(places, agent)
    if probe is None:
        return f"{agent} was not probed on this machine"
    if (reason := why_outdated(probe)) is not None:
        return reason
    rows = {row.row: row for row in probe.rows}
    for name in HARD_ROWS:
        row = rows.get(name)
        if row is None or (row.level != HARD and not row.is_absent):
            return f"the probe of {agent} {probe.version} says `{row.level if row else 'nothing'}` for `{name}`"
    return None


def unmet_requirement(places: UserFolders, agent: str | None, stops: tuple[Stop, ...]) -> tuple[str, str] | None:
    """Why one of these stops cannot be entered, and what a person can run; None if all can."""
    stop = next((stop for stop in stops if stop.require == HARD), None)
    reason = unmet(places, agent) if stop is not None else None
    if stop is None or reason is None:
        return None
    hint = "start the workflow in an agent, or with `handrail run NAME TASK --agent AGENT`"
    if agent is not None:
        hint = f"run `handrail doctor {agent} --probe` in a terminal"
    return f"the phase `{stop.name}` requires that its rules are enforced (`require: hard`), but {reason}", hint
