"""What a kind of check implements: something that Handrail verifies itself.

One vocabulary serves the exit of a phase (`exit`) and the expectations of a step (`expect`).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import cached_property
from typing import Any, Literal, Protocol

from handrail.base.dataclasses import dataclass, field
from handrail.extensions.registry import Registry
from handrail.source.fields import Field, Shape, shape
from handrail.source.plain_text import command_line
from handrail.source.values import as_text

CheckPlace = Literal["exit", "expect"]


def subject(params: Mapping[str, Any]) -> str:
    """What a check is about, for messages: its first param. A list becomes one line, quoted as in a shell."""
    value = next(iter(params.values()), "")
    return command_line(*map(as_text, value)) if isinstance(value, list) else as_text(value)


@dataclass(frozen=True, kw_only=True)
class Check:
    """The declaration of a kind of check.

    `words` say what has to be true of the `subject`: "`make test` exits with 0". `short` is the param that
    `KIND: VALUE` sets; other params are further keys. `also` are words that people write instead of the kind; the kind
    is then suggested. `places` are where the check may be used. `is_harmless`: it only looks. Every other check starts
    a program, so it runs only in a project that a person trusts. `takes_any`: its params are not known, so
    any are accepted and none is used.
    """

    about: str
    words: str
    params: tuple[Field, ...] = ()
    short: str | None = None
    also: tuple[str, ...] = ()
    places: tuple[CheckPlace, ...] = ("exit", "expect")
    is_harmless: bool = False
    subject: Callable[[Mapping[str, Any]], str] = subject
    takes_any: bool = False

    @cached_property
    def shape(self) -> Shape:
        return shape("check", self.about, *self.params)


@dataclass(frozen=True)
class CheckContext:
    """Where a check runs. `mask` hides secrets in a text; a check calls it before it cuts the output of a program.

    `definitions` is the folder with the definitions of the project; the project itself if it is empty. `registry` has
    all kinds of checks, and the schemas of plugins.
    """

    project: str
    env: Mapping[str, str]
    mask: Callable[[str], str] = str
    definitions: str = ""
    registry: Registry = field(default_factory=Registry)


@dataclass(frozen=True)
class Finding:
    """What a check found. `held` is None if the check could not run.

    The first line of `detail` is a sentence, in which "it" is the subject of the check: "it ended with exit code 1".
    `seconds` is how long it took; Handrail sets it.
    """

    held: bool | None
    detail: str
    seconds: float | None = None


class CheckKind(Protocol):
    """A module in `steps/checks/`. The `params` of `verify` are plain values, as the declaration describes them."""

    @property
    def CHECK(self) -> Check: ...  # noqa: N802 - the name of a constant in a module

    async def verify(self, params: Mapping[str, Any], context: CheckContext) -> Finding: ...


@dataclass(frozen=True)
class OneCheck:
    """One of several checks in a module. It has what the module of a single check has. Its row is `MODULE:NAME`."""

    CHECK: Check
    verify: Callable[[Mapping[str, Any], CheckContext], Coroutine[Any, Any, Finding]]
