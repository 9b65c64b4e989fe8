"""Looks for a pattern in a text, in bounded time: the time grows with the text, never exponentially. Pure.

The syntax is a subset of Python's regular expressions: no back-references, no look-around, and no possessive or
atomic groups. Numbers of repeats, depth and size are limited, so that no pattern takes long to compile. A pattern
becomes a nondeterministic automaton, and sets of its nodes become states of a deterministic one while the text is
read. `re` decides only whether one character fits one place. The work is counted, so that the same search always ends
in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from string import hexdigits
from sys import maxunicode
from typing import Literal, NamedTuple, NoReturn

MAX_LENGTH = 5_000
MAX_DEPTH = 50
MAX_COUNT = 1_000
MAX_SIZE = 10_000

Anchor = Literal["start", "end", "line-start", "line-end", "last-line-end", "word-edge", "no-word-edge"]


class PatternError(Exception):
    """A text is not a pattern that Handrail can match. `at` is the index of the character that is wrong."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.message = message
        self.at = at


class _Node(NamedTuple):
    """A node of the automaton. `chars` consumes a character, `anchor` is a condition, else it is free to pass."""

    following: tuple[int, ...]
    chars: re.Pattern[str] | None = None
    anchor: Anchor | None = None


class _Piece(NamedTuple):
    """A part of a pattern. `build` adds its nodes before a node, and returns the first one.

    `size` is how many parts it has with its repeats written out. `is_place`: it stands between two characters.
    """

    build: Callable[[_Automaton, int], int]
    size: int = 1
    is_place: bool = False


_CATEGORIES = "dDsSwW"
_CONTROLS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_CODES = {"x": 2, "u": 4, "U": 8}
_ANCHORS: dict[str, Anchor] = {"A": "start", "Z": "end", "z": "end", "b": "word-edge", "B": "no-word-edge"}
_UNSUPPORTED = {
    "=": "look-ahead `(?=`",
    "!": "look-ahead `(?!`",
    "<=": "look-behind `(?<=`",
    "<!": "look-behind `(?<!`",
    "P=": "the back-reference `(?P=`",
    "(": "the condition `(?(`",
    ">": "the atomic group `(?>`",
}
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "u": re.NOFLAG}


def _char(source: str, flags: re.RegexFlag = re.NOFLAG) -> _Piece:
    """A place for one character that fits a regular expression."""
    chars = re.compile(source, flags & ~re.MULTILINE)
    return _Piece(lambda automaton, then: automaton.add(_Node((then,), chars)))


def _anchor(anchor: Anchor) -> _Piece:
    return _Piece(lambda automaton, then: automaton.add(_Node((then,), anchor=anchor)), is_place=True)


def parse_pattern(text: str) -> _Piece:
    """The whole of a pattern. Raises `PatternError`."""
    if len(text) > MAX_LENGTH:
        raise PatternError(f"it has {len(text)} characters, and {MAX_LENGTH} are allowed", MAX_LENGTH)
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0

    def whole(self) -> _Piece:
        tree = self.choice(self.leading_flags())
        if self.at < len(self.text):
            self.fail("`)` without `(`")
        return tree

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        raise PatternError(message, self.at if at is None else at)

    def take(self, mark: str) -> bool:
        """Skip `mark` if it is next."""
        is_next = self.text.startswith(mark, self.at)
        self.at += len(mark) * is_next
        return is_next

    def leading_flags(self) -> re.RegexFlag:
        flags = re.NOFLAG
        while self.text.startswith("(?", self.at):
            end = self.text.find(")", self.at)
            letters = self.text[self.at + 2 : end]
            if end < 0 or not letters.isalpha():
                break
            flags, self.at = self.with_flags(flags, letters, True), end + 1
        return flags

    def with_flags(self, flags: re.RegexFlag, letters: str, value: bool) -> re.RegexFlag:
        for letter in letters:
            if letter not in _FLAGS:
                self.fail(f"the flag `{letter}` is not supported; supported flags: i, m, s")
            flags = flags | _FLAGS[letter] if value else flags & ~_FLAGS[letter]
        return flags

    def choice(self, flags: re.RegexFlag) -> _Piece:
        if self.depth > MAX_DEPTH:
            self.fail(f"groups are nested deeper than {MAX_DEPTH}")
        self.depth += 1
        pieces = [self.sequence(flags)]
        while self.take("|"):
            pieces.append(self.sequence(flags))
        self.depth -= 1
        if len(pieces) == 1:
            return pieces[0]

        def build(automaton: _Automaton, then: int) -> int:
            return automaton.add(_Node(tuple([piece.build(automaton, then) for piece in pieces])))

        return _Piece(build, self.check_size(1 + sum(piece.size for piece in pieces)))

    def sequence(self, flags: re.RegexFlag) -> _Piece:
        pieces: list[_Piece] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            start = self.at
            if (piece := self.item(flags)) is not None:
                pieces.append(self.with_quantifier(piece, start))

        def build(automaton: _Automaton, then: int) -> int:
            for piece in reversed(pieces):
                then = piece.build(automaton, then)
            return then

        return _Piece(build, self.check_size(1 + sum(piece.size for piece in pieces)))

    def check_size(self, size: int) -> int:
        if size > MAX_SIZE:
            self.fail(f"with its repeats written out, it has more than {MAX_SIZE} parts")
        return size

    def item(self, flags: re.RegexFlag) -> _Piece | None:
        """The next item, or None for a comment."""
        char = self.text[self.at]
        self.at += 1
        match char:
            case "(":
                return self.group(flags)
            case "[":
                return self.char_class(flags)
            case "\\":
                return self.escape(flags)
            case ".":
                return _char(".", flags)
            case "^":
                return _anchor("line-start" if flags & re.MULTILINE else "start")
            case "$":
                return _anchor("line-end" if flags & re.MULTILINE else "last-line-end")
            case "*" | "+" | "?":
                self.fail(f"there is nothing to repeat before `{char}`", self.at - 1)
            case "{" if self.counts(self.at) is not None:
                self.fail("there is nothing to repeat before `{`", self.at - 1)
        return _char(re.escape(char), flags)

    def with_quantifier(self, piece: _Piece, start: int) -> _Piece:
        mark = self.at
        counts = self.quantifier()
        if counts is None:
            return piece
        least, most = counts
        if piece.is_place:
            self.fail(f"`{self.text[start:mark]}` is a place and cannot be repeated", mark)
        if most is not None and most < least:
            self.fail("the first number of a repeat is greater than the second", mark)
        if max(least, most or 0) > MAX_COUNT:
            self.fail(f"a repeat may count to {MAX_COUNT}", mark)
        self.take("?")  # a lazy repeat matches the same texts
        if self.take("+"):
            self.fail("possessive repeats are not supported", self.at - 1)
        second = self.at
        if self.quantifier() is not None:
            self.fail("a repeat cannot be repeated; put it in a group `(...)`", second)

        def build(automaton: _Automaton, then: int) -> int:
            if most is None:
                loop = automaton.add(_Node(()))
                automaton.nodes[loop] = _Node((piece.build(automaton, loop), then))
                then = loop
            else:
                end = then
                for _ in range(most - least):
                    then = automaton.add(_Node((piece.build(automaton, then), end)))
            for _ in range(least):
                then = piece.build(automaton, then)
            return then

        return _Piece(build, self.check_size(1 + max(least, most or 0, 1) * (piece.size + 1)))

    def quantifier(self) -> tuple[int, int | None] | None:
        """(minimum, maximum) of the quantifier that is next. None if there is none."""
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        char = self.text[self.at : self.at + 1]
        if char in simple:
            self.at += 1
            return simple[char]
        counts = self.counts(self.at + 1) if char == "{" else None
        if counts is None:
            return None
        self.at = counts[2]
        return counts[0], counts[1]

    def counts(self, at: int) -> tuple[int, int | None, int] | None:
        """(minimum, maximum, end) of `N}`, `N,}`, `,M}` or `N,M}`. Any other `{` is a literal."""
        end = self.text.find("}", at)
        body = self.text[at:end]
        low, comma, high = body.partition(",")
        if end < 0 or not body or not all(not part or (part.isascii() and part.isdecimal()) for part in (low, high)):
            return None
        if max(len(low), len(high)) > 9:
            self.fail(f"a repeat may count to {MAX_COUNT}", at)
        least = int(low or 0)
        return least, (int(high) if high else None) if comma else least, end + 1

    def group(self, flags: re.RegexFlag) -> _Piece | None:
        start = self.at - 1
        if self.take("?"):
            if self.take("#"):
                self.at = self.text.find(")", self.at) + 1
                if self.at == 0:
                    self.fail("`(` is not closed", start)
                return None
            flags = self.extension(flags, start)
        inner = self.choice(flags)
        if not self.take(")"):
            self.fail("`(` is not closed", start)
        return inner

    def extension(self, flags: re.RegexFlag, start: int) -> re.RegexFlag:
        """Skip what follows `(?` up to the content of the group, and return the flags for the content."""
        for mark, name in _UNSUPPORTED.items():
            if self.text.startswith(mark, self.at):
                self.fail(f"{name} is not supported", start)
        if self.take(":"):
            return flags
        if self.take("P<") or self.take("<"):
            end = self.text.find(">", self.at)
            if not self.text[self.at : max(end, self.at)].isidentifier():
                self.fail("a group needs a name: `(?P<name>...)`", start)
            self.at = end + 1
            return flags
        end = self.text.find(":", self.at)
        on, dash, off = self.text[self.at : max(end, self.at)].partition("-")
        if end < 0 or not (on + off).isalpha() or (dash and not off):
            self.fail("`(?` begins no known group; flags such as `(?i)` have to be at the start", start)
        flags = self.with_flags(self.with_flags(flags, on, True), off, False)
        self.at = end + 1
        return flags

    def escape(self, flags: re.RegexFlag) -> _Piece:
        char = self.text[self.at : self.at + 1]
        if char in _ANCHORS:
            self.at += 1
            return _anchor(_ANCHORS[char])
        if char and char in _CATEGORIES:
            self.at += 1
            return _char(f"\\{char}")
        return _char(re.escape(self.escaped()), flags)

    def escaped(self) -> str:
        """The character that an escape stands for. `at` is behind the backslash."""
        start, char = self.at - 1, self.text[self.at : self.at + 1]
        self.at += 1
        if not char:
            self.fail("the pattern ends with a single `\\`", start)
        if char in _CODES:
            digits = self.text[self.at : self.at + _CODES[char]]
            self.at += len(digits)
            is_whole = len(digits) == _CODES[char] and set(digits) <= set(hexdigits)
            if not is_whole or int(digits, 16) > maxunicode:
                self.fail(f"`\\{char}{digits}` is no character; write {_CODES[char]} hexadecimal digits", start)
            return chr(int(digits, 16))
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char == "0":
            return "\0"
        if char.isascii() and char.isdigit():
            self.fail(f"the back-reference `\\{char}` is not supported", start)
        if char.isascii() and char.isalpha():
            self.fail(f"the escape `\\{char}` is not supported", start)
        return char

    def char_class(self, flags: re.RegexFlag) -> _Piece:
        start, source = self.at - 1, "[^" if self.take("^") else "["
        first = self.at
        while self.at == first or not self.take("]"):
            low = self.member(start)
            source += low if len(low) > 1 else re.escape(low)
            if len(low) == 1 and self.text.startswith("-", self.at) and self.text[self.at + 1 : self.at + 2] not in "]":
                self.at += 1
                high = self.member(start)
                if len(high) > 1 or high < low:
                    self.fail("this range in `[...]` is not in order", self.at - 1)
                source += f"-{re.escape(high)}"
        return _char(f"{source}]", flags)

    def member(self, start: int) -> str:
        """One character of a class, or `\\` and the letter of a category."""
        char = self.text[self.at : self.at + 1]
        self.at += 1
        if not char:
            self.fail("`[` is not closed", start)
        if char != "\\":
            return char
        letter = self.text[self.at : self.at + 1]
        if letter and (letter in _CATEGORIES or letter == "b"):
            self.at += 1
            return "\b" if letter == "b" else f"\\{letter}"
        return self.escaped()


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


MatchState = tuple[frozenset[int], int]


class _Automaton:
    def __init__(self, whole: _Piece) -> None:
        self.nodes = [_Node(())]  # node 0 is the end of a match
        self.start = whole.build(self, 0)
        self.has_anchors = any(node.anchor is not None for node in self.nodes)
        self.work = self.kept = 0
        self.known: dict[tuple[MatchState, str], MatchState | None] = {}

    def add(self, node: _Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def search(self, text: str) -> bool:
        self.work = 0
        state: MatchState = (frozenset((self.start,)), _START if self.has_anchors else _OTHER)
        last = len(text) - 1
        next_states = self.known
        for place, char in enumerate(text if last < MAX_TEXT else text[:MAX_TEXT]):
            mark = "\n$" if char == "\n" and place == last else char
            try:
                next_state = next_states[state, mark]
            except KeyError:
                next_state = self._follow(state, mark)
            if next_state is None:
                return True
            state = next_state
        if last >= MAX_TEXT:
            raise TooMuchWork(f"it is not in the first {MAX_TEXT} characters, and a longer text is not searched")
        return 0 in self._reachable(state, _END)

    def _follow(self, state: MatchState, mark: str) -> MatchState | None:
        """The state after a character; None if there is a match before it."""
        char = mark[0]
        kind = _NEWLINE if char == "\n" else _WORD if char == "_" or char.isalnum() else _OTHER
        numbers = self._reachable(state, _LAST_NEWLINE if len(mark) > 1 else kind)
        next_state: MatchState | None = None
        if 0 not in numbers:
            nodes = [self.start]
            for number in numbers:
                node = self.nodes[number]
                if node.chars is not None and node.chars.match(char):
                    nodes += node.following
            next_state = frozenset(nodes), kind if self.has_anchors else _OTHER
        self.kept += len(numbers)
        if self.kept > MAX_KEPT:
            self.known.clear()
            self.kept = 0
        self.known[state, mark] = next_state
        return next_state

    def _reachable(self, state: MatchState, after: int) -> set[int]:
        """All nodes that can be reached without a character, between the kinds of the two characters around."""
        waiting: list[int] = list(state[0])
        numbers: set[int] = set()
        while waiting:
            number = waiting.pop()
            if number in numbers:
                continue
            numbers.add(number)
            node = self.nodes[number]
            if node.chars is None and (node.anchor is None or _holds(node.anchor, state[1], after)):
                waiting.extend(node.following)
        self.work += len(numbers)
        if self.work > MAX_WORK:
            raise TooMuchWork("it has too many ways to match; make the pattern simpler or the text shorter")
        return numbers


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
