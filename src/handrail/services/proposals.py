"""A change that is opened for review: what is asked for, and what a forge answers. The same for every forge."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeVar

from handrail.contracts import NodeError

Made = TypeVar("Made")
_PERHAPS_DONE = ("service-broken", "service-slow", "service-failed", "service-busy", "service-json")
"""After these failures of a request that creates something, it may have been created all the same."""


class Proposal(NamedTuple):
    """A pull or merge request to open. `base` is None for the default branch. `mark` is hidden in its description."""

    head: str
    base: str | None
    title: str
    body: str
    draft: bool
    mark: str


class Opened(NamedTuple):
    """A pull or merge request. `is_new`: it was opened by this step. `state` is `open`, `closed` or `merged`."""

    url: str
    number: int
    state: str
    head: str
    base: str
    is_new: bool


async def once(look: Callable[[], Awaitable[Made | None]], create: Callable[[], Awaitable[Made]]) -> Made:
    """What `look` finds, else what `create` makes. If that fails, `look` says whether it was made all the same."""
    found = await look()
    if found is not None:
        return found
    try:
        return await create()
    except NodeError as error:
        if error.code not in _PERHAPS_DONE:
            raise
        found = await look()
        if found is not None:
            return found
        raise
