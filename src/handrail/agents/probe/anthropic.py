"""Anthropic's Messages protocol."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime

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
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
WORDS = {
    "authentication_error": "invalid x-api-key",
    "rate_limit_error": "This request would exceed your account's rate limit. Please try again later.",
    "api_error": "Internal server error",
    "overloaded_error": "Overloaded",
}
FINISHES = {"length": "max_tokens", "refusal": "refusal"}


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
            id_ = "toolu_" + uuid.uuid4().hex[:20]
            blocks.append({"type": "tool_use", "id": id_, "name": name, "input": arguments})
        tokens = turn.usage
        return {
            "id": "msg_" + uuid.uuid4().hex[:20],
            "type": "message",
            "role": "assistant",
            "model": request.body.get("model", "scripted"),
            "content": blocks,
            "stop_reason": FINISHES.get(turn.finish, "tool_use" if turn.tools else "end_turn"),
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
            empty = {**block, "text": ""} if block["type"] == "text" else {**block, "input": {}}
            yield named_event("content_block_start", index=index, content_block=empty)
            for delta in _deltas(block, turn):
                yield named_event("content_block_delta", index=index, delta=delta)
            yield named_event("content_block_stop", index=index)

    def ending(self, whole: Json) -> Iterator[StreamEvent]:
        delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield named_event("message_delta", delta=delta, usage=whole["usage"])
        yield named_event("message_stop")

    def error(self, turn: Turn) -> ServiceError:
        spent = turn.error == SPENT
        code = (not spent and turn.error) or CODES.get(turn.status, "api_error")
        body = {
            "type": "error",
            "error": {"type": code, "message": WORDS.get(code, code)},
            "request_id": "req_scripted",
        }
        if turn.retry_after is None:
            return ServiceError(body, {})
        return ServiceError(body, limits(turn.retry_after) | (plan_limits(turn.retry_after) if spent else {}))


def _deltas(block: Json, turn: Turn) -> Iterator[Json]:
    if block["type"] == "tool_use":
        yield {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        return
    for piece in pieces(turn, block["text"]):
        yield {"type": "text_delta", "text": piece}


def limits(seconds: float) -> dict[str, str]:
    """The headers of a limit that ends after this number of seconds."""
    reset = time.time() + seconds
    return {
        "retry-after": str(round(seconds)),
        "anthropic-ratelimit-requests-limit": "50",
        "anthropic-ratelimit-requests-remaining": "0",
        "anthropic-ratelimit-requests-reset": datetime.fromtimestamp(reset, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def plan_limits(seconds: float) -> dict[str, str]:
    """The headers of an exhausted 5-hour limit of a subscription. The program uses them only without an API key."""
    reset = str(round(time.time() + seconds))
    return {
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
        "anthropic-ratelimit-unified-reset": reset,
        "anthropic-ratelimit-unified-5h-status": "rejected",
        "anthropic-ratelimit-unified-5h-reset": reset,
    }
