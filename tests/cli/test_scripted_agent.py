"""The scripted agent uses the same gate, tool and stop policy as a real agent."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import handrail
from handrail.agents.scripted.executor import EXAMPLE
from handrail.agents.scripted.player import ACTIONS, read_script
from handrail.base.errors import HandrailError
from support import Project


@pytest.fixture
def repository(project: Project) -> Project:
    project.workflow("w", ["look", "build"])
    project.phase("w", "look", "tools:\n  blacklist: [edit, write]\n")
    subprocess.run(["git", "init", "-q"], check=True)
    project.json("start", "w", "x", "--session", "S")
    return project


def play(project: Project, script: str, limit: float = 60) -> tuple[list[dict[str, Any]], int]:
    path = project.write("../script.yaml", script)
    argv = [sys.executable, "-m", "handrail.agents.scripted", str(path), str(project.folder), "S"]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=limit, check=False)
    return [json.loads(line) for line in ended.stdout.splitlines()], ended.returncode


def named(events: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [event for event in events if event["event"] == name]


@pytest.mark.whole
def test_a_denied_tool_does_nothing_and_the_agent_gets_the_reason(repository: Project) -> None:
    events, _ = play(repository, "- tool: write\n  input: {path: a.txt, content: hi}\n")
    assert "write is not allowed in the phase Look" in named(events, "denied")[0]["reason"]
    assert not (repository.folder / "a.txt").exists()


@pytest.mark.whole
def test_tools_really_work_in_the_repository(repository: Project) -> None:
    script = (
        "- step: next\n- tool: write\n  input: {path: d/a.txt, content: hello}\n"
        "- tool: edit\n  input: {path: d/a.txt, old: hello, new: bye}\n"
        "- tool: bash\n  input: {command: git status --porcelain d}\n- tool: read\n  input: {path: d/a.txt}\n"
    )
    events, _ = play(repository, script)
    assert [event["output"] for event in named(events, "result")] == [
        "wrote d/a.txt",
        "edited d/a.txt",
        "?? d/\n",
        "bye",
    ]


@pytest.mark.whole
def test_a_tool_cannot_leave_the_working_directory(repository: Project) -> None:
    events, _ = play(repository, "- step: next\n- tool: write\n  input: {path: ../../evil, content: x}\n")
    assert named(events, "result")[0]["ok"] is False


@pytest.mark.whole
def test_an_early_stop_is_sent_on(repository: Project) -> None:
    events, _ = play(repository, "- stop: true\n- say: still here\n")
    assert "you are in the phase • Look" in named(events, "stopped")[0]["sendOn"]
    assert named(events, "say")


@pytest.mark.whole
def test_a_reminder_never_reads_the_same_twice_in_a_phase(repository: Project) -> None:
    events, _ = play(repository, "- stop: true\n- tool: bash\n  input: {command: 'true'}\n" * 4)
    said = [stop["sendOn"] for stop in named(events, "stopped")]
    assert len(set(said)) == len(said) == 4


@pytest.mark.whole
def test_an_agent_without_progress_may_stop_and_gets_a_reason(repository: Project) -> None:
    events, _ = play(repository, "- stop: true\n" * 6)
    stops = named(events, "stopped")
    assert [stop["sendOn"] is not None for stop in stops] == [True, True, True, False]
    assert "no progress" in stops[-1]["letGo"]
    assert repository.json("status", "--session", "S")["status"] == "active"


@pytest.mark.whole
def test_an_agent_with_progress_between_stops_is_sent_on(repository: Project) -> None:
    events, _ = play(repository, "- stop: true\n- tool: bash\n  input: {command: 'true'}\n" * 5)
    assert all(stop["sendOn"] for stop in named(events, "stopped"))


@pytest.mark.whole
def test_a_persons_interrupt_is_final(repository: Project) -> None:
    events, _ = play(repository, "- interrupt: true\n- say: never said\n")
    assert named(events, "stopped")[0]["sendOn"] is None
    assert not named(events, "say")


@pytest.mark.whole
def test_the_person_is_told_once_that_the_workflow_is_done(repository: Project) -> None:
    events, _ = play(repository, "- step: next\n- step: next\n")
    assert "W is done." in named(events, "finished")[0]["farewell"]
    events, _ = play(repository, "- say: hello again\n")
    assert named(events, "finished")[0]["farewell"] is None


@pytest.mark.whole
def test_a_crash_of_the_agent_loses_nothing(repository: Project) -> None:
    _, code = play(repository, "- step: next\n  summary: looked\n- crash: true\n")
    assert code == -9
    view = repository.json("status", "--session", "S")
    assert (view["phase"]["id"], view["summaries"][0]["summary"]) == ("build", "looked")


@pytest.mark.whole
def test_a_hanging_agent_leaves_the_session_usable(repository: Project) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        play(repository, "- step: next\n- hang: 600\n", limit=5)
    assert repository.json("status", "--session", "S")["phase"]["id"] == "build"


def test_an_invalid_script_is_refused_with_its_line(repository: Project) -> None:
    path = repository.write("../bad.yaml", "- say: x\n- shout: y\n")
    argv = [sys.executable, "-m", "handrail.agents.scripted", str(path), ".", "S"]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ":2:3: this line has no action; a line has exactly one" in ended.stderr


@pytest.mark.whole
def test_the_demo_finishes_and_leaves_no_files(project: Project) -> None:
    before = sorted(project.home.rglob("*"))
    said = project.process("demo", TMPDIR=str(project.folder))
    assert said.code == 0, said
    for sign in ("✗ denied", "✗ failed", "✓ passed", "told to continue", "workflow_step loop", "Ship is done."):
        assert sign in said.out
    assert [path.name for path in project.folder.iterdir()] == [".handrail"]
    assert sorted(project.home.rglob("*")) == before


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("tool: workflow_step", "`workflow_step` is not called as a tool (write `step: next`)"),
        ("tol: bash", "this line has no action; a line has exactly one (did you mean `tool`?)"),
        ("{tool: bash, inptu: {command: ls}}", "unknown key `inptu` (did you mean `input`?)"),
        ("{tool: bash, input: ls}", "`input` has to be a mapping, found text `ls`"),
        (
            "step: nxet",
            "`step` has to be `next` or `loop` or `status` or `blocked` or `cancel`, found `nxet`",
        ),
        ("{step: next, sumary: done}", "unknown key `sumary` (did you mean `summary`?)"),
        (
            "usage: {money: 3}",
            "`usage` has no number `money` (its numbers: inputTokens, outputTokens, cachedTokens, usd)",
        ),
        ("usage: {input: 3}", "`usage` has no number `input` (did you mean `inputTokens`?)"),
        ("usage: {usd: much}", "`usd` has to be a number, found text `much`"),
        ("hang: soon", "`hang` has to be a number, found text `soon`"),
        ("{say: a, step: next}", "this line has 2 actions: say, step; a line has exactly one"),
        ("just text", "a line has to be a mapping with one action, found text `just text`"),
    ],
)
def test_a_mistake_in_a_script_is_reported_at_its_place(tmp_path: Path, line: str, told: str) -> None:
    file = tmp_path / "script.yaml"
    file.write_text(f"- say: hello\n- {line}\n", encoding="utf-8")
    with pytest.raises(HandrailError) as error:
        read_script(str(file))
    assert f"{file}:2:" in error.value.message
    assert told in error.value.message


def test_all_mistakes_of_a_script_are_reported_at_once_even_if_another_prompt_would_play_them(tmp_path: Path) -> None:
    file = tmp_path / "script.yaml"
    lines = ["prompts:", "- match: x", "  play: [{sya: a}]", "- play: [{say: b}, {toool: c}]", "- paly: []", ""]
    file.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(HandrailError) as error:
        read_script(str(file), "y")
    assert [line.split(":")[1] for line in error.value.message.splitlines()] == ["3", "4", "5"]


def test_a_step_fails_with_the_mistake_of_its_script(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    script = project.write("script.yaml", "- tool: workflow_step\n")
    project.write(".handrail/flows/f.yaml", "phases: [{id: a, steps: [{id: x, node: scripted-prompt, prompt: Go}]}]")
    monkeypatch.setenv("HANDRAIL_SCRIPT", str(script))
    assert "script.yaml:1:9: `workflow_step` is not called as a tool" in project.json("run", "f", code=1)["error"]


def test_without_a_script_it_says_which_variable_names_one_and_how_to_write_it(
    project: Project, tmp_path: Path
) -> None:
    project.write(".handrail/flows/f.yaml", "phases: [{id: a, steps: [{id: x, node: scripted-prompt, prompt: Go}]}]")
    said = project.run("run", "f")
    assert said.code == 1
    assert "set HANDRAIL_SCRIPT to its path" in said.err
    assert EXAMPLE in said.err
    script = tmp_path / "example.yaml"
    script.write_text(EXAMPLE)
    assert len(read_script(str(script), "Go")) == 2


def test_a_scripted_agent_without_a_script_names_what_one_can_say_and_no_file_of_the_docs(project: Project) -> None:
    step = "{id: x, node: llm-prompt, prompt: go}"
    project.write(".handrail/flows/f.yaml", f"phases:\n- id: a\n  steps:\n  - {step}\n")
    error = project.run("run", "f", "--agent", "scripted").err
    assert "HANDRAIL_SCRIPT" in error
    assert error.endswith(f"{', '.join(ACTIONS)}\n")
    assert "docs/" not in error


def test_what_is_installed_names_no_file_of_the_docs() -> None:
    folder = Path(handrail.__file__).parent
    texts = {file: file.read_text() for ending in ("yaml", "md") for file in (folder / "builtin").rglob(f"*.{ending}")}
    named = [
        str(file) for file, text in texts.items() if re.search(r"^[^#\n]*\bdocs/(guides|reference)", text, re.MULTILINE)
    ]
    assert named == []
