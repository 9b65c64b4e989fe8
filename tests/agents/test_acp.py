"""The executor for agents of the Agent Client Protocol, against a scripted program that speaks it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.agents.acp import executor
from handrail.agents.acp.driver import Policy
from handrail.extensions.contracts import AgentJob, AgentSaid, NodeError
from handrail.extensions.registry import Registry
from handrail.settings.sections import AcpAgent
from handrail.steps.nodes.agents.agent_jobs import call_agent
from support import is_running

PEER = Path(__file__).parent / "acp_peer.py"
LOADS = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
ONCE = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


class Peer:
    """The program with its script, its log and a project."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.project.mkdir()
        self.script = folder / "script.json"
        self.log = folder / "log.jsonl"

    @property
    def command(self) -> tuple[str, ...]:
        return (sys.executable, str(PEER), str(self.script), str(self.log))

    def perform(self, script: dict[str, Any], agent: dict[str, Any] | None = None, **changes: Any) -> list[AgentSaid]:
        """Everything that is reported of one job."""
        self.script.write_text(json.dumps(script), encoding="utf-8")
        env = {"PATH": os.environ["PATH"], "HOME": str(self.project.parent)}
        given: dict[str, Any] = {"prompt": "Do it.", "cwd": str(self.project), "env": env, "timeout": 60.0}
        job = AgentJob(**{**given, "acp": AcpAgent(self.command, **(agent or {})), **changes})

        async def hear() -> list[AgentSaid]:
            return [said async for said in call_agent(Registry().executor("acp"), job)]

        said = asyncio.run(hear())
        assert [one.kind for one in said].count("finished") == 1
        assert said[-1].kind == "finished"
        return said

    def end(self, script: dict[str, Any], **changes: Any) -> dict[str, Any]:
        return self.perform(script, **changes)[-1].data

    def received(self, method: str | None = None) -> list[dict[str, Any]]:
        """What the program got: requests of this method, or the answers to its own requests."""
        lines = [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]
        return [line for line in lines if line.get("method") == method]


@pytest.fixture
def peer(tmp_path: Path) -> Peer:
    return Peer(tmp_path)


def tool(status: str, **more: Any) -> dict[str, Any]:
    return {"update": {"sessionUpdate": "tool_call_update", "toolCallId": "t-1", "status": status, **more}}


def begun(kind: str, **more: Any) -> dict[str, Any]:
    told = {"sessionUpdate": "tool_call", "toolCallId": "t-1", "title": f"a call to {kind}", "kind": kind}
    return {"update": {**told, "status": "pending", **more}}


def permission(**more: Any) -> dict[str, Any]:
    params = {"toolCall": {"toolCallId": "t-1", **more}, "options": ONCE}
    return {"ask": {"method": "session/request_permission", "params": params}}


def write(path: Path | str, content: str = "new\n") -> dict[str, Any]:
    return {"ask": {"method": "fs/write_text_file", "params": {"path": str(path), "content": content}}}


def told(said: list[AgentSaid], kind: str) -> list[dict[str, Any]]:
    return [one.data for one in said if one.kind == kind]


@pytest.mark.whole
def test_a_turn_is_reported_as_it_happens_and_thoughts_are_not_kept(peer: Peer) -> None:
    thought = {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}}
    entries = [
        {"content": "Look", "priority": "high", "status": "completed"},
        {"content": "Write", "priority": "high", "status": "in_progress"},
    ]
    output = [{"type": "content", "content": {"type": "text", "text": "made"}}]
    turn = [
        {"update": thought},
        {"say": "I "},
        {"say": "begin."},
        {"update": {"sessionUpdate": "plan", "entries": entries}},
        begun("edit", rawInput={"path": "a.txt"}),
        tool("in_progress"),
        tool("completed", content=output),
        {"say": "Done."},
        {"end": {"stopReason": "end_turn", "usage": {"totalTokens": 130, "inputTokens": 100, "outputTokens": 30}}},
    ]
    said = peer.perform({"turn": turn})
    assert [(one.kind, one.data) for one in said[:-1]] == [
        ("session", {"id": "s-1"}),
        ("plan", {"text": "2 of 2: Write"}),
        ("text", {"text": "I begin."}),
        ("tool", {"id": "t-1", "name": "a call to edit", "input": {"path": "a.txt"}}),
        ("result", {"id": "t-1", "ok": True, "output": "made"}),
        ("text", {"text": "Done."}),
        ("usage", {"inputTokens": 100, "outputTokens": 30, "cachedTokens": 0, "usd": None}),
    ]
    assert said[-1].data["outcome"] == "done"
    assert said[-1].data["text"] == "Done."
    (prompt,) = peer.received("session/prompt")
    assert prompt["params"]["prompt"] == [{"type": "text", "text": "Do it."}]


@pytest.mark.whole
def test_the_agent_is_told_what_handrail_offers(peer: Peer) -> None:
    peer.perform({})
    (greeting,) = peer.received("initialize")
    offered = greeting["params"]["clientCapabilities"]
    assert offered["fs"] == {"writeTextFile": True}
    assert not offered.get("terminal")
    (opened,) = peer.received("session/new")
    assert opened["params"]["cwd"] == str(peer.project)


@pytest.mark.whole
def test_an_answer_with_a_schema_is_data(peer: Peer) -> None:
    ended = peer.end({"turn": [{"say": 'Here it is:\n```json\n{"ok": true}\n```'}]}, schema=SCHEMA)
    assert ended["structured"] == {"ok": True}
    (prompt,) = peer.received("session/prompt")
    assert '"required": ["ok"]' in prompt["params"]["prompt"][0]["text"]


@pytest.mark.whole
@pytest.mark.parametrize(("permissions", "option", "decided"), [("read", "no", "denied"), ("work", "yes", "allowed")])
def test_a_request_for_permission_is_answered_by_the_permissions_of_the_step(
    peer: Peer, permissions: str, option: str, decided: str
) -> None:
    said = peer.perform({"turns": [[begun("edit"), permission(), {"say": "ok"}]]}, permissions=permissions)
    assert peer.received()[-1]["result"] == {"outcome": {"outcome": "selected", "optionId": option}}
    assert [one.kind for one in said if one.kind in ("allowed", "denied")] == [decided]
    assert [one["name"] for one in told(said, decided)] == ["a call to edit"]
    assert [one["name"] for one in told(said, "tool")] == ["a call to edit"]


@pytest.mark.parametrize(
    ("permissions", "allowed", "refused"),
    [
        (
            "read",
            ("read", "search", "think"),
            ("edit", "delete", "move", "execute", "fetch", "other", None),
        ),
        ("work", ("read", "edit", "execute", "fetch", "other", None), ()),
        ("full", ("read", "edit", "execute", None), ()),
    ],
)
def test_the_kind_of_a_call_decides(
    tmp_path: Path, permissions: str, allowed: tuple[str | None, ...], refused: tuple[str | None, ...]
) -> None:
    policy = Policy(permissions, str(tmp_path))
    assert [kind for kind in (*allowed, *refused) if policy.refusal(kind, [str(tmp_path / "a")]) is None] == [*allowed]


@pytest.mark.whole
def test_a_request_of_an_unknown_kind_is_refused_in_a_step_that_may_only_read(peer: Peer) -> None:
    said = peer.perform({"turn": [permission(title="mystery"), {"say": "ok"}]}, permissions="read")
    assert told(said, "denied") == [{"name": "mystery", "reason": "this step may only read"}]


@pytest.mark.whole
def test_a_change_outside_of_the_project_is_refused_unless_the_step_may_do_anything(peer: Peer) -> None:
    script = {"turn": [begun("edit"), permission(locations=[{"path": "/etc/hosts"}]), {"say": "ok"}]}
    (denied,) = told(peer.perform(script), "denied")
    assert denied["reason"] == "this path is outside of the project's folder: `/etc/hosts`"
    assert told(peer.perform(script, permissions="full"), "denied") == []


@pytest.mark.whole
def test_the_paths_of_a_diff_count_too(peer: Peer) -> None:
    diff = {"type": "diff", "path": str(peer.project / ".git" / "config"), "newText": "x"}
    said = peer.perform({"turn": [begun("edit", content=[diff]), permission(), {"say": "ok"}]})
    assert told(said, "denied")[0]["reason"].startswith("an agent may not change this path")


def test_a_request_without_a_fitting_option_is_cancelled(peer: Peer) -> None:
    ask = permission(kind="edit")
    ask["ask"]["params"]["options"] = [ONCE[0]]
    peer.perform({"turn": [ask, {"say": "ok"}]}, permissions="read")
    assert peer.received()[-1]["result"] == {"outcome": {"outcome": "cancelled"}}


@pytest.mark.parametrize("kind", ["edit", "execute"])
def test_what_the_agent_did_not_ask_for_ends_a_step_that_may_only_read(peer: Peer, kind: str) -> None:
    modes = {"currentModeId": "code", "availableModes": [{"id": "code", "name": "Code"}, {"id": "ask", "name": "Ask"}]}
    turn = [begun(kind), tool("completed"), {"wait": True}, {"end": {"stopReason": "cancelled"}}]
    script = {"session/new": {"sessionId": "s-1", "modes": modes}, "turn": turn}
    ended = peer.end(script, permissions="read")
    assert ended["outcome"] == "crash"
    assert f"`a call to {kind}` without asking, and this step may only read" in ended["message"]
    assert "`modes: {read: MODE}` in yours; it has code, ask" in ended["message"]
    assert len(peer.received("session/cancel")) == 1


def test_an_agent_that_ends_its_turn_after_a_refusal_is_sent_on(peer: Peer) -> None:
    usage = {"totalTokens": 15, "inputTokens": 10, "outputTokens": 5}
    end = {"end": {"stopReason": "end_turn", "usage": usage}}
    turns = [[begun("edit"), permission(), tool("failed"), end], [{"say": "I did without it."}, end]]
    said = peer.perform({"turns": turns}, permissions="read")
    assert said[-1].data["text"] == "I did without it."
    first, second = peer.received("session/prompt")
    assert second["params"]["prompt"][0]["text"].startswith("`a call to edit` was refused: this step may only read.")
    assert first["params"]["sessionId"] == second["params"]["sessionId"]
    assert told(said, "usage")[-1]["inputTokens"] == 20


def test_an_agent_that_only_asks_for_what_is_refused_is_not_sent_on_for_ever(peer: Peer) -> None:
    said = peer.perform({"turn": [begun("edit"), permission(), tool("failed")]}, permissions="read")
    assert said[-1].data["outcome"] == "done"
    assert len(peer.received("session/prompt")) == 10


@pytest.mark.whole
def test_an_agent_that_reports_errors_as_messages_is_understood(peer: Peer) -> None:
    greeting = {"protocolVersion": 1, "agentInfo": {"name": "Copilot", "version": "1"}}
    notices = [
        {"say": "Warning: careful."},
        {"say": "Info: a failure. Retrying..."},
        {"say": "Error: Authentication failed (HTTP 401)."},
    ]
    said = peer.perform({"initialize": greeting, "turn": notices})
    assert [one["message"] for one in told(said, "retry")] == ["Info: a failure. Retrying..."]
    assert said[-1].data["outcome"] == "auth"
    ended = peer.end({"initialize": greeting, "turn": [*notices, {"say": "It went well."}]})
    assert (ended["outcome"], ended["text"]) == ("done", "It went well.")
    assert peer.end({"turn": notices})["outcome"] == "done"


@pytest.mark.whole
def test_an_agent_need_not_ask_for_reading(peer: Peer) -> None:
    assert (
        peer.end({"turn": [begun("read"), tool("completed"), {"say": "ok"}]}, permissions="read")["outcome"] == "done"
    )


@pytest.mark.whole
def test_files_of_the_project_are_written_for_the_agent(peer: Peer) -> None:
    new = peer.project / "folder" / "new.txt"
    assert peer.end({"turn": [write(new, "a\r\nb"), {"say": "ok"}]})["outcome"] == "done"
    assert "error" not in peer.received()[-1]
    assert new.read_bytes() == b"a\r\nb"


@pytest.mark.whole
def test_a_file_that_cannot_be_written_is_told(peer: Peer) -> None:
    (peer.project / "folder").mkdir()
    peer.perform({"turn": [write(peer.project / "folder"), {"say": "ok"}]})
    assert "cannot be written: Is a directory" in peer.received()[-1]["error"]["message"]


@pytest.mark.whole
@pytest.mark.parametrize("permissions", ["read", "work"])
def test_no_file_outside_of_the_project_is_written(peer: Peer, tmp_path: Path, permissions: str) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("mine\n")
    (peer.project / "link").symlink_to(tmp_path)
    link = peer.project / "link" / "outside.txt"
    turn = [write(outside), write(link), write("../outside.txt"), {"say": "ok"}]
    said = peer.perform({"turn": turn}, permissions=permissions)
    assert all("error" in one for one in peer.received())
    assert outside.read_text() == "mine\n"
    assert len(told(said, "denied")) == 3


@pytest.mark.whole
@pytest.mark.parametrize(("permissions", "name"), [("read", "a.txt"), ("work", ".git/hooks/pre-commit")])
def test_a_read_only_step_and_guarded_paths_are_not_written(peer: Peer, permissions: str, name: str) -> None:
    said = peer.perform({"turn": [write(peer.project / name), {"say": "ok"}]}, permissions=permissions)
    assert not (peer.project / name).exists()
    assert len(told(said, "denied")) == 1


def judged(**line: Any) -> dict[str, Any]:
    """How the reader judges a turn that ended with this line of the driver."""
    reader = executor.reader(AgentJob(prompt="", cwd="/p", env={}, timeout=1.0), "")
    assert list(reader.take(line)) == []
    (ended,) = reader.end(0, "")
    return ended.data


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [("refusal", "refused"), ("max_tokens", "crash"), ("max_turn_requests", "crash"), ("cancelled", "crash")],
)
def test_a_turn_that_did_not_end_by_itself_is_not_done(reason: str, outcome: str) -> None:
    ended = judged(type="end", reason=reason)
    assert (ended["outcome"], bool(ended["message"])) == (outcome, True)


def error(code: int, message: str, data: Any = None) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "data": data}}


@pytest.mark.parametrize(
    ("message", "data", "outcome"),
    [
        ("Internal error", {"details": "429 Too Many Requests"}, "rate-limit"),
        ("overloaded_error", None, "unavailable"),
        ("prompt is too long", None, "overflow"),
        ("Internal error", "it broke", "crash"),
        ("Internal error", None, "crash"),
        ("it broke", [1], "crash"),
    ],
)
def test_an_error_of_the_service_has_its_outcome(message: str, data: Any, outcome: str) -> None:
    assert judged(type="failed", outcome=None, message=message, data=data)["outcome"] == outcome


@pytest.mark.whole
def test_an_error_of_the_protocol_ends_the_turn(peer: Peer) -> None:
    ended = peer.end({"turn": [{"end": error(-32603, "it broke", {"details": "429 Too Many Requests"})}]})
    assert ended["outcome"] == "rate-limit"
    assert "it broke" in ended["message"]


@pytest.mark.whole
def test_an_agent_that_is_not_signed_in_says_what_to_do(peer: Peer) -> None:
    greeting = {"protocolVersion": 1, "authMethods": [{"id": "oauth", "name": "Sign in with a browser"}]}
    ended = peer.end({"initialize": greeting, "session/new": error(-32000, "Authentication required")})
    assert ended["outcome"] == "auth"
    assert "start it yourself and sign in" in ended["message"]
    assert "`oauth` (Sign in with a browser)" in ended["message"]


@pytest.mark.whole
def test_the_settings_may_name_how_it_signs_in(peer: Peer) -> None:
    script = {"session/new": [error(-32000, "Authentication required"), {"sessionId": "s-2"}], "authenticate": {}}
    assert peer.perform(script, {"auth": "key"})[0].data == {"id": "s-2"}
    (asked,) = peer.received("authenticate")
    assert asked["params"]["methodId"] == "key"


@pytest.mark.whole
@pytest.mark.parametrize(
    ("turn", "words"),
    [
        ([{"exit": 0}], "exit code 0"),
        ([{"complain": "fatal: out of tokens"}, {"exit": 3}], "exit code 3: fatal: out of tokens"),
        ([{"raw": "segmentation fault"}, {"exit": 1}], "segmentation fault"),
        ([{"end": {"stopReason": "no such reason"}}], "`session/prompt` is not what the protocol says"),
    ],
)
def test_a_program_that_ends_or_talks_nonsense_in_its_turn_has_crashed(
    peer: Peer, turn: list[dict[str, Any]], words: str
) -> None:
    ended = peer.end({"turn": turn})
    assert ended["outcome"] == "crash"
    assert words in ended["message"]
    assert "Traceback" not in ended["message"]


@pytest.mark.whole
def test_a_program_that_is_no_agent_has_crashed(peer: Peer) -> None:
    ended = peer.end({}, acp=AcpAgent(("/bin/echo", "hello")))
    assert ended["outcome"] == "crash"
    assert "hello" in ended["message"]


@pytest.mark.whole
def test_noise_between_the_messages_is_ignored(peer: Peer) -> None:
    unknown = {"update": {"sessionUpdate": "something_new", "x": 1}}
    garbage = [{"raw": text} for text in ("Welcome!", "{not json", "[1]", "null", "7", '"text"', "{}", '{"id": 99}')]
    ended = peer.end({"turn": [*garbage, unknown, {"flood": 10_000_000}, {"say": "I am here."}]})
    assert (ended["outcome"], ended["text"]) == ("done", "I am here.")


@pytest.mark.whole
def test_a_very_long_message_is_taken(peer: Peer) -> None:
    ended = peer.end({"turn": [{"say": "x" * 10_000_000}]})
    assert ended["outcome"] == "done"
    assert set(ended["text"]) == {"x"}


@pytest.mark.whole
def test_an_agent_of_another_version_of_the_protocol_is_named(peer: Peer) -> None:
    ended = peer.end({"initialize": {"protocolVersion": 7}})
    assert ended["outcome"] == "crash"
    assert ended["message"] == "it speaks version 7 of the protocol; expected 1"


@pytest.mark.whole
def test_a_silent_program_does_not_use_up_the_time_of_the_step(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "PATIENCE", 0.2)
    ended = peer.end({"initialize": None})
    assert (ended["outcome"], ended["message"]) == ("timeout", "it did not answer `initialize` in 0.2 seconds")


@pytest.mark.whole
def test_at_the_time_limit_the_agent_is_asked_to_cancel(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "CANCELLING", 60.0)
    monkeypatch.setattr(executor, "SHARE", 1.0)
    turn = [{"say": "I begin."}, {"wait": True}, {"end": {"stopReason": "cancelled"}}]
    ended = peer.end({"turn": turn})
    assert (ended["outcome"], ended["message"]) == ("timeout", "not done after 60 seconds")
    assert ended["text"] == "I begin."
    assert len(peer.received("session/cancel")) == 1


@pytest.mark.whole
def test_an_agent_that_ignores_the_cancel_is_killed(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "SHARE", 1.0)
    ended = peer.end({"turn": [{"wait": True}, {"wait": True}]}, timeout=2.0)
    assert ended["outcome"] == "timeout"


@pytest.mark.whole
def test_a_child_of_the_agent_does_not_outlive_the_step(peer: Peer, tmp_path: Path) -> None:
    mark = tmp_path / "begun"
    assert peer.end({"turn": [{"spawn": str(mark)}, {"say": "ok"}]})["outcome"] == "done"
    assert mark.exists()
    found = [pid for pid in os.listdir("/proc") if pid.isdigit() and str(mark) in command_line(pid)]
    assert [pid for pid in found if is_running(int(pid))] == []


def command_line(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


@pytest.mark.whole
def test_a_conversation_is_loaded_and_its_history_is_not_reported_again(peer: Peer) -> None:
    script = {"initialize": LOADS, "replay": ["old words"], "turn": [{"say": "New words."}]}
    said = peer.perform(script, session="s-0")
    assert told(said, "session") == [{"id": "s-0"}]
    assert [one["text"] for one in told(said, "text")] == ["New words."]
    (loaded,) = peer.received("session/load")
    assert loaded["params"]["sessionId"] == "s-0"
    assert peer.received("session/new") == []


@pytest.mark.whole
def test_a_conversation_is_resumed_without_its_history_if_the_agent_can(peer: Peer) -> None:
    capable = {"loadSession": True, "sessionCapabilities": {"resume": {}}}
    peer.perform({"initialize": {"protocolVersion": 1, "agentCapabilities": capable}}, session="s-0")
    assert len(peer.received("session/resume")) == 1
    assert peer.received("session/load") == []


@pytest.mark.whole
def test_an_agent_that_cannot_load_gets_the_whole_prompt_in_a_new_conversation(peer: Peer) -> None:
    said = peer.perform({}, session="s-0", prompt="Go on.", fresh="The whole task.")
    assert told(said, "session") == [{"id": "s-1"}]
    (prompt,) = peer.received("session/prompt")
    assert prompt["params"]["prompt"][0]["text"] == "The whole task."


@pytest.mark.whole
def test_a_conversation_that_is_gone_is_begun_again(peer: Peer) -> None:
    script = {"initialize": LOADS, "session/load": error(-32603, "no such session")}
    peer.perform(script, session="s-0", prompt="Go on.", fresh="The whole task.")
    (prompt,) = peer.received("session/prompt")
    assert prompt["params"]["prompt"][0]["text"] == "The whole task."


@pytest.mark.whole
def test_without_the_whole_prompt_a_lost_conversation_is_an_error(peer: Peer) -> None:
    ended = peer.end({}, session="s-0")
    assert ended["outcome"] == "crash"
    assert "cannot continue an earlier conversation" in ended["message"]


def option(id_: str, kind: str, *values: str) -> dict[str, Any]:
    options = [{"value": value, "name": value.title()} for value in values]
    about = {"id": id_, "name": id_, "category": kind, "type": "select"}
    return {**about, "currentValue": values[0], "options": options}


@pytest.mark.whole
def test_the_model_and_the_mode_of_the_conversation_are_chosen(peer: Peer) -> None:
    options = [option("m", "model", "small", "large"), option("how", "mode", "build", "plan")]
    script = {"session/new": {"sessionId": "s-1", "configOptions": options}}
    script["session/set_config_option"] = {"configOptions": options}
    peer.perform(script, {"modes": {"read": "Plan"}}, model="large", permissions="read")
    chosen = [(one["params"]["configId"], one["params"]["value"]) for one in peer.received("session/set_config_option")]
    assert chosen == [("m", "large"), ("how", "plan")]


@pytest.mark.whole
def test_an_agent_without_options_is_asked_for_its_mode_in_the_older_way(peer: Peer) -> None:
    modes = {"currentModeId": "code", "availableModes": [{"id": "code", "name": "Code"}, {"id": "ask", "name": "Ask"}]}
    peer.perform({"session/new": {"sessionId": "s-1", "modes": modes}}, {"modes": {"work": "ask"}})
    (asked,) = peer.received("session/set_mode")
    assert asked["params"]["modeId"] == "ask"


@pytest.mark.whole
def test_a_model_that_the_agent_does_not_have_is_named(peer: Peer) -> None:
    options = [option("m", "model", "small", "large")]
    ended = peer.end({"session/new": {"sessionId": "s-1", "configOptions": options}}, model="huge")
    assert ended["outcome"] == "crash"
    assert ended["message"] == "it has no model `huge`; it offers: `small` (Small), `large` (Large)"


@pytest.mark.whole
@pytest.mark.parametrize(
    ("usage", "inputs"),
    [
        ({"totalTokens": 130, "inputTokens": 100, "outputTokens": 30, "cachedReadTokens": 40}, 100),
        ({"totalTokens": 170, "inputTokens": 100, "outputTokens": 30, "cachedReadTokens": 40}, 140),
    ],
)
def test_cached_tokens_are_counted_once(peer: Peer, usage: dict[str, int], inputs: int) -> None:
    said = peer.perform({"turn": [{"end": {"stopReason": "end_turn", "usage": usage}}]})
    assert told(said, "usage") == [{"inputTokens": inputs, "outputTokens": 30, "cachedTokens": 40, "usd": None}]


@pytest.mark.whole
def test_the_cost_of_the_turn_is_what_the_session_cost_since(peer: Peer) -> None:
    cost = {"sessionUpdate": "usage_update", "used": 9, "size": 99, "cost": {"amount": 0.5, "currency": "USD"}}
    usage = {"totalTokens": 15, "inputTokens": 10, "outputTokens": 5}
    said = peer.perform({"turn": [{"update": cost}, {"end": {"stopReason": "end_turn", "usage": usage}}]})
    assert told(said, "usage")[-1]["usd"] == 0.5


def test_a_program_that_does_not_exist_is_named(peer: Peer) -> None:
    with pytest.raises(NodeError, match="`no-such-agent` of your settings is not installed"):
        peer.perform({}, acp=AcpAgent(("no-such-agent",)))


def test_without_the_package_the_message_says_how_to_install_it(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "PACKAGE", "no_such_package")
    with pytest.raises(NodeError, match=r"pip install 'handrail\[acp\]'"):
        peer.perform({})
