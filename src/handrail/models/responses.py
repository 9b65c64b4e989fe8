"""OpenAI's Responses protocol."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator

from handrail.models.openai import plan_limit, refusal
from handrail.models.server import Error, Event, Received, Scripted
from handrail.models.turn import SPENT, Json, Turn, pieces

INCOMPLETE = {"length": "max_output_tokens", "refusal": "content_filter"}
SPAWN, WAIT = "collaboration__spawn_agent", "collaboration__wait_agent"
"""A subagent works beside the main agent, so the model waits for it in the same turn."""
NAMESPACES = ("mcp__", "collaboration__", "functions__")
TITLE = Turn(json.dumps({"title": "A title"}))


class Responses(Scripted):
    """`POST /v1/responses`. The request for a title of the conversation is a side request."""

    version = "/v1"

    def side(self, request: Received) -> Turn | Json | None:
        if request.method == "GET":
            return {"object": "list", "data": [], "models": []}
        return TITLE if _about(request).get("thread_source") == "thread_title" else None

    def conversation(self, request: Received) -> str | None:
        found = _about(request).get("thread_id")
        return found if isinstance(found, str) else None

    def whole(self, request: Received, turn: Turn) -> Json:
        items = [_message(turn.text)] if turn.text else []
        items += [_call(name, arguments) for name, arguments in turn.tools]
        items += [_call(WAIT, {"timeout_ms": 60_000}) for name, _ in turn.tools if name == SPAWN]
        reason = INCOMPLETE.get(turn.finish)
        tokens = turn.usage
        return {
            "id": f"resp_{uuid.uuid4().hex[:20]}",
            "object": "response",
            "created_at": int(time.time()),
            "model": request.body.get("model", "scripted"),
            "status": "incomplete" if reason else "completed",
            "incomplete_details": {"reason": reason} if reason else None,
            "error": None,
            "output": items,
            "usage": {
                "input_tokens": tokens.input,
                "input_tokens_details": {"cached_tokens": tokens.cached},
                "output_tokens": tokens.output,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": tokens.input + tokens.output,
            },
        }

    def opening(self, whole: Json, turn: Turn) -> Iterator[Event]:
        begun = {**whole, "status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
        yield _event("response.created", response=begun)
        for index, item in enumerate(whole["output"]):
            yield from _item(index, item, turn)

    def ending(self, whole: Json) -> Iterator[Event]:
        yield _event(f"response.{whole['status']}", response=whole)

    def error(self, turn: Turn) -> Error:
        return plan_limit(turn.retry_after or 0) if turn.error == SPENT else refusal(turn)


def _about(request: Received) -> Json:
    """What the client says about the turn that a request belongs to."""
    found = json.loads(request.headers.get("x-codex-turn-metadata") or "{}")
    return found if isinstance(found, dict) else {}


def _item(index: int, item: Json, turn: Turn) -> Iterator[Event]:
    """A text is sent in pieces, a call in one piece."""
    if item["type"] == "message":
        place = {"item_id": item["id"], "output_index": index, "content_index": 0}
        part = item["content"][0]
        yield _event("response.output_item.added", output_index=index, item={**item, "content": []})
        yield _event("response.content_part.added", **place, part={**part, "text": ""})
        for piece in pieces(turn, part["text"]):
            yield _event("response.output_text.delta", **place, delta=piece)
        yield _event("response.output_text.done", **place, text=part["text"])
    else:
        yield _event("response.output_item.added", output_index=index, item=item)
    yield _event("response.output_item.done", output_index=index, item=item)


def _message(text: str) -> Json:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"id": _new("msg"), "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def _call(name: str, arguments: Json | str) -> Json:
    """Arguments that are a text are a freeform call. Tools of MCP servers are in the namespace of their server."""
    space, _, tool = name.rpartition("__") if name.startswith(NAMESPACES) else ("", "", name)
    place = {"namespace": space} if space else {}
    if isinstance(arguments, str):
        return {
            "id": _new("ctc"),
            "type": "custom_tool_call",
            "call_id": _new("call"),
            "name": tool,
            "input": arguments,
            "status": "completed",
            **place,
        }
    return {
        "id": _new("fc"),
        "type": "function_call",
        "call_id": _new("call"),
        "name": tool,
        "arguments": json.dumps(arguments),
        "status": "completed",
        **place,
    }


def _new(kind: str) -> str:
    return f"{kind}_{uuid.uuid4().hex[:20]}"


def _event(kind: str, **fields: object) -> Event:
    return kind, {"type": kind, **fields}
