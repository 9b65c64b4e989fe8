"""The protocols of the services: Anthropic's Messages, Google's generateContent, and two of OpenAI."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from typing import Any

from handrail.agents.probe.scripted_model import (
    Json,
    ReceivedRequest,
    ScriptedModel,
    StreamEvent,
    Turn,
    named_event,
    pieces,
)


def _new(kind: str) -> str:
    return f"{kind}_{uuid.uuid4().hex[:20]}"


class Anthropic(ScriptedModel):
    """`POST /v1/messages`. A request without tools is a side request."""

    def side(self, request: ReceivedRequest) -> Turn | Json | None:
        path = request.path.split("?")[0]
        if request.method == "GET":
            return {"data": [], "has_more": False, "first_id": None, "last_id": None}
        if path.endswith("/count_tokens"):
            return {"input_tokens": 100}
        return None if request.body.get("tools") else Turn("ok")

    def whole(self, request: ReceivedRequest, turn: Turn) -> Json:
        blocks: list[Json] = [{"type": "text", "text": turn.text}] if turn.text else []
        for name, arguments in turn.tools:
            blocks.append({"type": "tool_use", "id": _new("toolu"), "name": name, "input": arguments})
        tokens = turn.usage
        return {
            "id": _new("msg"),
            "type": "message",
            "role": "assistant",
            "model": request.body.get("model", "scripted"),
            "content": blocks,
            "stop_reason": {"length": "max_tokens", "refusal": "refusal"}.get(
                turn.finish, "tool_use" if turn.tools else "end_turn"
            ),
            "stop_sequence": None,
            "usage": {
                "input_tokens": tokens.input - tokens.cached,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": tokens.cached,
                "output_tokens": tokens.output,
            },
        }

    def opening(self, whole: Json, turn: Turn) -> Iterator[StreamEvent]:
        yield named_event("message_start", message={**whole, "content": [], "stop_reason": None})
        for index, block in enumerate(whole["content"]):
            if block["type"] == "text":
                empty = {**block, "text": ""}
                deltas = [{"type": "text_delta", "text": piece} for piece in pieces(turn, block["text"])]
            else:
                empty = {**block, "input": {}}
                deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
            yield named_event("content_block_start", index=index, content_block=empty)
            for delta in deltas:
                yield named_event("content_block_delta", index=index, delta=delta)
            yield named_event("content_block_stop", index=index)

    def ending(self, whole: Json) -> Iterator[StreamEvent]:
        delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield named_event("message_delta", delta=delta, usage=whole["usage"])
        yield named_event("message_stop")


EMPTY = {"string": "x", "number": 0, "integer": 0, "boolean": False, "array": []}


class Google(ScriptedModel):
    """`POST ...:streamGenerateContent`. Requests without a stream and token counts are side requests."""

    def side(self, request: ReceivedRequest) -> Turn | Json | None:
        path = request.path.split("?")[0]
        if request.method == "GET":
            return {"models": []}
        if path.endswith(":countTokens"):
            return {"totalTokens": 100}
        if path.endswith(":streamGenerateContent"):
            return None
        settings = request.body.get("generationConfig") or {}
        form = settings.get("responseJsonSchema") or settings.get("responseSchema")
        return Turn(json.dumps(_fits(form)) if form else "ok")

    def streams(self, request: ReceivedRequest) -> bool:
        return ":streamGenerateContent" in request.path

    def whole(self, request: ReceivedRequest, turn: Turn) -> Json:
        parts: list[Json] = [{"text": turn.text}] if turn.text else []
        for name, arguments in turn.tools:
            parts.append({"functionCall": {"id": _new("fc"), "name": name, "args": arguments}})
        tokens = turn.usage
        return {
            "candidates": [
                {
                    "index": 0,
                    "content": {"role": "model", "parts": parts},
                    "finishReason": {"length": "MAX_TOKENS", "refusal": "SAFETY"}.get(turn.finish, "STOP"),
                }
            ],
            "usageMetadata": {
                "promptTokenCount": tokens.input,
                "candidatesTokenCount": tokens.output,
                "cachedContentTokenCount": tokens.cached,
                "totalTokenCount": tokens.input + tokens.output,
            },
            "modelVersion": request.path.rsplit("/", 1)[-1].split(":")[0],
            "responseId": uuid.uuid4().hex[:20],
        }

    def opening(self, whole: Json, turn: Turn) -> Iterator[StreamEvent]:
        for part in whole["candidates"][0]["content"]["parts"]:
            for piece in [{"text": text} for text in pieces(turn, part["text"])] if "text" in part else [part]:
                yield _google_chunk(whole, [piece], {})

    def ending(self, whole: Json) -> Iterator[StreamEvent]:
        yield _google_chunk(whole, [{"text": ""}], {"finishReason": whole["candidates"][0]["finishReason"]})


def _fits(form: Any) -> Any:
    """The smallest value that matches a schema. So side questions of the program never get a yes."""
    if form.get("enum"):
        return form["enum"][0]
    kind = form.get("type", "string")
    kind = (kind[0] if isinstance(kind, list) else kind).lower()
    if kind == "object":
        return {name: _fits(field) for name, field in (form.get("properties") or {}).items()}
    return EMPTY.get(kind, "x")


def _google_chunk(whole: Json, parts: list[Json], more: Json) -> StreamEvent:
    """The last chunk has the token counts and the finish reason."""
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, **more}
    names = ("modelVersion", "responseId", *(["usageMetadata"] if more else []))
    return "", {"candidates": [candidate], **{name: whole[name] for name in names}}


class Chat(ScriptedModel):
    """`POST /v1/chat/completions`. A request without tools is a side request."""

    version = "/v1"

    def side(self, request: ReceivedRequest) -> Turn | Json | None:
        if request.method == "GET":
            return {"object": "list", "data": []}
        return None if request.body.get("tools") else Turn("A title")

    def whole(self, request: ReceivedRequest, turn: Turn) -> Json:
        message: Json = {"role": "assistant", "content": turn.text or None}
        if turn.tools:
            texts = [(name, value if isinstance(value, str) else json.dumps(value)) for name, value in turn.tools]
            calls = [{"name": name, "arguments": text} for name, text in texts]
            message["tool_calls"] = [{"id": _new("call"), "type": "function", "function": call} for call in calls]
        finishes = {"": "tool_calls" if turn.tools else "stop", "length": "length", "refusal": "content_filter"}
        tokens = turn.usage
        return {
            "id": f"chatcmpl-{uuid.uuid4().hex[:20]}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": request.body.get("model", "scripted"),
            "choices": [{"index": 0, "message": message, "finish_reason": finishes[turn.finish]}],
            "usage": {
                "prompt_tokens": tokens.input,
                "completion_tokens": tokens.output,
                "total_tokens": tokens.input + tokens.output,
                "prompt_tokens_details": {"cached_tokens": tokens.cached},
            },
        }

    def opening(self, whole: Json, turn: Turn) -> Iterator[StreamEvent]:
        message = whole["choices"][0]["message"]
        yield _chat_chunk(whole, {"role": "assistant", "content": ""})
        for piece in pieces(turn, message["content"] or ""):
            yield _chat_chunk(whole, {"content": piece})
        for index, call in enumerate(message.get("tool_calls", [])):
            first = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
            rest = {"index": index, "function": {"arguments": call["function"]["arguments"]}}
            yield _chat_chunk(whole, {"tool_calls": [first]})
            yield _chat_chunk(whole, {"tool_calls": [rest]})

    def ending(self, whole: Json) -> Iterator[StreamEvent]:
        yield _chat_chunk(whole, {}, whole["choices"][0]["finish_reason"])
        yield "", {**_chat_head(whole), "choices": [], "usage": whole["usage"]}
        yield "", "[DONE]"


def _chat_head(whole: Json) -> Json:
    return {"id": whole["id"], "object": "chat.completion.chunk", "created": whole["created"], "model": whole["model"]}


def _chat_chunk(whole: Json, delta: Json, finish: str | None = None) -> StreamEvent:
    return "", {**_chat_head(whole), "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


INCOMPLETE = {"length": "max_output_tokens", "refusal": "content_filter"}
SPAWN, WAIT = "collaboration__spawn_agent", "collaboration__wait_agent"
"""A subagent works beside the main agent, so the model waits for it in the same turn."""
NAMESPACES = ("mcp__", "collaboration__", "functions__")
TITLE = Turn(json.dumps({"title": "A title"}))


class Responses(ScriptedModel):
    """`POST /v1/responses`. The request for a title of the conversation is a side request."""

    version = "/v1"

    def side(self, request: ReceivedRequest) -> Turn | Json | None:
        if request.method == "GET":
            return {"object": "list", "data": [], "models": []}
        return TITLE if _turn_metadata(request).get("thread_source") == "thread_title" else None

    def conversation(self, request: ReceivedRequest) -> str | None:
        id_ = _turn_metadata(request).get("thread_id")
        return id_ if isinstance(id_, str) else None

    def whole(self, request: ReceivedRequest, turn: Turn) -> Json:
        part = {"type": "output_text", "text": turn.text, "annotations": []}
        message = {"id": _new("msg"), "type": "message", "role": "assistant", "status": "completed", "content": [part]}
        items = [message] if turn.text else []
        items += [_response_call(name, arguments) for name, arguments in turn.tools]
        items += [_response_call(WAIT, {"timeout_ms": 60_000}) for name, _ in turn.tools if name == SPAWN]
        reason = INCOMPLETE.get(turn.finish)
        tokens = turn.usage
        return {
            "id": _new("resp"),
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

    def opening(self, whole: Json, turn: Turn) -> Iterator[StreamEvent]:
        head = {**whole, "status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
        yield named_event("response.created", response=head)
        for index, item in enumerate(whole["output"]):
            yield from _response_item(index, item, turn)

    def ending(self, whole: Json) -> Iterator[StreamEvent]:
        yield named_event(f"response.{whole['status']}", response=whole)


def _turn_metadata(request: ReceivedRequest) -> Json:
    """What the client says about the turn that a request belongs to."""
    data = json.loads(request.headers.get("x-codex-turn-metadata") or "{}")
    return data if isinstance(data, dict) else {}


def _response_item(index: int, item: Json, turn: Turn) -> Iterator[StreamEvent]:
    """A text is sent in pieces, a call in one piece."""
    if item["type"] == "message":
        place = {"item_id": item["id"], "output_index": index, "content_index": 0}
        part = item["content"][0]
        yield named_event("response.output_item.added", output_index=index, item={**item, "content": []})
        yield named_event("response.content_part.added", **place, part={**part, "text": ""})
        for piece in pieces(turn, part["text"]):
            yield named_event("response.output_text.delta", **place, delta=piece)
        yield named_event("response.output_text.done", **place, text=part["text"])
    else:
        yield named_event("response.output_item.added", output_index=index, item=item)
    yield named_event("response.output_item.done", output_index=index, item=item)


def _response_call(name: str, arguments: Json | str) -> Json:
    """Arguments that are a text are a freeform call. Tools of MCP servers are in the namespace of their server."""
    space, _, tool = name.rpartition("__") if name.startswith(NAMESPACES) else ("", "", name)
    place = {"namespace": space} if space else {}
    call = {"call_id": _new("call"), "name": tool, "status": "completed", **place}
    if isinstance(arguments, str):
        return {"id": _new("ctc"), "type": "custom_tool_call", "input": arguments, **call}
    return {"id": _new("fc"), "type": "function_call", "arguments": json.dumps(arguments), **call}
