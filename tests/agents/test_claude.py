"""Claude Code: the command line for a job, and the events read from its output."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.spoilt import spoilt
from handrail.agents.claude import executor
from handrail.extensions.contracts import AgentJob, AgentSaid, NodeError, Stubs

SAMPLES = Path(__file__).parent.parent / "agents" / "samples" / "claude"
ID = "01a1e197-3365-4790-9ad7-6707fe4a0388"
INIT = {"type": "system", "subtype": "init", "session_id": ID}
DONE = {"type": "result", "subtype": "success", "is_error": False, "result": "It is done.", "session_id": ID}
OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
NOTHING = {"inputTokens": None, "outputTokens": None, "cachedTokens": None, "usd": None}


def job(**changes: Any) -> AgentJob:
    return replace(AgentJob(prompt="do it", cwd="/project", env={"HOME": "/nowhere"}, timeout=60.0), **changes)


def heard(*events: dict[str, Any], given: AgentJob | None = None, code: int = 0, errors: str = "") -> list[AgentSaid]:
    reader = executor.reader(given or job(), "/private")
    said = [said for event in events for said in reader.take(event)]
    return [*said, *reader.end(code, errors)]


def lines(case: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SAMPLES / f"{case}.jsonl").read_text().splitlines()]


def sample(case: str) -> list[AgentSaid]:
    about = json.loads((SAMPLES / f"{case}.json").read_text())
    return heard(*lines(case), code=about["code"], errors=about["stderr"])


def kinds(said: list[AgentSaid]) -> list[str]:
    return [one.kind for one in said]


def only(said: list[AgentSaid], kind: str) -> dict[str, Any]:
    (found,) = [one.data for one in said if one.kind == kind]
    return found


def assistant(*blocks: dict[str, Any], parent: str | None = None, **more: Any) -> dict[str, Any]:
    message = {"id": more.pop("id", "msg_1"), "content": list(blocks), "usage": more.pop("usage", {})}
    return {"type": "assistant", "message": message, "parent_tool_use_id": parent, **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(name: str, key: str = "1") -> dict[str, Any]:
    return {"type": "tool_use", "id": key, "name": name, "input": {"a": 1}}


def used(output: Any, key: str = "1", parent: str | None = None, **more: Any) -> dict[str, Any]:
    """The result of a tool call. `decision` is the permission decision that the program reports."""
    decision = more.pop("decision", None)
    block = {"type": "tool_result", "tool_use_id": key, "content": output, **more}
    meta = [{"id": key, "permission_decision": {"decision": decision}}] if decision else None
    message = {"role": "user", "content": [block]}
    return {"type": "user", "message": message, "parent_tool_use_id": parent, "tool_result_meta": meta}


def failed(**more: Any) -> dict[str, Any]:
    """The result of a failed turn; its subtype is still success."""
    return {**DONE, "is_error": True, "result": "it went wrong", **more}


def spent(model: str, whole: int, output: int, cached: int, usd: float) -> dict[str, Any]:
    counts = {"inputTokens": whole - cached - 5, "cacheCreationInputTokens": 5, "cacheReadInputTokens": cached}
    return {model: {**counts, "outputTokens": output, "costUSD": usd}}


def test_a_successful_turn_is_reported_event_by_event() -> None:
    said = sample("success")
    assert [one.data["outputTokens"] for one in said if one.kind == "usage"] == [None, None, None, 70]
    said = [one for one in said if one.kind != "usage"] + [one for one in said if one.kind == "usage"][-1:]
    assert kinds(said) == ["session", "text", "tool", "result", "text", "finished", "usage"]
    assert said[2].data["name"] == "Write"
    assert said[2].data["input"] == {"file_path": "/project/made.txt", "content": "made\n"}
    assert said[3].data["ok"] is True
    assert said[3].data["id"] == said[2].data["id"]
    assert said[6].data == {"inputTokens": 2200, "outputTokens": 70, "cachedTokens": 1400, "usd": 0.00488}
    words = "It is written."
    assert said[5].data == {"outcome": "done", "message": None, "resetsAt": None, "text": words, "structured": None}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("unknown", "claude cannot reach its service; it tries again, 3 of 10"),
        ("connection_refused", "claude cannot reach its service (connection_refused); it tries again, 3 of 10"),
    ],
)
def test_a_retry_without_an_answer_says_that_the_service_cannot_be_reached(error: str, words: str) -> None:
    retry = {"type": "system", "subtype": "api_retry", "attempt": 3, "max_retries": 10, "error_status": None}
    said = heard(INIT, {**retry, "error": error}, DONE)
    assert only(said, "retry") == {"message": words}


@pytest.mark.parametrize(
    ("case", "outcome", "words"),
    [("401", "auth", "Invalid API key"), ("429", "rate-limit", "(429)"), ("spent", "quota", "5-hour limit")],
)
def test_a_service_error_is_classified_and_is_not_reported_as_text(case: str, outcome: str, words: str) -> None:
    said = sample(case)
    assert [kind for kind in kinds(said) if kind != "retry"] == ["session", "finished"]
    assert said[-1].data["outcome"] == outcome
    assert words in said[-1].data["message"]
    assert said[-1].data["text"] is None


def test_a_retry_is_reported_and_is_not_a_failure() -> None:
    said = sample("500-then-fine")
    assert kinds(said)[:3] == ["session", "retry", "usage"]
    words = "the service of claude answered 500 server_error; it tries again, 1 of 1"
    assert said[1].data == {"message": words}
    assert said[-1].data["outcome"] == "done"


def test_the_reset_time_of_a_plan_is_reported() -> None:
    later = round(time.time()) + 3600
    events = lines("spent")
    info = {"status": "rejected", "resetsAt": later}
    rejected = [{**one, "rate_limit_info": info} if one["type"] == "rate_limit_event" else one for one in events]
    assert heard(*rejected)[-1].data["resetsAt"] == later
    allowed = {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed_warning", "resetsAt": later}}
    limited = failed(api_error_status=429, result="too many requests")
    assert heard(INIT, allowed, limited)[-1].data["resetsAt"] is None


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        (failed(api_error_status=529, result="API Error: 529 Overloaded."), "unavailable"),
        (failed(api_error="connection_failed", result="API Error: Connection lost mid-response."), "unavailable"),
        (failed(api_error_status=400, result="Prompt is too long"), "overflow"),
        (failed(stop_reason="model_context_window_exceeded"), "overflow"),
        (failed(stop_reason="refusal", result="safeguards flagged this message"), "refused"),
        (failed(api_error="max_output_tokens", result="exceeded the 128000 output token maximum"), "crash"),
        (failed(subtype="error_during_execution", result=None, errors=["No conversation found"]), "crash"),
        (failed(subtype="error_max_turns", result=None, errors=["Reached maximum number of turns (2)"]), "crash"),
        (failed(subtype="error_max_turns", is_error=False, result=None), "crash"),
        (failed(subtype="error_max_structured_output_retries", result=None, errors=["429 is no color"]), "crash"),
        (failed(subtype="error_max_budget_usd", result=None, errors=["Reached maximum budget ($0.01)"]), "quota"),
        (failed(result=None, errors=None), "crash"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_error_is_classified_by_the_result(result: dict[str, Any], outcome: str) -> None:
    error = assistant(text("API Error"), error="server_error" if result.get("api_error") == "connection_failed" else "")
    finished = heard(INIT, error, result, code=1)[-1].data
    assert finished["outcome"] == outcome
    assert finished["message"]
    assert finished["structured"] is None


@pytest.mark.parametrize(("code", "words"), [(-9, "it ended by signal 9"), (0, "it ended with exit code 0")])
def test_a_program_that_exits_without_a_result_has_crashed(code: int, words: str) -> None:
    finished = heard(INIT, assistant(text("I begin")), code=code)[-1].data
    assert (finished["outcome"], finished["text"]) == ("crash", "I begin")
    assert words in finished["message"]


def test_the_last_error_explains_a_missing_result() -> None:
    finished = heard(code=1, errors="Error: Session ID 1 is already in use.\n")[-1].data
    assert (finished["outcome"], finished["text"]) == ("crash", None)
    assert "already in use" in finished["message"]
    error = assistant(text("Please run /login"), error="authentication_failed")
    assert heard(INIT, error, code=1)[-1].data["outcome"] == "auth"


def test_a_result_is_done_with_any_exit_code() -> None:
    assert heard(INIT, DONE, code=1)[-1].data["outcome"] == "done"


def test_the_last_of_several_results_counts_and_usage_is_summed() -> None:
    first = {**DONE, "result": "One.", "model_usage_since_last_result": spent("big", 100, 10, 40, 0.5)}
    both = {**spent("big", 10, 1, 4, 0.25), **spent("small", 20, 2, 0, 0.25)}
    said = heard(INIT, first, INIT, {**DONE, "result": "Two.", "model_usage_since_last_result": both})
    assert kinds(said) == ["session", "usage", "usage", "finished"]
    assert said[2].data == {"inputTokens": 130, "outputTokens": 13, "cachedTokens": 44, "usd": 1.0}
    assert said[3].data["text"] == "Two."


def test_an_interrupted_turn_after_a_complete_one_is_not_done() -> None:
    assert heard(INIT, DONE, INIT, assistant(text("I go on")), code=-9)[-1].data["outcome"] == "crash"


def test_earlier_costs_of_the_conversation_are_not_counted() -> None:
    usage = {"input_tokens": 6, "cache_read_input_tokens": 1, "output_tokens": 3}
    older = {**DONE, "usage": usage, "total_cost_usd": 0.5}
    counts = {"inputTokens": 7, "outputTokens": 3, "cachedTokens": 1}
    assert only(heard(INIT, older), "usage") == {**counts, "usd": 0.5}
    assert only(heard(INIT, older, given=job(session=ID)), "usage") == {**counts, "usd": None}
    newer = {**older, "model_usage_since_last_result": spent("big", 7, 3, 1, 0.25)}
    assert only(heard(INIT, newer, given=job(session=ID)), "usage") == {**counts, "usd": 0.25}


def test_an_interrupted_turn_reports_only_prompt_tokens() -> None:
    usage = {"input_tokens": 60, "cache_read_input_tokens": 40, "output_tokens": 1}
    whole = assistant(text("One"), usage=usage), assistant(use("Bash"), usage=usage), assistant(id="msg_2", usage=usage)
    assert [one.data for one in heard(INIT, *whole, code=-9) if one.kind == "usage"][-1] == {
        **NOTHING,
        "inputTokens": 200,
        "cachedTokens": 80,
    }
    assert "usage" not in kinds(heard(INIT, assistant(text("One")), code=-9))


def test_text_of_a_subagent_after_the_end_keeps_the_usage_known() -> None:
    result = {**DONE, "model_usage_since_last_result": spent("big", 100, 10, 40, 0.5)}
    said = heard(INIT, result, assistant(text("I am late"), parent="1", usage={"input_tokens": 60}))
    assert only(said, "usage")["outputTokens"] == 10
    assert said[-1].data["outcome"] == "done"


def test_a_conversation_is_reported_once_it_is_saved(tmp_path: Path) -> None:
    given = job(env={"HOME": str(tmp_path)})
    assert kinds(heard(INIT, given=given)) == ["finished"]
    path = tmp_path / ".claude" / "projects" / "-project" / f"{ID}.jsonl"
    path.parent.mkdir(parents=True)
    path.touch()
    assert kinds(heard(INIT, given=given)) == ["session", "finished"]
    elsewhere = job(env={"CLAUDE_CONFIG_DIR": str(tmp_path / ".claude")})
    assert kinds(heard(INIT, given=elsewhere)) == ["session", "finished"]


def test_a_conversation_that_never_started_is_not_reported() -> None:
    unknown = failed(subtype="error_during_execution", result=None, errors=["No conversation found"])
    assert kinds(heard(unknown)) == ["finished"]


@pytest.mark.parametrize(
    "denial",
    [
        used("whatever it says", is_error=True, decision="reject"),
        used("PreToolUse:Write hook error: This phase forbids it", is_error=True),
        used([text("Permission to use Write has been denied.")], is_error=True),
        used("Claude requested permissions to write to x, but you haven't granted it yet.", is_error=True),
        used("No such tool available: Write. Write is disabled for this session", is_error=True),
    ],
)
def test_a_tool_call_that_did_not_run_is_reported_as_denied(denial: dict[str, Any]) -> None:
    said = heard(INIT, assistant(use("Write")), denial, DONE)
    assert kinds(said) == ["session", "tool", "denied", "result", "finished"]
    assert only(said, "denied")["name"] == "Write"
    assert only(said, "denied")["reason"] == only(said, "result")["output"].removeprefix(
        "PreToolUse:Write hook error: "
    )
    assert only(said, "result")["ok"] is False


@pytest.mark.parametrize(
    "result",
    [
        used("git: the commit hook error: no", is_error=True, decision="accept"),
        used("Exit code 1", is_error=True),
        used("it has been denied"),
    ],
)
def test_a_tool_call_that_ran_is_not_reported_as_denied(result: dict[str, Any]) -> None:
    assert "denied" not in kinds(heard(INIT, assistant(use("Bash")), result, DONE))


def test_denials_listed_in_a_result_are_not_reported_twice() -> None:
    listed = {**DONE, "permission_denials": [{"tool_name": "Write", "tool_use_id": "1"}]}
    event = {"type": "system", "subtype": "permission_denied", "tool_name": "Write", "message": "no"}
    said = heard(INIT, assistant(use("Write")), event, used("no", is_error=True, decision="reject"), listed)
    assert kinds(said).count("denied") == 1


def test_only_denied_calls_of_subagents_are_reported() -> None:
    said = heard(
        INIT,
        assistant(use("Task")),
        assistant(text("I am another"), use("Bash", "2"), use("Write", "3"), parent="1"),
        used("fine", "2", parent="1"),
        used("no", "3", parent="1", is_error=True, decision="reject"),
        assistant(text("API Error"), parent="1", error="server_error"),
        used([text("it says so")]),
        {**DONE, "result": ""},
    )
    assert kinds(said) == ["session", "tool", "denied", "result", "finished"]
    assert only(said, "denied") == {"name": "Write", "reason": "no"}
    assert only(said, "result") == {"id": "1", "ok": True, "output": "it says so"}
    assert (said[-1].data["outcome"], said[-1].data["text"]) == ("done", "")


def test_long_output_is_cut() -> None:
    said = heard(INIT, assistant(use("Bash")), used("x" * 5000), DONE)
    assert len(only(said, "result")["output"]) <= 2000


def test_the_json_answer_is_taken_from_the_tool_or_else_from_the_text() -> None:
    given = job(schema=OBJECT)
    native = {**DONE, "structured_output": {"a": 1}}
    assert heard(INIT, native, given=given)[-1].data["structured"] == {"a": 1}
    assert heard(INIT, native, INIT, DONE, given=given)[-1].data["structured"] == {"a": 1}
    assert heard(INIT, {**DONE, "result": '{"a": 2}'}, given=given)[-1].data["structured"] == {"a": 2}
    assert heard(INIT, {**DONE, "result": '{"a": 2}'})[-1].data["structured"] is None


def test_changed_lines_raise_no_error() -> None:
    before = [INIT, assistant(use("Write", "toolu_0006"), use("None"))]
    assert all(heard(*before, line)[-1].kind == "finished" for line in spoilt(SAMPLES))
    odd: list[dict[str, Any]] = [{}, {"type": []}, {"type": "user", "tool_result_meta": [None, {"id": {}}]}]
    assert heard(*odd, {**INIT, "session_id": 3}, DONE)[-1].data["outcome"] == "done"


@pytest.mark.parametrize(
    ("permissions", "mode"), [("read", "default"), ("work", "acceptEdits"), ("full", "bypassPermissions")]
)
def test_permissions_select_a_mode_and_rules(permissions: str, mode: str) -> None:
    argv = executor.launch(job(permissions=permissions), "/private").argv
    assert f"--permission-mode={mode}" in argv
    tools = ",".join(one.partition("=")[2] for one in argv if "ools=" in one).split(",")
    assert ("Bash" in tools) == (permissions == "work")
    assert not {"Edit", "Write"} & set(tools)
    assert any(one.startswith("--tools=") for one in argv) == (permissions == "read")


def test_a_job_becomes_a_command_line_without_its_prompt() -> None:
    launch = executor.launch(job(prompt="-x $(rm) 'ä'", model="--opus", extra=("--effort", "low")), "/private")
    assert launch.argv[:4] == ("claude", "-p", "--output-format=stream-json", "--verbose")
    assert launch.argv[-2:] == ("--effort", "low")
    assert "--model=--opus" in launch.argv
    assert launch.stdin == "-x $(rm) 'ä'".encode()


def test_a_prompt_is_never_read_as_a_slash_command() -> None:
    assert executor.launch(job(prompt="/clear"), "/private").stdin == b"\n/clear"
    assert executor.launch(job(prompt=" /clear"), "/private").stdin == b" /clear"


def test_a_conversation_is_resumed_only_by_its_id() -> None:
    assert f"--resume={ID}" in executor.launch(job(session=ID, new_session="other"), "/p").argv
    assert f"--session-id={ID}" in executor.launch(job(new_session=ID), "/p").argv
    for session in ("--continue", "my title", ""):
        with pytest.raises(NodeError) as caught:
            executor.launch(job(session=session), "/p")
        assert (caught.value.code, caught.value.transient) == ("session-unknown", False)


@pytest.mark.parametrize("more", [{}, {"$schema": "https://json-schema.org/draft/2020-12/schema"}])
def test_a_schema_is_passed_as_an_option(more: dict[str, Any]) -> None:
    schema = {**OBJECT, **more, "$defs": {"x-y": {"enum": [{"x-z": 1}]}}}
    launch = executor.launch(job(schema=schema), "/private")
    (given,) = (one.partition("=")[2] for one in launch.argv if one.startswith("--json-schema="))
    assert json.loads(given) == {**OBJECT, "$defs": schema["$defs"]}
    assert launch.stdin == b"do it"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer"},
        {**OBJECT, "anyOf": [{"required": ["a"]}]},
        {**OBJECT, "x-own": 1},
        {**OBJECT, "properties": {"a": {"type": "array", "prefixItems": []}}},
        {**OBJECT, "not": {"allOf": [{"unevaluatedProperties": False}]}},
    ],
)
def test_a_schema_that_the_program_does_not_accept_is_added_to_the_prompt(schema: dict[str, Any]) -> None:
    launch = executor.launch(job(schema=schema), "/private")
    assert not any(one.startswith("--json-schema") for one in launch.argv)
    assert json.dumps(schema) in (launch.stdin or b"").decode()


def test_guided_mode_passes_the_plugin_for_this_call_only() -> None:
    launch = executor.launch(job(stubs=Stubs(("hook",), ("handrail",), "1"), permissions="read"), "/private")
    assert "--plugin-dir=/private/plugin" in launch.argv
    assert "--allowedTools=mcp__plugin_handrail_handrail__workflow_step" in launch.argv
    assert "plugin/.claude-plugin/plugin.json" in launch.files
    assert not executor.launch(job(), "/private").files
