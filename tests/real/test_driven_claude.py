"""Handrail runs Claude Code in flows: prompts, headless workflows, kills. This needs no installation."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from handrail.agents.claude.offline import STEP
from real.claude import Claude
from real.guests.guest import HANDRAIL, Phase
from real.model import Model, Turn
from real.turns import bash, call, step, write
from real.waiting import LONG, said, until

FLOW = """\
phases:
- id: a
  steps:
  - id: ask
    node: llm-prompt
    prompt: 'Write proof.md about ${params.what}.'
    params: {requiredArtifacts: [proof.md]}
"""


def drive(claude: Claude, *argv: str, code: int = 0, **env: str) -> dict[str, Any]:
    ended = subprocess.run(
        [HANDRAIL, *argv, "--json"],
        cwd=claude.project,
        env={**claude.env, **env},
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert ended.returncode == code, ended.stdout + ended.stderr
    data: dict[str, Any] = json.loads(ended.stdout)
    return data


def nested(claude: Claude) -> None:
    closed = "tools:\n  blacklist: [edit, write]\n"
    claude.workflow("release", Phase("plan", closed), "@review", Phase("ship"))
    claude.workflow("review", Phase("judge", "exit:\n  - file: report.txt"), head="show: workflows\n")


def test_a_prompt_of_a_flow_is_done_and_its_usage_is_known(bare: Claude, model: Model) -> None:
    bare.write(".handrail/flows/ask.yaml", FLOW)
    model.script(write(bare, "proof.md"), Turn("Written."))
    data = drive(bare, "run", "ask", "--agent", "claude", "--param", "what=tea")
    value = data["phases"][0]["steps"][0]["value"]
    assert (value["executor"], value["output"]) == ("claude", "Written.")
    assert [artifact["path"] for artifact in data["artifacts"]] == ["proof.md"]
    assert data["usage"]["inputTokens"] > 0
    assert data["usage"]["outputTokens"] > 0
    assert data["usage"]["usd"] is not None
    assert "Write proof.md about tea." in model.last_texts()


@pytest.mark.parametrize("installed", [(), ("",), ("--project",), ("", "--project")], ids=" and ".join)
def test_a_nested_workflow_runs_headless_to_its_end(bare: Claude, model: Model, installed: tuple[str, ...]) -> None:
    """One tool call is denied, one stop is too early, and once the agent reaches its own limit."""
    for where in installed:
        bare.handrail("install", "claude", *where.split())
    nested(bare)
    offered = "mcp__handrail__workflow_step" if "--project" in installed else STEP  # the project's server hides ours

    def step(action: str, summary: str) -> Turn:
        return call(offered, action=action, summary=summary)

    model.script(
        write(bare, "too-early.txt"),
        Turn("I stop."),
        step("next", "planned"),
        Turn("I stop."),
        Turn("I stop again, and my host lets me."),
        write(bare, "report.txt"),
        step("next", "judged"),
        step("next", "shipped"),
        Turn("All done."),
    )
    data = drive(bare, "run", "release", "the", "login", "--agent", "claude", CLAUDE_CODE_STOP_HOOK_BLOCK_CAP="1")
    value = data["phases"][0]["steps"][0]["value"]
    assert (data["status"], value["status"], value["denied"]) == ("completed", "done", 1)
    assert value["calls"] == 2, "the agent reached its own limit and was resumed in its conversation"
    assert not (bare.project / "too-early.txt").exists()
    assert (bare.project / "report.txt").exists()
    assert (bare.home / ".claude" / "skills").exists() is ("" in installed), "a run installs nothing"
    assert data["usage"]["outputTokens"] > 0


def test_a_workflow_runs_headless_in_a_worktree(bare: Claude, model: Model) -> None:
    """The phases hold there, the exit check looks there, and the agent may change files there."""
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    for argv in (["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *who, *argv], cwd=bare.project, check=True)
    nested(bare)
    model.script(
        bash("touch sign"),
        write(bare, "too-early.txt"),
        step("next", summary="planned"),
        bash("echo fine > report.txt"),
        step("next", summary="judged"),
        step("next", summary="shipped"),
        Turn("All done."),
    )
    data = drive(bare, "run", "release", "tea", "--agent", "claude", "--worktree")
    tree, value = Path(data["worktree"]["path"]), data["phases"][0]["steps"][0]["value"]
    assert (data["status"], value["status"], value["denied"]) == ("completed", "done", 1)
    assert (tree / "report.txt").read_text() == "fine\n"
    assert not [name for name in ("sign", "report.txt", "too-early.txt") if (bare.project / name).exists()]


def test_a_headless_workflow_without_hooks_is_stopped_at_its_first_tool_call(bare: Claude, model: Model) -> None:
    nested(bare)
    (bare.home / ".claude" / "settings.json").write_text('{"disableAllHooks": true}')
    model.script(bash("sleep 60; touch slept"), step("next"), Turn("Done."))
    data = drive(bare, "run", "release", "tea", "--agent", "claude", code=1)
    assert data["reason"] == "unguarded at release/run"
    assert "`claude` did not call Handrail's hooks" in data["error"]
    assert not (bare.project / "slept").exists()


@pytest.mark.parametrize("victim", ["agent", "handrail"])
def test_after_a_kill_finished_phases_are_not_repeated(bare: Claude, model: Model, victim: str) -> None:
    nested(bare)
    marker = bare.project / "working"
    model.script(
        step("next", "planned"),
        bash(f"echo $PPID > {marker}; sleep 120"),
    )
    process = subprocess.Popen(
        [HANDRAIL, "run", "release", "tea", "--agent", "claude", "--quiet"],
        cwd=bare.project,
        env=bare.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        until(lambda: said(marker) or process.poll() is not None, "the agent's command")
        assert process.poll() is None
        model.script(write(bare, "report.txt"), step("next", "judged"), step("next", "shipped"), Turn("Done."))
        if victim == "agent":
            kill_tree(claude_of(process.pid))
            assert process.wait(LONG) == 0
            run = drive(bare, "runs", drive(bare, "runs")["runs"][0]["run"])
        else:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            drive(bare, "stop", drive(bare, "runs")["runs"][0]["run"])
            run = drive(bare, "resume", drive(bare, "runs")["runs"][0]["run"])
    finally:
        process.kill()
        process.wait()
    value = run["phases"][0]["steps"][0]["value"]
    assert (run["status"], value["status"]) == ("completed", "done")
    assert [summary["summary"] for summary in value["summaries"]] == ["planned", "judged", "shipped"]


def children(pid: int) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == pid:
                found.append(int(name))
    return found


def claude_of(pid: int) -> int:
    return next(child for child in children(pid) if "claude" in Path(f"/proc/{child}/cmdline").read_text())


def kill_tree(pid: int) -> None:
    for child in children(pid):
        kill_tree(child)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("turn", "outcome"),
    [
        (Turn(status=401), "auth"),
        (Turn(status=529), "unavailable"),
    ],
    ids=["auth", "unavailable"],
)
def test_service_errors_are_classified(bare: Claude, model: Model, turn: Turn, outcome: str) -> None:
    bare.write(".handrail/flows/ask.yaml", FLOW)
    model.script(*[turn] * 12)
    data = drive(bare, "run", "ask", "--agent", "claude", "--param", "what=tea", code=1)
    assert data["reason"] == f"{outcome} at a/ask", data["error"]
