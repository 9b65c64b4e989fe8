"""Looks for a pattern in a text, in bounded time: the time grows with the text, never exponentially.

A pattern becomes a nondeterministic automaton, and sets of its nodes become states of a deterministic one while the
text is read. The work is counted, so that the same search always ends in the same way. Pure.
"""

from __future__ import annotations

from functools import lru_cache

from handrail.source.dataclasses import dataclass
from handrail.source.patternsyntax import (
    Anchor,
    At,
    Chars,
    Choice,
    PatternError,
    Repeat,
    Sequence,
    Tree,
    is_word,
    parse_pattern,
)

MAX_TEXT = 1_000_000
MAX_WORK = 500_000
MAX_KEPT = 200_000
_SPECIAL = frozenset("\\.^$*+?{}[]|()")
_START, _NEWLINE, _WORD, _OTHER, _END, _LAST_NEWLINE = range(6)


class TooMuchWork(Exception):
    """A search was given up. The message says which limit it reached."""


def check_pattern(pattern: str) -> PatternError | None:
    """What is wrong with a pattern. None if it can be searched for."""
    try:
        parse_pattern(pattern)
    except PatternError as error:
        return error
    return None


def contains_match(pattern: str, text: str) -> bool:
    """True if a part of the text matches the pattern. Raises `PatternError` and `TooMuchWork`."""
    if _SPECIAL.isdisjoint(pattern):
        return pattern in text
    return _automaton(pattern).search(text)


@lru_cache(maxsize=16)
def _automaton(pattern: str) -> _Automaton:
    return _Automaton(parse_pattern(pattern))


@dataclass(frozen=True)
class _Node:
    """A node of the automaton. `chars` consumes a character, `anchor` is a condition, else it is free to pass."""

    chars: Chars | None
    anchor: Anchor | None
    following: tuple[int, ...]


State = tuple[frozenset[int], int]


class _Automaton:
    def __init__(self, tree: Tree) -> None:
        self.nodes: list[_Node] = [_Node(None, None, ())]  # node 0 is the end of a match
        self.start = self._build(tree, 0)
        self.has_anchors = any(node.anchor is not None for node in self.nodes)
        self.work = self.kept = 0
        self.known: dict[tuple[State, str], State | None] = {}

    def _add(self, chars: Chars | None, anchor: Anchor | None, *following: int) -> int:
        self.nodes.append(_Node(chars, anchor, following))
        return len(self.nodes) - 1

    def _build(self, tree: Tree, then: int) -> int:
        """Add the nodes of a tree that continue with `then`, and return the first one."""
        match tree:
            case Chars():
                return self._add(tree, None, then)
            case At():
                return self._add(None, tree.anchor, then)
            case Sequence():
                for item in reversed(tree.items):
                    then = self._build(item, then)
                return then
            case Choice():
                return self._add(None, None, *(self._build(item, then) for item in tree.items))
            case Repeat():
                return self._repeat(tree, then)

    def _repeat(self, repeat: Repeat, then: int) -> int:
        if repeat.most is None:
            loop = self._add(None, None)
            self.nodes[loop] = _Node(None, None, (self._build(repeat.item, loop), then))
            then = loop
        else:
            end = then
            for _ in range(repeat.most - repeat.least):
                then = self._add(None, None, self._build(repeat.item, then), end)
        for _ in range(repeat.least):
            then = self._build(repeat.item, then)
        return then

    def search(self, text: str) -> bool:
        self.work = 0
        state: State = (frozenset((self.start,)), _START if self.has_anchors else _OTHER)
        last = len(text) - 1
        known = self.known
        for place, char in enumerate(text if last < MAX_TEXT else text[:MAX_TEXT]):
            mark = "\n$" if char == "\n" and place == last else char
            try:
                following = known[state, mark]
            except KeyError:
                following = self._follow(state, mark)
            if following is None:
                return True
            state = following
        if last >= MAX_TEXT:
            raise TooMuchWork(f"it is not in the first {MAX_TEXT} characters, and a longer text is not searched")
        return 0 in self._reached(state, _END)

    def _follow(self, state: State, mark: str) -> State | None:
        """The state after a character; None if there is a match before it."""
        char = mark[0]
        kind = _kind(char)
        reached = self._reached(state, _LAST_NEWLINE if len(mark) > 1 else kind)
        following: State | None = None
        if 0 not in reached:
            nodes = [self.start]
            for number in reached:
                node = self.nodes[number]
                if node.chars is not None and node.chars.matches(char):
                    nodes += node.following
            following = frozenset(nodes), kind if self.has_anchors else _OTHER
        self.kept += len(reached)
        if self.kept > MAX_KEPT:
            self.known.clear()
            self.kept = 0
        self.known[state, mark] = following
        return following

    def _reached(self, state: State, after: int) -> set[int]:
        """All nodes that can be reached without a character, between the kinds of the two characters around."""
        waiting: list[int] = list(state[0])
        reached: set[int] = set()
        while waiting:
            number = waiting.pop()
            if number in reached:
                continue
            reached.add(number)
            node = self.nodes[number]
            if node.chars is None and (node.anchor is None or _holds(node.anchor, state[1], after)):
                waiting.extend(node.following)
        self._count(len(reached))
        return reached

    def _count(self, work: int) -> None:
        self.work += work
        if self.work > MAX_WORK:
            raise TooMuchWork("it has too many ways to match; make the pattern simpler or the text shorter")


def _kind(char: str) -> int:
    return _NEWLINE if char == "\n" else _WORD if is_word(char) else _OTHER


def _holds(anchor: Anchor, before: int, after: int) -> bool:
    is_line_end = after in (_NEWLINE, _LAST_NEWLINE, _END)
    match anchor:
        case "start":
            return before == _START
        case "end":
            return after == _END
        case "line-start":
            return before in (_START, _NEWLINE)
        case "line-end":
            return is_line_end
        case "last-line-end":
            return after in (_LAST_NEWLINE, _END)
        case "word-edge":
            return (before == _WORD) is not (after == _WORD)
        case "no-word-edge":
            return (before == _WORD) is (after == _WORD)
