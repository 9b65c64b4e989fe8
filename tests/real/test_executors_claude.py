"""The real Claude Code, called as flows call it, with the scripted model."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.agents.probe.scripted_model import Turn, Usage, tool_turn
from real.calling import (
    SCHEMA,
    STUBBORN,
    every,
    has_begun,
    hear,
    job,
    left_over,
    make_noisy,
    nothing_left,
    only,
    perform,
    performed,
    shell,
    timed_out,
    told,
    write,
)
from real.hosts import HOSTS, Seat
from real.waiting import until
from service_errors import SPENT, failed_turn

SUBSCRIBED = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-fake"}
FREE = {"permissions": {"allow": ["Bash", "Edit", "Write"], "defaultMode": "bypassPermissions"}}
"""The settings of a person who allows everything."""


@pytest.fixture
def seat(tmp_path: Path) -> Iterator[Seat]:
    with HOSTS["claude"].protocol() as model:
        found = Seat(HOSTS["claude"], tmp_path, model)
        (tmp_path / "tmp").mkdir()
        found.env |= {"TMPDIR": str(tmp_path / "tmp")}
        yield found
        nothing_left(found)


def subagent(*turns: Turn, **more: Any) -> tuple[Turn, ...]:
    """A call of a subagent, and the answer of the subagent."""
    task = {"description": "d", "prompt": "Help.", "subagent_type": "general-purpose", **more}
    return (tool_turn(("Task", task)), *turns)


def settings(seat: Seat, data: dict[str, Any]) -> None:
    (seat.home / ".claude").mkdir(exist_ok=True)
    (seat.home / ".claude" / "settings.json").write_text(json.dumps(data))


@pytest.mark.parametrize("permissions", ["work", "full"])
def test_it_writes_a_file_and_reports_its_events(seat: Seat, permissions: str) -> None:
    """Neither the file nor the command needs an approval."""
    command = shell(seat, """python3 -c "open('ran.txt', 'w').write('40-two')"; cat ran.txt""")
    seat.model.script(write(seat, Usage(1000, 50, 400)), command, Turn("It is written.", usage=Usage(1200, 20, 1000)))
    said = performed(seat, job(seat, permissions=permissions))
    assert (seat.project / "made.txt").read_text() == "made\n"
    assert (seat.project / "ran.txt").read_text() == "40-two"
    kinds = ["session", "text", "tool", "result", "tool", "result", "text", "finished"]
    assert [one.kind for one in said if one.kind != "usage"] == kinds
    assert every(said, "result", "ok") == [True, True]
    assert "40-two" in told(said, "result")[1]["output"]
    counts = {"inputTokens": 2300, "outputTokens": 80, "cachedTokens": 1400}
    assert only(said, "usage") == {**counts, "usd": pytest.approx(0.00548)}
    done = {"outcome": "done", "message": None, "resetsAt": None, "text": "It is written.", "structured": None}
    assert only(said, "finished") == done


@pytest.mark.parametrize("prompt", ["/clear", "/init it", "--version", '-x "two" $(id) `id` @there !ls\nand ä € \\n'])
def test_the_prompt_reaches_the_model_unchanged(seat: Seat, prompt: str) -> None:
    seat.model.script(Turn("So."))
    given = prompt + " long" * 40_000 if "\n" in prompt else prompt
    assert only(performed(seat, job(seat, given, model="claude-opus-5-5")), "finished")["text"] == "So."
    (request,) = seat.model.received()
    assert given in request.text
    assert request.body["model"] == "claude-opus-5-5"


@pytest.mark.parametrize("theirs", [{}, FREE], ids=["plain", "free"])
def test_the_read_permission_prevents_writing(seat: Seat, theirs: dict[str, Any]) -> None:
    """This holds for all settings of the person, and for subagents."""
    settings(seat, theirs)
    (seat.project / "there.txt").write_text("words of the file\n")
    before = sorted(seat.project.iterdir())
    more = shell(seat, "echo x > ran.txt"), tool_turn(("EnterWorktree", {}))
    helped = subagent(write(seat), *more, Turn("Nor may I."), run_in_background=False)
    seat.model.script(
        write(seat), *more, tool_turn(seat.host.read(seat.project / "there.txt")), *helped, Turn("I may not.")
    )
    said = performed(seat, job(seat, permissions="read"))
    assert sorted(seat.project.iterdir()) == before
    assert "words of the file" in seat.model.received()[-1].text
    assert every(said, "denied", "name") == ["Write", "Bash", "EnterWorktree"] * 2
    assert every(said, "result", "ok") == [False, False, False, True, True]
    assert (only(said, "finished")["outcome"], only(said, "finished")["text"]) == ("done", "I may not.")


def test_its_tools_do_not_write_outside_of_the_project(seat: Seat) -> None:
    outside = Path("/var/tmp") / f"handrail-{uuid.uuid4()}.txt"
    seat.model.script(tool_turn(seat.host.write(outside, "x\n")), Turn("I may not."))
    said = performed(seat, job(seat))
    assert not outside.exists()
    assert only(said, "denied")["name"] == "Write"


def test_a_denial_by_a_hook_is_reported(seat: Seat) -> None:
    decision = {"permissionDecision": "deny", "permissionDecisionReason": "This phase forbids it"}
    denial = json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}})
    hook = {"type": "command", "command": f"echo '{denial}'"}
    settings(seat, {"hooks": {"PreToolUse": [{"matcher": "Write", "hooks": [hook]}]}})
    seat.model.script(write(seat), Turn("I may not."))
    said = performed(seat, job(seat, permissions="full"))
    assert only(said, "denied") == {"name": "Write", "reason": "This phase forbids it"}
    assert not (seat.project / "made.txt").exists()


def test_a_conversation_is_resumed(seat: Seat) -> None:
    seat.model.script(Turn("One.", usage=Usage(1000, 50, 400)))
    first = performed(seat, job(seat, "The word is heron."))
    session = only(first, "session")["id"]
    seat.model.script(Turn("Two.", usage=Usage(7, 3, 1)))
    second = performed(seat, job(seat, "Which word?", session=session))
    assert only(second, "session")["id"] == session
    assert "The word is heron." in seat.model.received()[-1].text
    counts = {"inputTokens": 7, "outputTokens": 3, "cachedTokens": 1}
    assert only(second, "usage") == {**counts, "usd": pytest.approx(0.000084)}
    assert only(second, "usage")["usd"] < only(first, "usage")["usd"]
    assert only(second, "finished")["text"] == "Two."


def test_an_interrupted_conversation_is_resumed(seat: Seat) -> None:
    seat.model.script(shell(seat, STUBBORN, Usage(1000, 50, 400)))
    first = timed_out(seat, job(seat, "The word is heron."), lambda said: has_begun(seat) and told(said, "tool"))
    assert only(first, "usage") == {"inputTokens": 1000, "outputTokens": None, "cachedTokens": 400, "usd": None}
    seat.model.script(Turn("Two.", usage=Usage(7, 3, 1)))
    second = performed(seat, job(seat, "Which word?", session=only(first, "session")["id"]))
    assert "The word is heron." in seat.model.received()[-1].text
    assert only(second, "usage")["inputTokens"] == 7


def test_resuming_a_missing_conversation_fails(seat: Seat) -> None:
    said = performed(seat, job(seat, session="01a1e05a-0000-4000-8000-000000000000"))
    assert [one.kind for one in said] == ["finished"]
    assert said[0].data["outcome"] == "crash"
    assert "No conversation found" in said[0].data["message"]


def test_a_new_conversation_has_the_id_it_is_given(seat: Seat) -> None:
    given = "01a1e05a-0000-4000-8000-000000000001"
    seat.model.script(Turn("One."))
    assert only(performed(seat, job(seat, new_session=given)), "session")["id"] == given
    again = performed(seat, job(seat, new_session=given))
    assert [one.kind for one in again] == ["finished"]
    assert "already in use" in again[0].data["message"]


@pytest.mark.parametrize("schema", [SCHEMA, {**SCHEMA, "$schema": "https://json-schema.org/draft/2020-12/schema"}])
def test_a_json_answer_is_read(seat: Seat, schema: dict[str, Any]) -> None:
    seat.model.script(write(seat), tool_turn(("StructuredOutput", {"a": 3})), Turn("It is said."))
    said = performed(seat, job(seat, schema=schema))
    assert only(said, "finished")["structured"] == {"a": 3}
    (tool,) = (tool for tool in seat.model.received()[-1].body["tools"] if tool["name"] == "StructuredOutput")
    assert tool["input_schema"]["properties"] == SCHEMA["properties"]


def test_a_json_answer_to_a_schema_in_the_prompt_is_read(seat: Seat) -> None:
    seat.model.script(Turn("Here:\n\n[1, 2]"))
    said = performed(seat, job(seat, "/count", schema={"type": "array", "prefixItems": [{"type": "integer"}]}))
    assert only(said, "finished")["structured"] == [1, 2]
    assert '"prefixItems"' in seat.model.received()[-1].text


def test_an_answer_that_never_matches_its_schema_is_a_failure(seat: Seat) -> None:
    seat.model.script(*[tool_turn(("StructuredOutput", {"b": 3}))] * 20)
    finished = only(performed(seat, job(seat, schema=SCHEMA)), "finished")
    assert (finished["outcome"], finished["structured"]) == ("crash", None)


def test_tokens_of_a_subagent_are_counted_and_its_text_is_left_out(seat: Seat) -> None:
    helped = subagent(Turn("I am another.", usage=Usage(3000, 30, 0)), run_in_background=False)
    seat.model.script(*helped, Turn("It helped."))
    said = performed(seat, job(seat))
    assert every(said, "text", "text") == ["It helped."]
    assert only(said, "usage")["inputTokens"] == 3200
    assert "I am another." in only(said, "result")["output"]


def test_background_work_is_awaited_and_the_last_result_counts(seat: Seat) -> None:
    """The command ends after the program has reported that it waits for it."""
    late = "while [ ! -e go ]; do sleep 0.1; done; echo late > late.txt"
    command = {"command": late, "description": "a command", "run_in_background": True}
    seat.model.script(tool_turn(("Bash", command)), Turn("I wait."), Turn("It is there."))
    said = []

    async def hear_and_go_on() -> None:
        async for one in hear(seat, job(seat)):
            said.append(one)
            if one.data.get("text") == "I wait.":
                (seat.project / "go").touch()

    asyncio.run(hear_and_go_on())
    assert (seat.project / "late.txt").exists()
    assert only(said, "finished")["text"] == "It is there."
    assert every(said, "usage", "inputTokens")[-1] == 300


def test_an_agent_that_reached_its_own_limit_can_be_resumed(seat: Seat) -> None:
    seat.model.script(write(seat), shell(seat, "echo 1"), Turn("Too late."))
    said = performed(seat, job(seat, "The word is heron.", extra=("--max-turns", "1")))
    assert (only(said, "finished")["outcome"], only(said, "finished")["text"]) == ("crash", "I write it.")
    assert "maximum number of turns" in only(said, "finished")["message"]
    seat.model.script(Turn("I go on."))
    again = performed(seat, job(seat, "Go on.", session=only(said, "session")["id"]))
    assert only(again, "finished")["text"] == "I go on."
    assert "The word is heron." in seat.model.received()[-1].text


def test_an_unknown_key_is_reported(seat: Seat) -> None:
    seat.model.script(*[failed_turn(401)] * 20)
    said = performed(seat, job(seat))
    finished = only(said, "finished")
    assert (finished["outcome"], finished["resetsAt"], finished["text"]) == ("auth", None, None)
    assert not {"usage", "text"} & {one.kind for one in said}


def test_a_limit_is_reported_with_its_reset_time(seat: Seat) -> None:
    """It reports only the reset time of a plan, in any time zone."""
    seat.env |= SUBSCRIBED | {"TZ": "Asia/Kolkata"}
    seat.model.script(*[failed_turn(429, SPENT, retry_after=3600)] * 20)
    finished = only(performed(seat, job(seat)), "finished")
    assert finished["outcome"] == "quota"
    assert finished["resetsAt"] == pytest.approx(time.time() + 3600, abs=120)


@pytest.mark.parametrize("seconds", [None, 3600.0])
def test_a_request_limit_is_reported_without_a_reset_time(seat: Seat, seconds: float | None) -> None:
    seat.model.script(*[failed_turn(429, retry_after=seconds)] * 20)
    finished = only(performed(seat, job(seat)), "finished")
    assert (finished["outcome"], finished["resetsAt"]) == ("rate-limit", None)


def test_it_retries_after_three_service_errors(seat: Seat) -> None:
    seat.env |= {"CLAUDE_CODE_MAX_RETRIES": "5"}
    seat.model.script(failed_turn(500), failed_turn(500), failed_turn(500), write(seat), Turn("It is written."))
    said = performed(seat, job(seat))
    assert only(said, "finished")["outcome"] == "done"
    assert every(said, "retry", "message") == [
        f"the service of claude answered 500 server_error; it tries again, {number} of 5" for number in (1, 2, 3)
    ]
    assert (seat.project / "made.txt").exists()


def test_a_service_that_always_fails_is_reported(seat: Seat) -> None:
    seat.model.script(write(seat, Usage(1000, 50, 400)), *[failed_turn(500)] * 20)
    said = performed(seat, job(seat))
    assert (only(said, "finished")["outcome"], only(said, "finished")["text"]) == ("unavailable", "I write it.")
    counts = {"inputTokens": 1000, "outputTokens": 50, "cachedTokens": 400}
    assert only(said, "usage") == {**counts, "usd": pytest.approx(0.00348)}


@pytest.mark.parametrize("words", ["", "I will not"])
def test_a_refusal_of_the_model_is_reported(seat: Seat, words: str) -> None:
    seat.model.script(*[Turn(words, finish="refusal")] * 20)
    assert only(performed(seat, job(seat)), "finished")["outcome"] == "refused"


def test_a_conversation_that_is_too_long_is_reported(seat: Seat) -> None:
    seat.model.script(*[failed_turn(400, "prompt is too long: 300000 tokens > 200000 maximum")] * 20)
    assert only(performed(seat, job(seat)), "finished")["outcome"] == "overflow"


@pytest.mark.parametrize("words", ["", "I begin"])
def test_an_interrupted_stream_is_reported(seat: Seat, words: str) -> None:
    seat.model.script(*[Turn(words, drop=True)] * 20)
    assert only(performed(seat, job(seat)), "finished")["outcome"] == "unavailable"


def test_an_unreachable_service_is_reported(seat: Seat) -> None:
    seat.model.close()
    assert only(performed(seat, job(seat)), "finished")["outcome"] == "unavailable"


def test_a_hanging_model_is_stopped_at_the_timeout(seat: Seat) -> None:
    seat.model.script(Turn("", hang=True))
    kept = seat.home / ".claude" / "projects"
    said = timed_out(seat, job(seat), lambda _: seat.model.received() and [*kept.glob("*/*.jsonl")])
    assert [one.kind for one in said] == ["session", "finished"]
    nothing_left(seat)
    seat.model.script(Turn("Now I do."))
    again = performed(seat, job(seat, session=only(said, "session")["id"]))
    assert only(again, "finished")["text"] == "Now I do."


def test_a_child_that_ignores_signals_is_killed(seat: Seat) -> None:
    seat.model.script(shell(seat, STUBBORN))
    timed_out(seat, job(seat, permissions="full"), lambda _: has_begun(seat))
    nothing_left(seat)


def test_a_cancelled_call_leaves_no_process(seat: Seat) -> None:
    seat.model.script(shell(seat, STUBBORN))

    async def give_up() -> None:
        task = asyncio.create_task(perform(seat, job(seat)))
        await asyncio.to_thread(until, lambda: has_begun(seat), "the child")
        assert left_over(seat)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    nothing_left(seat)


def test_noise_between_the_lines_is_ignored(seat: Seat, tmp_path: Path) -> None:
    make_noisy(seat, tmp_path)
    seat.model.script(write(seat), Turn("It is written."))
    said = performed(seat, job(seat))
    assert only(said, "finished")["text"] == "It is written."
    assert [one.kind for one in said].count("tool") == 1
