"""Measures how long the page of a run takes until its steps are seen: of a large run, compared with a small one."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bench.flowplace import Flows, many
from bench.measure import interleave, talk
from bench.place import ROOT
from bench.rows import Bound, Part, skipped, slower
from bench.streams import server

if TYPE_CHECKING:
    from browser.tab import Tab

SMALL, LARGE = 10, 10_000
ROUNDS, STARTS = 15, 9
PATIENCE = 60.0
TITLE = "Opening a run in the page"
ABOUT = f"""\
The page of a run of {LARGE:,} steps and that of one of {SMALL} are opened in turn in Chromium, {ROUNDS} times each. The
time counts from the navigation until the frame in which the first rows of the tree are painted. *After a start of the
server*, its journal is read first, too; each of the {STARTS} times has a new server and a new Chromium."""
WHAT, AGAINST, BOUND = f"first paint of a run of {LARGE:,} steps", f"{SMALL} steps", Bound(3)
COLD = f"{WHAT}, after a start of the server"
SCRIPT = """
new MutationObserver((_, observer) => {
  if (!document.querySelector('.line')) return;
  observer.disconnect();
  requestAnimationFrame(() => requestAnimationFrame(() => { window.paintedAt = performance.now(); }));
}).observe(document, { childList: true, subtree: true });
"""


def measure(folder: Path) -> Part:
    if shutil.which("chromium") is None:
        return Part(TITLE, ABOUT, [skipped(WHAT, AGAINST, BOUND, "chromium is not installed")])
    place = folder / "paint"
    flows = Flows(place, {"small": many(SMALL), "large": many(LARGE)})
    talk(f"runs of {SMALL} and {LARGE:,} steps")
    for name in ("small", "large"):
        flows.run(name)
    with server(place) as (_, port, door), _tab(port, door.new_cookie()) as tab:
        for run in ("r1", "r2"):
            _painted(tab, run)
        jobs = {run: partial(_painted, tab, run) for run in ("r1", "r2")}
        warm = interleave("first paint", jobs, ROUNDS)
    starts = {run: partial(_first, place, run) for run in ("r1", "r2")}
    cold = interleave("first paint after a start", starts, STARTS)
    pairs = ((WHAT, warm), (COLD, cold))
    return Part(TITLE, ABOUT, [slower(what, AGAINST, took["r2"], took["r1"], BOUND) for what, took in pairs])


def _first(place: Path, run: str) -> float:
    """How long it takes until the steps of a run are seen, if it is the first one that a server shows."""
    with server(place) as (_, port, door), _tab(port, door.new_cookie()) as tab:
        tab.open("/")
        return _painted(tab, run)


@contextmanager
def _tab(port: int, cookie: str) -> Iterator[Tab]:
    """A tab of a new Chromium that may use the page."""
    if (tests := str(ROOT / "tests")) not in sys.path:
        sys.path.append(tests)
    from browser.chromium import Chromium

    chromium, base = Chromium(), f"http://127.0.0.1:{port}"
    try:
        tab = chromium.tab(chromium.context(), base)
        tab.call("Network.setCookie", {"name": f"handrail-{port}", "value": cookie, "url": base})
        tab.call("Page.addScriptToEvaluateOnNewDocument", {"source": SCRIPT})
        tab.size(1280, 800)
        yield tab
    finally:
        chromium.end()


def _painted(tab: Tab, run: str) -> float:
    """How long it takes until the steps of a run are seen, in seconds."""
    tab.open(f"/runs/{run}?view=progress")
    tab.wait("window.paintedAt", PATIENCE)
    return float(tab.evaluate("window.paintedAt")) / 1000
