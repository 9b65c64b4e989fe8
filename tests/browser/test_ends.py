"""How a run ends, as a person sees it: it fails after an answer, is stopped while it asks, or is rejected."""

from __future__ import annotations

import pytest

from browser.site import Site
from browser.tab import Tab

DOUBT = """
phases:
- id: ask
  steps:
  - {id: sure, node: user-input, params: {formId: f, title: Sure?, fields: [{id: yes, type: boolean, label: Yes?}]}}
- id: try
  steps:
  - id: it
    node: command
    params: {argv: [sh, -c, "until [ -e go ] || [ $((n+=1)) -gt 6000 ]; do sleep 0.02; done; exit 3"]}
"""
FAILS = "phases: [{id: unit, steps: [{id: tests, node: command, params: {argv: [sh, -c, exit 3]}}]}]"
NESTED = "phases: [{id: all, steps: [{id: call, node: flow-run, params: {fileName: fails}}]}]"
TWICE = "phases: [{id: top, steps: [{id: call, node: flow-run, params: {fileName: nested}}]}]"
PUBLISH = "phases: [{id: ask, steps: [{id: ok, node: approve, params: {question: Publish?, details: Two pages}}]}]"
WIDTHS = (1280, 390)
TITLE = "document.querySelector('.drawer h2')?.innerText"
IS_SEEN = """(box => box.width > 0 && box.top >= 0 && box.bottom <= innerHeight
  && document.elementFromPoint(box.left + 5, box.top + 5)?.closest('.why') !== null)(
  document.querySelector('.above .why').getBoundingClientRect())"""
"""True if the reason of the failure is on the screen, and nothing covers it."""

LINE = "[...document.querySelectorAll('.line')].find(one => one.querySelector('.name').innerText === 'NAME')"


@pytest.fixture(scope="module", autouse=True)
def flows(site: Site) -> None:
    for name, text in {"doubt": DOUBT, "publish": PUBLISH, "fails": FAILS, "nested": NESTED, "twice": TWICE}.items():
        site.write(f".handrail/flows/{name}.yaml", text)


def answered(site: Site, tab: Tab, width: int) -> str:
    """A run whose form was sent from the page of the question. Its next step waits for the file `go`, then fails."""
    run = site.made("doubt")
    tab.size(width)
    tab.open(f"/runs/{run}")
    tab.click_text("Answer")
    tab.click_text("Send")
    tab.wait(f"location.pathname === '/runs/{run}'")
    tab.wait("[...document.querySelectorAll('.line')].some(line => /it\\s+running/.test(line.innerText))")
    return run


@pytest.mark.parametrize("width", WIDTHS)
def test_after_an_answer_the_run_is_shown_and_then_the_step_that_failed(site: Site, tab: Tab, width: int) -> None:
    run = answered(site, tab, width)
    if width == 1280:
        tab.wait(f"{TITLE} === 'try › it'")
    else:
        assert not tab.evaluate(TITLE)
    site.write("go", "")
    site.until(run, "failed")
    (site.folder / "go").unlink()
    tab.wait("document.querySelector('.above .why')")
    if width == 1280:
        tab.wait(f"{TITLE} === 'try › it'")
    tab.wait(IS_SEEN)
    assert tab.evaluate("document.querySelector('.line.here .name').innerText") == "it"
    tab.size(390)
    tab.wait(f"!{TITLE}")
    tab.wait(IS_SEEN)


def test_a_failure_leaves_the_step_that_a_person_chose(site: Site, tab: Tab) -> None:
    run = answered(site, tab, 1280)
    tab.click_text("sure", ".line .name")
    tab.wait(f"{TITLE} === 'ask › sure'")
    site.write("go", "")
    site.until(run, "failed")
    (site.folder / "go").unlink()
    tab.wait("document.querySelector('.above .why')")
    assert tab.evaluate(TITLE) == "ask › sure"


def test_the_innermost_step_that_failed_is_opened(site: Site, tab: Tab) -> None:
    run = site.made("twice")
    tab.open(f"/runs/{run}")
    tab.wait(f"{TITLE}?.endsWith('unit › tests')")
    assert tab.evaluate("document.querySelector('.line.here .name').innerText") == "tests"
    assert "unit › tests: " in tab.evaluate("document.querySelector('.above .why').innerText")


@pytest.mark.parametrize("width", WIDTHS)
def test_a_stopped_run_asks_nothing_until_it_is_resumed(site: Site, tab: Tab, width: int) -> None:
    run = site.made("doubt")
    sure = LINE.replace("NAME", "sure")
    tab.size(width)
    tab.open(f"/runs/{run}")
    tab.wait("document.querySelector('.above .asks')")
    site.handrail("stop", run)
    site.until(run, "cancelled")
    tab.wait("document.querySelector('.above .why') && !document.querySelector('.asks')")
    assert tab.evaluate(f"{sure}.querySelector('.sign').innerText") == "■"
    assert tab.evaluate(f"{sure}.querySelector('.what').innerText") == "cancelled · user-input"
    assert not tab.evaluate("document.querySelector('.bar.open')")
    assert "waits" not in tab.text
    site.handrail("resume", run)
    site.until(run, "waiting")
    tab.wait("document.querySelector('.above .asks') && !document.querySelector('.above .why')")
    assert tab.evaluate(f"{sure}.querySelector('.sign').innerText") == "?"


@pytest.mark.parametrize("width", WIDTHS)
def test_a_rejection_is_told_with_its_note(site: Site, tab: Tab, width: int) -> None:
    run = site.made("publish")
    told = "rejected: the second page is wrong"
    tab.size(width)
    tab.open(f"/needs/next?of=run:{run}")
    tab.wait("document.getElementById('note-0')")
    tab.evaluate("document.getElementById('note-0').focus()")
    tab.write("the second page is wrong")
    tab.click_text("Reject…")
    tab.wait(f"location.pathname === '/runs/{run}'")
    tab.wait(f"document.querySelector('.above .why')?.innerText.includes({told!r})")
    assert told in tab.evaluate(LINE.replace("NAME", "ok") + ".innerText")
    tab.click_text("Log")
    tab.wait("document.querySelector('.log .is-rejected')?.innerText.includes('the second page is wrong')")
    colours = (
        "[...document.querySelectorAll('.is-rejected .kind, .above .why')].map(one => getComputedStyle(one).color)"
    )
    assert len(set(tab.evaluate(colours))) == 1
