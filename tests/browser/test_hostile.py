"""What agents and files say is text in the page: nothing of it runs, loads or changes anything, and it can be read."""

from __future__ import annotations

import json

import pytest

from browser.chromium import Chromium
from browser.pages import SHOWN, pages
from browser.site import Site
from browser.tab import Tab

HTML = "<script>window.hacked=1</script><img src=/x onerror=window.hacked=2><svg onload=window.hacked=3></svg>readable"
MARKDOWN = f"""# Words {HTML}

[press me](javascript:window.hacked=4) ![picture](http://evil.example/p.png) <{"javascript:window.hacked=5"}>

<iframe src="http://evil.example/"></iframe>
"""
TERMINAL = (
    "\x1b[31mred\x1b[0m \x1b]0;evil title\x07 \x1b]52;c;ZXZpbA==\x07 "
    "\x1b]8;;http://evil.example\x07link\x1b]8;;\x07 \u202eesrever\u202c"
)
NAME = "<img src=x onerror=window.hacked=6>.md"
FLOW = {
    "description": f"About {HTML}",
    "params": {"task": {"about": HTML}},
    "phases": [
        {
            "id": "say",
            "steps": [
                {"id": "loud", "node": "command", "params": {"argv": ["cat", "loud.txt"]}},
                {
                    "id": "long",
                    "node": "command",
                    "params": {"argv": ["sh", "-c", "head -c 10000000 /dev/zero | tr '\\0' x"]},
                },
                {
                    "id": "write",
                    "node": "write-file",
                    "params": {"path": NAME, "text": MARKDOWN},
                    "makes": [NAME],
                },
            ],
        },
        {
            "id": "ask",
            "steps": [
                {
                    "id": "it",
                    "node": "user-input",
                    "params": {
                        "formId": "it",
                        "title": f"Go on? {HTML}",
                        "description": MARKDOWN + TERMINAL,
                        "fields": [{"id": "a", "type": "text", "label": HTML, "help": HTML, "placeholder": HTML}],
                    },
                }
            ],
        },
    ],
}
HARM = """JSON.stringify([
  window.hacked,
  [...document.querySelectorAll('img, iframe, object, embed')].map(e => e.outerHTML.slice(0, 200)),
  [...document.scripts].map(e => e.src).filter(src => !src.startsWith(location.origin + '/static/')),
  [...document.querySelectorAll('a[href]')].map(e => e.href).filter(h => !/^(https?|mailto):/.test(h)),
  [...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => /^on/i.test(a.name))).length,
])"""
STRANGE = r"/[\u0000-\u0008\u000b-\u001f\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText)"


@pytest.fixture(scope="module")
def run(site: Site) -> str:
    site.write("loud.txt", f"{HTML}\n{TERMINAL}\n")
    site.write(".handrail/flows/hostile.json", json.dumps(FLOW))
    run = site.launch("hostile", task=HTML)
    site.until(run, "waiting")
    return run


@pytest.mark.smoke
def test_no_page_runs_or_loads_anything_of_it(chromium: Chromium, site: Site, context: str, run: str) -> None:
    tab = chromium.tab(context, site.base)
    views = [f"/runs/{run}", *(f"/runs/{run}?view={view}" for view in ("graph", "tail", "summary", "artifacts", "log"))]
    steps = [f"/runs/{run}?step=say/{step}" for step in ("loud", "long", "write")]
    found = pages(tab, [*views, *steps, "/", "/catalog/flow/hostile", "/launch/flow/hostile"])
    shown = ""
    for address in {*found.values(), *steps}:
        tab.open(address)
        tab.wait(SHOWN)
        harm = json.loads(tab.evaluate(HARM))
        assert harm == [None, [], [], [], 0], address
        assert not tab.evaluate(STRANGE), address
        assert "evil" not in tab.title
        shown += tab.text
    assert "readable" in shown
    assert tab.dialogs == []
    tab.close()


def test_the_question_is_text(site: Site, tab: Tab, run: str) -> None:
    tab.open("/")
    tab.wait_text("Go on?")
    assert tab.evaluate("window.hacked") is None
    tab.open(f"/runs/{run}")
    tab.wait_text("Go on?")
    assert "<script>" in tab.text
    assert json.loads(tab.evaluate(HARM))[1:] == [[], [], [], 0]
