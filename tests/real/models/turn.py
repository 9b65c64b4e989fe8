"""What a scripted model says, in words that every protocol shares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from real import model

Json: TypeAlias = dict[str, Any]
Call: TypeAlias = tuple[str, Json | str]

SPENT = "spent"
"""The error of a plan, or of a day, that is used up; with status 429."""


class Usage(NamedTuple):
    """Tokens of one request. `input` is the whole prompt; `cached` of it came from the cache."""

    input: int = 100
    output: int = 10
    cached: int = 0


class Turn(NamedTuple):
    """One answer: text, then calls of tools by the agent's own names; a text as arguments is a freeform call.

    The first fields are those of `real.model.Turn`, so that its turns can be said in every protocol.
    """

    text: str = ""
    tools: tuple[Call, ...] = ()
    slow: float = 0.0
    """Seconds between the pieces of the stream."""
    status: int = 200
    """Another one is an error, with the body and headers that the real service gives."""
    usage: Usage = Usage()
    finish: Literal["", "length", "refusal"] = ""
    """Why the model ended, when it did not end by itself."""
    delay: float = 0.0
    """Seconds before the first byte."""
    hang: bool = False
    """Says what it has to say, and then nothing more for as long as the server lives."""
    drop: bool = False
    """Cuts the connection before the answer is whole; before its first byte when there is nothing to say."""
    error: str = ""
    """The service's code of the error, or `SPENT`; empty is the usual one of the status."""
    retry_after: float | None = None
    """Seconds that the service asks to wait, wherever it says so."""
    headers: Mapping[str, str] = {}
    """More headers of an error."""


def turn_of(said: Turn | model.Turn) -> Turn:
    return said if isinstance(said, Turn) else Turn(said.text, said.tools, said.slow, said.status)


def calls(*tools: Call, text: str = "", usage: Usage | None = None) -> Turn:
    """A turn that calls tools."""
    return Turn(text, tools, usage=usage or Usage())


def failed(status: int, error: str = "", *, retry_after: float | None = None) -> Turn:
    """A turn that is an error of the service."""
    return Turn(status=status, error=error, retry_after=retry_after)


def pieces(turn: Turn, text: str) -> list[str]:
    """A text as the stream carries it: in small pieces when the turn is slow, so that it can be interrupted."""
    size = 10 if turn.slow else max(1, len(text))
    return [text[start : start + size] for start in range(0, len(text), size)]
