"""The table of checks: which of them run, and what happens if one of them fails."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.machines import Machine
from handrail.doctor import examination
from handrail.doctor.examination import EXAMS, Checkup, Exam, Subject
from handrail.doctor.exams.agents import version_checkup
from handrail.doctor.exams.machine import FEW, FULL, LITTLE, file_system, space_status
from handrail.extensions.registry import Registry
from support import Project

ENDLESS = threading.Event()


def raises(subject: Subject) -> Iterator[Checkup]:
    raise ZeroDivisionError("no luck")


def hangs(subject: Subject) -> list[Checkup]:
    ENDLESS.wait()
    return []


async def hangs_politely(subject: Subject) -> list[Checkup]:
    await asyncio.Event().wait()
    return []


def warns(subject: Subject) -> Iterator[Checkup]:
    yield Checkup("warning", "it is raining", command="true")


@pytest.fixture
def machine(project: Project, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(project, monkeypatch)


def add(patch: pytest.MonkeyPatch, function: str, seconds: float = 20.0) -> None:
    """Register one more check, as an extension does."""
    patch.setitem(EXAMS, "extra", Exam("machine", f"{__name__}:{function}", "one more", seconds))


def test_every_check_is_in_a_category_and_its_function_exists() -> None:
    from handrail.doctor.examination import _function

    assert {exam.category for exam in EXAMS.values()} == examination.CATEGORIES.keys()
    assert all(callable(_function(exam.function)) for exam in EXAMS.values())


def test_only_and_skip_take_categories_checks_and_ids(machine: Machine) -> None:
    assert set(machine.doctor("--only", "git")) == {"git"}
    assert set(machine.doctor("--only", "git", "--only", "disk")) == {"git", "disk"}
    rest = {"python", "identity", "index-lock", "disk", "notify"}
    assert set(machine.doctor("--only", "machine", "--skip", "git")) == rest
    assert set(machine.doctor("--only", "claude.program")) == {"claude.program"}
    assert set(machine.doctor("codex", "--only", "hooks")) == {"codex.user", "codex.switch", "codex.hook.user"}
    assert set(machine.doctor("--only", "services.jira")) == {"services.jira"}
    assert "git" not in machine.doctor("--skip", "machine", "--skip", "hook")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("gti", "`git`"),
        ("credential", "`credentials`"),
        ("claude.progam", "`claude.program`"),
        ("xyzzy", "known: machine"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_ones(machine: Machine, name: str, hint: str) -> None:
    for option in ("--only", "--skip"):
        said = machine.project.run("doctor", option, name)
        assert (said.code, said.out) == (2, "")
        assert f"there is no agent and no check `{name}`" in said.err
        assert hint in said.err


def test_a_probe_takes_no_filters(machine: Machine) -> None:
    assert machine.project.run("doctor", "claude", "--probe", "--only", "git").code == 2


def test_a_warning_counts_only_with_strict(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    add(monkeypatch, "warns")
    said = machine.project.run("doctor", "--only", "extra")
    assert (said.code, said.out.splitlines()) == (
        0,
        [
            "! extra  it is raining",
            "         run `true`",
            "no errors, 1 warning, no checks fine. Warnings do not change the exit code; with `--strict` they do",
        ],
    )
    said = machine.project.run("doctor", "--only", "extra", "--strict")
    assert (said.code, said.out.splitlines()[-1]) == (5, "no errors, 1 warning, no checks fine")
    assert machine.project.run("doctor", "--only", "extra", "--strict", "--json").data["ok"] is False


def test_a_check_that_raises_is_a_finding_and_the_others_go_on(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(monkeypatch, "raises")
    monkeypatch.setitem(EXAMS, "later", Exam("machine", f"{__name__}:warns", "one more"))
    found = machine.project.run("doctor", "--only", "extra", "--only", "later", "--json")
    assert (found.code, found.err) == (5, "")
    raised, later = found.data["checks"]
    assert "gave no result: it failed: ZeroDivisionError: no luck" in raised["message"]
    assert "--skip extra" in raised["fix"]
    assert later["message"] == "it is raining"


@pytest.mark.parametrize("function", ["hangs", "hangs_politely"])
def test_a_check_that_hangs_is_a_finding(machine: Machine, monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    add(monkeypatch, function, seconds=0.1)
    found = machine.doctor("--only", "extra")["extra"]
    assert (found["status"], "it was not done after 0.1 seconds" in found["message"]) == ("error", True)
    ENDLESS.set()


@pytest.mark.whole
def test_a_terminal_shows_which_check_runs_and_for_how_long_and_then_nothing_of_it(machine: Machine) -> None:
    """The version of one agent comes only after the line was seen."""
    asked = machine.home / "asked"
    machine.program("claude", f"until [ -e {asked} ]; do sleep 0.05; done; echo claude 2.1.325")
    argv = [sys.executable, "-m", "handrail", "doctor", "--only", "claude.program"]
    master, slave = pty.openpty()
    env = {**os.environ, "TERM": "xterm"}
    child = subprocess.Popen(argv, cwd=machine.project.folder, env=env, stdout=subprocess.PIPE, stderr=slave)
    try:
        shown = b""
        while b"s\x1b[K" not in shown:
            shown += os.read(master, 65536)
        asked.touch()
        out, _ = child.communicate(timeout=120)
        os.write(slave, b"end")
        while not shown.endswith(b"end"):
            shown += os.read(master, 65536)
    finally:
        child.kill()
        os.close(master)
        os.close(slave)
    assert re.match(rb"\rchecking [a-z.]+: .+, [1-9][0-9]*s\x1b\[K", shown)
    assert shown.endswith(b"\r\x1b[Kend")
    assert out.decode().startswith("✓ claude.program")


def test_a_missing_function_is_a_finding(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    add(monkeypatch, "nothing")
    assert "AttributeError" in machine.doctor("--only", "extra")["extra"]["message"]


def test_the_agents_of_the_tests_count_as_tested() -> None:
    text = (Path(__file__).parents[2] / "scripts" / "agents").read_text()
    wanted = re.findall(r"^want (\w+) \S+ \S+@([\d.]+)", text, re.MULTILINE)
    wanted = [(agent, version) for agent, version in wanted if agent in Registry().installable()]
    assert {agent for agent, _ in wanted} == set(Registry().installable())
    for agent, version in wanted:
        assert version in getattr(Registry().executor(agent), "TESTED", ())


@pytest.mark.parametrize(
    ("free", "files", "status"),
    [
        (LITTLE, None, "ok"),
        (LITTLE - 1, None, "warning"),
        (FULL - 1, None, "error"),
        (LITTLE, FEW, "ok"),
        (LITTLE, FEW - 1, "warning"),
        (LITTLE, 0, "error"),
    ],
)
def test_a_disk_that_is_nearly_full(free: int, files: int | None, status: str) -> None:
    assert space_status(free, files) == status


def test_the_file_system_of_a_path_is_that_of_the_longest_mount() -> None:
    mounts = "dev / ext4 rw 0 0\nhost:/a /mnt nfs4 rw 0 0\nx /mnt/local\\040disk ext4 rw 0 0\n"
    assert file_system("/mnt/state", mounts) == "nfs4"
    assert file_system("/mnt/local disk/state", mounts) == "ext4"
    assert file_system("/mntstate", mounts) == "ext4"
    assert file_system("/x", "") is None


@pytest.mark.parametrize(
    ("found", "status", "words"),
    [
        ("1.4.0", "ok", "was tested"),
        ("1.3.9", "warning", "older than 1.4.0"),
        ("1.10.2", "ok", "newer than 1.9.0"),
        ("1.5.0-rc.1", "ok", "between"),
        ("2.0.0", "warning", "another major version"),
    ],
)
def test_the_version_of_an_agent(found: str, status: str, words: str) -> None:
    checkup = version_checkup("toy", found, ("1.4.0", "1.9.0"))
    assert (checkup.status, words in checkup.message) == (status, True)
