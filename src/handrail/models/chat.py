"""OpenAI's chat completions protocol."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator

from handrail.models.openai import refusal
from handrail.models.server import Error, Event, Received, Scripted
from handrail.models.turn import Json, Turn, pieces

FINISHES = {"length": "length", "refusal": "content_filter"}


class Chat(Scripted):
    """`POST /v1/chat/completions`. A request without tools is a side request."""

    version = "/v1"

    def side(self, request: Received) -> Turn | Json | None:
        if request.method == "GET":
            return {"object": "list", "data": []}
        return None if request.body.get("tools") else Turn("A title")

    def whole(self, request: Received, turn: Turn) -> Json:
        message: Json = {"role": "assistant", "content": turn.text or None}
        if turn.tools:
            message["tool_calls"] = [_call(name, arguments) for name, arguments in turn.tools]
        finish = FINISHES.get(turn.finish) or ("tool_calls" if turn.tools else "stop")
        tokens = turn.usage
        return {
            "id": f"chatcmpl-{uuid.uuid4().hex[:20]}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": request.body.get("model", "scripted"),
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {
                "prompt_tokens": tokens.input,
                "completion_tokens": tokens.output,
                "total_tokens": tokens.input + tokens.output,
                "prompt_tokens_details": {"cached_tokens": tokens.cached},
            },
        }

    def opening(self, whole: Json, turn: Turn) -> Iterator[Event]:
        message = whole["choices"][0]["message"]
        yield _chunk(whole, {"role": "assistant", "content": ""})
        for piece in pieces(turn, message["content"] or ""):
            yield _chunk(whole, {"content": piece})
        for index, call in enumerate(message.get("tool_calls", [])):
            function = call["function"]
            yield _chunk(whole, {"tool_calls": [{**call, "index": index, "function": {**function, "arguments": ""}}]})
            yield _chunk(whole, {"tool_calls": [{"index": index, "function": {"arguments": function["arguments"]}}]})

    def ending(self, whole: Json) -> Iterator[Event]:
        yield _chunk(whole, {}, whole["choices"][0]["finish_reason"])
        yield "", {**_head(whole), "choices": [], "usage": whole["usage"]}
        yield "", "[DONE]"

    def error(self, turn: Turn) -> Error:
        return refusal(turn)


def _call(name: str, arguments: Json | str) -> Json:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": f"call_{uuid.uuid4().hex[:20]}", "type": "function", "function": {"name": name, "arguments": text}}


def _head(whole: Json) -> Json:
    return {"id": whole["id"], "object": "chat.completion.chunk", "created": whole["created"], "model": whole["model"]}


def _chunk(whole: Json, delta: Json, finish: str | None = None) -> Event:
    return "", {**_head(whole), "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
