"""The turns of a scripted model, independent of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

Json: TypeAlias = dict[str, Any]
Call: TypeAlias = tuple[str, Json | str]

SPENT = "spent"
"""The error for a plan or a daily limit that is exhausted; with status 429."""


class Usage(NamedTuple):
    """Tokens of one request. `input` is the whole prompt; `cached` is the part from the cache."""

    input: int = 100
    output: int = 10
    cached: int = 0


class Turn(NamedTuple):
    """One answer: text, then tool calls with the agent's own tool names. Arguments that are a text: a freeform call."""

    text: str = ""
    tools: tuple[Call, ...] = ()
    slow: float = 0.0
    """Seconds between the pieces of the stream."""
    status: int = 200
    """The HTTP status. An error has the body and headers of the real service."""
    usage: Usage = Usage()
    finish: Literal["", "length", "refusal"] = ""
    """Why the model stopped, if it did not finish normally."""
    delay: float = 0.0
    """Seconds before the first byte."""
    hang: bool = False
    """Sends its content, and then nothing more until the server closes."""
    drop: bool = False
    """Closes the connection before the answer is complete; before the first byte if there is no content."""
    error: str = ""
    """The service's error code, or `SPENT`. If empty, the usual code of the status is used."""
    retry_after: float | None = None
    """Seconds that the service asks the client to wait, in the place where the service puts it."""
    headers: Mapping[str, str] = {}
    """Additional headers of an error."""
    before: Callable[[], None] | None = None
    """Called when the request has come, before the answer."""


def calls(*tools: Call, text: str = "", usage: Usage | None = None) -> Turn:
    """A turn that calls tools."""
    return Turn(text, tools, usage=usage or Usage())


def failed(status: int, error: str = "", *, retry_after: float | None = None) -> Turn:
    """A turn that is a service error."""
    return Turn(status=status, error=error, retry_after=retry_after)


def pieces(turn: Turn, text: str) -> list[str]:
    """The pieces of a text in a stream: small ones if the turn is slow, so that it can be interrupted."""
    size = 10 if turn.slow else max(1, len(text))
    return [text[start : start + size] for start in range(0, len(text), size)]
