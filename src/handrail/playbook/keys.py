"""The keys that the files of a playbook may have: reader, JSON Schema and reference come from these tables. Pure."""

from __future__ import annotations

from typing import Any

from handrail.playbook.spec import MATCHING, PHASES, SEVERITIES
from handrail.source.fields import Field, json_schema, shape

_TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string", "minLength": 1}}

PROJECT = shape(
    "project",
    "What the project is.",
    Field("name", ("text",), "the name of the project", required=True, examples=("shop",)),
    Field("stack", ("list",), "what it is built with, for people", schema=_TEXTS, examples=(["Django"],)),
    Field(
        "languages",
        ("list",),
        "its programming languages; a task that names none is about these",
        schema=_TEXTS,
        examples=(["python"],),
    ),
    Field("frameworks", ("list",), "its frameworks; a task that names none is about these", schema=_TEXTS),
)
FILES = shape(
    "files",
    "Files of the playbook: `paths`, `globs` or both.",
    Field("paths", ("list",), "paths in the folder of the playbook", schema=_TEXTS, examples=(["practices/tests.md"],)),
    Field(
        "globs",
        ("list",),
        "globs for such paths: `*`, `?`, `**` and `{a,b}`; each has to match a file",
        schema=_TEXTS,
        examples=(["practices/*.md"],),
    ),
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
    Field("project", ("mapping",), "what the project is", required=True, schema=json_schema(PROJECT)),
    Field("practices", ("mapping",), "rules that an agent has to follow", schema=json_schema(FILES)),
    Field(
        "examples", ("mapping",), "examples of good work; an agent is told where they are", schema=json_schema(FILES)
    ),
    Field("templates", ("mapping",), "files that new files may begin with", schema=json_schema(FILES)),
    Field(
        "always_include",
        ("list",),
        "files of the playbook that are for every task",
        schema=_TEXTS,
        examples=(["practices/tests.md"],),
    ),
    Field(
        "context_budgets",
        ("mapping",),
        "phase → how many tokens (4 characters each) its practices may have; the phases are those of entries",
        schema={"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}},
        examples=({"plan": 1200, "implement": 1400},),
    ),
    Field("selection", ("mapping",), "how practices and examples are chosen", schema=json_schema(SELECTION)),
    Field("evidence_paths", ("list",), "files of the project that the practices come from, for people", schema=_TEXTS),
)
APPLIES_TO = shape(
    "applies_to",
    "For which tasks an entry is. One fitting item is enough; without any, it is for every task.",
    Field("languages", ("list",), "programming languages, such as `python`", schema=_TEXTS, examples=(["python"],)),
    Field("frameworks", ("list",), "frameworks, such as `react`", schema=_TEXTS, examples=(["react"],)),
    Field(
        "globs", ("list",), "globs for paths in the project, such as `src/**`", schema=_TEXTS, examples=(["src/**"],)
    ),
    Field("keywords", ("list",), "words of the task, in any script", schema=_TEXTS, examples=(["migration"],)),
)
ENTRY = shape(
    "entry",
    "Front matter of a practice or an example; the text below it is what an agent is told.",
    Field("id", ("text",), "unique in the playbook", required=True, examples=("tests-first",)),
    Field("title", ("text",), "what people call it", required=True, examples=("Tests come first",)),
    Field("phases", ("list",), f"the phases that it is for: {', '.join(PHASES)} or names of your own; without it, all",
          schema=_TEXTS, examples=(["implement", "review"],)),
    Field("applies_to", ("mapping",), "the tasks that it is for", schema=json_schema(APPLIES_TO)),
    Field("priority", ("integer",), "a higher number comes first", least=0, examples=(5,)),
    Field("severity", ("text",), "how binding it is", choices=SEVERITIES, examples=(SEVERITIES[0],)),
    Field("related", ("list",), "ids of other entries", schema=_TEXTS, examples=(["naming"],)),
    Field("related_practices", ("list",), "ids of practices", schema=_TEXTS),
    Field("related_examples", ("list",), "ids of examples", schema=_TEXTS),
)  # fmt: skip
SHAPES = (MANIFEST_KEYS, PROJECT, FILES, SELECTION, ENTRY, APPLIES_TO)
"""All shapes, in the order of the reference."""


def schema() -> dict[str, Any]:
    """The JSON Schema of `manifest.yaml`."""
    return json_schema(MANIFEST_KEYS)


def entry_schema() -> dict[str, Any]:
    """The JSON Schema of the front matter of a practice or an example."""
    return json_schema(ENTRY)
