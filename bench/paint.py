"""Measures how long the page needs to show a large run, compared with a small one, in a real Chromium."""

from __future__ import annotations

import shutil
import sys
from functools import partial
from pathlib import Path

from bench.flowplace import Flows, many
from bench.measure import BenchError, interleave, talk
from bench.place import ROOT
from bench.rows import Bound, Part, Row, slower
from bench.streams import server

sys.path.append(str(ROOT / "tests"))

from browser.chromium import Chromium
from browser.tab import Tab

FEW, MANY, ROUNDS = 10, 10_000, 15
MOST = Bound(3)
TITLE = "Opening a run in the page"
ABOUT = f"""\
A run of {MANY:,} steps and one of {FEW} are opened in turn in a real Chromium, {ROUNDS} times each. The time is from
the request of the page until the first lines of its tree are painted. The server has read both runs before; it
keeps what it read for a minute."""
PAINTED = """(() => {
  const look = () => document.querySelector('.line')
    ? requestAnimationFrame(() => setTimeout(() => { window.painted = performance.now() }))
    : requestAnimationFrame(look)
  look()
})()"""


def measure(folder: Path) -> Part:
    what, against = f"first paint of {MANY:,} steps", f"{FEW} steps"
    if shutil.which("chromium") is None:
        return Part(TITLE, ABOUT, [Row(what, against, None, bound=MOST, skipped="Chromium is not installed")])
    talk(f"a run of {MANY:,} steps and one of {FEW}")
    place = folder / "paint"
    flows = Flows(place, {"small": many(FEW), "large": many(MANY)})
    runs = {name: flows.run(name).folder.parent.name for name in ("small", "large")}
    with server(place) as (_, port, door):
        chromium = Chromium()
        try:
            tab = chromium.tab(chromium.context(), f"http://127.0.0.1:{port}")
            tab.call("Network.setCookie", {"name": f"handrail-{port}", "value": door.new_cookie(), "url": tab.base})
            tab.call("Page.addScriptToEvaluateOnNewDocument", {"source": PAINTED})
            tab.size(1280)
            for run in runs.values():
                _opened(tab, run)
            found = interleave(TITLE, {name: partial(_opened, tab, run) for name, run in runs.items()}, ROUNDS)
        finally:
            chromium.end()
    return Part(TITLE, ABOUT, [slower(what, against, found["large"], found["small"], MOST)])


def _opened(tab: Tab, run: str) -> float:
    """Seconds until a run is painted."""
    tab.open(f"/runs/{run}?view=progress")
    try:
        found: float = tab.wait("window.painted")
    except AssertionError as error:
        raise BenchError(f"the run was not painted: {error}") from error
    return found / 1000
