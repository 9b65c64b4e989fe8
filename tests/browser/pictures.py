"""Makes the pictures in `docs/pictures`: `make pictures`. A project with runs in every state, looked at in Chromium."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

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
    tab.size(1280, height)
    time.sleep(0.5)
    tab.screenshot(FOLDER / f"{name}.png")
    sys.stdout.write(f"{FOLDER / name}.png\n")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="handrail-pictures-") as folder:
        site, chromium = Site(Path(folder)), Chromium()
        try:
            run = prepare(site)
            site.serve()
            tab = chromium.tab(chromium.context(), site.base)
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
