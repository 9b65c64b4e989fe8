"""Classifying errors: real texts of the six programs and their services, and the time of the next retry."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.agents.outcomes import (
    JobOutcome,
    brief,
    classify_failure,
    finished,
    json_answer,
    last_error,
    prompt_for_json,
    seconds_in,
    status_in,
    without_json,
)
from handrail.extensions.contracts import OUTCOMES

NOW = 1_794_787_200.0 + 12 * 3600  # a noon, UTC
HOUR = 3600.0


def limited(period: str, seconds: str) -> str:
    """A limit in the format of Google's service."""
    quota = {"quotaId": f"GenerateRequests{period}PerProjectPerModel-FreeTier", "quotaValue": "50"}
    details = [{"@type": "x/QuotaFailure", "violations": [quota]}, {"@type": "x/RetryInfo", "retryDelay": seconds}]
    message = f"You exceeded your current quota, please check your plan and billing details. Please retry in {seconds}."
    return json.dumps({"error": {"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED", "details": details}})


TEXTS: list[tuple[str, str]] = [
    # Claude Code
    ("auth", 'API Error: 401 {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}'),
    ("auth", "Invalid API key · Please run /login"),
    ("auth", "Not logged in · Please run /login"),
    ("auth", "OAuth token has expired. Please obtain a new token or refresh your existing token."),
    ("quota", "Credit balance is too low"),
    ("quota", "You've hit your limit · resets 3pm (UTC)"),
    ("quota", "You’ve hit your session limit · resets 3:30am (Europe/Berlin)"),
    ("quota", "Claude AI usage limit reached|1794833000"),
    ("rate-limit", "API Error: 429 This request would exceed your account's rate limit. Please try again later."),
    ("overflow", "Prompt is too long"),
    ("overflow", "API Error: 400 input length and `max_tokens` exceed context limit: 197000 + 21333 > 200000"),
    ("overflow", "prompt is too long: 210000 tokens > 200000 maximum"),
    ("refused", "API Error: Claude Code is unable to respond to this request, it appears to violate our Usage Policy"),
    ("unavailable", 'API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'),
    ("unavailable", "API Error: Connection error."),
    ("unavailable", "API Error: Request timed out."),
    # Codex
    ("auth", "unexpected status 401 Unauthorized: Incorrect API key provided: sk-x., url: http://127.0.0.1:1/v1/responses"),
    ("auth", "Missing environment variable: `OPENAI_API_KEY`."),
    ("auth", "Your access token could not be refreshed. Please log out and sign in again."),
    ("rate-limit", "exceeded retry limit, last status: 429 Too Many Requests"),
    ("rate-limit", "Rate limit reached for gpt-5 on tokens per min (TPM): Limit 1, Used 1. Please try again in 2s."),
    ("quota", "Quota exceeded. Check your plan and billing details."),
    ("quota", "You’ve hit your usage limit. Purchase more credits or try again at Nov 16th, 2026 12:43 AM."),
    ("overflow", "Codex ran out of room in the model's context window. Start a new thread before retrying."),
    ("overflow", '{"error": {"message": "Your input exceeds it", "code": "context_length_exceeded"}}'),
    ("refused", "stream disconnected before completion: Incomplete response returned, reason: content_filter"),
    ("refused", '{"error":{"message":"Invalid prompt: your prompt was flagged","code":"invalid_prompt"}}'),
    ("unavailable", "We’re currently experiencing high demand, which may cause temporary errors."),
    ("unavailable", "stream disconnected before completion: Transport error: network error: error decoding"),
    ("unavailable", "Connection failed: error sending request"),
    ("crash", "Incomplete response returned, reason: max_output_tokens"),
    ("crash", "Error: thread/resume: thread/resume failed: no rollout found for thread id 01a1e05a (code -32600)"),
    # Gemini CLI
    ("auth", '[API Error: {"error":{"code":400,"message":"API key not valid. Please pass a valid API key."}}]'),
    ("auth", '[API Error: {"error":{"code":403,"message":"denied","status":"PERMISSION_DENIED"}}]'),
    ("auth", "Please set an Auth method in your settings.json or specify GEMINI_API_KEY before running"),
    ("rate-limit", "[API Error: You exceeded your current quota, check your plan and billing.\nPlease retry in 3s.]"),
    ("quota", "You have exhausted your daily quota on this model."),
    ("quota", "You have exhausted your capacity on this model. Your quota will reset after 3h2m1s."),
    ("overflow", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
    ("refused", "Response stopped. Reason: SAFETY"),
    ("refused", "The model response was blocked due to safety settings."),
    ("unavailable", '[API Error: {"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]'),
    ("unavailable", "[API Error: exception TypeError: fetch failed sending request]"),
    ("unavailable", "Model stream ended without a finish reason."),
    ("crash", 'Error resuming session: Invalid session identifier "01a1e05a".'),
    # OpenCode
    ("auth", '{"name":"ProviderAuthError","data":{"providerID":"x","message":"no key"}}'),
    ("auth", '{"name":"APIError","data":{"message":"bad key","statusCode":401,"isRetryable":false}}'),
    ("overflow", '{"name":"ContextOverflowError","data":{"message":"it is full"}}'),
    ("quota", "Free usage exceeded, add credits https://opencode.ai/zen"),
    ("unavailable", "Unable to connect. Is the computer able to access the url?"),
    ("crash", "Model not found: fake/none."),
    # pi
    ("auth", "401 Incorrect API key provided: sk-fake."),
    ("auth", "No API key found for openai."),
    ("rate-limit", "429 Rate limit reached for requests."),
    ("quota", "429 You exceeded your current quota, please check your plan and billing details. insufficient_quota"),
    ("unavailable", "500 The server had an error while processing your request. Sorry about that!"),
    ("unavailable", "Connection error."),
    ("unavailable", "terminated"),
    # Copilot
    ("auth", "Error: No authentication information found. To authenticate, run /login"),
    ("quota", "402 You have no quota (Request ID: 1)"),
    ("quota", "You have exceeded your premium request allowance."),
    ("rate-limit", "Sorry, you have exceeded your rate limit. Please try again in 5 hours."),
    ("overflow", "prompt token count of 130000 exceeds the limit of 128000 (model_max_prompt_tokens_exceeded)"),
    ("refused", "400 The response was filtered due to the prompt triggering the content management policy"),
    # neither
    ("crash", "EACCES: permission denied, open '/home/me/.config'"),
    ("crash", "error: unexpected argument '--nope' found"),
    ("crash", "Segmentation fault"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text"), TEXTS, ids=[text[:60] for _, text in TEXTS])
def test_an_error_text_determines_the_outcome(name: str, text: str) -> None:
    assert classify_failure(None, text, NOW).name == name


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (400, "crash"), (401, "auth"), (402, "quota"), (403, "auth"), (404, "crash"), (408, "unavailable"),
        (413, "overflow"), (429, "rate-limit"), (500, "unavailable"), (503, "unavailable"), (529, "unavailable"),
    ],
)  # fmt: skip
def test_a_status_determines_the_outcome_if_the_words_do_not(status: int, name: str) -> None:
    assert classify_failure(status, "it did not work", NOW) == JobOutcome(name, "it did not work", None)


def test_words_are_more_exact_than_a_status() -> None:
    assert classify_failure(400, "This model's maximum context length is 128000 tokens", NOW).name == "overflow"
    assert classify_failure(429, "insufficient_quota", NOW).name == "quota"
    assert classify_failure(403, "your billing account is disabled", NOW).name == "quota"
    assert classify_failure(400, "blocked by our content policy", NOW).name == "refused"


def test_some_statuses_override_the_words() -> None:
    assert classify_failure(503, "no quota service, please log in again later", NOW).name == "unavailable"
    assert classify_failure(401, "rate limit of unknown callers", NOW).name == "auth"


def test_every_outcome_is_tested() -> None:
    assert {name for name, _ in TEXTS} | {"done", "timeout"} == set(OUTCOMES)


TIMES: list[tuple[float | None, str]] = [
    (90, "Rate limit reached. Please try again in 1m30s."),
    (0.66, "Rate limit reached. Please try again in 660ms."),
    (1.898, "Rate limit reached. Please try again in 1.898s"),
    (20, "rate limited, please wait 20 seconds"),
    (HOUR * 76 + 300, "You've hit your usage limit. Try again in 3 days 4 hours 5 minutes."),
    (HOUR * 3 + 121, "You have exhausted your capacity on this model. Your quota will reset after 3h2m1s."),
    (12, "429 Too Many Requests, retry-after: 12"),
    (HOUR * 3, "You've hit your limit · resets 3pm (UTC)"),
    (HOUR * 15.5, "You've hit your limit · resets 3:30am (UTC)"),
    (HOUR * 12, "You've hit your limit · resets 12am (UTC)"),
    (HOUR * 24, "Rate limit: try again at 12:00 UTC"),
    (HOUR * 2, "Rate limit: resets at 2026-11-16T14:00:00Z"),
    (HOUR, "Rate limit: resets at 2026-11-16T14:00:00.000+01:00"),
    (HOUR, f"Claude AI usage limit reached|{NOW + HOUR:.0f}"),
    (33, limited("PerMinute", "33s")),
    (33.07, f"[API Error: {limited('PerMinute', '33.07s')}]"),
    (None, limited("PerDay", "33s")),
    (None, "You've hit your limit · resets 3pm (Europe/Berlin)"),
    (None, "You’ve hit your usage limit or try again at 12:43 AM."),
    (None, "Rate limit: resets at 2026-11-16T10:00:00Z"),
    (None, "Rate limit: resets at 2126-11-16T10:00:00Z"),
    (None, "Rate limit reached. Please try again later."),
]


@pytest.mark.parametrize(("seconds", "text"), TIMES, ids=[text[:60] for _, text in TIMES])
def test_a_reset_time_is_given_only_if_it_is_certain(seconds: float | None, text: str) -> None:
    found = classify_failure(None, text, NOW)
    assert found.name in ("rate-limit", "quota")
    assert found.resets_at == (None if seconds is None else pytest.approx(NOW + seconds))


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"Retry-After": "Mon, 16 Nov 2026 13:00:00 GMT"}, HOUR),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"resets_at": NOW + 60}, 60),
        ({"resetsAt": (NOW + 60) * 1000}, 60),
        ({"resets_in_seconds": 3600, "plan_type": "plus"}, HOUR),
        ({"anthropic-ratelimit-unified-reset": str(NOW + 5)}, 5),
        ({"retryDelay": "1m5s"}, 65),
        ({"x-request-id": "7", "retry-after": None}, None),
    ],
)
def test_a_reset_time_is_read_from_members_and_headers(fields: dict[str, Any], seconds: float | None) -> None:
    found = classify_failure(429, "too many", NOW, fields)
    assert found.resets_at == (None if seconds is None else pytest.approx(NOW + seconds))


def test_an_auth_error_has_no_reset_time() -> None:
    assert classify_failure(401, "try again in 5s", NOW).resets_at is None


def test_the_message_is_the_services_text_without_its_json() -> None:
    inner = json.dumps({"error": {"code": 401, "message": "the key is wrong", "status": "UNAUTHENTICATED"}})
    assert without_json(f"[API Error: {inner}]") == "[API Error: the key is wrong]"
    assert without_json(json.dumps({"error": {"message": inner}})) == "the key is wrong"
    assert without_json('it said {"a": 1} and\n went') == 'it said {"a": 1} and went'


def test_a_long_message_is_cut_in_the_middle() -> None:
    message = classify_failure(None, "a" * 5000 + "z", NOW).message
    assert message is not None
    assert len(message) <= 600
    assert message.endswith("z")
    assert brief("short") == "short"


def test_an_empty_error_still_has_a_message() -> None:
    assert classify_failure(500, " ", NOW).message == OUTCOMES["unavailable"]


def test_no_text_makes_classifying_fail() -> None:
    for text in ("{" * 5000, '{"error": [[[]]]}', "[{]", '{"resets_at": "soon", "error": null}', "\0", '{"error": {}}'):
        assert classify_failure(429, text, NOW).name == "rate-limit"


def test_the_status_is_found_in_a_text() -> None:
    assert status_in("unexpected status 429 Too Many Requests") == 429
    assert status_in('{"statusCode": 503}') == 503
    assert status_in("it took 500 tries at port 4010") is None


def test_the_last_error_prefers_lines_that_name_an_error() -> None:
    errors = "WARNING: x\nError: no such session\n    at main (file.js:1)\n    at run\nbye\n"
    assert last_error(42, errors) == "it ended with exit code 42: Error: no such session"
    assert last_error(-9, "") == "it ended by signal 9 and did not say why"
    assert last_error(0, "one\ntwo\nthree\n") == "it ended with exit code 0: two three"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('Here it is:\n```json\n{"a": {"b": 1}}\n```\n', {"a": {"b": 1}}),
        ('Here it is:\n\n{\n  "a": [\n{"b": 1}\n]\n}', {"a": [{"b": 1}]}),
        ("[1, 2]", [1, 2]),
        ("7", 7),
        ("I cannot", None),
        ('{"a": 1} is it', None),
        ("", None),
        (None, None),
    ],
)
def test_the_json_answer_is_read_from_the_end_of_a_text(text: str | None, value: Any) -> None:
    assert json_answer(text) == value


def test_a_prompt_for_json_contains_the_schema() -> None:
    asked = prompt_for_json("Count.", {"type": "integer"})
    assert asked.startswith("Count.\n")
    assert '{"type": "integer"}' in asked


def test_durations_are_read_in_all_spellings() -> None:
    assert [seconds_in(text) for text in ("1h", "90 mins", "2 days", "5sec", "x")] == [3600, 5400, 172_800, 5, None]


def test_the_last_event_has_one_shape() -> None:
    said = finished(JobOutcome("quota", "no more", 5.0), None)
    told = {"outcome": "quota", "message": "no more", "resetsAt": 5.0, "text": None, "structured": None}
    assert (said.kind, said.data) == ("finished", told)
