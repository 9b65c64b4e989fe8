"""`handrail mcp` as a host uses it: with JSON-RPC lines, and with the client of the MCP SDK."""

from __future__ import annotations

import json
import subprocess
import threading
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from real.claude import LIMIT, Claude, new_id
from real.guests.guest import HANDRAIL, Phase, mark
from real.hosts import NODE
from real.waiting import until
from support import is_running

CHECK = "exit:\n  - run: 'echo $$ >checking; exec sleep 60'"
SDK = "mcp==1.30.0"


class Peer:
    """A host that is connected to the server by pipes."""

    def __init__(self, claude: Claude) -> None:
        self.process = subprocess.Popen(
            [HANDRAIL, "mcp", "--agent", "claude"],
            cwd=claude.project,
            env=claude.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.number = 0

    def say(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout
        message = json.loads(self.process.stdout.readline())
        assert isinstance(message, dict)
        return message

    def send(self, method: str, **params: Any) -> int:
        self.number += 1
        self.say(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}))
        return self.number

    def notify(self, method: str, **params: Any) -> None:
        self.say(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = self.send(method, **params)
        answer = self.hear()
        assert answer["id"] == number
        return answer

    def step(self, **arguments: Any) -> tuple[str, bool]:
        """(the text of `workflow_step`, whether it is an error)."""
        result = self.ask("tools/call", name="workflow_step", arguments=arguments)["result"]
        return result["content"][0]["text"], result["isError"]


@pytest.fixture
def peer(claude: Claude) -> Iterator[Peer]:
    claude.workflow("w", Phase("look"), Phase("build", CHECK), Phase("ship"))
    server = Peer(claude)
    limit = threading.Timer(LIMIT, server.process.kill)
    limit.start()
    with server.process:
        yield server
        server.process.kill()
    limit.cancel()


def test_the_handshake_is_answered_as_hosts_expect(peer: Peer) -> None:
    assert peer.ask("server/discover")["error"]["code"] == -32601
    said = peer.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "x"})["result"]
    assert (said["protocolVersion"], said["capabilities"]) == ("2025-06-18", {"tools": {}})
    peer.notify("notifications/initialized")
    assert peer.ask("initialize", protocolVersion="1999-01-01")["result"]["protocolVersion"] == "2025-11-25"
    assert peer.ask("ping")["result"] == {}
    (tool,) = peer.ask("tools/list")["result"]["tools"]
    assert tool["name"] == "workflow_step"
    assert tool["inputSchema"]["properties"].keys() == {"action", "summary", "reason", "question"}
    assert not tool.get("annotations", {}).get("readOnlyHint"), "a read-only tool would race with the gate"


@pytest.mark.parametrize(
    ("line", "code"),
    [("nonsense", -32700), ("[1]", -32600), ('"x"', -32600), ('{"id": 1, "method": 3}', -32600), ("{", -32700)],
)
def test_an_invalid_request_is_answered_with_an_error(peer: Peer, line: str, code: int) -> None:
    peer.say("")
    peer.say('{"jsonrpc": "2.0", "id": 99, "result": {}}')
    peer.say(line)
    assert peer.hear()["error"]["code"] == code
    assert peer.ask("ping")["result"] == {}


def test_invalid_calls_are_refused_and_move_nothing(peer: Peer, claude: Claude) -> None:
    conversation = new_id()
    claude.begin(conversation, "w tea")
    assert peer.ask("tools/call", name="other", arguments={})["result"]["isError"]
    assert peer.ask("tools/call", name="workflow_step", arguments=[1])["result"]["isError"]
    assert peer.ask("tools/call")["result"]["isError"]
    assert peer.step()[1]
    assert peer.step(action="jump", session_id=conversation)[1]
    assert "No workflow is active" in peer.step(action="next")[0]
    assert "No workflow is active" in peer.step(action="next", session_id=new_id())[0]
    assert peer.step(action="next", session_id="../../etc/passwd")[0].startswith("No workflow is active")
    for action in ("next", "loop", "cancel"):
        text, failed = peer.step(action=action, session_id=conversation, agent_id="a1")
        assert (text, failed) == ("Only the main conversation moves the workflow.", True)
    assert claude.status(conversation)["steps"] == 0


def test_a_workflow_is_read_moved_and_cancelled(peer: Peer, claude: Claude) -> None:
    conversation = new_id()
    claude.begin(conversation, "w tea")
    me = {"session_id": conversation, "agent_id": ""}
    assert mark("w", "look") in peer.step(action="status", **me)[0]
    text, failed = peer.step(action="next", summary="looked", **me)
    assert (mark("w", "build") in text, failed) == (True, False)
    assert "🔄 Starting 'W' over" in peer.step(action="loop", **me)[0]
    assert "A person is asked whether to cancel" in peer.step(action="cancel", **me)[0]
    assert peer.step(action="cancel", **me)[1], "a second call does not cancel"
    claude.handrail("cancel", "--yes", "--session", f"claude-{conversation}")
    assert claude.at(conversation) == "cancelled"


def checking(claude: Claude) -> int:
    """Wait until the exit check runs and return its process id."""
    file = claude.project / "checking"
    until(lambda: file.exists() and file.read_text().strip(), "the check to run")
    return int(file.read_text())


def test_a_cancelled_call_kills_its_check(peer: Peer, claude: Claude) -> None:
    conversation = new_id()
    claude.begin(conversation, "w tea")
    peer.step(action="next", session_id=conversation)
    call = {"name": "workflow_step", "arguments": {"action": "next", "session_id": conversation}}
    number = peer.send("tools/call", **call, _meta={"progressToken": "p1"})
    assert peer.hear()["params"]["progressToken"] == "p1"
    pid = checking(claude)
    assert "**Phase:** • Build [2/3]" in peer.step(action="status", session_id=conversation)[0]
    peer.notify("notifications/cancelled", requestId=number, reason="the person pressed Esc")
    until(lambda: not is_running(pid), "the check to end")
    assert peer.ask("ping")["result"] == {}, "the cancelled call is not answered"
    assert claude.at(conversation) == "build"


def test_a_closed_connection_ends_the_server_and_its_check(peer: Peer, claude: Claude) -> None:
    conversation = new_id()
    claude.begin(conversation, "w tea")
    peer.step(action="next", session_id=conversation)
    peer.send("tools/call", name="workflow_step", arguments={"action": "next", "session_id": conversation})
    pid = checking(claude)
    assert peer.process.stdin
    peer.process.stdin.close()
    assert peer.process.wait(timeout=LIMIT) == 0
    until(lambda: not is_running(pid), "the check to end")
    assert claude.at(conversation) == "build"


@pytest.fixture(scope="session")
def sdk() -> str:
    """An interpreter with the MCP SDK in its own environment, created once."""
    folder = NODE.parent.parent / SDK
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", SDK]
        if subprocess.run(install, capture_output=True, timeout=300, check=False).returncode != 0:
            pytest.skip(f"{SDK} cannot be installed here")
        (folder / "ready").touch()
    return str(python)


def test_the_sdk_client_works_with_the_server(peer: Peer, claude: Claude, sdk: str) -> None:
    conversation = new_id()
    claude.begin(conversation, "w tea")
    script = Path(__file__).parent / "sdk_peer.py"
    argv = [sdk, str(script), conversation, HANDRAIL, "mcp", "--agent", "claude"]
    place = claude.project
    ended = subprocess.run(argv, env=claude.env, cwd=place, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert ended.returncode == 0, ended.stderr
    said = json.loads(ended.stdout)
    assert (said["server"], said["tools"]) == ("handrail", ["workflow_step"])
    assert mark("w", "look") in said["status"]
    assert mark("w", "build") in said["next"]
    assert said["refused"]
    assert claude.at(conversation) == "build"
