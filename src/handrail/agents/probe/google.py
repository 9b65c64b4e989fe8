"""Google's generateContent protocol."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

from handrail.agents.probe.scripted_model import (
    SPENT,
    Json,
    ReceivedRequest,
    ScriptedModel,
    ServiceError,
    StreamEvent,
    Turn,
    pieces,
)

STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
WORDS = {
    401: "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
    "authentication credential.",
    429: "You exceeded your current quota, please check your plan and billing details.",
    500: "An internal error has occurred. Please retry.",
    503: "The model is overloaded. Please try again later.",
}
FINISHES = {"length": "MAX_TOKENS", "refusal": "SAFETY"}
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
            parts.append({"functionCall": {"id": f"fc_{uuid.uuid4().hex[:12]}", "name": name, "args": arguments}})
        tokens = turn.usage
        return {
            "candidates": [
                {
                    "index": 0,
                    "content": {"role": "model", "parts": parts},
                    "finishReason": FINISHES.get(turn.finish, "STOP"),
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
                yield _chunk(whole, [piece], {})

    def ending(self, whole: Json) -> Iterator[StreamEvent]:
        yield _chunk(whole, [{"text": ""}], {"finishReason": whole["candidates"][0]["finishReason"]})

    def error(self, turn: Turn) -> ServiceError:
        error: Json = {
            "code": turn.status,
            "message": WORDS.get(turn.status, "scripted"),
            "status": STATUSES.get(turn.status, "UNKNOWN"),
        }
        if turn.retry_after is not None:
            error["message"] += f"\nPlease retry in {turn.retry_after:g}s."
            error["details"] = limits(turn.retry_after, "PerDay" if turn.error == SPENT else "PerMinute")
        return ServiceError({"error": error}, {})


def limits(seconds: float, period: str) -> list[Json]:
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


def _fits(form: Any) -> Any:
    """The smallest value that matches a schema. So side questions of the program never get a yes."""
    if form.get("enum"):
        return form["enum"][0]
    kind = form.get("type", "string")
    kind = (kind[0] if isinstance(kind, list) else kind).lower()
    if kind == "object":
        return {name: _fits(field) for name, field in (form.get("properties") or {}).items()}
    return EMPTY.get(kind, "x")


def _chunk(whole: Json, parts: list[Json], more: Json) -> StreamEvent:
    """The last chunk has the token counts and the finish reason."""
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, **more}
    names = ("modelVersion", "responseId", *(["usageMetadata"] if more else []))
    return "", {"candidates": [candidate], **{name: whole[name] for name in names}}
