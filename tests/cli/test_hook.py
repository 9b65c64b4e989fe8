"""The hook as hosts call it: its own process, standard library only, denies a call if it cannot decide."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import handrail
from support import Project

HOOK = str(Path(handrail.__file__).parent / "hook.py")


@pytest.fixture
def active(project: Project) -> Project:
    project.workflow("w", ["look", "build"])
    project.phase("w", "look", "tools:\n  blacklist: [edit]\n")
    project.json("start", "w", "x", "--session", "S")
    return project


def ask(project: Project, session: str = "S", **request: Any) -> dict[str, Any]:
    body = json.dumps({"project": str(project.folder), "session": session, **request})
    argv = [sys.executable, "-I", "-S", HOOK, "scripted"]
    ended = subprocess.run(argv, input=body, capture_output=True, text=True, timeout=60, check=True)
    reply = json.loads(ended.stdout)
    assert isinstance(reply, dict)
    return reply


def folder(project: Project) -> Path:
    return next((project.home / "state").rglob("card")).parent


def test_a_call_is_answered_without_any_installed_package(active: Project) -> None:
    assert ask(active, event="tool", tool="edit")["allow"] is False
    assert ask(active, event="tool", tool="read")["allow"] is True


def test_an_alias_of_a_denied_tool_is_denied(active: Project) -> None:
    assert ask(active, event="tool", tool="Edit", aliases=["edit"])["allow"] is False
    assert ask(active, event="tool", tool="Edit")["allow"] is True


def test_the_workflow_step_tool_is_always_allowed(active: Project) -> None:
    assert ask(active, event="tool", tool="workflow_step")["allow"] is True


def test_with_no_session_everything_is_allowed(active: Project) -> None:
    assert ask(active, "other", event="tool", tool="edit") == {
        "allow": True,
        "reason": None,
        "tool": "edit",
        "rule": "no-workflow",
    }


def test_a_card_older_than_its_journal_is_not_used(active: Project) -> None:
    old = (folder(active) / "card").read_bytes()
    active.json("next", "--session", "S")
    (folder(active) / "card").write_bytes(old)
    assert ask(active, event="tool", tool="edit")["allow"] is True


@pytest.mark.parametrize("card", [b"", b"garbage", b"00000000 {}\n", None])
def test_an_invalid_card_is_rebuilt_from_the_journal(active: Project, card: bytes | None) -> None:
    path = folder(active) / "card"
    if card is None:
        path.unlink()
    else:
        path.write_bytes(card)
    assert ask(active, event="tool", tool="edit")["rule"] == "blacklist"
    assert ask(active, event="tool", tool="read")["allow"] is True


@pytest.mark.parametrize("name", ["journal", "plan"])
def test_an_undecidable_call_is_denied_with_a_hint(active: Project, name: str) -> None:
    place = folder(active)
    (place / "card").unlink()
    for path in place.glob(f"{name}*"):
        path.write_bytes(b"x\n" + path.read_bytes())
    verdict = ask(active, event="tool", tool="read")
    assert (verdict["allow"], verdict["rule"]) == (False, "undecided")
    assert "handrail cancel --yes" in verdict["reason"]
    assert ask(active, event="tool", tool="workflow_step")["allow"] is True


def test_a_finished_workflow_allows_every_tool(active: Project) -> None:
    active.json("next", "--session", "S")
    active.json("next", "--session", "S")
    assert ask(active, event="tool", tool="edit")["rule"] == "no-workflow"


def test_a_prompt_gets_the_context_and_the_status_line(active: Project) -> None:
    reply = ask(active, event="prompt")
    assert "Do look." in reply["context"]
    assert reply["statusLine"] == "W > • Look [1/2]"


def test_a_stop_without_a_session_is_allowed_silently(active: Project) -> None:
    assert ask(active, "other", event="stop") == {"sendOn": None, "letGo": None, "farewell": None}


def test_invalid_input_is_an_error_without_a_traceback(active: Project) -> None:
    for text in ("", "nonsense", "[]", "{}"):
        argv = [sys.executable, "-I", "-S", HOOK, "scripted"]
        ended = subprocess.run(argv, input=text, capture_output=True, text=True, timeout=60, check=False)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "Traceback" not in ended.stderr


def test_the_fast_path_imports_almost_nothing(active: Project) -> None:
    """Imports take most of the time. `re`, `json` and `typing` each take as long as everything else."""
    code = (
        f"import sys; sys.argv = ['hook', 'scripted']; sys.path.insert(0, {str(Path(HOOK).parent.parent)!r});"
        "from handrail.agents.calls.hook import main; import os; main(['scripted'], os.environ);"
        "sys.stderr.write(' '.join(sorted(sys.modules)))"
    )
    body = json.dumps({"project": str(active.folder), "session": "S", "event": "tool", "tool": "edit"})
    argv = [sys.executable, "-I", "-S", "-c", code]
    ended = subprocess.run(argv, input=body, capture_output=True, text=True, env=dict(os.environ), check=True)
    loaded = set(ended.stderr.split())
    assert not loaded & {
        "re",
        "json",
        "typing",
        "dataclasses",
        "collections",
        "pathlib",
        "hashlib",
        "enum",
        "subprocess",
    }


def denials(project: Project) -> list[dict[str, Any]]:
    """The denied calls as every surface gets them."""
    said = project.run("view", "session:S")
    found: list[dict[str, Any]] = json.loads(said.out)["set"].get("denials", [])
    return sorted(found, key=lambda row: row["last"])


def test_denied_calls_are_counted_and_nothing_secret_or_harmful_of_them_is_kept(
    active: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "tok-1234567890")
    path = {"path": "src/\u202ea\x1b[2J.py", "command": "curl -H tok-1234567890"}
    ask(active, event="tool", tool="read", input=path)
    for _ in range(2):
        ask(active, event="tool", tool="edit", input={**path, "command": None})
    ask(active, event="tool", tool="bash", aliases=["edit"], input=path)
    first, second = denials(active)
    assert (first["tool"], first["rule"], first["count"], first["excerpt"]) == (
        *("edit", "blacklist", 2),
        f"{active.folder}/src/ a [2J.py",
    )
    assert second["excerpt"] == "curl -H [hidden]"
    assert json.loads(active.run("view", "session:S").out)["set"]["head"]["denied"] == 3
    assert b"tok-1234567890" not in (folder(active) / "trail").read_bytes()
    assert (folder(active) / "trail").stat().st_mode & 0o777 == 0o600


def test_the_trail_of_denied_calls_is_bounded_and_a_damaged_one_is_ignored(active: Project) -> None:
    trail = folder(active) / "trail"
    line = json.dumps({"t": 9e9, "tool": "web", "rule": "blacklist", "reason": "x" * 300, "excerpt": "y"})
    trail.write_text(f"{line}\n" * 800)
    assert trail.stat().st_size > 256 * 1024
    ask(active, event="tool", tool="edit")
    assert trail.stat().st_size < 160 * 1024
    assert [row["tool"] for row in denials(active)] == ["edit", "web"]
    trail.write_text('not JSON\n{"t": "x"}\n[1]\nhalf a line')
    assert denials(active) == []
    trail.unlink()
    trail.mkdir()
    assert ask(active, event="tool", tool="edit")["allow"] is False
