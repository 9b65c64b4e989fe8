"""Installing into every host and removing it again: byte for byte, and running conversations are free at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from handrail.agents.probe.scripted_model import Turn
from real.guests.guest import Guest, Phase


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, except Handrail's own state."""
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: data for name, data in found.items() if not name.startswith((".local/", ".cache/"))}


@pytest.mark.spread(2)
@pytest.mark.parametrize("scope", ["--user", "--project"])
def test_uninstalling_restores_every_file(guest: Guest, scope: str) -> None:
    guest.handrail("uninstall", guest.name)
    for path, text in guest.settings().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    before = (files(guest.home), files(guest.project))
    planned = guest.handrail("install", guest.name, scope, "--dry-run")
    assert (files(guest.home), files(guest.project)) == before
    told = json.loads(guest.handrail("install", guest.name, scope, "--json").stdout)
    after = (files(guest.home), files(guest.project))
    assert after != before
    changed = [
        folder / name
        for folder, old, new in ((guest.home, before[0], after[0]), (guest.project, before[1], after[1]))
        for name in new
        if old.get(name) != new[name]
    ]
    assert sorted(map(str, changed)) == sorted(row["path"] for row in told["files"] if row["change"] != "unchanged")
    assert all(path.name in planned.stdout for path in changed)
    again = json.loads(guest.handrail("install", guest.name, scope, "--json").stdout)
    assert {row["change"] for row in again["files"]} == {"unchanged"}
    guest.handrail("uninstall", guest.name, scope)
    assert (files(guest.home), files(guest.project)) == before


@pytest.mark.rarely("opencode")
def test_a_conversation_that_runs_is_free_after_uninstalling(guest: Guest) -> None:
    guest.workflow("w", Phase("look", "tools:\n  blacklist: [edit, write]"))
    guest.file(".handrail/settings.yaml", "idleStops: 0\n")
    guest.model.script(guest.write("bound.txt"), Turn("I may not."))
    with guest.screen() as screen:
        screen.say(f"{guest.start_command} w tea")
        shown = screen.wait("I may not.")
        assert guest.at() == "look", shown
        guest.handrail("uninstall", guest.name)
        guest.model.script(guest.write("free.txt"), Turn("It is written."))
        screen.say("write it")
        screen.wait("It is written.")
    assert (guest.made("bound.txt"), guest.made("free.txt")) == (False, True)


def test_the_installation_of_a_project_works(guest: Guest) -> None:
    guest.handrail("uninstall", guest.name)
    guest.handrail("install", guest.name, "--project")
    guest.workflow("w", Phase("look", "tools:\n  blacklist: [edit, write]"), Phase("build"))
    guest.model.script(
        guest.write("bound.txt"), guest.project_step("next"), guest.project_step("next"), Turn("All done.")
    )
    guest.start("w tea")
    assert not guest.made("bound.txt")
    assert guest.at() == "done"
