"""Copilot CLI: the command line for a job, and the events read from its output and its token file."""

from __future__ import annotations

import json
import platform
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.spoilt import spoilt
from handrail.agents.copilot import executor
from handrail.extensions.contracts import AgentJob, AgentSaid

SAMPLES = Path(__file__).parent.parent / "agents" / "samples" / "copilot"
SESSION = "0cb916db-26aa-40f2-86b5-1ba81b225fd2"
RESULT = {"type": "result", "sessionId": SESSION, "exitCode": 0}


def job(**changes: Any) -> AgentJob:
    return replace(
        AgentJob(prompt="do it", cwd="/project", env={"HOME": "/home/me", "PATH": "/none"}, timeout=60.0), **changes
    )


def heard(
    *events: dict[str, Any], given: AgentJob | None = None, folder: str = "/private", code: int = 0, errors: str = ""
) -> list[AgentSaid]:
    reader = executor.reader(given or job(), folder)
    said = [said for event in events for said in reader.take(event)]
    return [*said, *reader.end(code, errors)]


def sample(case: str, folder: str = "/private") -> list[AgentSaid]:
    about = json.loads((SAMPLES / f"{case}.json").read_text())
    lines = (SAMPLES / f"{case}.jsonl").read_text().splitlines()
    return heard(*map(json.loads, lines), folder=folder, code=about["code"], errors=about["stderr"])


def kinds(said: list[AgentSaid]) -> list[str]:
    return [one.kind for one in said]


def spend(folder: Path, **models: tuple[int, int, int]) -> None:
    names = ("inputTokens", "outputTokens", "cacheReadTokens")
    metrics = {model: {"usage": dict(zip(names, counts, strict=True))} for model, counts in models.items()}
    (folder / "usage.json").write_text(json.dumps({"modelMetrics": metrics}))


def test_a_successful_turn_is_reported_event_by_event(tmp_path: Path) -> None:
    (tmp_path / "session").write_text(SESSION)
    spend(tmp_path, one=(2000, 60, 1400), two=(200, 10, 0))
    said = sample("success", str(tmp_path))
    assert kinds(said) == ["session", "text", "tool", "result", "text", "usage", "finished"]
    assert said[0].data == {"id": SESSION}
    assert said[2].data["name"] == "create"
    assert said[2].data["input"] == {"path": "/project/made.txt", "file_text": "made\n"}
    assert said[3].data["ok"] is True
    assert said[3].data["id"] == said[2].data["id"]
    assert said[5].data == {"inputTokens": 2200, "outputTokens": 70, "cachedTokens": 1400, "usd": None}
    assert said[6].data["outcome"] == "done"
    assert said[6].data["text"] == "It is written."


@pytest.mark.parametrize(("case", "outcome"), [("401", "auth"), ("429", "rate-limit"), ("spent", "quota")])
def test_a_model_failure_is_classified(case: str, outcome: str) -> None:
    assert sample(case)[-1].data["outcome"] == outcome


def test_the_retry_time_of_the_service_is_reported() -> None:
    assert sample("429")[-1].data["resetsAt"] == pytest.approx(time.time() + 1, abs=5)


def test_retries_of_the_program_are_reported_with_their_error() -> None:
    said = sample("500-then-fine")
    retries = [one.data["message"] for one in said if one.kind == "retry"]
    assert retries == ["The server had an error while processing your request. Sorry about that!"]
    assert said[-1].data["outcome"] == "done"


def test_a_conversation_that_was_killed_before_it_was_saved_is_begun_again(tmp_path: Path) -> None:
    resumed = job(env={"HOME": str(tmp_path), "PATH": "/none"}, session=SESSION, prompt="go on", fresh="do it")
    launch = executor.launch(resumed, str(tmp_path))
    assert launch.stdin == b"do it"
    assert f"--session-id={SESSION}" in launch.argv
    (tmp_path / "session").write_text(launch.files["session"])
    spend(tmp_path, one=(20, 6, 0))
    said = heard({"type": "user.message"}, RESULT, given=resumed, folder=str(tmp_path))
    assert said[0].data == {"id": SESSION}
    assert said[1].data["inputTokens"] == 20
    saved = tmp_path / ".copilot" / "session-state" / SESSION / "events.jsonl"
    saved.parent.mkdir(parents=True)
    saved.write_text("{}\n")
    assert f"--resume={SESSION}" in executor.launch(resumed, str(tmp_path)).argv


def test_usage_is_unknown_without_the_token_file() -> None:
    assert "usage" not in kinds(sample("success"))


@pytest.mark.parametrize("text", ["", "[]", '{"modelMetrics": {"one": {}}}', '{"modelMetrics": {}}'])
def test_usage_is_unknown_if_the_token_file_is_unreadable(tmp_path: Path, text: str) -> None:
    (tmp_path / "usage.json").write_text(text)
    assert kinds(heard(RESULT, folder=str(tmp_path))) == ["finished"]


def test_earlier_usage_of_a_session_is_not_counted_again(tmp_path: Path) -> None:
    state = tmp_path / ".copilot" / "session-state" / SESSION
    state.mkdir(parents=True)
    usage = {"inputTokens": 1000, "outputTokens": 50, "cacheReadTokens": 400}
    record = {"type": "session.usage_record", "data": {"usage": usage}}
    (state / "events.jsonl").write_text(json.dumps(record) + "\n" + json.dumps({"type": "session.shutdown"}) + "\n")
    spend(tmp_path, one=(1700, 55, 400))
    given = job(session=SESSION, env={"HOME": str(tmp_path)})
    assert heard(RESULT, given=given, folder=str(tmp_path))[0].data["inputTokens"] == 700
    lost = replace(given, env={"HOME": "/nowhere"})
    assert kinds(heard(RESULT, given=lost, folder=str(tmp_path))) == ["finished"]


def test_a_call_that_was_not_allowed_is_reported_as_denied() -> None:
    started = {"type": "tool.execution_start", "data": {"toolCallId": "1", "toolName": "bash", "arguments": {}}}
    error = {"message": "Permission to run this tool was denied", "code": "denied"}
    ended = {"type": "tool.execution_complete", "data": {"toolCallId": "1", "success": False, "error": error}}
    said = heard(started, ended)
    assert kinds(said) == ["tool", "denied", "result", "finished"]
    assert said[1].data == {"name": "bash", "reason": "Permission to run this tool was denied"}


@pytest.mark.parametrize(
    ("events", "errors", "outcome", "words"),
    [
        (({"type": "abort", "data": {}}, RESULT), "", "crash", "stopped"),
        ((), "", "crash", "did not say why"),
        (({**RESULT, "exitCode": 1},), "Error: No session, task, or name matched\n", "crash", "No session"),
        ((), "Error: No authentication information found.\n", "auth", "authentication"),
    ],
)
def test_an_incomplete_turn_is_not_a_success(
    events: tuple[dict[str, Any], ...], errors: str, outcome: str, words: str
) -> None:
    finished = heard(*events, errors=errors)[-1].data
    assert finished["outcome"] == outcome
    assert words in finished["message"]


def test_text_of_a_subagent_is_not_the_answer() -> None:
    inner = {"type": "assistant.message", "data": {"content": "inner", "parentToolCallId": "1"}}
    outer = {"type": "assistant.message", "data": {"content": '{"a": 1}'}}
    finished = heard(outer, inner, RESULT, given=job(schema={"type": "object"}))[-1].data
    assert (finished["text"], finished["structured"]) == ('{"a": 1}', {"a": 1})


def test_a_job_becomes_a_command_line_without_its_prompt() -> None:
    launch = executor.launch(job(model="gpt-5", session=SESSION, permissions="read"), "/private")
    assert launch.argv[0] == "copilot"
    assert {f"--resume={SESSION}", "--model=gpt-5", "--available-tools=view,grep,glob"} <= set(launch.argv)
    assert "--usage-output-file=/private/usage.json" in launch.argv
    assert launch.stdin == b"do it"
    assert launch.env == {"COPILOT_ALLOW_ALL": ""}


def test_a_new_session_has_an_id_before_it_starts(tmp_path: Path) -> None:
    launch = executor.launch(job(), str(tmp_path))
    assert f"--session-id={launch.files['session']}" in launch.argv


@pytest.mark.parametrize(("permissions", "option"), [("work", "--allow-all-tools"), ("full", "--allow-all")])
def test_permissions_select_options_of_the_program(permissions: str, option: str) -> None:
    assert option in executor.launch(job(permissions=permissions), "/private").argv


def test_the_real_program_is_started_instead_of_npms_script(tmp_path: Path) -> None:
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine().lower()]
    script = tmp_path / "node_modules" / "@github" / "copilot" / "npm-loader.js"
    native = tmp_path / "node_modules" / "@github" / f"copilot-{sys.platform}-{machine}" / "copilot"
    for path in (script, native):
        path.parent.mkdir(parents=True)
        path.touch(0o755)
    link = tmp_path / "bin" / "copilot"
    link.parent.mkdir()
    link.symlink_to(script)
    given = job(env={"PATH": str(link.parent)})
    assert executor.launch(given, "/private").argv[0] == str(native)
    native.unlink()
    assert executor.launch(given, "/private").argv[0] == "copilot"


def test_changed_lines_raise_no_error() -> None:
    assert all(heard(line)[-1].kind == "finished" for line in spoilt(SAMPLES))


@pytest.mark.parametrize("name", ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"])
def test_its_token_has_a_name_that_only_it_uses(name: str) -> None:
    env = {"HOME": "/home/me", name: "github_pat_1"}
    launch = executor.launch(job(env=env), "/private")
    assert launch.env["COPILOT_GITHUB_TOKEN"] == "github_pat_1"
    assert "--secret-env-vars=COPILOT_GITHUB_TOKEN,GH_TOKEN,GITHUB_TOKEN" in launch.argv
    kept = executor.launch(job(env=env, has_logins=True), "/private")
    assert "COPILOT_GITHUB_TOKEN" not in kept.env
    assert not any(word.startswith("--secret-env-vars") for word in kept.argv)
