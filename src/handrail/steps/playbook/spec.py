"""What a playbook says: the keys of its files, and its manifest and entries as checked values. Pure.

Reader, JSON Schema and reference come from the tables of keys. Globs come from files that anybody may have written,
so a match takes time in proportion to the lengths of both texts, whatever the glob is.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from handrail.base.dataclasses import dataclass, field
from handrail.source.fields import Field, Shape, json_schema, shape

MANIFEST = "manifest.yaml"
PAGE = "project.md"
OWN, FOREIGN = ".handrail/playbook", ".agentweaver/playbook"
FOLDERS = (OWN, FOREIGN)
"""Where a project has its playbook. The first one with a manifest is used. AgentWeaver reads the second one."""
SECTIONS = ("practices", "examples", "templates")
SEVERITIES = ("must", "should", "info")
MATCHING = ("strict", "agentweaver")
BUDGETS = {"plan": 1200, "design_review": 1000, "implement": 1400, "review": 1000, "repair": 1000}
"""The phases that AgentWeaver knows → how many tokens the practices may have, if the manifest does not say."""
PHASES = tuple(BUDGETS)
OTHER_BUDGET = 1000
"""The budget of a phase that is none of these."""

EntryKind = Literal["practice", "example"]


def phase_key(name: str) -> str:
    """The name of a phase as entries and budgets have it: `Design review` and `design-review` are `design_review`."""
    key = "_".join(name.strip().lower().replace("-", "_").split())
    return "repair" if key in ("review_fix", "repair/review_fix") else key


@dataclass(frozen=True)
class AppliesTo:
    """For which tasks an entry is. None: the entry does not say."""

    languages: tuple[str, ...] | None = None
    frameworks: tuple[str, ...] | None = None
    globs: tuple[str, ...] | None = None
    keywords: tuple[str, ...] | None = None

    @property
    def is_open(self) -> bool:
        """True if the entry is for every task."""
        return not (self.languages or self.frameworks or self.globs or self.keywords)


@dataclass(frozen=True)
class PlaybookEntry:
    """A practice or an example. `path` is relative to the folder of the playbook. No `phases` means all."""

    kind: EntryKind
    id: str
    title: str
    path: str
    body: str
    phases: tuple[str, ...] = ()
    applies: AppliesTo = AppliesTo()
    priority: int | None = None
    severity: str | None = None
    related: tuple[str, ...] = ()


@dataclass(frozen=True)
class Playbook:
    """A valid playbook. `folder` is relative to the project, all other paths to that folder.

    `matching`: `strict` chooses what fits a task, `agentweaver` what AgentWeaver 0.1.18 would choose. `max_examples` is
    None if there is no limit.
    """

    folder: str
    name: str
    languages: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()
    practices: tuple[PlaybookEntry, ...] = ()
    examples: tuple[PlaybookEntry, ...] = ()
    templates: tuple[str, ...] = ()
    always: tuple[str, ...] = ()
    budgets: dict[str, int] = field(default_factory=dict)
    include_examples: bool = True
    max_examples: int | None = None
    matching: str = MATCHING[0]

    @property
    def entries(self) -> tuple[PlaybookEntry, ...]:
        return (*self.practices, *self.examples)

    def budget(self, phase: str) -> int:
        """How many tokens the practices of a phase may have."""
        key = phase_key(phase)
        return self.budgets.get(key, BUDGETS.get(key, OTHER_BUDGET))


def _texts(name: str, about: str, *example: str) -> Field:
    """A list of texts that are not empty."""
    items = {"type": "array", "items": {"type": "string", "minLength": 1}}
    return Field(name, ("list",), about, schema=items, examples=(list(example),) if example else ())


def _nested(name: str, about: str, keys: Shape, *, required: bool = False) -> Field:
    return Field(name, ("mapping",), about, required=required, schema=lambda: json_schema(keys))


PROJECT = shape(
    "project",
    "What the project is.",
    Field("name", ("text",), "the name of the project", required=True, examples=("shop",)),
    _texts("stack", "what it is built with, for people", "Django"),
    _texts("languages", "its programming languages; a task that names none is about these", "python"),
    _texts("frameworks", "its frameworks; a task that names none is about these"),
)
FILES_KEYS = shape(
    "files",
    "Files of the playbook: `paths`, `globs` or both.",
    _texts("paths", "paths in the folder of the playbook", "practices/tests.md"),
    _texts("globs", "globs for such paths: `*`, `?`, `**` and `{a,b}`; each has to match a file", "practices/*.md"),
)
SELECTION = shape(
    "selection",
    "How practices and examples are chosen.",
    Field("include_examples", ("boolean",), "whether examples are named, too", default=True),
    Field("max_examples", ("integer",), "how many examples are named at most", least=0, examples=(3,)),
    Field(
        "matching",
        ("text",),
        "`strict`: an entry with `applies_to` is chosen only if it fits the task, and budgets hold; `agentweaver`: as "
        "AgentWeaver 0.1.18 chooses, which ignores both",
        default=MATCHING[0],
        choices=MATCHING,
    ),
)
MANIFEST_KEYS = shape(
    "manifest.yaml",
    "The manifest of a playbook: the practices of a project, and how many of them an agent is told.",
    Field("version", ("integer", "number"), "the version of this format: 1", required=True, schema={"const": 1}),
    _nested("project", "what the project is", PROJECT, required=True),
    _nested("practices", "rules that an agent has to follow", FILES_KEYS),
    _nested("examples", "examples of good work; an agent is told where they are", FILES_KEYS),
    _nested("templates", "files that new files may begin with", FILES_KEYS),
    _texts("always_include", "files of the playbook that are for every task", "practices/tests.md"),
    Field(
        "context_budgets",
        ("mapping",),
        "phase → how many tokens (4 characters each) its practices may have; the phases are those of entries",
        schema={"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}},
        examples=({"plan": 1200, "implement": 1400},),
    ),
    _nested("selection", "how practices and examples are chosen", SELECTION),
    _texts("evidence_paths", "files of the project that the practices come from, for people"),
)
APPLIES_TO = shape(
    "applies_to",
    "For which tasks an entry is. One fitting item is enough; without any, it is for every task.",
    _texts("languages", "programming languages, such as `python`", "python"),
    _texts("frameworks", "frameworks, such as `react`", "react"),
    _texts("globs", "globs for paths in the project, such as `src/**`", "src/**"),
    _texts("keywords", "words of the task, in any script", "migration"),
)
ENTRY = shape(
    "entry",
    "Front matter of a practice or an example; the text below it is what an agent is told.",
    Field("id", ("text",), "unique in the playbook", required=True, examples=("tests-first",)),
    Field("title", ("text",), "what people call it", required=True, examples=("Tests come first",)),
    _texts(
        "phases",
        f"the phases that it is for: {', '.join(PHASES)} or names of your own; without it, all",
        *("implement", "review"),
    ),
    _nested("applies_to", "the tasks that it is for", APPLIES_TO),
    Field("priority", ("integer",), "a higher number comes first", least=0, examples=(5,)),
    Field("severity", ("text",), "how binding it is", choices=SEVERITIES, examples=(SEVERITIES[0],)),
    _texts("related", "ids of other entries", "naming"),
    _texts("related_practices", "ids of practices"),
    _texts("related_examples", "ids of examples"),
)
SHAPES = (MANIFEST_KEYS, PROJECT, FILES_KEYS, SELECTION, ENTRY, APPLIES_TO)
"""All shapes, in the order of the reference."""


_GLOB_TOKENS = re.compile(r"\*\*/|\*\*|\*|\?|.", re.DOTALL)
_GLOB_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
MAX_ALTERNATIVES = 64


def glob_matches(glob: str, path: str) -> bool:
    return any(_tokens_match(tokens, path) for tokens in _alternatives(glob))


@lru_cache(maxsize=1000)
def _alternatives(glob: str) -> tuple[tuple[str, ...], ...]:
    """The tokens of each glob that the braces stand for."""
    globs = [glob]
    while len(globs) < MAX_ALTERNATIVES and (match := next(filter(None, map(_GLOB_BRACES.search, globs)), None)):
        whole = match.string
        globs.remove(whole)
        globs += [whole[: match.start()] + part + whole[match.end() :] for part in match[1].split(",")]
    return tuple(tuple(_GLOB_TOKENS.findall(one)) for one in globs)


def _tokens_match(tokens: tuple[str, ...], path: str) -> bool:
    """Follow all ways through the path at once. `ends` are the ends of what the tokens so far can match."""
    ends, size = {0}, len(path)
    for part in tokens:
        first = min(ends, default=size)
        if part == "**":
            ends = set(range(first, size + 1)) if ends else ends
        elif part == "**/":
            ends |= {end for end in range(first + 1, size + 1) if path[end - 1] == "/"}
        elif part == "*":
            for end in range(first, size):
                if end in ends and path[end] != "/":
                    ends.add(end + 1)
        else:
            ends = {end + 1 for end in ends if end < size and (path[end] == part or (part == "?" and path[end] != "/"))}
    return size in ends
