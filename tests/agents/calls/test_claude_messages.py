"""Claude Code's hook messages as requests, and Handrail's answers as hook output."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.agents.claude import host


def test_a_text_that_is_too_long_for_the_host_is_cut_with_a_note() -> None:
    whole, long = "x" * host.MAX_CONTEXT, "x" * (host.MAX_CONTEXT + 1)
    assert host.cut_text(whole) == whole
    cut = host.cut_text(long)
    assert len(cut) <= host.MAX_CONTEXT
    assert 'Call workflow_step with action "status"' in cut


def test_the_host_counts_most_emoji_as_two() -> None:
    assert host.cut_text("🔍" * (host.MAX_CONTEXT // 2)) == "🔍" * (host.MAX_CONTEXT // 2)
    cut = host.cut_text("🔍" * host.MAX_CONTEXT)
    assert len(cut.encode("utf-16-le")) <= 2 * host.MAX_CONTEXT
    assert "\ufffd" not in cut


def test_a_long_context_reaches_the_host_cut() -> None:
    asked = host.request({"session_id": "C", "hook_event_name": "SubagentStart"})
    assert asked is not None
    answer: Any = {"kind": "context", "text": "y" * 50_000, "title": None, "status_line": None, "notice": None}
    said = host.reply({"hook_event_name": "SubagentStart"}, asked, answer)
    assert said is not None
    assert len(said["hookSpecificOutput"]["additionalContext"]) <= host.MAX_CONTEXT


@pytest.mark.parametrize(
    ("tool", "given", "call"),
    [
        ("Write", {"file_path": "a", "content": ""}, {"runs": None, "reads": (), "writes": ("/p/a",)}),
        ("NotebookEdit", {"notebook_path": "/n"}, {"runs": None, "reads": (), "writes": ("/n",)}),
        ("Read", {"file_path": "a"}, {"runs": None, "reads": ("/p/a",), "writes": ()}),
        ("Bash", {"command": "make"}, {"runs": "make", "reads": (), "writes": ()}),
        ("WebFetch", {"url": "x"}, {"runs": None, "reads": (), "writes": ()}),
        ("Write", {"file_path": 7}, {"runs": None, "reads": (), "writes": ()}),
    ],
)
def test_the_arguments_of_a_call_show_what_it_runs_reads_and_writes(
    tool: str, given: dict[str, Any], call: dict[str, Any]
) -> None:
    assert host.arguments(tool, given, "/p") == call


def test_one_workflow_step_call_is_one_hook() -> None:
    from handrail.agents.claude import install

    matchers = [entry["matcher"] for entry in install.hook_entries("/bin")["PreToolUse"]]
    assert matchers == ["*"]
    assert len(install.hook_entries("/bin")["PreToolUse"][0]["hooks"]) == 1


def test_in_plan_mode_the_agent_is_told_how_to_go_on() -> None:
    told: Any = {"kind": "context", "text": "Do it.", "title": None, "status_line": None, "notice": None}
    sent: Any = {"kind": "stop", "send_on": "Not done.", "let_go": None, "farewell": None}
    for event, answer in (("UserPromptSubmit", told), ("Stop", sent)):
        data = {"hook_event_name": event, "permission_mode": "plan"}
        text = host.reply(data, {}, answer)["hookSpecificOutput"]["additionalContext"]  # type: ignore[arg-type, index]
        assert "call ExitPlanMode" in text
        other = host.reply({**data, "permission_mode": "default"}, {}, answer)  # type: ignore[arg-type]
        assert "ExitPlanMode" not in str(other)
