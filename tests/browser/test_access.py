"""Every page can be used by everybody: no serious finding of axe, no sideways scrolling, every place by keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from browser.chromium import Chromium
from browser.pages import SHOWN, pages
from browser.site import Site
from browser.tab import Tab
from handrail.settings.folders import web_page_folder

AXE = Path(__file__).parents[2] / ".cache/browser/node_modules/axe-core/axe.min.js"
RUN_AXE = """axe.run(document, {resultTypes: ['violations']}).then(found => found.violations
  .filter(one => ['serious', 'critical'].includes(one.impact))
  .map(one => `${one.id}: ${one.help}: ${one.nodes.map(node => node.html.slice(0, 160)).join(' | ')}`))"""
MOST_PLACES = 400
NINE = {
    "/",
    "/runs/ID",
    "/sessions/ID",
    "/catalog",
    "/catalog/flow/ID",
    "/launch/flow/ID",
    "/needs/ID?of",
    "approval",
    "/artifacts/ID",
}
"""The kinds of pages that there are. Of most of them there are several views."""
APPROVE = "phases: [{id: a, steps: [{id: ok, node: approve, params: {question: Publish?, details: Two pages}}]}]"
WRITES = """
phases:
- id: a
  steps: [{id: b, node: write-file, params: {path: NOTES.md, text: "# Notes\\n\\n- one\\n"}, makes: [NOTES.md]}]
"""
FOCUSED = """(() => {
  const e = document.activeElement
  if (!e || e === document.body) return null
  const style = getComputedStyle(e), box = e.getBoundingClientRect()
  const ring = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0 || style.boxShadow !== 'none'
  const seen = box.width > 0 && box.height > 0 && box.bottom > 0 && box.right > 0
    && box.top < innerHeight && box.left < innerWidth
  if (!e.dataset.testFocus) e.dataset.testFocus = String(window.testFocus = (window.testFocus ?? 0) + 1)
  return {mark: e.dataset.testFocus, ring, seen, what: e.outerHTML.slice(0, 200)}
})()"""


@pytest.fixture(scope="module")
def runs(site: Site) -> list[str]:
    """Runs that wait for a form and for a yes, ended with a file, failed and had rounds; and a guided session."""
    for name, text in {"publish": APPROVE, "write": WRITES}.items():
        site.write(f".handrail/flows/{name}.yaml", text)
    site.handrail("start", "plan-build-review", "login page", "--session", "s-1", code=0)
    return [
        site.made("release", version="1.2"),
        *(site.made(flow) for flow in ("rounds", "nightly", "publish", "write")),
    ]


@pytest.fixture(scope="module")
def found(chromium: Chromium, site: Site, context: str, runs: list[str]) -> dict[str, str]:
    tab = chromium.tab(context, site.base)
    tab.size(1280)
    runs = [f"/runs/{run}" for run in runs]
    definition = [f"/catalog/flow/rounds?view={view}" for view in ("plan", "graph", "runs")]
    first = [
        "/",
        "/catalog",
        "/sessions/s-1",
        "/catalog/flow/broken",
        *definition,
        runs[0],
        f"{runs[4]}?view=artifacts",
    ]
    found = pages(tab, first)
    found["approval"] = f"/needs/q1?of=run:{runs[3].rpartition('/')[2]}"
    tab.close()
    assert set(found) >= NINE, sorted(found)
    return found


@pytest.fixture
def unguarded(chromium: Chromium, site: Site, context: str) -> Tab:
    """A tab in which the test may run a script of its own."""
    tab = chromium.tab(context, site.base)
    tab.call("Page.setBypassCSP", {"enabled": True})
    return tab


@pytest.mark.smoke
def test_axe_finds_nothing_serious(unguarded: Tab, found: dict[str, str]) -> None:
    assert AXE.exists(), "axe is not installed; run scripts/browser"
    wrong: list[str] = []
    for address in [*found.values(), "/nothing-here"]:
        unguarded.size(1280)
        unguarded.open(address)
        unguarded.wait(SHOWN)
        unguarded.evaluate(AXE.read_text(encoding="utf-8") + ";0")
        for width in (1280, 390):
            for scheme in ("light", "dark"):
                unguarded.size(width)
                unguarded.media(prefers_color_scheme=scheme)
                wrong += [f"{address} {width} {scheme}: {one}" for one in unguarded.evaluate(RUN_AXE)]
    unguarded.close()
    assert wrong == []


@pytest.mark.smoke
@pytest.mark.parametrize(("width", "scale"), [(320, 1), (640, 2)])
def test_no_page_scrolls_sideways(tab: Tab, found: dict[str, str], width: int, scale: int) -> None:
    wide: list[tuple[str, Any]] = []
    for address in found.values():
        tab.size(width, 800, scale)
        tab.open(address)
        tab.wait(SHOWN)
        has = tab.evaluate("document.documentElement.scrollWidth")
        if has > width:
            wide.append((address, has))
    assert wide == []


def test_the_focus_is_seen_everywhere_and_never_trapped(tab: Tab, found: dict[str, str]) -> None:
    wrong: list[str] = []
    for address in found.values():
        tab.open(address)
        tab.wait(SHOWN)
        tab.evaluate("document.activeElement.blur()")
        marks: list[str] = []
        for _ in range(MOST_PLACES):
            tab.press("Tab")
            place = tab.evaluate(FOCUSED)
            if place is None or place["mark"] in marks:
                break
            marks.append(place["mark"])
            wrong += [f"{address}: {name}: {place['what']}" for name in ("ring", "seen") if not place[name]]
        else:
            wrong.append(f"{address}: the focus does not come back to the start")
    assert wrong == []


def test_all_script_together_is_small(tab: Tab) -> None:
    tab.open("/")
    tab.wait(SHOWN)
    scripts = "performance.getEntriesByType('resource').filter(one => one.name.endsWith('.js'))"
    sizes = dict(tab.evaluate(f"{scripts}.map(one => [one.name, one.encodedBodySize])"))
    assert len(sizes) == len(list(Path(web_page_folder()).rglob("*.js")))
    assert 0 < sum(sizes.values()) <= 100_000, sizes


def test_eight_tabs_follow_and_a_ninth_opens(chromium: Chromium, site: Site, context: str) -> None:
    run = site.launch("hold")
    tabs = [chromium.tab(context, site.base) for _ in range(8)]
    for one in tabs:
        one.open("/")
        one.wait_text("hold")
    ninth = chromium.tab(context, site.base)
    ninth.open("/catalog")
    ninth.wait("document.querySelector('h1, nav')")
    site.write("go", "")
    site.until(run, "completed")
    (site.folder / "go").unlink()
    for one in tabs:
        one.call("Page.bringToFront")
        one.wait(
            f"![...document.querySelectorAll('li, tr')].some(e => e.innerHTML.includes('{run}') "
            "&& e.innerText.includes('running'))"
        )
    for one in (*tabs, ninth):
        one.close()
