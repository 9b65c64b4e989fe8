"""Checks of what was measured with `handrail doctor AGENT --probe`: whether it still counts, and how old it is."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from handrail.app import App
from handrail.doctor.checkup import Checkup, Subject
from handrail.sessions import required

OLD_DAYS = 90
"""After so many days a probe is said to be old. It still counts: agents change by updates, not by time."""
DAY = 24 * 3600.0


async def probe(subject: Subject) -> list[Checkup]:
    programs = await subject.programs()
    return [_probe(subject.app, agent) for agent in programs if programs[agent].path or subject.agent]


def _probe(app: App, agent: str) -> Checkup:
    id_, command = f"{agent}.probe", f"handrail doctor {agent} --probe"
    found = required.read(app.places, agent)
    if found is None:
        return Checkup(id_, "skipped", f"what {agent} really enforces was not measured here", command=command)
    told = f"version {found.version}, measured {time.strftime('%Y-%m-%d', time.localtime(found.time))}"
    outdated = required.outdated(found)
    if outdated is not None:
        return Checkup(id_, "warning", f"{outdated} ({told})", command=command)
    why = required.unmet(app.places, agent)
    if why is not None:
        fix = f"phases with `require: hard` need another version; after an update, run `{command}`"
        return Checkup(id_, "warning", f"{told}; does not meet `require: hard`: {why}", fix)
    days = (app.clock() - found.time) / DAY
    if days > OLD_DAYS:
        return Checkup(
            id_, "warning", f"{told}, {int(days)} days ago; it may be time to measure again", command=command
        )
    return Checkup(id_, "ok", f"{told}; meets `require: hard`")


def kept_probe(app: App, agent: str) -> dict[str, Any] | None:
    """The last probe of an agent as JSON data; None if there is none."""
    found = required.read(app.places, agent)
    return None if found is None else {**probe_json(found), "outdated": required.outdated(found)}


def probe_json(found: required.Probe) -> dict[str, Any]:
    rows: list[Mapping[str, Any]] = [
        {"row": row.row, "level": row.level, "detail": row.detail, "absent": row.is_absent} for row in found.rows
    ]
    about = {"agent": found.agent, "version": found.version, "program": found.program, "time": found.time}
    return {**about, "rows": rows}
