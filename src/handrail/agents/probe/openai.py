"""OpenAI's two protocols: chat completions and Responses. They have the same errors and limits."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator

from handrail.agents.probe.scripted_model import (
    SPENT,
    Json,
    ReceivedRequest,
    ScriptedModel,
    ServiceError,
    StreamEvent,
    Turn,
    named_event,
    pieces,
)

CODES = {
    400: ("invalid_request_error", "invalid_value"),
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
    500: ("server_error", None),
    503: ("server_error", None),
}
QUOTA = "insufficient_quota"
WORDS = {
    "invalid_api_key": "Incorrect API key provided: sk-fake. You can find your API key in your account settings.",
    "rate_limit_exceeded": "Rate limit reached for requests.",
    QUOTA: "You exceeded your current quota, please check your plan and billing details.",
    None: "The server had an error while processing your request. Sorry about that!",
}


def refusal(turn: Turn) -> ServiceError:
    """The body and the headers of an error."""
    kind, code = CODES.get(turn.status, ("server_error", None))
    code = QUOTA if turn.error == SPENT else turn.error or code
    words = WORDS.get(code, code or "")
    if turn.retry_after is not None:
        words += f" Please try again in {turn.retry_after:g}s."
    body: Json = {"error": {"message": words, "type": QUOTA if code == QUOTA else kind, "param": None, "code": code}}
    return ServiceError(body, {} if turn.retry_after is None else limit_headers(turn.retry_after))


def plan_limit(seconds: float) -> ServiceError:
    """The error of an exhausted ChatGPT plan."""
    limit: Json = {"type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "plus"}
    wait = round(seconds)
    return ServiceError({"error": {**limit, "resets_at": round(time.time()) + wait, "resets_in_seconds": wait}}, {})


def limit_headers(seconds: float) -> dict[str, str]:
    """The headers of a limit that ends after this number of seconds."""
    return {
        "retry-after": str(round(seconds)),
        "retry-after-ms": str(round(seconds * 1000)),
        "x-ratelimit-limit-requests": "500",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": f"{seconds:g}s",
    }


FINISHES = {"length": "length", "refusal": "content_filter"}


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
            message["tool_calls"] = [_chat_call(name, arguments) for name, arguments in turn.tools]
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

    def opening(self, whole: Json, turn: Turn) -> Iterator[StreamEvent]:
        message = whole["choices"][0]["message"]
        yield _chunk(whole, {"role": "assistant", "content": ""})
        for piece in pieces(turn, message["content"] or ""):
            yield _chunk(whole, {"content": piece})
        for index, call in enumerate(message.get("tool_calls", [])):
            function = call["function"]
            yield _chunk(whole, {"tool_calls": [{**call, "index": index, "function": {**function, "arguments": ""}}]})
            yield _chunk(whole, {"tool_calls": [{"index": index, "function": {"arguments": function["arguments"]}}]})

    def ending(self, whole: Json) -> Iterator[StreamEvent]:
        yield _chunk(whole, {}, whole["choices"][0]["finish_reason"])
        yield "", {**_head(whole), "choices": [], "usage": whole["usage"]}
        yield "", "[DONE]"

    def error(self, turn: Turn) -> ServiceError:
        return refusal(turn)


def _chat_call(name: str, arguments: Json | str) -> Json:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": f"call_{uuid.uuid4().hex[:20]}", "type": "function", "function": {"name": name, "arguments": text}}


def _head(whole: Json) -> Json:
    return {"id": whole["id"], "object": "chat.completion.chunk", "created": whole["created"], "model": whole["model"]}


def _chunk(whole: Json, delta: Json, finish: str | None = None) -> StreamEvent:
    return "", {**_head(whole), "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


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
        return TITLE if _about(request).get("thread_source") == "thread_title" else None

    def conversation(self, request: ReceivedRequest) -> str | None:
        found = _about(request).get("thread_id")
        return found if isinstance(found, str) else None

    def whole(self, request: ReceivedRequest, turn: Turn) -> Json:
        items = [_message(turn.text)] if turn.text else []
        items += [_response_call(name, arguments) for name, arguments in turn.tools]
        items += [_response_call(WAIT, {"timeout_ms": 60_000}) for name, _ in turn.tools if name == SPAWN]
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

    def opening(self, whole: Json, turn: Turn) -> Iterator[StreamEvent]:
        begun = {**whole, "status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
        yield named_event("response.created", response=begun)
        for index, item in enumerate(whole["output"]):
            yield from _item(index, item, turn)

    def ending(self, whole: Json) -> Iterator[StreamEvent]:
        yield named_event(f"response.{whole['status']}", response=whole)

    def error(self, turn: Turn) -> ServiceError:
        return plan_limit(turn.retry_after or 0) if turn.error == SPENT else refusal(turn)


def _about(request: ReceivedRequest) -> Json:
    """What the client says about the turn that a request belongs to."""
    found = json.loads(request.headers.get("x-codex-turn-metadata") or "{}")
    return found if isinstance(found, dict) else {}


def _item(index: int, item: Json, turn: Turn) -> Iterator[StreamEvent]:
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


def _message(text: str) -> Json:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"id": _new("msg"), "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def _response_call(name: str, arguments: Json | str) -> Json:
    """Arguments that are a text are a freeform call. Tools of MCP servers are in the namespace of their server."""
    space, _, tool = name.rpartition("__") if name.startswith(NAMESPACES) else ("", "", name)
    place = {"namespace": space} if space else {}
    call = {"call_id": _new("call"), "name": tool, "status": "completed", **place}
    if isinstance(arguments, str):
        return {"id": _new("ctc"), "type": "custom_tool_call", "input": arguments, **call}
    return {"id": _new("fc"), "type": "function_call", "arguments": json.dumps(arguments), **call}


def _new(kind: str) -> str:
    return f"{kind}_{uuid.uuid4().hex[:20]}"
