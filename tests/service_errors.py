"""Turns of a scripted model that fail with the status, the body and the headers of the real services."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from functools import partial

from handrail.agents.probe.protocols import Anthropic, Google, Responses
from handrail.agents.probe.scripted_model import Json, ScriptedModel, ServiceError, Turn

SPENT = "spent"
"""The error for a plan or a daily limit that is exhausted; with status 429."""
ANTHROPIC_CODES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
ANTHROPIC_WORDS = {
    "authentication_error": "invalid x-api-key",
    "rate_limit_error": "This request would exceed your account's rate limit. Please try again later.",
    "api_error": "Internal server error",
    "overloaded_error": "Overloaded",
}
GOOGLE_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
GOOGLE_WORDS = {
    401: "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
    "authentication credential.",
    429: "You exceeded your current quota, please check your plan and billing details.",
    500: "An internal error has occurred. Please retry.",
    503: "The model is overloaded. Please try again later.",
}
OPENAI_CODES = {
    400: ("invalid_request_error", "invalid_value"),
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
    500: ("server_error", None),
    503: ("server_error", None),
}
QUOTA = "insufficient_quota"
OPENAI_WORDS = {
    "invalid_api_key": "Incorrect API key provided: sk-fake. You can find your API key in your account settings.",
    "rate_limit_exceeded": "Rate limit reached for requests.",
    QUOTA: "You exceeded your current quota, please check your plan and billing details.",
    None: "The server had an error while processing your request. Sorry about that!",
}


def failed_turn(status: int, error: str = "", *, retry_after: float | None = None) -> Turn:
    """A turn that is an error of the service: its code, or `SPENT`. If empty, the usual code of the status is used.

    The service asks the client to wait for `retry_after` seconds, in the place where this service puts it.
    """
    return Turn(failure=partial(_service_error, status, error, retry_after))


def _service_error(status: int, error: str, retry_after: float | None, model: ScriptedModel) -> ServiceError:
    if isinstance(model, Anthropic):
        return _anthropic_error(status, error, retry_after)
    if isinstance(model, Google):
        return _google_error(status, error, retry_after)
    if isinstance(model, Responses) and error == SPENT:
        return _openai_plan_limit(retry_after or 0)
    return _openai_error(status, error, retry_after)


def _anthropic_error(status: int, error: str, retry_after: float | None) -> ServiceError:
    spent = error == SPENT
    code = (not spent and error) or ANTHROPIC_CODES.get(status, "api_error")
    body = {
        "type": "error",
        "error": {"type": code, "message": ANTHROPIC_WORDS.get(code, code)},
        "request_id": "req_scripted",
    }
    if retry_after is None:
        return ServiceError(status, body, {})
    limits = _anthropic_limits(retry_after) | (_anthropic_plan_limits(retry_after) if spent else {})
    return ServiceError(status, body, limits)


def _anthropic_limits(seconds: float) -> dict[str, str]:
    """The headers of a limit that ends after this number of seconds."""
    reset = time.time() + seconds
    return {
        "retry-after": str(round(seconds)),
        "anthropic-ratelimit-requests-limit": "50",
        "anthropic-ratelimit-requests-remaining": "0",
        "anthropic-ratelimit-requests-reset": datetime.fromtimestamp(reset, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _anthropic_plan_limits(seconds: float) -> dict[str, str]:
    """The headers of an exhausted 5-hour limit of a subscription. The program uses them only without an API key."""
    reset = str(round(time.time() + seconds))
    return {
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
        "anthropic-ratelimit-unified-reset": reset,
        "anthropic-ratelimit-unified-5h-status": "rejected",
        "anthropic-ratelimit-unified-5h-reset": reset,
    }


def _google_error(status: int, error: str, retry_after: float | None) -> ServiceError:
    about: Json = {
        "code": status,
        "message": GOOGLE_WORDS.get(status, "scripted"),
        "status": GOOGLE_STATUSES.get(status, "UNKNOWN"),
    }
    if retry_after is not None:
        about["message"] += f"\nPlease retry in {retry_after:g}s."
        about["details"] = _google_limits(retry_after, "PerDay" if error == SPENT else "PerMinute")
    return ServiceError(status, {"error": about}, {})


def _google_limits(seconds: float, period: str) -> list[Json]:
    """The details of a limit that ends after this number of seconds. No header contains it."""
    kind = "type.googleapis.com/google.rpc."
    violation = {
        "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
        "quotaId": f"GenerateRequests{period}PerProjectPerModel-FreeTier",
        "quotaDimensions": {"location": "global", "model": "gemini-2.5-pro"},
        "quotaValue": "50",
    }
    return [
        {"@type": f"{kind}QuotaFailure", "violations": [violation]},
        {"@type": f"{kind}RetryInfo", "retryDelay": f"{seconds:g}s"},
    ]


def _openai_error(status: int, error: str, retry_after: float | None) -> ServiceError:
    kind, code = OPENAI_CODES.get(status, ("server_error", None))
    code = QUOTA if error == SPENT else error or code
    words = OPENAI_WORDS.get(code, code or "")
    if retry_after is not None:
        words += f" Please try again in {retry_after:g}s."
    body: Json = {"error": {"message": words, "type": QUOTA if code == QUOTA else kind, "param": None, "code": code}}
    return ServiceError(status, body, {} if retry_after is None else _openai_limits(retry_after))


def _openai_plan_limit(seconds: float) -> ServiceError:
    """The error of an exhausted ChatGPT plan."""
    limit: Json = {"type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "plus"}
    wait = round(seconds)
    body = {"error": {**limit, "resets_at": round(time.time()) + wait, "resets_in_seconds": wait}}
    return ServiceError(429, body, {})


def _openai_limits(seconds: float) -> dict[str, str]:
    """The headers of a limit that ends after this number of seconds."""
    return {
        "retry-after": str(round(seconds)),
        "retry-after-ms": str(round(seconds * 1000)),
        "x-ratelimit-limit-requests": "500",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": f"{seconds:g}s",
    }
