"""Gemini CLI: the command line for a job, and the events read from its output."""

from __future__ import annotations

import json
import time
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handrail.agents.gemini import executor
from handrail.extensions.contracts import AgentJob, AgentSaid, Launch, NodeError, Stubs

SAMPLES = Path(__file__).parent.parent / "agents" / "samples" / "gemini"
CONVERSATION = "9625fa05-b10d-4fc0-9ea3-a419ed37283d"
STATS = {"total_tokens": 342, "input_tokens": 303, "output_tokens": 33, "cached": 15, "input": 288}
INIT = {"type": "init", "session_id": CONVERSATION}
SUCCESS = {"type": "result", "status": "success", "stats": STATS}


def job(**changes: Any) -> AgentJob:
    return replace(AgentJob(prompt="do it", cwd="/project", env={"HOME": "/home/me"}, timeout=60.0), **changes)


def heard(*events: dict[str, Any], given: AgentJob | None = None, code: int = 0, errors: str = "") -> list[AgentSaid]:
    reader = executor.reader(given or job(), "/private")
    said = [said for event in events for said in reader.take(event)]
    return [*said, *reader.end(code, errors)]


def sample(case: str) -> list[AgentSaid]:
    about = json.loads((SAMPLES / f"{case}.json").read_text())
    lines = (SAMPLES / f"{case}.jsonl").read_text().splitlines()
    return heard(*[json.loads(line) for line in lines], code=about["code"], errors=about["stderr"])


def kinds(said: list[AgentSaid]) -> list[str]:
    return [one.kind for one in said]


def words(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": text, "delta": True}


def failed(message: str) -> dict[str, Any]:
    return {"type": "result", "status": "error", "error": {"type": "unknown", "message": message}, "stats": {}}


def test_a_successful_turn_is_reported_event_by_event() -> None:
    said = sample("success")
    assert kinds(said) == ["session", "text", "tool", "result", "text", "usage", "finished"]
    given = {"file_path": "/project/made.txt", "content": "made\n"}
    assert said[2].data == {"id": "write_file__fc_0002", "name": "write_file", "input": given}
    assert said[3].data == {"id": "write_file__fc_0002", "ok": True, "output": ""}
    assert said[5].data == {"inputTokens": 2200, "outputTokens": 70, "cachedTokens": 1400, "usd": None}
    text = "It is written."
    assert said[6].data == {"outcome": "done", "message": None, "resetsAt": None, "text": text, "structured": None}


@pytest.mark.parametrize(
    ("case", "outcome", "message"),
    [("401", "auth", "invalid authentication"), ("429", "rate-limit", "Please retry in"), ("spent", "quota", "daily")],
)
def test_a_service_error_is_classified(case: str, outcome: str, message: str) -> None:
    said = sample(case)
    assert said[-1].data["outcome"] == outcome
    assert message in said[-1].data["message"]
    assert "usage" not in kinds(said)


def test_a_short_limit_has_a_reset_time() -> None:
    at = sample("429")[-1].data["resetsAt"]
    assert time.time() < at < time.time() + 2
    assert sample("spent")[-1].data["resetsAt"] is None


def test_retries_are_read_from_stderr() -> None:
    assert kinds(sample("500-then-fine"))[-2:] == ["retry", "finished"]
    again = [one.data["message"] for one in sample("429") if one.kind == "retry"]
    assert len(again) == 1
    assert again[0].startswith("Attempt 1 failed: You exceeded your current quota")
    assert "Retrying after" in again[0]


def test_pieces_of_text_are_reported_as_one_text() -> None:
    tool = {"type": "tool_use", "tool_name": "glob", "tool_id": "1", "parameters": {}}
    said = heard(INIT, words("I "), words("look."), tool, words("Do"), words("ne."), SUCCESS)
    assert [one.data["text"] for one in said if one.kind == "text"] == ["I look.", "Done."]
    assert kinds(said) == ["session", "text", "tool", "text", "usage", "finished"]
    assert said[-1].data["text"] == "Done."


def test_a_message_of_the_user_is_not_reported_as_text() -> None:
    said = heard(INIT, {"type": "message", "role": "user", "content": "do it"}, SUCCESS)
    assert kinds(said) == ["session", "usage", "finished"]
    assert said[-1].data["text"] is None


def test_thinking_counts_as_output() -> None:
    (usage,) = [one.data for one in heard(INIT, SUCCESS) if one.kind == "usage"]
    assert usage == {"inputTokens": 303, "outputTokens": 39, "cachedTokens": 15, "usd": None}


def test_uncounted_usage_is_not_reported_as_zero() -> None:
    nothing = dict.fromkeys(STATS, 0)
    assert kinds(heard(INIT, {**SUCCESS, "stats": nothing})) == ["session", "finished"]


def test_a_turn_without_a_result_is_not_done_with_any_exit_code() -> None:
    finished = heard(INIT, words("I was"), code=0)[-1].data
    assert (finished["outcome"], finished["text"]) == ("crash", "I was")
    assert heard(code=41, errors="Please set an Auth method")[-1].data["outcome"] == "auth"
    lost = 'Error resuming session: Invalid session identifier "x".\n  Searched for sessions in /x\n'
    told = heard(code=42, errors=lost)[-1].data
    assert told["outcome"] == "crash"
    assert told["message"] == 'it ended with exit code 42: Error resuming session: Invalid session identifier "x".'


def test_an_error_without_a_message_uses_the_error_before_it() -> None:
    dropped = {"type": "error", "severity": "error", "message": "Model stream ended without a finish reason."}
    finished = heard(INIT, dropped, {"type": "result", "status": "error", "stats": {}})[-1].data
    assert (finished["outcome"], finished["message"]) == ("unavailable", dropped["message"])


def test_the_status_is_read_from_the_exit_code_if_the_message_has_none() -> None:
    assert heard(failed("[API Error: no]"), code=429 - 256)[-1].data["outcome"] == "rate-limit"
    assert heard(failed("[API Error: no]"), code=1)[-1].data["outcome"] == "crash"


@pytest.mark.parametrize("message", ["Loop detected, stopping execution", "Agent execution stopped: by a hook"])
def test_a_stopped_agent_is_not_done_although_it_reports_success(message: str) -> None:
    stopped = {"type": "error", "severity": "warning", "message": message}
    finished = heard(INIT, stopped, SUCCESS)[-1].data
    assert (finished["outcome"], finished["message"]) == ("crash", message)
    other = {"type": "error", "severity": "warning", "message": "something else"}
    assert heard(INIT, other, SUCCESS)[-1].data["outcome"] == "done"


@pytest.mark.parametrize(
    ("name", "kind", "is_denied"),
    [
        ("read_file", "policy_violation", True),
        ("run_shell_command", "tool_not_registered", True),
        ("mcp_wf_step", "tool_not_registered", True),
        ("dance", "tool_not_registered", False),
        ("write_file", "file_not_found", False),
    ],
)
def test_a_tool_that_is_not_allowed_is_reported_as_denied(name: str, kind: str, is_denied: bool) -> None:
    use = {"type": "tool_use", "tool_name": name, "tool_id": "1", "parameters": {"a": 1}}
    error = {"type": kind, "message": "no"}
    said = heard(INIT, use, {"type": "tool_result", "tool_id": "1", "status": "error", "error": error}, SUCCESS)
    denied = [one.data for one in said if one.kind == "denied"]
    assert denied == ([{"name": name, "reason": "no"}] if is_denied else [])
    assert {"id": "1", "ok": False, "output": "no"} in [one.data for one in said]


def test_malformed_lines_are_ignored() -> None:
    odd: list[dict[str, Any]] = [{}, {"type": 3}, {"type": "tool_result", "error": "x"}, {"type": "error"}]
    assert heard(*odd, {"type": "result", "status": "success", "stats": []})[-1].data["outcome"] == "done"
    assert heard({"type": "result", "status": "error", "error": "x"})[-1].data["outcome"] == "crash"


@pytest.mark.parametrize(
    ("permissions", "mode", "shell"), [("read", "default", False), ("work", "auto_edit", True), ("full", "yolo", False)]
)
def test_permissions_select_a_mode_and_a_policy(permissions: str, mode: str, shell: bool) -> None:
    launch = executor.launch(job(permissions=permissions), "/private")
    assert f"--approval-mode={mode}" in launch.argv
    rules = tomllib.loads(launch.files["policy.toml"])["rule"]
    assert {"toolName": "enter_plan_mode", "decision": "deny", "priority": 999} in rules
    assert any(rule["toolName"] == "run_shell_command" for rule in rules) == shell


def test_the_persons_own_policies_stay_in_force() -> None:
    policies = [one for one in executor.launch(job(), "/private").argv if one.startswith("--policy=")]
    assert policies == ["--policy=/home/me/.gemini/policies", "--policy=/private/policy.toml"]
    elsewhere = executor.launch(job(env={"GEMINI_CLI_HOME": "/else", "HOME": "/home/me"}), "/private")
    assert "--policy=/else/.gemini/policies" in elsewhere.argv


def test_the_prompt_is_not_an_argument_and_the_program_does_not_relaunch_itself() -> None:
    launch = executor.launch(job(prompt="-x $(rm) 'ä'", model="--gem", extra=("--debug",)), "/private")
    assert launch.stdin == "-x $(rm) 'ä'".encode()
    assert launch.argv[-2:] == ("--model=--gem", "--debug")
    assert launch.env == {"GEMINI_CLI_NO_RELAUNCH": "true"}


def test_a_conversation_is_resumed_only_by_its_id() -> None:
    assert executor.launch(job(session=CONVERSATION), "/p").argv[-1] == f"--resume={CONVERSATION}"
    assert executor.launch(job(new_session=CONVERSATION), "/p").argv[-1] == f"--session-id={CONVERSATION}"
    for session in ("latest", "5"):
        with pytest.raises(NodeError) as caught:
            executor.launch(job(session=session), "/p")
        assert (caught.value.code, caught.value.transient) == ("session-unknown", False)


def test_a_schema_is_added_to_the_prompt_and_the_answer_is_read() -> None:
    given = job(schema={"type": "object"})
    launch = executor.launch(given, "/private")
    assert launch.stdin is not None
    assert '{"type": "object"}' in launch.stdin.decode()
    said = heard(INIT, words('So:\n```json\n{"a": 3}\n```'), SUCCESS, given=given)
    assert said[-1].data["structured"] == {"a": 3}
    assert heard(INIT, words('{"a": 3}'), failed("no"), given=given)[-1].data["structured"] is None


def test_a_prompt_is_not_read_as_a_command() -> None:
    assert executor.launch(job(prompt="/clear the way"), "/private").stdin == b"\n/clear the way"


GUIDED = Stubs(("hook",), ("handrail",), "1", "/state", conversation="C")


def guided(folder: Path, settings: str | None = None) -> tuple[Launch, dict[str, Any]]:
    """The launch of a guided job for a person with these settings, and the settings of its home."""
    base = folder / "me" / ".gemini"
    base.mkdir(parents=True)
    (base / "oauth_creds.json").write_text("secret")
    if settings is not None:
        (base / "settings.json").write_text(settings)
    (folder / "call").mkdir()
    given = job(stubs=GUIDED, env={"HOME": str(folder / "me")}, permissions="read")
    launch = executor.launch(given, str(folder / "call"))
    return launch, json.loads(launch.files["home/.gemini/settings.json"])


def test_a_guided_job_has_a_home_of_its_own_that_shares_all_but_the_settings(tmp_path: Path) -> None:
    launch, settings = guided(tmp_path)
    assert launch.env["GEMINI_CLI_HOME"] == str(tmp_path / "call" / "home")
    shared = tmp_path / "call" / "home" / ".gemini"
    assert (shared / "oauth_creds.json").read_text() == "secret"
    (shared / "tmp" / "kept").write_text("a conversation")
    assert (tmp_path / "me" / ".gemini" / "tmp" / "kept").exists()
    assert not (tmp_path / "me" / ".gemini" / "settings.json").exists()
    assert settings["mcpServers"]["handrail"]["env"]["HANDRAIL_FOR_ONE_CALL"] == "C"
    gate = f"{tmp_path}/call/handrail/gate"
    assert gate in settings["hooks"]["BeforeTool"][0]["hooks"][0]["command"]
    assert "handrail/gate" in launch.files
    rules = tomllib.loads(launch.files["policy.toml"])["rule"]
    assert {"mcpName": "handrail", "toolName": "workflow_step", "decision": "allow", "priority": 998} in rules
    assert launch.stdin is not None
    assert launch.stdin.startswith(b"do it\n\n")


def test_a_guided_job_keeps_the_persons_settings_and_leaves_an_installation_out(tmp_path: Path) -> None:
    theirs = {"matcher": "x", "hooks": [{"type": "command", "command": "mine", "env": {"name": "handrail"}}]}
    installed = {"hooks": [{"name": "handrail", "type": "command", "command": "installed"}]}
    own = {"theme": "dark", "hooks": {"BeforeTool": [theirs, installed], "Notification": [theirs]}}
    _, settings = guided(tmp_path, json.dumps(own))
    assert settings["theme"] == "dark"
    assert settings["hooks"]["Notification"] == [theirs]
    assert settings["hooks"]["BeforeTool"][0] == theirs
    assert "installed" not in json.dumps(settings)


def test_settings_that_cannot_be_read_stop_a_guided_job(tmp_path: Path) -> None:
    with pytest.raises(NodeError, match="cannot be read"):
        guided(tmp_path, "{ // a comment")


def test_an_agent_that_a_hook_sent_on_was_not_stopped() -> None:
    blocked = {"type": "error", "severity": "warning", "message": "Agent execution blocked: Handrail: go on"}
    assert heard(INIT, words("I stop."), blocked, words("Done."), SUCCESS)[-1].data["outcome"] == "done"
    assert heard(INIT, words("I stop."), blocked, SUCCESS)[-1].data["outcome"] == "crash"
