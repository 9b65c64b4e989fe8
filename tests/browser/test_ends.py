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
WIDTHS = (1280, 390)
TITLE = "document.querySelector('.drawer h2')?.innerText"
IS_SEEN = """(box => box.width > 0 && box.top >= 0 && box.bottom <= innerHeight
  && document.elementFromPoint(box.left + 5, box.top + 5)?.closest('.why') !== null)(
  document.querySelector('.above .why').getBoundingClientRect())"""
"""True if the reason of the failure is on the screen, and nothing covers it."""


@pytest.fixture(scope="module", autouse=True)
def flows(site: Site) -> None:
    for name, text in {"doubt": DOUBT, "fails": FAILS, "nested": NESTED, "twice": TWICE}.items():
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
    assert not tab.evaluate(TITLE)
    site.write("go", "")
    site.until(run, "failed")
    (site.folder / "go").unlink()
    tab.wait("document.querySelector('.above .why')")
    if width == 1280:
        tab.wait(f"{TITLE} === 'try › it'")
    tab.wait(IS_SEEN)
    assert tab.evaluate("document.querySelector('.line.here .name').innerText") == "it"
    assert width == 1280 or not tab.evaluate(TITLE)


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
