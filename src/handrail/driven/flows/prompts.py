"""The prompts that flows use by name, and how the prompt for an agent is put together.

A prompt is one Markdown file. Its `{name}` placeholders get the values of the step's `vars`. A line with `{name?}` is
left out if there is no such value, or no such file for a `{..._file?}`. A line `<!-- schema: ID -->` is replaced by the
JSON Schema with this id.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from handrail.base.dataclasses import dataclass
from handrail.base.errors import DefinitionError, HandrailError
from handrail.driven.artifacts.names import NOT_PROVIDED
from handrail.settings.folders import name_prefix
from handrail.source.definition_files import Root, UnopenedFile, decode

ENDING = ".md"
MAX_PROMPTS = 5_000
MAX_FOLDERS = 2_000
MAX_NESTED = 8
"""How deep definitions of a schema are put into each other. A schema that refers to itself has no end."""
_SCHEMA = re.compile(r"^<!-- schema: (\S+) -->$", re.MULTILINE)


@dataclass(frozen=True)
class PromptFile:
    """A prompt as it was read. `source` says whose it is: the project's, the user's or Handrail's own."""

    source: str
    file: str
    text: str


class PromptLibrary(Mapping[str, PromptFile]):
    """Prompts by name: the path below their folder without the extension. An earlier folder wins.

    The folders are listed and a file is read on first use. Raises `DefinitionError` if it cannot be used. `schema`
    returns a schema by its id.
    """

    def __init__(self, roots: Iterable[tuple[str, str]], schema: Callable[[str], Mapping[str, Any]]) -> None:
        self._roots = roots
        self._schema = schema
        self._read: dict[str, PromptFile] = {}

    @cached_property
    def _places(self) -> dict[str, tuple[str, str]]:
        places: dict[str, tuple[str, str]] = {}
        for source, root in self._roots:
            prefix = name_prefix(source)
            for name in _names(root):
                places.setdefault(prefix + name, (source, root))
        return places

    def __getitem__(self, name: str) -> PromptFile:
        if name not in self._read:
            source, root = self._places[name]
            self._read[name] = self._prompt(source, root, name.removeprefix(name_prefix(source)))
        return self._read[name]

    def _prompt(self, source: str, root: str, name: str) -> PromptFile:
        file = os.path.join(root, name + ENDING)
        unusable = f"the prompt `{name_prefix(source)}{name}` cannot be used"
        content = Root(root).open(root, name + ENDING)
        if isinstance(content, UnopenedFile):
            raise DefinitionError(f"{unusable}: {content.message}", content.hint)
        text, problems = decode(file, content.data)
        if problems:
            raise DefinitionError(f"{unusable}: {problems[0].message}", problems[0].hint)
        if not text.text.strip():
            raise DefinitionError(f"the prompt `{name}` is empty", "write its text, or name another prompt")

        def block(mark: re.Match[str]) -> str:
            """The schema that a line names, as JSON."""
            try:
                schema = without_references(self._schema(mark[1]))
            except HandrailError as error:
                raise DefinitionError(f"{unusable}: {error.message}", error.hint) from error
            return f"```json\n{json.dumps(schema, separators=(',', ':'), ensure_ascii=False)}\n```"

        return PromptFile(source, file, _SCHEMA.sub(block, text.text))

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._places))

    def __len__(self) -> int:
        return len(self._places)


def _names(root: str) -> list[str]:
    """The names of the prompts below a folder. Links to folders are not followed."""
    names: list[str] = []
    for visited, (folder, folders, files) in enumerate(os.walk(root)):
        if visited >= MAX_FOLDERS or len(names) >= MAX_PROMPTS:
            break
        folders.sort()
        prefix = os.path.relpath(folder, root).replace(os.sep, "/") + "/" if folder != root else ""
        names += [prefix + name[: -len(ENDING)] for name in sorted(files) if name.endswith(ENDING) and name[0] != "."]
    return names[:MAX_PROMPTS]


def is_made_from(text: str, template: str) -> bool:
    """True if a text is a template with a schema in the place of each name of one."""
    parts = _SCHEMA.split(template)[::2]
    return re.fullmatch("```json\n.*?\n```".join(map(re.escape, parts)), text, re.DOTALL) is not None


def without_references(schema: Mapping[str, Any]) -> Any:
    """The schema with its definitions in place of references to them, so that people and agents can read it."""
    definitions = schema.get("$defs", {})

    def plain(node: Any, depth: int = 0) -> Any:
        if isinstance(node, list):
            return [plain(item, depth) for item in node]
        if not isinstance(node, Mapping):
            return node
        reference = node.get("$ref")
        definition = definitions.get(reference.removeprefix("#/$defs/")) if isinstance(reference, str) else None
        if isinstance(definition, Mapping) and depth < MAX_NESTED:
            rest = {key: value for key, value in node.items() if key != "$ref"}
            return plain({**definition, **rest}, depth + 1)
        return {key: plain(value, depth) for key, value in node.items() if key not in ("$defs", "$schema")}

    return plain(schema)


LANGUAGES = {
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fi": "Finnish",
    "fr": "French",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ru": "Russian",
    "sv": "Swedish",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "zh": "Chinese",
}
"""The languages of `--lang`, by their codes."""
DEFAULT_LANGUAGE = "en"


def language_part(language: str | None, *, is_foreign: bool) -> str:
    """What an agent is told about the language of its files. Without a choice, only AgentWeaver's flows say it."""
    if not language and not is_foreign:
        return ""
    code = language or DEFAULT_LANGUAGE
    name = LANGUAGES.get(code, code)
    return (
        f"Write the prose of Markdown files for this task in {name}. In JSON files, keep the names and fixed values of "
        "the schema and write other texts in English. Quotations stay as they are. Source code, comments and documents "
        "that belong to the project keep their own language."
    )


_OPTIONAL = re.compile(r"\{(\w+)\?\}")
OPTIONAL_FILE = "_file?"
"""How the names of optional files end. In the values of a prompt, `{name?}` has the name `name?`."""


def optional_names(text: str) -> list[str]:
    """The names of the placeholders in a prompt whose lines may be left out, without the question mark."""
    return list(dict.fromkeys(_OPTIONAL.findall(text)))


def without_missing(text: str, values: Mapping[str, Any]) -> str:
    """The text of a prompt without the lines with an optional placeholder that has no value."""
    missing = [
        f"{{{name}}}" for name, value in values.items() if name[-1:] == "?" and value in (None, "", NOT_PROVIDED)
    ]
    lines = (line for line in text.split("\n") if not any(mark in line for mark in missing))
    return re.sub("\n{3,}", "\n\n", "\n".join(lines)) if missing else text


def compose_prompt(task: str, additions: Sequence[str], *, is_plain: bool) -> str:
    """The whole prompt. Unless it is plain, the task and the additional instructions have headings."""
    extra = "\n\n".join(part for part in additions if part)
    if is_plain:
        return "\n\n".join(part for part in (task, extra) if part)
    parts = [f"# Task\n\n{task.strip()}", f"# Additional instructions\n\n{extra.strip()}" if extra else ""]
    return "\n\n".join(part for part in parts if part)
