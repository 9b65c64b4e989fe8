"""How an agent's job ended (one of `OUTCOMES`), when to retry, and what it used. Shared by the executors.

Agents pass on the error of the service, usually as text with JSON inside, so this looks at both words and JSON
members. It returns a time only if it is certain: an hour without a time zone is ignored. Other programs write the
lines and records that are read here, so a reader may only assume that each line is a JSON object.
"""

from __future__ import annotations

import contextlib
import json
import re
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from email.utils import mktime_tz, parsedate_tz
from typing import Any

from handrail.base.dataclasses import dataclass
from handrail.base.files import read_regular
from handrail.base.jsonlite import within
from handrail.extensions.contracts import OUTCOMES, AgentSaid, NodeError

CUT_OFF = "the answer was cut off at the length that the model allows"
LONGEST_MESSAGE = 600
LONGEST_OUTPUT = 2_000
LONGEST_WAIT = 400 * 86_400.0
MOST_JSON = 20
DAY = 86_400


@dataclass(frozen=True)
class JobOutcome:
    """How a job ended: one of `OUTCOMES`, a message, and the earliest time to retry, in seconds since 1970."""

    name: str
    message: str | None = None
    resets_at: float | None = None


DONE = JobOutcome("done")
_WORDS = {
    "overflow": r"""
        context[_ -]?(length|window|limit|size)|maximum context|contextoverflow
        maximum (allowed )?input|max_prompt_tokens|request_too_large|string_above_max_length|token limit exceeded
        \b(prompt|input|request|conversation|message)s? (is|are|was)? ?too (long|large|big)
        (input|prompt) token count.{0,60}exceeds
    """,
    "refused": r"""
        content[_ -]?(policy|filter|management policy)|(usage|safety) polic|violat\w+ .{0,40}polic|policyviolation
        \brefusal\b|(prompt|request|response) was (flagged|blocked)|invalid_prompt|cyber_policy
        unable to respond to this request|blocked due to|safety settings
        (?-i:\b(SAFETY|PROHIBITED_CONTENT|BLOCKLIST|SPII|RECITATION)\b)
    """,
    "quota": r"""
        insufficient[_ ](quota|balance|funds)|quota[_ ]exceeded|\bno quota\b|exhausted your
        usage[_ ]limit|usage exceeded|(hit|reached) your (\w+ ){0,2}limit
        exceeded your (current |monthly |daily |premium ){0,2}(quota|allowance|request)|premium request
        (daily|weekly|monthly|spend|spending) (quota|limit)|per ?day
        \bbilling|\bcredits?\b|credit balance|payment required
    """,
    "rate-limit": r"""
        rate[_ -]?limit|too many requests|resource[_ ](has been )?exhausted|throttl|per ?minute|\bquota\b
    """,
    "auth": r"""
        unauthori[sz]ed|authenticat|providerauth|auth (login|method)|\bforbidden\b|(?-i:PERMISSION_DENIED)
        (invalid|incorrect|missing|no)[_ ](x-)?api[_ -]?key|invalid[_ ](grant|token)|missing environment variable
        api[_ ]key[_ ](not valid|invalid|is required|is missing|required)
        not (logged|signed) in|(log|sign) ?in again|please (log|sign|run /log) ?in
        (token|credentials?|session|login) (has |have |is |are )?(expired|revoked|invalid)
    """,
    "unavailable": r"""
        overloaded|unavailable|internal (server )?error|server[_ ](had an )?error|bad gateway|gateway time
        high demand|at capacity|timed? ?out|retry limit
        connection (error|refused|reset|closed|failed|timed)|connectionrefused|connect error
        (failed|unable) to connect|could not connect|error sending request|fetch failed|\bnetwork\b|\bdns\b
        \beconn\w+|enotfound|eai_again|etimedout|epipe|und_err|socket hang|other side closed|premature close
        stream (disconnected|closed|ended|error)|(^|: )terminated|without a finish reason|empty response
    """,
}
_PATTERNS = {
    name: re.compile("|".join(words.split("\n")[1:-1]).replace("        ", ""), re.I) for name, words in _WORDS.items()
}
_STATUS = re.compile(
    r"(?:status(?:[ _]?code)?|\bhttp(?:/\d(?:\.\d)?)?|\bcode|\berror)\W{0,4}([45]\d\d)\b|^\W*([45]\d\d)\b",
    re.IGNORECASE,
)
_BY_STATUS = {401: "auth", 402: "quota", 403: "auth", 408: "unavailable", 413: "overflow", 429: "rate-limit"}
_SOON = re.compile(r"per ?min|retry in \d|try again in \d|retrydelay", re.IGNORECASE)
_LASTING = re.compile(r"per ?day|daily|insufficient_quota|usage[_ ]limit", re.IGNORECASE)

_PIECE = r"(\d+(?:\.\d+)?)\s*(milli\w+|ms|d(?:ays?)?|h(?:ours?|rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)(?![a-z])"
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_IN = re.compile(
    r"(?:again|retry(?:ing)?|reset(?:s|ting)?|wait)\W{0,3}(?:in|after|for)?\s+(?:about )?"
    rf"((?:{_PIECE}[\s,]*(?:and\s+)?)+)",
    re.IGNORECASE,
)
_BARE = re.compile(r"retry[-_ ]after\W{1,4}(\d+(?:\.\d+)?)(?!\s*[a-z\d])", re.IGNORECASE)
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.\d+)?\s*(Z|UTC|[+-]\d\d:?\d\d)")
_CLOCK = re.compile(r"(?:resets?|again)(?: at)? (\d{1,2})(?::(\d\d))?\s*([ap]m)?\s*\(?(?:UTC|GMT)\b", re.IGNORECASE)
_EPOCH = re.compile(r"limit reached\|(1\d{9})(?!\d)", re.IGNORECASE)
_WAITS = ("retryafter", "retryafterseconds", "resetsinseconds", "retrydelay")
_MILLISECONDS = ("retryafterms", "retrydelayms")
_MOMENTS = ("resetsat", "resetat", "anthropicratelimitunifiedreset")


def classify_failure(status: int | None, text: str, now: float, fields: Mapping[str, Any] | None = None) -> JobOutcome:
    """Classify a failure. `fields` are JSON members or headers of the response, if the agent shows them."""
    name = _outcome_name(status if status is not None else status_in(text), text)
    members = [*(fields or {}).items(), *(member for data in _objects(text) for member in _members(data))]
    resets_at = _reset_time(members, text, now) if name in ("rate-limit", "quota", "unavailable") else None
    return JobOutcome(name, brief(without_json(text), LONGEST_MESSAGE) or OUTCOMES[name], resets_at)


def failure(text: str, status: int | None = None, fields: Mapping[str, Any] | None = None) -> JobOutcome:
    """A failure that was reported just now."""
    return classify_failure(status, text, time.time(), fields)


def last_error(exit_code: int, output: str) -> str:
    """A message for a program that exited without a result: how it ended, and its last error line."""
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    errors = [line for line in lines if re.search(r"\berror\b|\bfatal\b|panicked", line, re.IGNORECASE)]
    last = errors[-1:] or lines[-2:]
    how = f"by signal {-exit_code}" if exit_code < 0 else f"with exit code {exit_code}"
    return f"it ended {how}" + (f": {' '.join(last)}" if last else " and did not say why")


def status_in(text: str) -> int | None:
    match = _STATUS.search(text)
    return int(match[1] or match[2]) if match else None


def without_json(text: str) -> str:
    """The text with each JSON error replaced by its message."""
    for _ in range(MOST_JSON):
        start, end, data = next(_json_values(text), (0, 0, None))
        message = _message(data)
        if message is None:
            break
        text = text[:start] + message + text[end:]
    return " ".join(text.split())


def brief(text: str, limit: int = LONGEST_OUTPUT) -> str:
    """The text; if it is too long, its beginning and its end."""
    half = (limit - 5) // 2
    return text if len(text) <= limit else f"{text[:half]} ... {text[-half:]}"


def finished(
    outcome: JobOutcome, text: str | None, schema: Mapping[str, Any] | None = None, structured: Any = None
) -> AgentSaid:
    """The last event of a job. If it has a schema and no `structured` answer, the JSON value in the text is one."""
    if structured is None and schema is not None and outcome == DONE:
        structured = json_answer(text)
    how = {"outcome": outcome.name, "message": outcome.message, "resetsAt": outcome.resets_at}
    return AgentSaid("finished", {**how, "text": text, "structured": structured})


def prompt_for_json(prompt: str, schema: Mapping[str, Any]) -> str:
    """The prompt with a request for JSON added, for agents that have no option for a schema."""
    text = json.dumps(schema, ensure_ascii=False)
    return f"{prompt}\n\nEnd with one JSON value and nothing after it. It has to match this JSON Schema:\n{text}\n"


def json_answer(text: str | None) -> Any:
    """The JSON value at the end of a text, in a code fence or not; None if there is none."""
    bare = re.sub(r"\s*```\s*$", "", (text or "").strip())
    fence, begins = re.match(r"```\w*\s*", bare), re.finditer(r"```\w*\s*\n|(?<=\n)(?=[\[{])", bare)
    for start in (*([fence.end()] if fence else []), *(match.end() for match in begins), 0):
        try:
            return json.loads(bare[start:])
        except (ValueError, RecursionError):
            continue
    return None


def _outcome_name(status: int | None, text: str) -> str:
    """The name of the outcome. Words are more exact than the status, but some statuses exclude some words."""
    names = {name for name, pattern in _PATTERNS.items() if pattern.search(text)}
    if "overflow" in names:
        return "overflow"
    if status is not None and status >= 500:
        return "unavailable"
    if status == 401:
        return "auth"
    if "refused" in names and status != 429:
        return "refused"
    if "quota" in names and (_LASTING.search(text) or not _SOON.search(text)):
        return "quota"
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return next((name for name in ("rate-limit", "auth", "unavailable") if name in names), "crash")


def _reset_time(members: list[tuple[str, Any]], text: str, now: float) -> float | None:
    """When the limit ends. With a daily limit, Google's retry delay is too short and is ignored."""
    soon = "PerDay" not in text
    moments = (_time_in_member(name, value, now) for name, value in members if soon or _normalized(name) in _MOMENTS)
    reset = next((moment for moment in moments if moment is not None), None)
    if reset is None and soon:
        reset = _time_in_sentence(text, now)
    return reset if reset is not None and now < reset < now + LONGEST_WAIT else None


def _normalized(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def _time_in_member(name: str, value: Any, now: float) -> float | None:
    key, number = _normalized(name), _number(value)
    if key in _MOMENTS:
        return _iso(str(value)) if number is None else number / 1000 if number > 1e11 else number
    if key in _MILLISECONDS:
        return None if number is None else now + number / 1000
    if key not in _WAITS:
        return None
    seconds = number if number is not None else seconds_in(str(value))
    date = parsedate_tz(str(value)) if seconds is None else None
    return now + seconds if seconds is not None else None if date is None else float(mktime_tz(date))


def _time_in_sentence(text: str, now: float) -> float | None:
    if match := _EPOCH.search(text):
        return float(match[1])
    if match := _IN.search(text):
        return now + (seconds_in(match[1]) or 0)
    if match := _BARE.search(text):
        return now + float(match[1])
    return (_iso(text) or _utc_hour(text, now)) if re.search("reset|again", text, re.IGNORECASE) else None


def seconds_in(text: str) -> float | None:
    """The seconds in a duration such as `1m30s`, `2 hours 5 minutes` or `600ms`."""
    pieces = [(float(number), unit.lower()) for number, unit in re.findall(_PIECE, text, re.IGNORECASE)]
    if not pieces:
        return None
    return sum(number * _UNITS["ms" if unit.startswith(("ms", "milli")) else unit[0]] for number, unit in pieces)


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _iso(text: str) -> float | None:
    if (match := _ISO.search(text)) is None:
        return None
    try:
        return datetime.fromisoformat(f"{match[1]}T{match[2]}{match[3].replace('UTC', 'Z')}").timestamp()
    except ValueError:  # such as month 13
        return None


def _utc_hour(text: str, now: float) -> float | None:
    """The next time at the hour that the sentence names, if it says that the hour is UTC."""
    match = _CLOCK.search(text)
    if match is None:
        return None
    hour, half = int(match[1]), (match[3] or "").lower()
    if hour > (12 if half else 23):
        return None
    hour = hour % 12 + (12 if half == "pm" else 0) if half else hour
    moment = now - now % DAY + hour * 3600 + int(match[2] or 0) * 60
    return moment if moment > now else moment + DAY


def _message(data: Any) -> str | None:
    """The message of an error or of the error inside it."""
    data = data[0] if isinstance(data, list) and data else data
    if not isinstance(data, dict):
        return None
    for name in ("error", "message", "detail", "data"):
        value = data.get(name)
        inner = value if isinstance(value, str) else _message(value)
        if inner:
            return inner
    return None


def _json_values(text: str) -> Iterator[tuple[int, int, Any]]:
    """(start, end, value) of each JSON object, or list of objects, in a text."""
    decoder, at = json.JSONDecoder(), 0
    for _ in range(MOST_JSON):
        match = re.compile(r"\[?\{").search(text, at)
        if match is None:
            return
        try:
            data, at = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            at = match.start() + 1
            continue
        yield match.start(), at, data


def _objects(text: str, depth: int = 3) -> Iterator[Any]:
    """The JSON values in a text, including JSON inside their messages: services wrap errors in errors."""
    for _, _, data in _json_values(text):
        yield data
        message = _message(data)
        if depth and message and "{" in message:
            yield from _objects(message, depth - 1)


def _members(data: Any, depth: int = 8) -> Iterator[tuple[str, Any]]:
    """(name, value) of every scalar member of a JSON value, at any depth."""
    inner = data.items() if isinstance(data, dict) else (("", item) for item in data) if isinstance(data, list) else ()
    for name, value in inner if depth else ():
        if isinstance(value, dict | list):
            yield from _members(value, depth - 1)
        else:
            yield str(name), value


PROVIDER_VARIABLES = (
    "ANTHROPIC_*", "OPENAI_*", "AZURE_*", "GEMINI_*", "GOOGLE_*", "AWS_*", "MISTRAL_*", "GROQ_*", "XAI_*", "DEEPSEEK_*",
    "OPENROUTER_*", "CEREBRAS_*", "FIREWORKS_*", "TOGETHER_*", "COHERE_*", "PERPLEXITY_*", "NVIDIA_*", "HF_TOKEN",
    "MOONSHOT_*", "KIMI_*", "ZAI_*", "ZHIPU_*", "MINIMAX_*", "QWEN_*", "DASHSCOPE_*", "XIAOMI_*", "BASETEN_*",
    "CLOUDFLARE_*", "AI_GATEWAY_*", "VERCEL_*", "OPENCODE_*", "OLLAMA_*", "LMSTUDIO_*", "VERTEX_*", "DEEPINFRA_*",
    "GITHUB_TOKEN", "GH_TOKEN", "COPILOT_GITHUB_TOKEN", "GITLAB_*", "SNOWFLAKE_*", "VENICE_*", "META_API_KEY",
    "ANT_LING_*",
)  # fmt: skip


def content_texts(content: Any) -> list[str]:
    """The texts in the content of a message, which is a text itself or a list of parts."""
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return [text for text in texts if isinstance(text, str)]


def total(data: dict[str, Any], *names: str) -> float:
    """The sum of these members. Members that are not numbers are ignored."""
    values = (data.get(name) for name in names)
    return sum(value for value in values if isinstance(value, int | float))


def http_status(data: dict[str, Any]) -> int | None:
    value = data.get("statusCode")
    return value if isinstance(value, int) else None


class JobUsage:
    """Tokens and dollars of one job so far. `tokens` is None if unknown; a price of 0 counts as unknown."""

    def __init__(self) -> None:
        self.tokens: tuple[int, int, int] | None = None
        self.usd = 0.0

    def add(self, whole: float, output: float, cached: float, usd: float) -> bool:
        """Add the tokens of one answer: its whole prompt, its output, the cached part. False if all are 0."""
        if not whole and not output:
            return False
        before = self.tokens or (0, 0, 0)
        self.tokens = (before[0] + int(whole), before[1] + int(output), before[2] + int(cached))
        self.usd += usd
        return True

    def less(self, before: JobUsage) -> JobUsage:
        """What was spent since `before`."""
        difference = JobUsage()
        tokens, earlier = self.tokens or (0, 0, 0), before.tokens or (0, 0, 0)
        difference.add(tokens[0] - earlier[0], tokens[1] - earlier[1], tokens[2] - earlier[2], self.usd - before.usd)
        return difference

    def known(self) -> dict[str, Any] | None:
        """The data of `event`; None if nothing is known."""
        return None if self.tokens is None else self.event().data

    def event(self) -> AgentSaid:
        tokens = self.tokens or (None, None, None)
        names = ("inputTokens", "outputTokens", "cachedTokens")
        return AgentSaid("usage", {**dict(zip(names, tokens, strict=True)), "usd": round(self.usd, 6) or None})


class NewRecords:
    """The JSON objects in new lines of files that an agent writes. Only lines that contain all marks are parsed."""

    def __init__(self, *marks: bytes) -> None:
        self.marks = marks
        self.offsets: dict[str, int] = {}

    def read(self, paths: Iterable[str]) -> Iterator[dict[str, Any]]:
        for path in paths:
            for line in self._new_lines(path):
                if all(mark in line for mark in self.marks):
                    with contextlib.suppress(ValueError):
                        yield within(json.loads(line))

    def _new_lines(self, path: str) -> list[bytes]:
        """The lines that are complete, and were not when they were read before."""
        offset = self.offsets.get(path, 0)
        try:
            data = read_regular(path, offset)
        except OSError:
            return []
        end = data.rfind(b"\n") + 1
        self.offsets[path] = offset + end
        return data[:end].splitlines()


def is_since(record: Mapping[str, Any], moment: float) -> bool:
    """False if the `timestamp` of a record says that it is older than a moment."""
    try:
        return datetime.fromisoformat(str(record.get("timestamp"))).timestamp() >= moment
    except ValueError:
        return True


def checked_id(session: str, product: str) -> str:
    """The id of a conversation, for agents whose ids are UUIDs. Raises `NodeError` for any other text."""
    try:
        return str(uuid.UUID(session))
    except ValueError:
        message = f"`{session}` is not a conversation id of {product}"
        raise NodeError("session-unknown", message, transient=False) from None
