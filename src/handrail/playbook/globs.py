"""Matches paths with globs: `*` and `?` inside a name, `**` across folders, `{a,b}` for alternatives. Pure.

A match takes time in proportion to the lengths of both texts, whatever the glob is: globs come from files that anybody
may have written.
"""

from __future__ import annotations

import re
from functools import lru_cache

_TOKENS = re.compile(r"\*\*/|\*\*|\*|\?|.", re.DOTALL)
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
MAX_ALTERNATIVES = 64


def glob_matches(glob: str, path: str) -> bool:
    return any(_matches(tokens, path) for tokens in _alternatives(glob))


@lru_cache(maxsize=1000)
def _alternatives(glob: str) -> tuple[tuple[str, ...], ...]:
    """The tokens of each glob that the braces stand for."""
    globs = [glob]
    while len(globs) < MAX_ALTERNATIVES and (found := next(filter(None, map(_BRACES.search, globs)), None)):
        whole = found.string
        globs.remove(whole)
        globs += [whole[: found.start()] + part + whole[found.end() :] for part in found[1].split(",")]
    return tuple(tuple(_TOKENS.findall(one)) for one in globs)


def _matches(tokens: tuple[str, ...], path: str) -> bool:
    """Follow all ways through the tokens at once. A state is twice the index of a token; plus 1 inside a `**/`."""
    states = _closed({0}, tokens)
    for char in path:
        after: set[int] = set()
        for state in states:
            at, is_inside = divmod(state, 2)
            if at == len(tokens):
                continue
            part = tokens[at]
            if part == "**/":
                after.add(2 * (at + 1) if char == "/" else 2 * at + 1)
                after |= {2 * at + 1} if char == "/" else set()
            elif part == "**" or (part == "*" and char != "/"):
                after.add(2 * at)
            elif not is_inside and (part == char or (part == "?" and char != "/")):
                after.add(2 * (at + 1))
        states = _closed(after, tokens)
    return 2 * len(tokens) in states


def _closed(states: set[int], tokens: tuple[str, ...]) -> set[int]:
    """The states, and those that are reached without a character: `*`, `**` and `**/` match the empty text."""
    found, waiting = set(states), [state for state in states if state % 2 == 0]
    while waiting:
        at = waiting.pop() // 2
        if at < len(tokens) and tokens[at] in ("*", "**", "**/") and 2 * (at + 1) not in found:
            found.add(2 * (at + 1))
            waiting.append(2 * (at + 1))
    return found
