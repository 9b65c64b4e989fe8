"""Who calls a command: by the variables of each agent, by `HANDRAIL_RUN`, and by the processes above."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from handrail.extensions import registry
from handrail.extensions.callers import Caller, ancestors, find_caller
from handrail.extensions.registry import Registry

SHELL = ("bash", "-l")


def found(env: dict[str, str], *above: tuple[str, ...], has_terminal: bool = False) -> Caller:
    return find_caller(env, above, Registry().signs(), has_terminal=has_terminal)


def test_without_any_sign_of_an_agent_a_terminal_decides() -> None:
    assert found({}, SHELL, has_terminal=True) == Caller("person")
    assert found({}, SHELL) == Caller("script")


@pytest.mark.parametrize("agent", [name for name in registry.AGENTS if Registry().signs()[name][0]])
def test_the_variables_of_an_agent_show_it_even_on_a_terminal(agent: str) -> None:
    for variable in Registry().signs()[agent][0]:
        caller = found({variable: "1"}, SHELL, has_terminal=True)
        assert (caller.by, caller.sign) == (f"agent:{agent}", f"`{variable}` is set")
        assert found({variable: ""}, SHELL).by == "script"


def test_a_step_of_a_run_is_known_by_its_run() -> None:
    assert found({"HANDRAIL_RUN": "r-1"}).by == "run:r-1"


@pytest.mark.parametrize(
    ("by", "words"),
    [
        ("run:unknown", ("/usr/bin/python3", "/home/ada/.local/bin/handrail", "run", "release")),
        ("run:r-1", ("python", "-P", "-m", "handrail", "--project", "/shop", "resume", "r-1", "--first")),
        ("run:r-1", ("handrail", "-v", "--project=/shop", "restart", "r-1")),
        ("run:r-1", ("python", "-m", "handrail", "answer", "r-1", "--file", "-")),
        ("run:r-1", ("handrail.exe", "resume", "r-1")),
        ("script", ("handrail", "web", "--no-open")),
        ("script", ("handrail", "--project", "run", "ui")),
        ("script", ("handrail", "log", "run")),
        ("script", ("vim", "handrail", "run")),
        ("script", ("python", "-c", "handrail", "run")),
        ("script", ("handrail",)),
    ],
)
def test_a_step_that_removes_its_variables_is_known_by_what_drives_its_run(by: str, words: tuple[str, ...]) -> None:
    caller = found({}, SHELL, words, ("init",))
    assert caller.by == by
    assert (caller.sign is None) == (by == "script")


def test_every_agent_says_how_it_is_recognised() -> None:
    assert list(Registry().signs()) == list(registry.AGENTS)
    assert all(programs for _, programs in Registry().signs().values())


@pytest.mark.parametrize("agent", list(registry.AGENTS))
def test_the_program_of_an_agent_above_shows_it_however_it_is_started(agent: str) -> None:
    for program in Registry().signs()[agent][1]:
        ways: list[tuple[str, ...]] = [
            ("/usr/bin/node", "--no-warnings", f"/lib/{program}"),
            ("python3.11", "-m", program),
        ]
        if "/" not in program:
            ways += [
                (program,),
                (f"/opt/bin/{program}", "--resume"),
                ("/bin/sh", f"/opt/{program}"),
                (f"{program}.exe",),
            ]
        for words in ways:
            assert found({}, SHELL, words, ("init",)).by == f"agent:{agent}", words


@pytest.mark.parametrize(
    "words",
    [
        ("vim", "claude"),
        ("bash", "-c", "cat pi codex"),
        ("node", "/lib/other/cli.js"),
        ("python", "-m", "handrail", "status", "--agent", "codex"),
        ("pip",),
        ("",),
        (),
    ],
)
def test_a_program_that_only_mentions_an_agent_is_none(words: tuple[str, ...]) -> None:
    assert found({}, words).by == "script"


def test_the_processes_above_are_found() -> None:
    assert any("pytest" in word for words in ancestors(child_of_pytest()) for word in words)


def child_of_pytest() -> int:
    """The id of a process that waits for its input to end; it ends with the test."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    CHILDREN.append(child)
    return child.pid


CHILDREN: list[subprocess.Popen[bytes]] = []


@pytest.fixture(autouse=True)
def _end_children() -> Iterator[None]:
    yield
    while CHILDREN:
        CHILDREN.pop().communicate()


def test_without_proc_the_processes_above_come_from_ps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "isdir", lambda path: not str(path).startswith("/proc"))
    assert any("pytest" in word for words in ancestors(child_of_pytest()) for word in words)


def test_a_process_that_cannot_be_read_ends_the_search() -> None:
    assert list(ancestors(2**22 + 1)) == []


@pytest.mark.parametrize(
    ("above", "has_shell"),
    [
        ([("tmux: server",), ("/usr/bin/tmux", "(its program)")], False),
        ([("sh", "-c", "handrail cancel --yes"), ("/bin/dash", "(its program)"), ("tmux",)], False),
        ([("bash", "task.sh"), ("tmux",)], False),
        ([("-zsh",), ("tmux",)], True),
        ([("bash", "--login", "-i"), ("sshd",)], True),
        ([], True),
    ],
)
def test_a_terminal_without_an_interactive_shell_is_known(above: list[tuple[str, ...]], has_shell: bool) -> None:
    caller = found({}, *above, has_terminal=True)
    assert (caller.by, caller.has_shell) == ("person", has_shell)
