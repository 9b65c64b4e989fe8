"""Shared by OpenAI's two protocols: errors, and the fields of a limit."""

from __future__ import annotations

import time

from handrail.models.server import Error
from handrail.models.turn import SPENT, Json, Turn

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


def refusal(turn: Turn) -> Error:
    """The body and the headers of an error."""
    kind, code = CODES.get(turn.status, ("server_error", None))
    code = QUOTA if turn.error == SPENT else turn.error or code
    words = WORDS.get(code, code or "")
    if turn.retry_after is not None:
        words += f" Please try again in {turn.retry_after:g}s."
    body: Json = {"error": {"message": words, "type": QUOTA if code == QUOTA else kind, "param": None, "code": code}}
    return Error(body, {} if turn.retry_after is None else limits(turn.retry_after))


def plan_limit(seconds: float) -> Error:
    """The error of an exhausted ChatGPT plan."""
    limit: Json = {"type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "plus"}
    wait = round(seconds)
    return Error({"error": {**limit, "resets_at": round(time.time()) + wait, "resets_in_seconds": wait}}, {})


def limits(seconds: float) -> dict[str, str]:
    """The headers of a limit that ends after this number of seconds."""
    return {
        "retry-after": str(round(seconds)),
        "retry-after-ms": str(round(seconds * 1000)),
        "x-ratelimit-limit-requests": "500",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": f"{seconds:g}s",
    }
