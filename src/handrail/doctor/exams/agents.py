"""Checks of the programs of the agents: that they start, and whether their versions were tested."""

from __future__ import annotations

import re

from handrail import registry
from handrail.doctor.checkup import Checkup, Subject
from handrail.doctor.programs import chosen_by

_NUMBERS = re.compile(r"\d+")


async def program(subject: Subject) -> list[Checkup]:
    """A named agent has to be there. Of the others, those that are there have to start."""
    found = []
    for agent, one in (await subject.programs()).items():
        id_ = f"{agent}.program"
        if one.error is not None:
            found.append(Checkup(id_, "error", one.error.message, one.error.hint))
        elif one.path is None:
            name = registry.executor(agent).PROGRAM
            fix = f"install {agent}, or put the folder of `{name}` on the PATH"
            found.append(Checkup(id_, "error" if subject.agent else "skipped", f"`{name}` is not on the PATH", fix))
        else:
            variable = chosen_by(agent, subject.app.run_env)
            chosen = f", chosen by `{variable}`" if variable else ""
            found.append(Checkup(id_, "ok", f"{one.version} at {one.path}{chosen}"))
    return found


async def version(subject: Subject) -> list[Checkup]:
    programs = await subject.programs()
    return [
        judged(agent, one.version, getattr(registry.executor(agent), "TESTED", ()))
        for agent, one in programs.items()
        if one.version is not None
    ]


def judged(agent: str, found: str, tested: tuple[str, ...]) -> Checkup:
    """What is known about a version of an agent. `tested` are the versions that were tested, the oldest first."""
    id_, command = f"{agent}.version", f"handrail doctor {agent} --probe"
    if not tested:
        return Checkup(id_, "skipped", f"no version of {agent} was tested")
    oldest, newest = tested[0], tested[-1]
    if found in tested:
        return Checkup(id_, "ok", f"{found} was tested")
    if numbers(found) < numbers(oldest):
        told = f"{found} is older than {oldest}, the oldest version that was tested"
        return Checkup(id_, "warning", told, f"update {agent}, or run `{command}` to see what this version enforces")
    if numbers(found)[:1] > numbers(newest)[:1]:
        told = f"{found} is another major version than {newest}, the newest that was tested"
        return Checkup(id_, "warning", told, f"run `{command}` to see what this version enforces")
    beside = "newer than" if numbers(found) > numbers(newest) else "between versions up to"
    return Checkup(id_, "ok", f"{found} is {beside} {newest}, which was tested; `{command}` measures it")


def numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version before any other word: `0.9.1-rc.2` is (0, 9, 1)."""
    return tuple(map(int, _NUMBERS.findall(version.partition("-")[0])))
