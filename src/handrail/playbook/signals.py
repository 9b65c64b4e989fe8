"""What a task says about itself: its words, and the paths, languages and frameworks that it names. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from handrail.source.dataclasses import dataclass

LANGUAGES = ("typescript", "javascript", "node", "go", "golang", "python", "react", "vue", "svelte")
FRAMEWORKS = ("express", "fastify", "nestjs", "react", "vite", "vitest", "node:test", "jest", "ink")
"""The names that AgentWeaver finds in a task. Strict matching looks for more."""
MORE_LANGUAGES = ("java", "kotlin", "rust", "ruby", "php", "swift", "scala", "elixir", "csharp", "c#")
STOP_WORDS = frozenset((
    "and", "the", "with", "for", "from", "into", "that", "this", "when", "then", "must", "should", "will", "are", "was",
    "как", "для", "что", "это", "или", "при", "над", "под", "если",
))  # fmt: skip
"""Words that say nothing about a task. AgentWeaver leaves out the same ones."""
SAME = {"golang": "go", "ts": "typescript", "js": "javascript", "node": "javascript", "py": "python", "c#": "csharp",
        "nextjs": "next.js", "nest": "nestjs"}  # fmt: skip
"""Other names of languages and frameworks."""
SUFFIXES = {
    "python": (".py", ".pyi"),
    "typescript": (".ts", ".tsx", ".mts", ".cts"),
    "javascript": (".js", ".jsx", ".mjs", ".cjs"),
    "go": (".go",),
    "java": (".java",),
    "kotlin": (".kt", ".kts"),
    "rust": (".rs",),
    "ruby": (".rb",),
    "php": (".php",),
    "swift": (".swift",),
    "scala": (".scala",),
    "elixir": (".ex", ".exs"),
    "csharp": (".cs",),
    "vue": (".vue",),
    "svelte": (".svelte",),
    "c": (".c", ".h"),
    "cpp": (".cc", ".cpp", ".hpp"),
    "shell": (".sh", ".bash"),
    "sql": (".sql",),
}
"""Language → how the names of its files end."""
MAX_WORDS = 100_000
_WORD = re.compile(r"[^\W\d_][\w-]{2,}")
_PATH = re.compile(r"(?:^|(?<=\s))([./]?[\w.@-]+/[\w./@-]+)")
_MARKED_PATH = re.compile(r"[\"'`(]([./]?[\w.@-]+/[\w./@-]+|[\w@-]+\.[a-z]{1,5})(?=[\"'`)])")
_WITHOUT_SPACES = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")


@dataclass(frozen=True)
class Signals:
    """The signals of a task. `text` is all of it in lower case. `files` are those that it is known to change.

    `marked` are paths in quotes or backticks, which AgentWeaver does not see.
    """

    title: str
    source_type: str
    text: str
    keywords: tuple[str, ...]
    paths: tuple[str, ...]
    languages: tuple[str, ...]
    frameworks: tuple[str, ...]
    marked: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @cached_property
    def touched(self) -> tuple[str, ...]:
        """The files that the task changes or names, without a leading `./`."""
        return tuple(dict.fromkeys(path.removeprefix("./") for path in (*self.files, *self.paths, *self.marked)))

    @cached_property
    def known_languages(self) -> frozenset[str]:
        """The languages that the task names, and those of its files."""
        of_files = [language for path in self.touched for language in languages_of(path)]
        named = [name for name in MORE_LANGUAGES if self.says(name)] if self.text else []
        return frozenset((*map(same_name, (*self.languages, *named)), *of_files))

    @cached_property
    def known_frameworks(self) -> frozenset[str]:
        return frozenset(map(same_name, self.frameworks))

    def says(self, words: str) -> bool:
        """True if the task has this keyword: as whole words, or anywhere if its script has no spaces."""
        wanted = " ".join(words.casefold().split())
        if any(unicodedata.name(char, "").startswith(_WITHOUT_SPACES) for char in wanted):
            return wanted in self.text
        return re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", self.text) is not None

    def to_json(self) -> dict[str, Any]:
        """The signals as the schema `project-guidance/v1` has them."""
        return {
            "title": self.title,
            "source_type": self.source_type,
            "keywords": list(self.keywords),
            "file_globs": list(self.paths),
            "referenced_paths": list(self.paths),
            "languages": list(self.languages),
            "frameworks": list(self.frameworks),
        }


def signals_of(task: Any, files: Iterable[str] = ()) -> Signals:
    """The signals of a task: a text, or data with texts in it."""
    texts = list(_texts(task))
    joined = "\n".join(texts)
    words = sorted(set(_WORD.findall(joined.lower()[: 20 * MAX_WORDS])) - STOP_WORDS)
    paths = sorted({found.strip("\"'`,.;:") for found in _PATH.findall(joined)} - {""})
    text = " ".join(joined.casefold().split())
    data = task if isinstance(task, dict) else {}
    return Signals(
        title=_first(data, "title", "summary", "key") or "Untitled task",
        source_type=_first(data, "source_type", "sourceType") or "unknown",
        text=text,
        keywords=tuple(word for word in words if len(word) <= 100),
        paths=tuple(paths),
        languages=tuple(name for name in LANGUAGES if name in words),
        frameworks=tuple(name for name in FRAMEWORKS if name in words),
        marked=tuple(sorted(set(_MARKED_PATH.findall(joined)))),
        files=tuple(files),
    )


def same_name(name: str) -> str:
    """The usual name of a language or a framework: `Golang` is `go`."""
    lower = name.strip().casefold()
    return SAME.get(lower, lower)


def languages_of(path: str) -> list[str]:
    return [language for language, suffixes in SUFFIXES.items() if path.lower().endswith(suffixes)]


def _texts(value: Any) -> Iterable[str]:
    """All texts in a value, in order."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict | list):
            waiting.extend(reversed(list(one.values()) if isinstance(one, dict) else one))


def _first(data: dict[str, Any], *names: str) -> str:
    found = (data.get(name) for name in names)
    return next((value.strip() for value in found if isinstance(value, str) and value.strip()), "")
