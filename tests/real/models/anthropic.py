"""Anthropic's Messages protocol, as Claude Code uses it. The answers are those of `real.model`, with more options."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

from real import model
from real.models.server import Error, Event, Received, Scripted
from real.models.turn import SPENT, Json, Turn

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


class Anthropic(Scripted):
    """`POST /v1/messages`. A request without tools is a side request."""

    def side(self, request: Received) -> Turn | Json | None:
        path = request.path.split("?")[0]
        if request.method == "GET":
            return {"data": [], "has_more": False, "first_id": None, "last_id": None}
        if path.endswith("/count_tokens"):
            return {"input_tokens": 100}
        return None if request.body.get("tools") else Turn("ok")

    def whole(self, request: Received, turn: Turn) -> Json:
        calls = tuple((name, arguments) for name, arguments in turn.tools if isinstance(arguments, dict))
        message = model._message(request.body, model.Turn(turn.text, calls))
        tokens = turn.usage
        message["usage"] = {
            "input_tokens": tokens.input - tokens.cached,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": tokens.cached,
            "output_tokens": tokens.output,
        }
        message["stop_reason"] = FINISHES.get(turn.finish, message["stop_reason"])
        return message

    def opening(self, whole: Json, turn: Turn) -> Iterator[Event]:
        for event in model._events(whole, model.Turn(slow=turn.slow)):
            if event["type"] not in ("message_delta", "message_stop"):
                yield event["type"], event

    def ending(self, whole: Json) -> Iterator[Event]:
        delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield "message_delta", {"type": "message_delta", "delta": delta, "usage": whole["usage"]}
        yield "message_stop", {"type": "message_stop"}

    def error(self, turn: Turn) -> Error:
        spent = turn.error == SPENT
        code = (not spent and turn.error) or CODES.get(turn.status, "api_error")
        body = {
            "type": "error",
            "error": {"type": code, "message": WORDS.get(code, code)},
            "request_id": "req_scripted",
        }
        if turn.retry_after is None:
            return Error(body, {})
        return Error(body, limits(turn.retry_after) | (plan_limits(turn.retry_after) if spent else {}))


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
