"""One file is not "1 files": numbers on the page, with their nouns."""

from __future__ import annotations

import subprocess

import pytest

from browser.site import Site
from browser.tab import Tab

ONE = """
phases:
- repeat: {var: n, max: 1}
  phases:
  - id: round-${n}
    steps: [{id: write, node: write-file, params: {path: x.txt, text: x}, makes: [x.txt]}]
"""
COMMITS = """
phases:
- id: keep
  steps: [{id: it, node: propose, params: {effect: git-commit, params: {message: Write x, files: [x.txt]}}}]
"""


@pytest.fixture(scope="module", autouse=True)
def flows(site: Site) -> None:
    site.write(".handrail/flows/one.yaml", ONE)
    site.write(".handrail/flows/commits.yaml", COMMITS)
    for command in ("init -q", "config user.name A", "config user.email a@example.org", "add -A", "commit -qm first"):
        subprocess.run(["git", *command.split()], cwd=site.folder, env=site.env, check=True)


def test_one_thing_is_not_named_as_many(site: Site, tab: Tab) -> None:
    run = site.made("one")
    tab.open(f"/runs/{run}?view=artifacts")
    tab.wait_text("1 byte ·")
    assert "1/1 step\n" in tab.text
    tab.open("/catalog/flow/one?view=plan")
    tab.wait_text("up to 1 round\n")
    asks = site.made("commits")
    tab.open(f"/needs/next?of=run:{asks}")
    tab.wait("document.querySelector('summary')?.innerText === 'Changed 1 file'")
