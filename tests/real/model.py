"""The scripted model of Anthropic's protocol for tests of Claude Code alone.

Subagents have a script of their own, and an answer can be held. The requests of both are recorded for assertions.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from handrail.agents.probe import scripted_model
from handrail.agents.probe.protocols import Anthropic
from handrail.agents.probe.scripted_model import Json, ReceivedRequest, StreamEvent
from real.waiting import until
from service_errors import failed_turn

AGENT = "x-claude-code-agent-id"
"""The header of a request of a subagent."""


class Turn(NamedTuple):
    """One answer of the model: text, then tool calls. `slow` streams the text in pieces with pauses.

    A `held` answer sends its text and ends only after a call of `Model.release`.
    """

    text: str = ""
    tools: tuple[tuple[str, dict[str, Any]], ...] = ()
    slow: float = 0.0
    status: int = 200
    held: bool = False


class Model:
    """The server. `main` is the script of the conversation, `sub` is the script of subagents."""

    def __init__(self, main: Iterable[Turn], sub: Iterable[Turn] = ()) -> None:
        self.scripts = {"main": deque(main), "sub": deque(sub)}
        self.requests: list[dict[str, Any]] = []
        self.lock = threading.Lock()
        self.released = threading.Event()
        self.server = _Server(self)
        self.url = self.server.url

    def release(self) -> None:
        """End the held answer and all later ones."""
        self.released.set()

    def close(self) -> None:
        self.release()
        self.server.close()

    def script(self, *turns: Turn) -> None:
        """Set the next turns of the model."""
        with self.lock:
            self.scripts["main"] = deque(turns)

    def script_subagents(self, *turns: Turn) -> None:
        with self.lock:
            self.scripts["sub"] = deque(turns)

    def next_turn(self, body: dict[str, Any], subagent: bool) -> Turn:
        with self.lock:
            self.requests.append({"subagent": subagent, **body})
            script = self.scripts["sub" if subagent else "main"]
            return script.popleft() if script else Turn("(the script is over)")

    def wait(self, count: int) -> None:
        """Wait for this number of requests of the conversation."""
        until(lambda: len(self.received()) >= count, lambda: f"{count} requests; {len(self.received())} came")

    def received(self, *, subagent: bool = False) -> list[dict[str, Any]]:
        """The requests of the conversation, in order, without side requests."""
        return [request for request in self.requests if request["subagent"] == subagent]

    def last_texts(self) -> str:
        """All texts of the newest request of the conversation, joined."""
        return texts(self.received()[-1])


def texts(request: dict[str, Any]) -> str:
    return "\n".join(_texts(request.get("messages", [])))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for name in ("text", "content"):
            if name in value:
                yield from _texts(value[name])


def tool_results(request: dict[str, Any]) -> list[str]:
    """The texts of every tool result in a request, oldest first."""
    lists = [message["content"] for message in request["messages"] if isinstance(message["content"], list)]
    blocks = [block for blocks in lists for block in blocks if block.get("type") == "tool_result"]
    return ["\n".join(_texts(block.get("content", ""))) for block in blocks]


class _Server(Anthropic):
    """Answers the program's requests with the turns of a model, and holds answers."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.holding: list[scripted_model.Turn] = []
        super().__init__()

    def answer(self, request: ReceivedRequest) -> scripted_model.Turn | Json:
        aside = self.side(request)
        if aside is not None:
            return aside
        turn = self.model.next_turn(request.body, AGENT in request.headers)
        is_answer = turn.status == 200
        sent = scripted_model.Turn(turn.text, turn.tools, turn.slow) if is_answer else failed_turn(turn.status)
        if turn.held:
            self.holding.append(sent)
        return sent

    def opening(self, whole: Json, turn: scripted_model.Turn) -> Iterator[StreamEvent]:
        """The stream of an answer. A held one waits after its text; pings keep the client waiting."""
        is_held = any(turn is one for one in self.holding)
        for event in super().opening(whole, turn):
            yield event
            while is_held and event[0] == "content_block_delta" and not self.model.released.wait(0.5):
                yield "ping", {"type": "ping"}
