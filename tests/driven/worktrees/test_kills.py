"""Handrail, and git itself, are killed at every place. What is left is found, can be resumed, and can be removed."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from depth import Depth
from driven.worktrees.grounds import Ground, problems, problems_of

HANDRAIL = os.path.join(os.path.dirname(sys.executable), "handrail")
WRAPPER = """\
#!/bin/sh
n=$(($(cat "$CALLS") + 1)); echo $n > "$CALLS"
[ "$n.before" = "$KILL" ] && kill -9 $PPID
PATH="${PATH#*:}" git "$@"
code=$?
[ "$n.after" = "$KILL" ] && kill -9 $PPID
exit $code
"""
"""A git that counts its calls, and kills the program that started it before or after one of them."""


class Killer:
    """Runs the command line with a git that kills it at a place."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.calls = ground.project.home.parent / "calls"
        folder = ground.project.home.parent / "wrapper"
        folder.mkdir()
        (folder / "git").write_text(WRAPPER)
        (folder / "git").chmod(stat.S_IRWXU)
        self.path = f"{folder}:{os.environ['PATH']}"

    def run(self, *argv: str, kill: str = "") -> int:
        self.calls.write_text("0")
        env = {**os.environ, "PATH": self.path, "CALLS": str(self.calls), "KILL": kill}
        ended = subprocess.run([HANDRAIL, *argv], env=env, capture_output=True, text=True, timeout=120, check=False)
        return ended.returncode

    @property
    def number(self) -> int:
        return int(self.calls.read_text())


@pytest.fixture
def killer(ground: Ground) -> Killer:
    return Killer(ground)


def check_found(ground: Ground) -> None:
    """Everything that is on the disk belongs to a run, or `doctor` and `prune` find it and remove it."""
    for run in ground.json("runs")["runs"]:
        if run["status"] != "completed":
            ground.run("stop", run["run"])
    said = ground.run("prune", "--keep", "0", "--yes", "--json")
    assert said.code == 0, said
    runs = {run["run"] for run in ground.json("runs")["runs"]}
    owned = [one["run"] for one in ground.listed if one["run"] in runs and one["wouldLose"]]
    left = [one for one in ground.remains if not any(run in one for run in owned)]
    assert left == [], "what has no work, or no run, was removed"
    assert problems(ground) == []


def check_nothing_left(ground: Ground) -> None:
    """A run without work in its worktree leaves nothing after `prune`."""
    check_found(ground)
    assert (ground.remains, ground.branches, problems(ground)) == ([], ["main"], [])


def places(killer: Killer, *argv: str) -> list[str]:
    """All places at which a command calls git: before and after each call. The tests try every third of them."""
    assert killer.run(*argv) == 0
    return [f"{number}.{when}" for number in range(1, killer.number + 1) for when in ("before", "after")]


@pytest.mark.explores
def test_a_run_that_is_killed_at_any_call_of_git_is_resumed_or_removed(
    ground: Ground, killer: Killer, depth: Depth
) -> None:
    command = ("run", "edit", "--worktree", "--merge", "--quiet")
    found = places(killer, *command)
    ground.main.git("reset", "-q", "--hard", ground.first)
    for at, place in enumerate(depth.places(found[::3], every=3)):
        assert killer.run(*command, kill=place) == -signal.SIGKILL, place
        runs = ground.json("runs")["runs"]
        if at % 2 == 0 and runs and runs[0]["status"] == "running":
            assert killer.run("resume", runs[0]["run"], "--quiet") == 0, place
            assert ground.main.subjects == ["Add tea", "first"], place
        check_found(ground)
        for one in ground.listed:
            assert ground.run("worktree", "remove", one["run"], "--force").code == 0
        ground.main.git("reset", "-q", "--hard", ground.first)
        check_nothing_left(ground)


@pytest.mark.explores
def test_a_merge_and_a_removal_that_are_killed_are_finished(ground: Ground, killer: Killer, depth: Depth) -> None:
    def begin() -> str:
        ground.main.git("reset", "-q", "--hard", ground.first)
        run = ground.started("edit")["run"]
        ground.main.write("kept.txt", "two\n")
        ground.main.commit("second")
        return str(run)

    for action in ("merge", "remove"):
        options = ("--force",) if action == "remove" else ()
        found = places(killer, "worktree", action, begin(), *options)
        for place in depth.places(found[::3], every=3):
            run = begin()
            assert killer.run("worktree", action, run, *options, kill=place) == -signal.SIGKILL, place
            if ground.listed:
                said = ground.run("worktree", action, run, *options)
                assert said.code == 0, (action, place, said)
            assert ground.main.git("status", "--porcelain") == "", place
            assert (ground.project.folder / "out.txt").exists() == (action == "merge"), place
            assert ground.remains == [], place


KILLED_GIT = {
    "while files are checked out": "filter",
    "after all files": "hook",
}


@pytest.mark.whole
@pytest.mark.parametrize("place", KILLED_GIT.values(), ids=KILLED_GIT)
def test_a_git_that_is_killed_itself_leaves_nothing(ground: Ground, killer: Killer, place: str) -> None:
    """Git keeps a half-made worktree locked, so `git worktree prune` never removes it."""
    flag = ground.project.home.parent / "kill"
    script = f'[ -e "{flag}" ] || exec cat\nrm "{flag}"; kill -9 $PPID\nexec sleep 1\n'
    if place == "filter":
        smudge = ground.project.home.parent / "smudge"
        smudge.write_text(f"#!/bin/sh\n{script}")
        smudge.chmod(stat.S_IRWXU)
        ground.main.write(".gitattributes", "*.big filter=slow\n")
        ground.main.write("a.big", "x\n")
        ground.main.write("b.big", "y\n")
        ground.main.commit("large")
        ground.main.git("config", "filter.slow.smudge", str(smudge))
    else:
        ground.main.hook("post-checkout", f'[ -e "{flag}" ] && rm "{flag}" && kill -9 $PPID\nexit 0')
    flag.touch()
    said = ground.run("run", "look", "--worktree", "--json")
    assert said.code == 1
    assert not flag.exists(), "git was killed"
    assert any(os.path.sep in one for one in ground.remains), "git left something"
    assert "half-made" in "".join(problems(ground))
    assert ground.run("resume", "last").code == 0
    assert ground.remains == []


def test_doctor_and_prune_find_what_has_no_record(ground: Ground) -> None:
    kept, gone = ground.started("edit"), ground.started("look", "--keep")
    records = ground.project.home / "state" / "worktrees"
    for file in records.iterdir():
        if gone["run"] in file.name or kept["run"] in file.name:
            file.unlink()
    told = "".join(problems_of(ground.run("doctor", "--json")))
    assert os.path.basename(gone["path"]) in told
    said = ground.run("prune", "--yes", "--json")
    assert said.code == 0
    held = "".join(said.data["held"])
    assert kept["path"] in held, "a folder with files is only named"
    assert os.path.isdir(kept["path"])


def test_an_entry_of_git_and_an_empty_branch_are_removed(ground: Ground) -> None:
    path = ground.project.home / "state" / "trees" / "lost"
    ground.main.git("worktree", "add", "-q", "-b", "handrail/lost", str(path))
    ground.main.git("branch", "handrail/busy")
    ground.main.git("worktree", "add", "-q", str(ground.project.home.parent / "mine"), "handrail/busy")
    subprocess.run(["rm", "-r", str(path)], check=True)
    told = "".join(problems(ground))
    assert "entry of git" in told
    first = {item["name"] for item in ground.json("prune", "--yes")["removed"]}
    second = {item["name"] for item in ground.json("prune", "--yes")["removed"]}
    assert Path(next(iter(first))).name == "lost"
    assert second == {"handrail/lost"}
    assert "handrail/busy" in ground.branches, "the person has it checked out"
    assert problems(ground) == []


def test_a_record_that_cannot_be_read_is_named_and_kept(ground: Ground) -> None:
    tree = ground.started("edit")
    (record,) = (ground.project.home / "state" / "worktrees").glob("*.json")
    whole = record.read_text()
    record.write_text("{")
    assert "a record that cannot be read" in "".join(ground.json("prune", "--yes")["held"])
    record.write_text(whole.replace("{", '{"ofALaterVersion": 1, ', 1))
    assert [one["run"] for one in ground.listed] == [tree["run"]]
