"""OpenCode: the job for the driver, the lines that the driver prints, and the events read from them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.spoilt import spoilt
from handrail.agents.opencode import driver, executor
from handrail.extensions.contracts import AgentJob, AgentSaid, NodeError, Stubs

SAMPLES = Path(__file__).parent.parent / "agents" / "samples" / "opencode"
END = {"type": "end", "role": "assistant", "finish": "stop", "error": None, "structured": None}


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An environment in which the program is installed."""
    (tmp_path / "opencode").touch(0o755)
    return {"PATH": str(tmp_path)}


def job(**changes: Any) -> AgentJob:
    return replace(AgentJob(prompt="do it", cwd="/project", env={}, timeout=60.0), **changes)


def heard(*events: dict[str, Any], given: AgentJob | None = None, code: int = 0, errors: str = "") -> list[AgentSaid]:
    reader = executor.reader(given or job(), "/private")
    said = [said for event in events for said in reader.take(event)]
    return [*said, *reader.end(code, errors)]


def sample(case: str) -> list[AgentSaid]:
    about = json.loads((SAMPLES / f"{case}.json").read_text())
    lines = (SAMPLES / f"{case}.jsonl").read_text().splitlines()
    return heard(*map(json.loads, lines), code=about["code"], errors=about["stderr"])


def kinds(said: list[AgentSaid]) -> list[str]:
    return [one.kind for one in said]


def test_a_successful_turn_is_reported_event_by_event() -> None:
    said = sample("success")
    assert kinds(said) == ["session", "text", "tool", "result", "usage", "text", "usage", "finished"]
    assert said[2].data["name"] == "write"
    assert said[2].data["input"] == {"filePath": "/project/made.txt", "content": "made\n"}
    assert said[3].data == {"id": said[2].data["id"], "ok": True, "output": "Wrote file successfully."}
    assert said[6].data == {"inputTokens": 2200, "outputTokens": 70, "cachedTokens": 1400, "usd": 0.00387}
    assert said[7].data["outcome"] == "done"
    assert said[7].data["text"] == "It is written."


@pytest.mark.parametrize(("case", "outcome"), [("401", "auth"), ("429", "rate-limit"), ("500-then-fine", "done")])
def test_a_model_failure_is_classified(case: str, outcome: str) -> None:
    assert sample(case)[-1].data["outcome"] == outcome


def test_a_wait_that_is_too_long_ends_the_turn_with_its_reset_time() -> None:
    said = heard({"type": "gave_up", "message": "Too Many Requests", "seconds": 3600.0}, {**END, "finish": None})
    assert said[-1].data["outcome"] == "rate-limit"
    assert said[-1].data["resetsAt"] == pytest.approx(time.time() + 3600, abs=5)


@pytest.mark.parametrize(
    ("name", "outcome"),
    [("ContentFilterError", "refused"), ("ContextOverflowError", "overflow"), ("ProviderAuthError", "auth")],
)
def test_named_errors_are_classified(name: str, outcome: str) -> None:
    error = {"name": name, "data": {"message": "no"}}
    finished = heard({"type": "error", "error": error}, END)[-1].data
    assert (finished["outcome"], finished["message"]) == (outcome, "no")


def test_a_limit_in_the_response_body_is_recognized() -> None:
    data = {"message": "Too many", "statusCode": 429, "responseBody": '{"error": {"code": "insufficient_quota"}}'}
    finished = heard({"type": "error", "error": {"name": "APIError", "data": data}})[-1].data
    assert (finished["outcome"], finished["message"]) == ("quota", "Too many")


@pytest.mark.parametrize(
    ("events", "errors", "words"),
    [
        (({"type": "session", "sessionID": "ses_1"},), "", "did not say why"),
        ((), "error: GET /session/ses_1: 404 Session not found\n", "Session not found"),
        (({**END, "finish": "length"},), "", "cut off"),
        (({**END, "role": "user", "finish": None},), "", "did not say why"),
    ],
)
def test_an_incomplete_turn_is_not_a_success(events: tuple[dict[str, Any], ...], errors: str, words: str) -> None:
    finished = heard(*events, code=1, errors=errors)[-1].data
    assert finished["outcome"] == "crash"
    assert words in finished["message"]


def test_only_the_last_message_is_the_answer() -> None:
    texts = [("1", "first"), ("2", "second,"), ("2", "third")]
    lines = [{"type": "text", "part": {"messageID": key, "text": text}} for key, text in texts]
    assert heard(*lines, END)[-1].data["text"] == "second,\nthird"


def test_a_structured_answer_is_the_servers_or_else_from_the_text() -> None:
    given = job(schema={"type": "object"})
    assert heard({**END, "structured": {"a": 1}}, given=given)[-1].data["structured"] == {"a": 1}
    none = {**END, "error": {"name": "StructuredOutputError", "data": {"message": "no"}}}
    text = {"type": "text", "part": {"messageID": "1", "text": '{"a": 2}'}}
    finished = heard(text, none, given=given)[-1].data
    assert (finished["outcome"], finished["structured"]) == ("done", {"a": 2})


def test_a_job_is_passed_to_the_driver(env: dict[str, str]) -> None:
    given = job(env={**env, "HANDRAIL_STEP": "plan"}, model="openai/gpt/5", session="ses_1", schema={"type": "object"})
    launch = executor.launch(given, "/private")
    wanted = json.loads(launch.stdin or b"")
    assert wanted["program"] == f"{env['PATH']}/opencode"
    assert wanted["model"] == {"providerID": "openai", "modelID": "gpt/5"}
    assert (wanted["session"], wanted["title"]) == ("ses_1", "Handrail: plan")
    assert wanted["format"] == {"type": "json_schema", "schema": {"type": "object"}}
    assert "do it" not in launch.argv


def test_a_missing_program_is_reported() -> None:
    with pytest.raises(NodeError, match="not installed"):
        executor.launch(job(env={"PATH": "/nowhere"}), "/private")


@pytest.mark.parametrize("wrong", [{"model": "gpt-5"}, {"session": "../config"}])
def test_invalid_models_and_sessions_are_refused(env: dict[str, str], wrong: dict[str, str]) -> None:
    with pytest.raises(NodeError):
        executor.launch(job(env=env, **wrong), "/private")


class Scripted:
    """A server that sends given events and records its requests."""

    def __init__(self, *events: dict[str, Any], **known: Any) -> None:
        self.script = events
        self.known = known
        self.asked: list[tuple[str, str, Any]] = []

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        self.asked.append((method, path, body))
        name = path.strip("/").partition("?")[0].replace("/", "_") if method == "GET" else method
        made: dict[str, Any] = {"POST": {"id": "ses_1"}, "ses_1_message": [{"info": {"role": "assistant"}}]}
        return {**made, **self.known}.get(name.removeprefix("session_"))

    def events(self) -> Iterator[dict[str, Any]]:
        yield {"type": "server.connected", "properties": {}}
        yield from self.script

    def body(self, path: str) -> Any:
        return next(body for _, asked, body in self.asked if asked == path)


def idle(session: str = "ses_1") -> dict[str, Any]:
    return {"type": "session.status", "properties": {"sessionID": session, "status": {"type": "idle"}}}


def part(session: str = "ses_1", **fields: Any) -> dict[str, Any]:
    return {"type": "message.part.updated", "properties": {"part": {"sessionID": session, **fields}}}


def asked(permission: str) -> dict[str, Any]:
    return {"type": "permission.asked", "properties": {"id": "per_1", "permission": permission, "patterns": ["/*"]}}


def take(server: Scripted, capsys: pytest.CaptureFixture[str], **changes: Any) -> list[dict[str, Any]]:
    given = {"prompt": "do it", "title": "Handrail", "session": None, "permissions": "work", **changes}
    turn = driver.OpenCodeTurn(server, given)  # type: ignore[arg-type]  # a double of the server
    assert turn.take() is (idle() in server.script)
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_the_driver_prints_the_events_of_run_and_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    state = {"status": "completed", "input": {}, "output": "ok", "metadata": {"diff": "long"}}
    server = Scripted(
        part(type="text", text="the prompt"),
        part(type="text", text="words", time={"end": 1}),
        part("ses_2", type="text", text="of a subagent", time={"end": 1}),
        part(type="tool", callID="1", tool="write", state={"status": "pending", "input": {}}),
        *[part(type="tool", callID="1", tool="write", state={"status": "running", "input": {}})] * 2,
        part(type="tool", callID="1", tool="write", state=state),
        part("ses_2", type="step-finish", reason="stop"),
        idle("ses_2"),
        idle(),
    )
    lines = take(server, capsys)
    types = ["session", "text", "tool_start", "tool_use", "step_finish", "end"]
    assert [line["type"] for line in lines] == types
    assert lines[1]["part"]["text"] == "words"
    assert lines[3]["part"]["state"] == {"status": "completed", "input": {}, "output": "ok"}


def test_a_turn_is_incomplete_if_the_server_goes_away(capsys: pytest.CaptureFixture[str]) -> None:
    assert [line["type"] for line in take(Scripted(), capsys)] == ["session"]


@pytest.mark.parametrize(
    ("permissions", "asks", "reply"),
    [
        ("work", "external_directory", "reject"),
        ("work", "bash", "once"),
        ("full", "external_directory", "once"),
        ("read", "external_directory", "reject"),
    ],
)
def test_permission_questions_of_the_server_are_answered(
    capsys: pytest.CaptureFixture[str], permissions: str, asks: str, reply: str
) -> None:
    server = Scripted(asked(asks), idle())
    lines = take(server, capsys, permissions=permissions)
    assert server.body("/permission/per_1/reply")["reply"] == reply
    assert ("denied" in [line["type"] for line in lines]) == (reply == "reject")


def test_a_question_to_a_person_is_rejected(capsys: pytest.CaptureFixture[str]) -> None:
    server = Scripted({"type": "question.asked", "properties": {"id": "que_1"}}, idle())
    take(server, capsys)
    assert ("POST", "/question/que_1/reject", None) in server.asked


@pytest.mark.parametrize(("seconds", "kind"), [(5, "retry"), (3600, "gave_up")])
def test_long_waits_are_aborted(capsys: pytest.CaptureFixture[str], seconds: float, kind: str) -> None:
    status = {"type": "retry", "attempt": 1, "message": "slow down", "next": (time.time() + seconds) * 1000}
    server = Scripted({"type": "session.status", "properties": {"sessionID": "ses_1", "status": status}}, idle())
    line = take(server, capsys)[1]
    assert (line["type"], line["message"]) == (kind, "slow down")
    assert line["seconds"] == pytest.approx(seconds, abs=2)
    aborted = ("POST", "/session/ses_1/abort", None) in server.asked
    assert aborted == (kind == "gave_up")


def test_the_read_permission_has_no_writing_tools(capsys: pytest.CaptureFixture[str]) -> None:
    server = Scripted(idle())
    take(server, capsys, permissions="read")
    rules = server.body("/session")["permission"]
    assert rules[0] == driver.EVERYTHING
    assert {rule["permission"] for rule in rules if rule["action"] == "allow"}.isdisjoint({"edit", "bash", "task"})


def test_a_session_that_could_only_read_gets_its_agents_rules_back(capsys: pytest.CaptureFixture[str]) -> None:
    rules = [{"permission": "*", "pattern": "*", "action": "allow"}]
    known = {"id": "ses_1", "permission": [driver.EVERYTHING]}
    agents = [{"name": "plan", "permission": []}, {"name": "build", "permission": rules}]
    server = Scripted(idle(), ses_1=known, config={}, agent=agents)
    take(server, capsys, session="ses_1")
    assert ("PATCH", "/session/ses_1", {"permission": [*rules, *driver.QUIET]}) in server.asked


def test_a_session_continues_with_its_own_rules(capsys: pytest.CaptureFixture[str]) -> None:
    server = Scripted(idle(), ses_1={"id": "ses_1", "permission": []})
    take(server, capsys, session="ses_1")
    assert ("PATCH", "/session/ses_1", {"permission": driver.QUIET}) in server.asked


def test_changed_lines_raise_no_error() -> None:
    assert all(heard(line)[-1].kind == "finished" for line in spoilt(SAMPLES))


STUBS = Stubs(("python3", "hook.py"), ("python3", "-m", "handrail"), "0", state="/state", conversation="C")


def test_a_guided_job_brings_our_plugin_for_this_call(env: dict[str, str]) -> None:
    own = {"model": "a/b", "plugin": ["./mine.js"]}
    given = job(env={**env, "OPENCODE_CONFIG_CONTENT": json.dumps(own)}, stubs=STUBS)
    launch = executor.launch(given, "/private")
    settings = json.loads(launch.env["OPENCODE_CONFIG_CONTENT"])
    assert settings == {"model": "a/b", "plugin": ["file:///private/handrail.js", "./mine.js"]}
    assert '"HANDRAIL_FOR_ONE_CALL": "C"' in launch.files["handrail.js"]
    guide = json.loads(launch.stdin or b"{}")["guide"]
    assert guide["argv"] == ["python3", "hook.py", "opencode"]
    assert guide["env"] == {"HANDRAIL_STATE": "/state", "HANDRAIL_FOR_ONE_CALL": "C"}


def test_settings_in_the_environment_that_cannot_be_edited_are_an_error(env: dict[str, str]) -> None:
    given = job(env={**env, "OPENCODE_CONFIG_CONTENT": "{ mine }"}, stubs=STUBS)
    with pytest.raises(NodeError, match="OPENCODE_CONFIG_CONTENT"):
        executor.launch(given, "/private")


def test_a_job_without_a_workflow_has_no_plugin(env: dict[str, str]) -> None:
    launch = executor.launch(job(env=env), "/private")
    assert (launch.files, "OPENCODE_CONFIG_CONTENT" in launch.env) == ({}, False)


def stop_hook(tmp_path: Path, *answers: str) -> dict[str, Any]:
    """A guide whose hook gives these answers one after the other, and keeps the messages."""
    hook = tmp_path / "hook"
    for number, answer in enumerate(answers):
        (tmp_path / f"answer-{number}").write_text(answer)
    count = "n=$(ls taken-* 2>/dev/null | wc -l); : > taken-$n"
    hook.write_text(f'cd {tmp_path}; cat >> asked; echo >> asked; {count}; cat "answer-$n"\n')
    return {"argv": ["/bin/sh", str(hook)], "env": {}}


def test_a_guided_agent_that_stops_is_sent_on_until_it_may_stop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Scripted(idle(), idle())
    lines = take(server, capsys, guide=stop_hook(tmp_path, '{"prompt": "go on"}', '{"notice": "it may stop"}'))
    sent = [body["parts"][0]["text"] for _, path, body in server.asked if path.endswith("prompt_async")]
    assert sent == ["do it", "go on"]
    assert [line["type"] for line in lines] == ["session", "end"]
    asked = [json.loads(line) for line in (tmp_path / "asked").read_text().splitlines()]
    assert asked[0]["type"] == "stop"
    assert [message["wasAborted"] for message in asked] == [False, False]


@pytest.mark.parametrize("answer", ["", "not JSON"])
def test_a_stop_hook_without_an_answer_ends_the_turn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], answer: str
) -> None:
    assert take(Scripted(idle()), capsys, guide=stop_hook(tmp_path, answer))[-1]["type"] == "end"


def test_an_interrupted_turn_is_told_to_the_stop_hook(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failed = [{"info": {"role": "assistant", "error": {"name": "MessageAbortedError"}}}]
    take(Scripted(idle(), ses_1_message=failed), capsys, guide=stop_hook(tmp_path, "{}"))
    assert json.loads((tmp_path / "asked").read_text())["wasAborted"] is True


def test_a_denial_of_our_plugin_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = {"title": "Handrail", "variant": "warning", "message": json.dumps({"tool": "edit", "reason": "not now"})}
    shown = {"type": "tui.toast.show", "properties": told}
    lines = take(Scripted(shown, idle()), capsys, guide=stop_hook(tmp_path, "{}"))
    assert {"type": "denied", "permission": "edit", "reason": "not now"} in lines


def test_a_guided_agent_that_may_only_read_may_call_our_tool(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Scripted(idle())
    take(server, capsys, permissions="read", guide=stop_hook(tmp_path, "{}"))
    assert driver.STEP in server.body("/session")["permission"]
