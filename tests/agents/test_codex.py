"""Codex: the command line for a job, and the events read from its output."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from handrail.agents.codex import executor, host
from handrail.extensions.contracts import AgentJob, AgentSaid, NodeError, Stubs

SAMPLES = Path(__file__).parent.parent / "agents" / "samples" / "codex"
THREAD = "01a1e197-3365-7790-9ad7-6707fe4a0388"
STRICT = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
LOOSE = {"type": "object", "properties": {"a": {"type": "integer"}}}


def job(**changes: Any) -> AgentJob:
    return replace(AgentJob(prompt="do it", cwd="/project", env={"HOME": "/nowhere"}, timeout=60.0), **changes)


def heard(
    events: list[dict[str, Any]], given: AgentJob | None = None, code: int = 0, errors: str = ""
) -> list[AgentSaid]:
    reader = executor.reader(given or job(), "/private")
    said = [said for event in events for said in reader.take(event)]
    return [*said, *reader.end(code, errors)]


def sample(case: str) -> list[AgentSaid]:
    about = json.loads((SAMPLES / f"{case}.json").read_text())
    lines = (SAMPLES / f"{case}.jsonl").read_text().splitlines()
    return heard([json.loads(line) for line in lines], code=about["code"], errors=about["stderr"])


def kinds(said: list[AgentSaid]) -> list[str]:
    return [one.kind for one in said]


def turn(*items: dict[str, Any], **usage: int) -> list[dict[str, Any]]:
    """A successful turn with these items."""
    begin = [{"type": "thread.started", "thread_id": THREAD}, {"type": "turn.started"}]
    middle = [{"type": "item.completed", "item": item} for item in items]
    return [*begin, *middle, {"type": "turn.completed", "usage": usage}]


def recorded(home: Path, *totals: dict[str, int]) -> dict[str, str]:
    """An environment with a thread file that contains these token counts."""
    path = home / ".codex" / "sessions" / "2026" / "11" / "15" / f"rollout-2026-11-15T23-42-25-{THREAD}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines: list[dict[str, Any]] = [{"type": "session_meta", "payload": {"id": THREAD}}]
    infos = [{"total_token_usage": total} for total in totals]
    lines += [{"type": "event_msg", "payload": {"type": "token_count", "info": info}} for info in [None, *infos]]
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return {"HOME": str(home)}


def test_a_successful_turn_is_reported_event_by_event() -> None:
    said = sample("success")
    assert kinds(said) == ["session", "text", "tool", "result", "text", "usage", "finished"]
    change = {"changes": [{"path": "/project/made.txt", "kind": "add"}]}
    assert said[2].data == {"id": "item_1", "name": "apply_patch", "input": change}
    assert said[3].data == {"id": "item_1", "ok": True, "output": ""}
    assert said[5].data == {"inputTokens": 2200, "outputTokens": 70, "cachedTokens": 1400, "usd": None}
    text = "It is written."
    assert said[6].data == {"outcome": "done", "message": None, "resetsAt": None, "text": text, "structured": None}


@pytest.mark.parametrize(
    ("case", "outcome", "words"),
    [("401", "auth", "Incorrect API key"), ("429", "rate-limit", "429"), ("spent", "quota", "hit your usage limit")],
)
def test_a_service_error_is_classified(case: str, outcome: str, words: str) -> None:
    said = sample(case)
    assert said[-1].data["outcome"] == outcome
    assert words in said[-1].data["message"]
    assert "usage" not in kinds(said)


def test_a_retry_is_reported_and_is_not_a_failure() -> None:
    said = sample("401")
    assert kinds(said) == ["session", "retry", "finished"]
    assert said[1].data["message"].startswith("Reconnecting... 1/1")
    again = [{"type": "error", "message": "Reconnecting... 1/5 (x)"}]
    assert heard([*again, *turn(input_tokens=1)])[-1].data["outcome"] == "done"


def test_commands_and_mcp_calls_are_reported_as_tools() -> None:
    shell = {"id": "1", "type": "command_execution", "command": "ls", "aggregated_output": "no\n", "exit_code": 2}
    content = [{"type": "text", "text": "noted"}]
    call = {"id": "2", "type": "mcp_tool_call", "server": "wf", "tool": "step", "arguments": {"a": 1}}
    quiet = [{"id": "3", "type": name, "text": "x"} for name in ("reasoning", "todo_list", "error")]
    items: list[dict[str, Any]] = [
        {**shell, "status": "failed"},
        {**call, "result": {"content": content}, "status": "completed"},
        *quiet,
    ]
    said = heard(turn(*items))
    assert kinds(said) == ["session", "tool", "result", "tool", "result", "usage", "finished"]
    assert [one.data for one in said[1:5]] == [
        {"id": "1", "name": "Bash", "input": {"command": "ls"}},
        {"id": "1", "ok": False, "output": "no\n"},
        {"id": "2", "name": "mcp__wf__step", "input": {"a": 1}},
        {"id": "2", "ok": True, "output": "noted"},
    ]


def test_a_declined_or_rejected_call_is_reported_as_denied() -> None:
    declined = {"id": "1", "type": "command_execution", "command": "rm x", "status": "declined"}
    errors = "2026 ERROR codex_core::tools::router: error=patch rejected: writing outside of the project; x\n"
    said = [one for one in heard(turn(declined), errors=errors) if one.kind == "denied"]
    assert [one.data["name"] for one in said] == ["Bash", "apply_patch"]
    assert said[1].data["reason"] == "patch rejected: writing outside of the project; x"


def test_a_program_that_exits_before_its_turn_is_complete_has_crashed() -> None:
    begun = turn()[:2]
    assert heard(begun, code=0)[-1].data["outcome"] == "crash"
    finished = heard([], code=1, errors="WARNING: x\nError: no rollout found for thread id 1\n")[-1].data
    assert (finished["outcome"], finished["text"]) == ("crash", None)
    assert finished["message"] == "it ended with exit code 1: Error: no rollout found for thread id 1"


def test_a_completed_turn_is_done_with_any_exit_code() -> None:
    assert heard(turn(input_tokens=1), code=1)[-1].data["outcome"] == "done"


def test_usage_before_the_job_is_subtracted(tmp_path: Path) -> None:
    first, last = {"input_tokens": 100, "output_tokens": 10}, {"input_tokens": 300, "output_tokens": 30}
    given = job(session=THREAD, env=recorded(tmp_path, first, last))
    said = heard(turn(input_tokens=307, output_tokens=33), given)
    assert said[1].data == {"inputTokens": 7, "outputTokens": 3, "cachedTokens": None, "usd": None}


def test_a_thread_without_earlier_usage_starts_at_zero(tmp_path: Path) -> None:
    said = heard(turn(input_tokens=7), job(session=THREAD, env=recorded(tmp_path)))
    assert said[1].data["inputTokens"] == 7


def test_usage_is_unknown_if_the_usage_before_the_job_is_unknown(tmp_path: Path) -> None:
    said = heard(turn(input_tokens=307, output_tokens=33), job(session=THREAD, env={"HOME": str(tmp_path)}))
    assert said[1].data == {"inputTokens": None, "outputTokens": None, "cachedTokens": None, "usd": None}


def test_usage_of_a_failed_turn_is_read_from_the_threads_file(tmp_path: Path) -> None:
    env = recorded(tmp_path, {"input_tokens": 100, "output_tokens": 10})
    failed = [*turn()[:2], {"type": "turn.failed", "error": {"message": "overloaded"}}]
    said = heard(failed, job(env=env))
    assert kinds(said) == ["session", "usage", "finished"]
    assert said[1].data == {"inputTokens": 100, "outputTokens": 10, "cachedTokens": None, "usd": None}
    assert "usage" not in kinds(heard(failed, job(env=env, session=THREAD)))


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_the_reset_time_of_a_plan_is_read_in_local_time(zone: str) -> None:
    moment = datetime.now(ZoneInfo(zone)) + timedelta(days=2)
    words = f"You’ve hit your usage limit, try again at {moment:%b} {moment.day}th, {moment:%Y} {moment:%I:%M %p}."
    failed = [{"type": "turn.failed", "error": {"message": words}}]
    resets_at = heard(failed, job(env={"TZ": zone}))[-1].data["resetsAt"]
    assert 0 <= resets_at - moment.timestamp() <= 60


def test_a_reset_time_in_the_past_or_in_an_unknown_zone_is_ignored() -> None:
    later = datetime.now(UTC) + timedelta(days=2)
    for words, zone in (("Jan 1st, 2026 1:00 AM", "UTC"), (f"{later:%b %dth, %Y} 1:00 AM", "Nowhere/Else")):
        failed = [{"type": "turn.failed", "error": {"message": f"You’ve hit your usage limit, try again at {words}."}}]
        assert heard(failed, job(env={"TZ": zone}))[-1].data["resetsAt"] is None


def test_malformed_lines_are_ignored() -> None:
    odd: list[dict[str, Any]] = [{}, {"type": 3}, {"type": "item.completed"}, {"type": "turn.failed", "error": "x"}]
    odd += [{"type": "item.completed", "item": []}, {"type": "turn.completed", "usage": None}]
    assert heard(odd)[-1].data["outcome"] == "done"


@pytest.mark.parametrize(
    ("permissions", "flag"),
    [
        ("read", "--sandbox=read-only"),
        ("work", "--sandbox=workspace-write"),
        ("full", "--dangerously-bypass-approvals-and-sandbox"),
    ],
)
def test_permissions_select_the_sandbox(permissions: str, flag: str) -> None:
    argv = executor.launch(job(permissions=permissions), "/private").argv
    assert [one for one in argv if "sandbox" in one] == [flag]
    assert 'approval_policy="never"' in argv


def test_the_prompt_is_not_an_argument() -> None:
    launch = executor.launch(job(prompt="-x $(rm) 'ä'", model="--gpt"), "/private")
    assert launch.argv[-1] == "-"
    assert launch.stdin == "-x $(rm) 'ä'".encode()
    assert "--model=--gpt" in launch.argv


def test_a_conversation_is_resumed_only_by_its_id() -> None:
    argv = executor.launch(job(session=THREAD, extra=("--search",)), "/p").argv
    assert argv[-4:] == ("--search", "resume", THREAD, "-")
    for session in ("--last", "my thread"):
        with pytest.raises(NodeError) as caught:
            executor.launch(job(session=session), "/p")
        assert (caught.value.code, caught.value.transient) == ("session-unknown", False)


def test_a_schema_is_passed_as_a_file() -> None:
    launch = executor.launch(job(schema=STRICT), "/private")
    assert "--output-schema=/private/schema.json" in launch.argv
    assert json.loads(launch.files["schema.json"]) == STRICT
    assert launch.stdin == b"do it"


@pytest.mark.parametrize(
    "schema", [LOOSE, {"type": "integer"}, {**STRICT, "properties": {"a": LOOSE}}, {**STRICT, "not": {}}]
)
def test_a_schema_that_the_service_does_not_accept_is_added_to_the_prompt(schema: dict[str, Any]) -> None:
    launch = executor.launch(job(schema=schema), "/private")
    assert not launch.files
    assert launch.stdin is not None
    assert json.dumps(schema) in launch.stdin.decode()


def test_the_json_answer_is_read_if_there_is_a_schema() -> None:
    message = {"id": "1", "type": "agent_message", "text": '{"a": 3}'}
    assert heard(turn(message), job(schema=STRICT))[-1].data["structured"] == {"a": 3}
    assert heard(turn(message))[-1].data["structured"] is None


GUIDED = Stubs(("python", "hook.py"), ("handrail",), "1", state="/state", conversation="C")


def settings_of(argv: tuple[str, ...]) -> dict[str, Any]:
    """The settings on a command line, as Codex reads them."""
    return tomllib.loads("\n".join(argv[i + 1] for i, word in enumerate(argv) if word == "-c"))


def test_a_guided_job_brings_its_hooks_and_their_trust() -> None:
    launch = executor.launch(job(stubs=GUIDED, env={"HOME": "/h", "OWN": "1"}), "/private")
    given = settings_of(launch.argv)
    state = given["hooks"].pop("state")
    assert set(launch.files) == {"stubs/gate", "stubs/prompt", "stubs/event"}
    commands = [group["hooks"][0]["command"] for (group,) in given["hooks"].values()]
    assert all("/private/stubs/" in command for command in commands)
    assert set(state) == {f"/<session-flags>/config.toml:{name}:0:0" for name in EVENTS}
    server = given["mcp_servers"]["handrail"]
    assert (server["required"], server["default_tools_approval_mode"]) == (True, "approve")
    assert server["env"] == {"HANDRAIL_STATE": "/state", "HANDRAIL_FOR_ONE_CALL": "C"}
    assert {"HOME", "OWN"} <= set(server["env_vars"]), "exit checks run in the server"
    assert (given["features"]["unified_exec_tty"], given["web_search"]) == (False, "disabled")
    assert not any("danger" in word for word in launch.argv)


def test_a_guided_job_continues_its_thread() -> None:
    thread = "01a1e69f-d894-75a2-a801-7ca682bf2cd0"
    launch = executor.launch(job(stubs=GUIDED, session=thread), "/private")
    assert launch.argv[-3:] == ("resume", thread, "-")


@pytest.mark.parametrize("prompt", ["$workflow w tea", "/workflow w tea", " $cancel-workflow"])
def test_a_prompt_of_a_flow_is_never_a_command(prompt: str) -> None:
    sent = executor.launch(job(prompt=prompt), "/private").stdin
    assert sent is not None
    assert host.typed_command(sent.decode()) == (None, "")


EVENTS = ("pre_tool_use", "user_prompt_submit", "session_start", "subagent_start", "stop")
BLOCKED = (
    "2026-11-16T23:10:00.686437Z ERROR codex_core::tools::router: error=Command blocked by PreToolUse hook: "
    "apply_patch is not allowed in the phase Plan.\nGo on.. Command: *** Begin Patch\n+x\n"
    "2026-11-16T23:10:01.686437Z ERROR codex_core::tools::router: error=Tool call blocked by PreToolUse hook: "
    "not now. Tool: mcp__notes__add\n"
)


def test_calls_that_a_hook_blocked_are_reported() -> None:
    said = list(executor.reader(job(), "/private").end(0, BLOCKED))
    denied = [one.data for one in said if one.kind == "denied"]
    assert [one["name"] for one in denied] == ["apply_patch", "mcp__notes__add"]
    assert "is not allowed in the phase Plan" in denied[0]["reason"]
