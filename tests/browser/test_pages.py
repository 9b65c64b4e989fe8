"""The pages around a run: home, questions, launch, sessions, by keyboard alone, and in several tabs."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from browser.chromium import Chromium
from browser.pages import reload_same
from browser.site import BROKEN, HOLDS, PATIENCE, Screen, Site
from browser.tab import Tab
from handrail.source.codes import problem_kinds

APPROVE = """
phases:
- id: ask
  steps:
  - {id: ok, node: approve, params: {question: Publish the notes?, details: Two pages, files: [NOTES.txt]}}
- {id: say, steps: [{id: it, node: command, params: {argv: [echo, published]}}]}
"""
ANSWERS = {"note": "twice as fast", "by": "", "sure": True, "kind": "major", "why": "it breaks", "tell": ["mail"]}
H1 = "document.activeElement?.tagName === 'H1'"


@pytest.fixture(scope="module", autouse=True)
def more(site: Site) -> None:
    site.write(".handrail/flows/publish.yaml", APPROVE)
    site.write("NOTES.txt", "first\n")


def tab_to(tab: Tab, text: str, most: int = 60) -> None:
    """Press Tab until the focused element has this text."""
    for _ in range(most):
        tab.press("Tab")
        if text in (focus := tab.focus) and not focus.startswith("body"):
            return
    raise AssertionError(f"Tab does not reach {text!r}: {tab.focus}")


@pytest.mark.smoke
def test_launch_answer_and_end_by_keyboard(site: Site, tab: Tab) -> None:
    tab.open("/")
    tab.wait_text("Needs you")
    tab.press("n")
    tab.wait("location.pathname === '/launch' && document.activeElement?.type === 'search'")
    tab.wait_text("release")
    reload_same(tab)
    tab.wait("document.activeElement?.type === 'search'")
    tab.write("relea")
    tab.wait("document.querySelectorAll('.entry').length === 1")
    tab.press("Enter")
    tab.wait("location.pathname === '/launch/flow/release'")
    tab.wait_text("what is released")
    tab_to(tab, "button Launch")
    tab.press("Enter")
    tab.wait_text("version is required")
    assert site.handrail("runs")["runs"] == []
    tab.wait("document.activeElement.getAttribute('aria-invalid') === 'true'")
    tab.write("1.2")
    tab.reload()
    tab.wait("document.querySelector('form input')?.value === '1.2'")
    tab.press("n")  # a key in the page, not in a field
    tab.evaluate("history.back()")
    tab.wait("document.querySelector('form input')?.value === '1.2'")
    tab_to(tab, "button Launch")
    tab.press("Enter")
    tab.wait("location.pathname.startsWith('/runs/')")
    run = tab.path.split("/")[2].partition("?")[0]
    site.until(run, "waiting")
    tab.wait_text("Release 1.2?")
    reload_same(tab)
    tab.press("a")
    tab.wait(f"location.pathname.startsWith('/needs/q') && {H1}")
    fill_in(tab)
    tab.wait(f"location.pathname === '/runs/{run}'")
    site.until(run, "completed")
    tab.wait_text("3/3 steps")
    assert answers(site, run) == ANSWERS
    read_the_notes(tab)
    assert tab.errors == []


def read_the_notes(tab: Tab) -> None:
    """From a run to the file that it made, by keyboard."""
    reload_same(tab)
    tab.press("5")
    tab.wait("location.search.includes('view=artifacts')")
    tab_to(tab, "a NOTES.md")
    reload_same(tab)
    tab_to(tab, "a NOTES.md")
    tab.press("Enter")
    tab.wait(f"location.pathname.startsWith('/artifacts/') && {H1}")
    tab.wait_text("twice as fast")
    reload_same(tab)


def fill_in(tab: Tab) -> None:
    """Fill in the form of `release`: first wrong, then right. The field `why` is there only for `major`."""
    tab_to(tab, "Send")
    tab.press("Enter")
    tab.wait_text("Kind is not answered")
    tab.errors.clear()  # Chromium tells the console about every answer with a status of 400 and above
    described = "document.getElementById(document.activeElement.getAttribute('aria-describedby')).innerText"
    tab.wait(f"{described}.includes('blank')")
    tab.write("twice as fast")
    tab.press("Tab", "Tab", " ")
    assert "Why major?" not in tab.text
    tab.press("Tab", " ", "ArrowDown")
    tab.wait_text("Why major?")
    tab.press("Tab")
    tab.write("it breaks")
    tab.reload()
    tab.wait_text("Why major?")
    assert tab.evaluate("document.querySelector('textarea').value") == "twice as fast"
    tab_to(tab, "Send", 20)
    tab.press("Shift+Tab", "Shift+Tab", " ")
    tab_to(tab, "Send")
    tab.press("Enter")


def answers(site: Site, run: str) -> dict[str, object]:
    """The values that the journal of a run has."""
    for line in site.journal(run).decode().splitlines():
        if '"Answered"' in line:
            for event in json.loads(line[line.index("{") :])["events"]:
                if event["type"] == "Answered":
                    values: dict[str, object] = event["values"]
                    return values
    raise AssertionError("no answer")


POST = """fetch('/api/needs/' + ID, {method: 'POST',
body: JSON.stringify({of: OF, digest: DIGEST, values: {approved: true}}),
headers: {'content-type': 'application/json', 'x-handrail': '1'}}).then(answer => answer.status)"""


def need_of(site: Site, run: str) -> dict[str, str]:
    """The first question of a run, for a request of one's own."""
    need = min(site.handrail("view", f"run:{run}")["set"]["needs"], key=lambda one: one["since"])
    return {"ID": need["id"], "OF": f"run:{run}", "DIGEST": need["digest"]}


def posted(tab: Tab, need: dict[str, str]) -> int:
    """The status of an answer to a question, sent once more."""
    request = POST
    for name, value in need.items():
        request = request.replace(name, json.dumps(value))
    status: int = tab.evaluate(request)
    return status


def test_of_two_tabs_and_a_terminal_one_answer_counts(
    chromium: Chromium, site: Site, tab: Tab, context: str, tmp_path: Path
) -> None:
    run = site.made("publish")
    need = need_of(site, run)
    address = f"/needs/next?of=run:{run}"
    tab.open(address)
    tab.wait(f"{H1} && document.activeElement.innerText.includes('Publish the notes?')")
    reload_same(tab)
    other = chromium.tab(context, site.base)
    other.open(address)
    other.wait_text("Two pages")
    with Screen(site, tmp_path) as screen:
        screen.wait("Publish the notes?")
        screen.press("a")
        screen.wait("Reject")
        tab.call("Page.bringToFront")
        tab.press("Enter", " ", "y", "a", "Escape")
        assert site.handrail("runs", run)["status"] == "waiting"
        tab_to(tab, "Reject")
        tab.press("Enter")
        tab.wait_text("Note is needed to reject")
        tab_to(tab, "Approve")
        tab.press("Enter")
        tab.wait(f"location.pathname === '/runs/{run}'")
        site.until(run, "completed")
        screen.wait("This was approved at", "in the page")
    other.call("Page.bringToFront")
    other.wait_text("in a page. Nothing left to do")
    assert posted(tab, need) == 409
    assert site.journal(run).count(b'"Answered"') == 1
    other.close()


def test_a_yes_to_what_has_changed_is_asked_again(chromium: Chromium, site: Site, tab: Tab, context: str) -> None:
    run = site.made("publish")
    need = need_of(site, run)
    tab.open(f"/needs/next?of=run:{run}")
    other = chromium.tab(context, site.base)
    for one in (tab, other):
        one.open(f"/needs/next?of=run:{run}")
        one.wait_text("Two pages")
    site.write("NOTES.txt", "second\n")
    assert posted(tab, need) == 410
    tab.wait_text("so it is asked again")
    other.wait_text("so it is asked again")
    assert posted(tab, need) == 410
    assert site.handrail("runs", run)["status"] == "waiting"
    tab_to(tab, "Show what is asked")
    tab.press("Enter")
    tab.wait_text("since it was asked last")
    assert need_of(site, run)["ID"] != need["ID"]
    other.close()


def test_a_run_is_stopped_and_resumed_by_keyboard(site: Site, tab: Tab) -> None:
    run = site.launch("hold")
    tab.open(f"/runs/{run}")
    tab.wait_text("Stop…")
    tab.press("s")
    tab.wait("document.activeElement?.closest('dialog')")
    left = "(b => Math.abs(b.left - (innerWidth - b.right)))(document.querySelector('dialog').getBoundingClientRect())"
    assert tab.evaluate(left) < 2, "the question is not in the middle"
    tab.press("Escape")
    tab.wait("!document.querySelector('dialog')")
    assert site.handrail("runs", run)["status"] == "running"
    tab.press("s")
    tab_to(tab, "Stop")
    tab.press("Enter")
    site.until(run, "cancelled")
    tab.wait_text("Resume…")
    reload_same(tab)
    tab.press("r")
    tab_to(tab, "Resume")
    tab.press("Enter")
    site.until(run, "waiting")  # the command was interrupted: had it finished?
    tab.wait_text("It was running when")
    tab.press("a")
    tab.wait(f"location.pathname.startsWith('/needs/q') && {H1}")
    tab.press("Tab", " ")
    tab_to(tab, "Send")
    site.write("go", "")
    tab.press("Enter")
    site.until(run, "completed")
    (site.folder / "go").unlink()
    tab.wait_text("✓ completed")


def test_a_key_acts_only_on_the_row_with_the_focus_and_its_dialog_names_the_run_whole(site: Site, tab: Tab) -> None:
    site.write(".handrail/flows/deploy.yaml", f"params: {{env: {{required: true}}}}{HOLDS}")
    run = site.launch("deploy", env="production")
    os.kill(_driver(site, run), signal.SIGKILL)
    site.write("go", "")  # the program that outlives its driver ends
    tab.open("/")
    tab.wait("document.querySelector('.needs .interrupted')")
    (site.folder / "go").unlink()
    tab.press("r")
    assert not tab.evaluate("!!document.querySelector('dialog')")
    tab_to(tab, "deploy")
    tab.press("r")
    tab.wait("document.activeElement?.closest('dialog')")
    assert tab.evaluate("document.querySelector('dialog .exactly').innerText") == f"env=production · {run}"
    middle = "(b => [b.left - (innerWidth - b.right), b.top - (innerHeight - b.bottom)])"
    away = tab.evaluate(f"{middle}(document.querySelector('dialog').getBoundingClientRect()).map(Math.abs)")
    assert max(away) < 2, "the question is not in the middle"
    tab.press("Escape")
    site.handrail("stop", run)


def test_a_run_that_was_pruned_is_gone_and_offers_nothing(site: Site, tab: Tab) -> None:
    run = site.made("quick")
    tab.open(f"/runs/{run}")
    tab.wait_text("Restart…")
    site.handrail("prune", "--status", "completed", "--keep", "0", "--yes", code=0)
    tab.wait("document.querySelector('h1')?.innerText === 'Gone'")
    assert f"run `{run}` was removed" in tab.text
    assert "Restart" not in tab.text
    tab.click_text("Home")
    tab.wait("document.querySelector('h1')?.innerText === 'Home'")
    tab.errors.clear()


def test_an_unknown_address_says_so_and_leads_home(tab: Tab) -> None:
    tab.open("/no-such-page")
    tab.wait_text("Not found")
    tab.click_text("Home")
    tab.wait("location.pathname === '/' && document.querySelector('.needs')")
    tab.errors.clear()


def test_an_answer_counts_before_the_run_has_read_it(tab: Tab) -> None:
    tab.open("/")
    tab.wait_text("Needs you")
    module = "document.querySelector('script[type=module]').src.replace('main.js', 'doing.js')"
    row = "{id: 'run:r-1', group: 'needs', status: 'waiting', need: {id: 'q1', count: 1}}"
    found = tab.evaluate(
        f"import({module}).then(async (doing) => {{ window.fetch = async () => new Response('{{}}');"
        f"const before = doing.withAnswer({row}).group;"
        "await doing.answer('run:r-1', {id: 'q1', digest: 'd'}, {approved: true});"
        "const rows = {rows: () => [{id: 'q1', answered: null}, {id: 'q2', answered: null}]};"
        "const needs = doing.needsOf(rows, 'run:r-1').map((need) => need.answered?.verdict ?? null);"
        f"return [before, doing.withAnswer({row}).group, needs, doing.needsOf(rows, 'run:r-2')[0].answered] }})"
    )
    assert found == ["needs", "running", ["approved", None], None]


def _driver(site: Site, run: str) -> int:
    """The process that drives a run, as soon as there is one."""
    deadline = time.monotonic() + PATIENCE
    while (pid := site.handrail("runs", run)["driver"]) is None:
        assert time.monotonic() < deadline
    return int(pid)


def test_keys_can_be_switched_off_and_help_lists_those_that_work(tab: Tab) -> None:
    tab.open("/")
    tab.wait_text("Needs you")
    tab.press("?")
    tab.wait_text("Keys of this page")
    listed = tab.evaluate("[...document.querySelectorAll('dialog kbd')].map(k => k.innerText)")
    assert set(listed) >= {"n", "c", "/", "?"}
    assert "s" not in listed
    tab.press("Tab", " ", "Escape")
    tab.press("n")
    assert tab.evaluate("location.pathname") == "/"
    tab.evaluate("localStorage.clear()")


def test_a_page_has_one_way_to_find_something_which_says_what_it_finds(site: Site, tab: Tab) -> None:
    ways = (
        "[...document.querySelectorAll('[aria-keyshortcuts=\"/\"]')]"
        ".map(one => one.placeholder || one.closest('label, button').innerText.trim())"
    )
    run = site.made("quick")
    for address, wanted in {
        "/": "find a run or session",
        "/catalog": "find a definition",
        "/launch": "find a definition",
        f"/runs/{run}?view=log": "find in the log",
        f"/runs/{run}?view=tail": "Find a run /",
    }.items():
        tab.open(address)
        tab.wait(f"JSON.stringify({ways}) === {json.dumps(json.dumps([wanted], separators=(',', ':')))}")
    tab.press("/")
    tab.wait("location.pathname === '/' && document.activeElement.placeholder === 'find a run or session'")


@pytest.mark.parametrize("width", [1280, 390])
def test_a_choice_stands_in_the_line_of_its_words(site: Site, tab: Tab, width: int) -> None:
    run = site.made("release", version="8")
    tab.size(width)
    tab.open(f"/needs/next?of=run:{run}")
    tab.wait("document.querySelectorAll('input[type=radio], input[type=checkbox]').length === 7")
    off = tab.evaluate(
        "[...document.querySelectorAll('input[type=radio], input[type=checkbox]')].map(input => {"
        "const middle = box => box.top + box.height / 2, words = document.createRange();"
        "words.selectNodeContents(input.closest('label').querySelector('bdi'));"
        "return middle(input.getBoundingClientRect()) - middle(words.getBoundingClientRect()) })"
    )
    assert max(map(abs, off)) <= 1, off


def test_a_problem_is_explained_beside_its_line(tab: Tab) -> None:
    tab.open("/catalog/flow/broken")
    tab.wait("document.querySelector('.wrong .explain')")
    assert "misspelt-key" in tab.evaluate("document.querySelector('.wrong').innerText")
    assert not tab.evaluate("document.querySelector('.explain').open")
    tab.evaluate("document.querySelector('.explain summary').focus()")
    tab.press("Enter")
    tab.wait("document.querySelector('.explain').open")
    tab.wait_text(problem_kinds()["misspelt-key"].cure)


def test_what_cannot_be_launched_is_named_with_its_reason(site: Site, tab: Tab) -> None:
    left_out = "document.querySelector('.left-out')?.innerText"
    tab.open("/launch")
    tab.wait(f"{left_out}?.includes('1 cannot be launched:')")
    tab.click_text("broken")
    tab.wait("location.pathname === '/catalog/flow/broken'")
    uses = "phases: [{id: a, steps: [{id: b, node: flow-run, params: {fileName: bad-1}}]}]"
    flows = {"uses-bad": uses, **{f"bad-{number}": BROKEN + "- {id: more, stpes: []}\n" for number in range(1, 7)}}
    files = [site.write(f".handrail/flows/{name}.yaml", text) for name, text in flows.items()]
    tab.open("/launch")
    tab.wait(f"{left_out}?.includes('8 cannot be launched:')")
    shown = tab.evaluate("[...document.querySelectorAll('.left-out li')].map(line => line.innerText)")
    assert shown == [*(f"bad-{number} broken (2 errors)" for number in range(1, 6)), "and 3 more"]
    tab.wait("document.activeElement?.type === 'search'")
    tab.write("uses")
    tab.wait(f"{left_out}?.includes('uses-bad needs bad-1, which has errors')")
    tab.open("/launch")
    tab.click_text("and 3 more")
    tab.wait("location.search === '?problems=1'")
    for file in files:
        file.unlink()


def test_a_session_shows_what_to_do_now(site: Site, tab: Tab) -> None:
    texts = {name: f"---\nid: {name}\nname: {name}\nemoji: x\n---\nDo the {name}.\n" for name in ("plan", "build")}
    workflow = "name: Two\ncommandName: two\ninitialMessage: Go.\nphases: [plan.md, build.md]\n"
    site.write(".handrail/workflows/two/workflow.yaml", workflow)
    for name, text in texts.items():
        site.write(f".handrail/workflows/two/{name}.md", text)
    site.handrail("start", "two", "login page", "--session", "s-two", code=0)
    tab.open("/sessions/s-two")
    tab.wait_text("What to do now")
    tab.wait_text("Do the plan.")
    site.handrail("next", "--summary", "planned", "--session", "s-two", code=0)
    tab.wait_text("Do the build.")
    tab.click_text("Go to…")
    tab.evaluate(
        "(s => { s.value = '1'; s.dispatchEvent(new Event('change', {bubbles: true})) })"
        "(document.querySelector('#goto-phase'))"
    )
    assert tab.evaluate("[...document.querySelectorAll('dialog button')].at(-1).disabled") is True
    tab.click("#goto-reason")
    tab.write("plan it again")
    tab.click_text("Go there")
    tab.wait_text("Do the plan.")
    tab.wait_text("plan it again")
    tab.wait("document.querySelector('dialog') === null")


def test_the_theme_is_remembered(tab: Tab) -> None:
    tab.open("/")
    tab.wait_text("Needs you")
    tab.media(prefers_color_scheme="light")
    light = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    tab.evaluate(
        "(s => { s.value = 'dark'; s.dispatchEvent(new Event('change', {bubbles: true})) })"
        "(document.querySelector('header select'))"
    )
    tab.reload()
    tab.wait_text("Needs you")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") != light
    tab.evaluate("localStorage.clear()")


def test_a_run_goes_on_in_the_page_after_a_restart_of_the_server(site: Site, tab: Tab) -> None:
    run = site.launch("hold")
    tab.open(f"/runs/{run}")
    tab.wait_text("running")
    tab.evaluate(
        "(() => { window.bases = []; const take = EventSource.prototype.addEventListener, ask = window.fetch;"
        "EventSource.prototype.addEventListener = function (kind, heard) { return take.call(this, kind, (event) => {"
        "if (kind === 'rows') window.bases.push(JSON.parse(event.data)); heard(event); }); };"
        "window.fetch = async (...given) => { const answer = await ask(...given);"
        "if (answer.ok && String(given[0]).startsWith('/api/changes')) bases.push(...await answer.clone().json());"
        "return answer; } })()"
    )
    site.stop(signal.SIGKILL)
    tab.wait_text("Connection lost")
    site.serve()
    tab.wait("!document.body.innerText.includes('Connection lost')")
    site.write("go", "")
    site.until(run, "completed")
    (site.folder / "go").unlink()
    tab.wait_text("✓ completed")
    bases = tab.evaluate(f"window.bases.filter(m => m.topic === 'run:{run}').map(m => m.base)")
    assert bases
    assert 0 not in bases


def test_the_oldest_of_five_tabs_asks_instead_of_listening(site: Site, tab: Tab) -> None:
    run = site.launch("hold")
    tab.open(f"/runs/{run}")
    tab.wait_text("running")
    say = "new BroadcastChannel('handrail').postMessage({word: '%s', id: 'zzz' + n})"
    tab.evaluate(f"[1, 2, 3, 4].forEach(n => {{ {say % 'here'} }})")
    asked = "performance.getEntriesByType('resource').filter(one => one.name.includes('/api/changes')).length"
    before = tab.evaluate(asked)
    tab.wait(f"{asked} > {before} + 2")  # a stream is one request, however long it lasts
    site.write("go", "")
    site.until(run, "completed")
    (site.folder / "go").unlink()
    tab.wait_text("✓ completed")
    tab.evaluate(f"[1, 2, 3, 4].forEach(n => {{ {say % 'left'} }})")
    tab.wait_text("live")


def test_a_hidden_tab_tells_of_a_question_once_if_a_person_wants_it(
    chromium: Chromium, site: Site, tab: Tab, context: str
) -> None:
    tab.open("/")
    tab.wait_text("Needs you")
    tab.evaluate(
        "window.told = []; window.Notification = class { static permission = 'granted';"
        "static requestPermission = async () => 'granted';"
        "constructor(title, more) { told.push([title, more.body]) } }; 0"
    )
    tab.click_text("Menu")
    tab.click_text("Notify me")
    tab.wait_text("Do not notify me")
    other = chromium.tab(context, site.base)
    other.call("Page.bringToFront")
    site.made("release", version="7")
    tab.wait("told.length")
    assert tab.evaluate("told") == [["release", "Release 7?"]]
    assert tab.title.startswith("(")
    assert tab.evaluate("document.getElementById('icon').href").endswith("icon-need.svg")
    other.close()
    tab.evaluate("localStorage.clear()")


def test_a_page_that_only_shows_says_why(chromium: Chromium, site: Site) -> None:
    run = site.made("nightly")
    site.stop()
    site.serve("--read-only")
    context = chromium.context()
    tab = chromium.tab(context, site.base)
    tab.open(site.link)
    tab.open(f"/runs/{run}")
    tab.wait_text("--read-only")
    tab.wait("document.querySelector('main button[aria-keyshortcuts=r]')?.disabled")
    tab.press("r")
    assert not tab.evaluate("!!document.querySelector('dialog')")
    chromium.end_context(context)
    site.stop()
    site.serve()
