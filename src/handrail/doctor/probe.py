"""Probes an agent: runs its program offline in a home of its own, and measures what is really enforced."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping

from handrail import __version__
from handrail.doctor import scenes
from handrail.doctor.place import Place
from handrail.sessions.required import Probe, Row, stamp

ORDER = (
    "main agent", "subagent", "headless", "mcp", "shell", "patch", "rewrite", "settings live", "hook crash",
    "hook timeout", "bad output", "stop",
)  # fmt: skip
Shown = Callable[[Row], None]


async def measure(agent: str, program: str, env: Mapping[str, str], shown: Shown) -> list[Row]:
    """The rows of one agent. `shown` gets each row as soon as it is known."""
    found: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="handrail-probe-", ignore_cleanup_errors=True) as folder:
        with Place(agent, program, env, f"{folder}/bare") as place:
            await _play(scenes.rewrite, place, found, shown)
        with Place(agent, program, env, f"{folder}/own") as place:
            scenes.prepare(place)
            for scene, _ in scenes.SCENES.values():
                await _play(scene, place, found, shown)
    return sorted(found, key=lambda row: ORDER.index(row.row))


async def _play(scene: scenes.Scene, place: Place, found: list[Row], shown: Shown) -> None:
    async for row in scene(place):
        found.append(row)
        shown(row)


async def probe(agent: str, program: str, version: str, env: Mapping[str, str], now: float, shown: Shown) -> Probe:
    """The result of a whole probe. The stamp is taken before it, so that a later update makes it outdated."""
    before = stamp(program)
    rows = await measure(agent, program, env, shown)
    return Probe(agent, version, program, before, __version__, now, tuple(rows))
