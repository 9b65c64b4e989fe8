"""Makes the pictures in `docs/pictures`: `make pictures`.

The page is a project with runs in every state, looked at in Chromium. The demo is run in a terminal.
"""

from __future__ import annotations

import io
import os
import pty
import signal
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

from browser.chromium import Chromium
from browser.site import Site
from browser.tab import Tab

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
RELEASE = """
description: Checks, reviews in rounds, asks, writes the notes.
params:
  version: {required: true, about: what is released}
phases:
- id: check
  parallel: true
  steps:
  - id: tests
    node: command
    retry: {attempts: 2, wait: 0.5}
    params: {argv: [sh, -c, "test -e tried || { touch tried; sleep 0.2; exit 1; }; sleep 0.2"]}
  - {id: lint, node: command, params: {argv: [sleep, "1"]}}
- repeat: {var: n, max: 3, until: {equals: ["${repeat.n}", 2]}}
  phases:
  - id: review-${n}
    steps:
    - id: look
      node: llm-prompt
      prompt: Review round ${repeat.n}.
      expect: [{run: grep -q round REVIEW.md}]
      makes: [REVIEW.md]
    - {id: fix, node: llm-prompt, prompt: Fix what the review found.}
- id: ask
  steps:
  - id: go
    node: user-input
    params:
      formId: go
      title: Release ${params.version}?
      description: The review has no open finding.
      fields:
      - {id: note, type: text, label: What is new?, required: true, multiline: true}
      - {id: sure, type: boolean, label: Tell the channel?, required: true}
- {id: notes, steps: [{id: write, node: write-file, params: {path: NOTES.md, text: "# ${params.version}\\n"}}]}
"""
NIGHTLY = """
description: The tests of the night.
phases:
- {id: unit, steps: [{id: pytest, node: command, params: {argv: [sh, -c, "echo 1 failed, 40 passed; exit 1"]}}]}
"""
PUBLISH = """
description: Publishes the notes after a person said yes.
phases:
- id: notes
  steps:
  - {id: yes, node: approve, params: {question: Publish the notes?, details: They name three changes.}}
"""
PORT = """
description: Ports a module.
phases:
- id: lint
  steps:
  - {id: ready, node: command, params: {argv: [echo, ready]}}
  - {id: fix, node: command, params: {argv: [sleep, "5"]}}
"""
REVIEW_LOOP = """
description: Reviews a change until it is good.
phases:
- repeat: {var: n, max: 3, until: {equals: ["${repeat.n}", 3]}}
  phases:
  - id: round-${n}
    steps:
    - {id: look, node: llm-prompt, prompt: "Review round ${repeat.n}."}
    - {id: hold, node: command, params: {argv: [sh, -c, "test ${repeat.n} = 1 || sleep 60"]}}
"""
SURVEY = """
description: Asks an agent about the code.
phases:
- {id: ask, steps: [{id: agent, node: llm-prompt, prompt: Count.}]}
"""
PLAN = """
description: Plans a task.
phases:
- {id: plan, steps: [{id: agent, node: llm-prompt, prompt: Plan.}]}
"""
FLOWS = {
    "release": RELEASE,
    "nightly": NIGHTLY,
    "publish": PUBLISH,
    "port": PORT,
    "review-loop": REVIEW_LOOP,
    "survey": SURVEY,
    "plan": PLAN,
}
SCRIPT = """
prompts:
- match: Review round
  play:
  - {tool: read, input: {path: NOTES.txt}}
  - {tool: bash, input: {command: "sleep 1; echo round >> REVIEW.md"}}
  - {tool: write, input: {path: FINDINGS.md, content: one finding}}
  - {usage: {inputTokens: 81234, outputTokens: 2100, usd: 0.28}}
  - {say: One finding is left.}
- match: Count.
  play: [{fail: rate-limit, message: too many requests, resetsIn: 6600}]
- match: Plan.
  play: [{tool: bash, input: {command: sleep 1}}, {usage: {inputTokens: 40000, usd: 0.42}}, {say: Done.}]
- play: [{tool: bash, input: {command: sleep 1}}, {say: It is fixed.}]
"""
TERMINAL = (100, 33)
"""Columns of the terminal of the demo, and the lines that the picture shows."""
CODE = (
    "<body style='margin: 0; background: #0d1117; color: #d1d7e0; font: 14px/1.45 monospace'><pre style='margin: 20px'>"
)
SETTLED = 3.0
"""Seconds until what was launched does what the pictures show."""


def prepare(site: Site) -> str:
    """Put runs and sessions of every state into the project. Returns the id of the run that asks."""
    site.env["HANDRAIL_SCRIPT"] = "script.yaml"
    site.write(".handrail/settings.yaml", "agent: scripted\n")
    site.write("script.yaml", SCRIPT)
    site.write("NOTES.txt", "notes\n")
    for file in (site.folder / ".handrail" / "flows").iterdir():
        file.unlink()
    for name, text in FLOWS.items():
        site.write(f".handrail/flows/{name}.yaml", text)
    site.handrail("run", "plan", code=0)
    site.handrail("start", "plan-build-review", "issue 412", "--session", "P", code=0)
    site.handrail("run", "nightly", code=1)
    port = site.launch("port")
    time.sleep(SETTLED)
    os.kill(site.handrail("runs", port)["driver"], signal.SIGKILL)
    site.launch("review-loop")
    site.launch("survey")
    site.handrail("run", "publish", code=4)
    release = site.launch("release", version="1.2")
    site.until(release, "waiting")
    return release


def take(tab: Tab, name: str, height: int) -> None:
    tab.size(1280 if name != "demo" else 900, height)
    time.sleep(0.5)
    tab.screenshot(FOLDER / f"{name}.png")
    sys.stdout.write(f"{FOLDER / name}.png\n")


def demo_output() -> str:
    """What `handrail demo` prints in a terminal, with its colours."""
    pid, handle = pty.fork()
    if pid == 0:
        os.environ.update({"TERM": "xterm-256color", "COLUMNS": str(TERMINAL[0])})
        os.environ.pop("NO_COLOR", None)
        os.execv(sys.executable, [sys.executable, "-m", "handrail", "demo", "--pace", "0"])
    output = b""
    while True:
        try:
            output += (part := os.read(handle, 65536))
        except OSError:  # the terminal is gone with its program
            part = b""
        if not part:
            break
    os.close(handle)
    assert os.waitpid(pid, 0)[1] == 0, output.decode()
    return output.decode().replace("\r\n", "\n")


def take_demo(tab: Tab, folder: Path) -> None:
    """The beginning of the demo, as a terminal shows it."""
    console = Console(record=True, width=TERMINAL[0], file=io.StringIO(), force_terminal=True, legacy_windows=False)
    console.print(Text.from_ansi("\n".join(demo_output().split("\n")[: TERMINAL[1]])))
    page = folder / "demo.html"
    body = console.export_html(inline_styles=True, theme=SVG_EXPORT_THEME, code_format=CODE + "{code}</pre>")
    page.write_text(f"<!doctype html><meta charset=utf-8>{body}", encoding="utf-8")
    tab.call("Page.navigate", {"url": page.as_uri()})
    tab.wait_text("Build")
    take(tab, "demo", 40 + round(TERMINAL[1] * 20.3))


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="handrail-pictures-") as folder:
        site, chromium = Site(Path(folder)), Chromium()
        try:
            run = prepare(site)
            site.serve()
            tab = chromium.tab(chromium.context(), site.base)
            take_demo(tab, Path(folder))
            tab.size(1280, 800)
            tab.open(site.link)
            tab.wait_text("Needs you")
            take(tab, "home", 640)
            tab.open(f"/runs/{run}?view=progress&step=review-2%2Flook")
            tab.wait_text("Last lines")
            take(tab, "run", 850)
            tab.open(f"/runs/{run}?view=graph")
            tab.wait("document.querySelector('.card')")
            take(tab, "graph", 600)
        finally:
            chromium.end()
            site.stop()
            for row in site.handrail("runs")["runs"]:
                if row["driver"] is not None:
                    site.handrail("stop", row["run"])


if __name__ == "__main__":
    main()
