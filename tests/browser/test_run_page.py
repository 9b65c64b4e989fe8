"""The page of a run: its tree with a timeline, its graph in two ways, its costs, and a large run."""

from __future__ import annotations

import json
import os
import signal
from itertools import combinations, pairwise
from typing import Any

import pytest

from browser.site import Site
from browser.tab import Tab
from handrail.view.text.columns import duration

STEPPED = """
phases:
- {id: first, steps: [{id: one, node: set, params: {n: 1}}, {id: two, node: set, params: {n: 1}}]}
- repeat: {var: n, max: 3, until: {equals: ["${repeat.n}", 2]}}
  phases:
  - id: round-${n}
    steps:
    - id: look
      node: command
      params: {argv: [sh, -c, "until [ -e go-${repeat.n} ] || [ $((i+=1)) -gt 6000 ]; do sleep 0.02; done"]}
    - {id: mend, node: set, params: {n: 1}}
- {id: last, steps: [{id: say, node: set, params: {n: 1}}]}
"""
WAITS = """
phases:
- id: all
  steps:
  - id: tries
    node: command
    retry: {attempts: 2, wait: 0.2}
    params: {argv: [sh, -c, "test -e once || { touch once; exit 3; }"]}
  - {id: quota, node: llm-prompt, prompt: Go.}
  - {id: ask, node: user-input, params: {formId: f, title: Well?, fields: [{id: yes, type: boolean, label: Yes?}]}}
"""
COSTS = """
phases:
- id: all
  steps:
  - {id: known, node: llm-prompt, prompt: Tell the price.}
  - {id: unknown, node: llm-prompt, prompt: Keep it.}
"""
STEPS = "\n".join(f"    - {{id: s{number}, node: set, params: {{n: 1}}}}" for number in range(98))
LARGE = f"""
phases:
- repeat: {{var: n, to: 100}}
  phases:
  - id: big-${{n}}
    steps:
    - {{id: first, node: set, params: {{n: 1}}}}
    - {{id: fails, node: command, params: {{argv: [sh, -c, exit 3]}}}}
{STEPS}
"""
SCRIPT = """
prompts:
- match: Go.
  play:
  - {tool: bash, input: {command: "test -e limited && touch enough; touch limited"}}
  - {fail: rate-limit, message: too many, resetsIn: 1, unless: enough}
  - say: done
- match: Tell the price.
  play: [{usage: {inputTokens: 10, outputTokens: 2, usd: 0.42}}, {say: done}]
- play: [{usage: {inputTokens: 10}}, {say: done}]
"""
CARDS = """[...document.querySelectorAll('.card')].map(card => {
  const box = card.getBoundingClientRect();
  const places = [box.left, box.top, box.right, box.bottom].map(place => place.toFixed(1));
  return [card.innerText.replaceAll('\\n', ' '), ...places];
})"""
BARS = "[...document.querySelectorAll('button.bar')].map(bar => [bar.getAttribute('aria-label'), bar.className])"

AXIS = """(async () => {
  const base = document.querySelector('script[type=module]').src.replace(/[^/]*$/, '');
  const [{ Axis }, { scaleOf }, { html, render }] =
    await Promise.all(['bars', 'spans', 'dom'].map(name => import(`${base}${name}.js`)));
  const found = [];
  for (const works of WORKS) {
    const bars = works.map(([from, to]) => ({ kind: 'work', from, to }));
    const scale = scaleOf(bars, { from: 0, to: END, isOpen: true });
    for (const width of [120, 160, 240, 400, 640]) {
      const place = document.body.appendChild(document.createElement('div'));
      Object.assign(place.style, { width: `${width}px` });
      place.className = 'time';
      render(html`<${Axis} scale=${scale} />`, place);
      const all = place.getBoundingClientRect();
      const marks = [...place.querySelectorAll('.tick, .gap')];
      found.push(marks.filter(one => getComputedStyle(one).visibility === 'visible').map(one => {
        const range = document.createRange();
        range.selectNodeContents(one);
        const box = range.getBoundingClientRect();
        return [one.innerText, box.left - all.left, box.right - all.left, width];
      }));
      place.remove();
    }
  }
  return found;
})()"""


@pytest.fixture(scope="module", autouse=True)
def flows(site: Site) -> None:
    site.env["HANDRAIL_SCRIPT"] = "script.yaml"
    site.write(".handrail/settings.yaml", "agent: scripted\n")
    for name, text in {"stepped": STEPPED, "waits": WAITS, "costs": COSTS, "large": LARGE}.items():
        site.write(f".handrail/flows/{name}.yaml", text)
    site.write("script.yaml", SCRIPT)


def overlap(one: list[Any], other: list[Any]) -> bool:
    """True if two cards share a place."""
    a, b = [float(number) for number in one[1:]], [float(number) for number in other[1:]]
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def waiting(site: Site) -> str:
    """A run that tried twice, waited for a quota, and asks."""
    for name in ("once", "limited", "enough"):
        (site.folder / name).unlink(missing_ok=True)
    return site.made("waits")


def cards(tab: Tab) -> list[list[Any]]:
    found: list[list[Any]] = tab.evaluate(CARDS)
    assert not [pair for pair in combinations(found, 2) if overlap(*pair)]
    return found


def test_a_repeat_is_one_card_or_one_per_round(site: Site, tab: Tab) -> None:
    run = site.made("rounds")
    tab.open(f"/runs/{run}?view=graph")
    tab.wait("document.querySelectorAll('.card').length")
    places: dict[str, list[list[Any]]] = {}
    for _ in range(5):
        for mode, count in (("Folded", 1), ("As it ran", 2)):
            tab.click_text(mode)
            tab.wait(f"document.querySelector('.modes [aria-current]').innerText === {json.dumps(mode)}")
            found = cards(tab)
            assert len([card for card in found if "check" in card[0]]) == count, found
            assert places.setdefault(mode, found) == found
    assert "2/3" in str(places["Folded"])
    tab.click_text("Folded")
    tab.wait("document.querySelectorAll('path.again').length === 1")
    tab.reload()
    tab.wait("document.querySelectorAll('.card').length")
    assert cards(tab) == places["Folded"]


def test_cards_stay_in_place_while_the_run_goes_on(site: Site, tab: Tab) -> None:
    run = site.launch("stepped")
    tab.open(f"/runs/{run}?view=graph&mode=ran")
    tab.wait("[...document.querySelectorAll('.card.running')].some(card => card.innerText.includes('look'))")
    before = {tuple(card[1:]) for card in cards(tab)}
    site.write("go-1", "")
    tab.wait("document.querySelectorAll('.frame').length === 4")
    between = {tuple(card[1:]) for card in cards(tab)}
    assert before < between
    site.write("go-2", "")
    site.until(run, "completed")
    tab.wait("document.querySelectorAll('.card.done').length === 7")
    assert {tuple(card[1:]) for card in cards(tab)} == between


def test_every_wait_has_a_bar_of_its_own(site: Site, tab: Tab) -> None:
    run = waiting(site)
    tab.open(f"/runs/{run}")
    tab.wait("document.querySelectorAll('button.bar').length >= 7")
    names = [name for name, _ in tab.evaluate(BARS)]
    for start in (
        "tries, try 1, failed after ",
        "tries, pause of ",
        "tries, try 2, done after ",
        "quota, delayed for ",
        "ask, waits for you since ",
    ):
        assert [name for name in names if name.startswith(start)], names
    assert tab.evaluate("document.querySelector('[aria-selected=true] .name').innerText") == "ask"
    assert "step=all%2Fask" in tab.path


def test_marks_of_time_do_not_cover_each_other(tab: Tab) -> None:
    works = [[[0, 5], [90, 95]], [[60, 66]], [[0, 0.02]], [[0, 1], [70, 71], [140, 141], [400, 401]], [[0, 100]]]
    tab.open("/")
    tab.wait_text("Needs you")
    drawn = tab.evaluate(AXIS.replace("WORKS", json.dumps(works)).replace("END", "410"))
    assert len(drawn) == len(works) * 5
    for marks in drawn:
        marks.sort(key=lambda mark: mark[1])
        assert marks
        assert not [pair for pair in pairwise(marks) if pair[0][2] > pair[1][1]], marks
        assert not [mark for mark in marks if mark[1] < 0 or mark[2] > mark[3] + 1], marks


def test_until_a_person_chooses_a_step_the_one_that_runs_is_shown_with_what_it_prints(site: Site, tab: Tab) -> None:
    held = "until [ -e {0} ] || [ $((n+=1)) -gt 6000 ]; do sleep 0.02; done"
    steps = [
        f'{{id: {one}, node: command, params: {{argv: [sh, -c, "echo in {one}; {held.format(one)}"]}}}}'
        for one in "abc"
    ]
    site.write(".handrail/flows/three.yaml", f"phases: [{{id: only, steps: [{', '.join(steps)}]}}]")
    run = site.launch("three")
    tab.open(f"/runs/{run}")
    for name in "ab":
        tab.wait(f"document.querySelector('.drawer h2')?.innerText === 'only › {name}'")
        tab.wait(f"document.querySelector('.drawer .tail').innerText.includes('in {name}')")
        if name == "b":
            tab.click_text("a", ".line .name")
            tab.wait("document.querySelector('.drawer h2')?.innerText === 'only › a'")
        site.write(name, "")
    site.write("c", "")
    site.until(run, "completed")
    assert tab.evaluate("document.querySelector('.drawer h2').innerText") == "only › a"


def test_a_killed_step_does_not_look_like_running(site: Site, tab: Tab) -> None:
    run = site.launch("hold")
    tab.open(f"/runs/{run}")
    tab.wait("document.querySelector('button.bar.open')")
    driver = site.handrail("runs", run)["driver"]
    os.kill(driver, signal.SIGKILL)
    site.write("go", "")  # the program that outlives its driver ends
    tab.wait("document.querySelector('button.bar.interrupted')")
    assert not tab.evaluate("document.querySelector('.bar.open, .line .running')")
    assert [name for name, _ in tab.evaluate(BARS) if name.startswith("hold, try 1, interrupted after ")]
    took = "document.querySelector('.facts [title=\"how long Handrail drove it\"]').innerText"
    tab.wait(f"{took} === '≥ {duration(site.handrail('runs', run)['seconds'])}'")
    tab.open("/")
    tab.wait(f"[...document.querySelectorAll('.needs a')].some(link => link.href.includes({json.dumps(run)}))")
    site.handrail("stop", run)
    tab.wait("[...document.querySelectorAll('main li, main tr')].some(row => row.innerText.includes('≥ '))")


def test_a_cost_is_known_partly_known_or_unknown(site: Site, tab: Tab) -> None:
    run = site.made("costs")
    tab.open(f"/runs/{run}?view=progress")
    tab.wait_text("≥$0.42")
    figures = tab.evaluate("[...document.querySelectorAll('.line')].map(line => line.children[2].innerText)")
    assert figures == ["≥$0.42", "$0.42", "–"]
    assert "$0.00" not in tab.text
    tab.open(f"/runs/{site.made('rounds')}?view=progress")
    tab.wait("document.querySelectorAll('.line').length > 3")
    assert set(tab.evaluate("[...document.querySelectorAll('.line')].map(line => line.children[2].innerText)")) <= {
        "–",
        "",
    }
    assert "$0.00" not in tab.text


def test_a_step_is_opened_by_keyboard_and_its_address_shows_it_again(site: Site, tab: Tab) -> None:
    run = waiting(site)
    tab.open(f"/runs/{run}?view=progress")
    tab.wait("document.querySelectorAll('.line').length === 4")
    tab.evaluate("document.querySelector('.line').focus()")
    tab.press("ArrowDown", "Enter")
    tab.wait("document.querySelector('.drawer h2').innerText === 'all › tries'")
    tab.press("ArrowRight", "Enter")
    tab.wait("location.search.includes('try=1') && document.querySelector('.drawer .why')")
    tab.click_text("Output")
    tab.wait("location.search.includes('part=output')")
    tab.reload()
    tab.wait("document.querySelector('.drawer [aria-current=page]').innerText === 'Output'")
    tab.evaluate("history.back()")
    tab.wait("document.querySelector('.drawer [aria-current=page]').innerText === 'Now'")
    tab.evaluate("document.querySelector('.drawer a').focus()")
    tab.press("Escape")
    tab.wait("!document.querySelector('.drawer')")
    assert tab.evaluate("document.activeElement.id") == "node all/tries"
    assert tab.path == f"/runs/{run}?view=progress"
    tab.press("2")
    tab.wait("document.querySelectorAll('.card').length === 3")
    tab.open(f"/runs/{run}?view=tail&step=all%2Ftries")
    tab.wait_text("only all › tries")
    tab.click_text("all steps")
    tab.wait("!document.body.innerText.includes('only all')")
    assert tab.path == f"/runs/{run}?view=tail"


def test_of_ten_thousand_steps_only_what_is_seen_is_in_the_page(site: Site, tab: Tab) -> None:
    run = site.made("large")
    tab.open(f"/runs/{run}")
    tab.wait("document.querySelectorAll('.line').length > 40", 60)
    tab.wait_text("/10000 steps")
    assert "step=big-1%2Ffails" in tab.path
    assert tab.evaluate("document.querySelectorAll('.line').length") <= 500
    sizes = tab.evaluate(
        "performance.getEntriesByType('resource').filter(one => one.name.includes('/api/changes'))"
        ".map(one => one.decodedBodySize)"
    )
    assert 0 < max(sizes) <= 1_000_000
    lines = "Number(document.querySelector('[role=treegrid]').getAttribute('aria-rowcount'))"
    before = tab.evaluate(lines)
    folded = "[...document.querySelectorAll('.line.round[aria-expanded=false]')].at(-1)"
    opened = tab.evaluate(f"({folded}.focus(), {folded}.querySelector('.name').innerText)").removeprefix("round ")
    tab.press("ArrowRight")
    tab.wait(f"{lines} > {before}")
    assert tab.evaluate(lines) == before + 100
    fetched = [url for url in tab.requests if "/nodes?" in url]
    assert [url.partition("?")[2] for url in fetched] == [f"under=big-{opened}"]
    tab.press("End")
    tab.wait(f"document.activeElement.getAttribute('aria-rowindex') == {before + 100}")
    assert tab.evaluate("document.querySelectorAll('.line').length") <= 500
