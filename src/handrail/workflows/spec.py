"""A workflow as its files define it, checked for shape only. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from handrail.source.fields import Field, json_schema, shape
from handrail.workflows.plan import ExitCheck

COMMAND_NAME = "A-Za-z0-9_-"


@dataclass(frozen=True, kw_only=True)
class PhaseSpec:
    """One stage of a workflow."""

    id: str
    name: str
    emoji: str
    instructions: str
    deny: tuple[str, ...] | None
    allow: tuple[str, ...] | None
    profiles: tuple[str, ...]
    exit: tuple[ExitCheck, ...]
    file: str


@dataclass(frozen=True)
class Reference:
    """A place where another workflow runs as one phase of this one."""

    key: str
    line: int
    column: int
    width: int
    excerpt: str | None


Entry = PhaseSpec | Reference


class LazyEntries(Sequence[Entry]):
    """Entries that are decoded at the first access. Their number and their references are known before."""

    __slots__ = ("_count", "_entries", "_read", "references")

    def __init__(self, count: int, references: list[Reference], read: Callable[[], tuple[Entry, ...]]) -> None:
        self._count = count
        self._read = read
        self._entries: tuple[Entry, ...] | None = None
        self.references = references

    def _all(self) -> tuple[Entry, ...]:
        if self._entries is None:
            self._entries = self._read()
        return self._entries

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: Any) -> Any:
        return self._all()[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._all() == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # like a list


@dataclass(frozen=True, kw_only=True)
class WorkflowSpec:
    """A workflow and everything its own files say."""

    key: str
    file: str
    name: str
    command: str
    show: str
    loopable: bool
    initial_message: str
    entries: Sequence[Entry]
    texts: dict[str, str]
    session_name_length: int

    @property
    def references(self) -> list[Reference]:
        if isinstance(self.entries, LazyEntries):
            return self.entries.references
        return [entry for entry in self.entries if isinstance(entry, Reference)]

    @property
    def is_visible(self) -> bool:
        return self.show == "user"


TEXTS = (
    Field("sessionNamePrefix", ("text",), "the beginning of the session's title", default="Workflow: "),
    Field("roleInstruction", ("text",), "who the agent is while this workflow runs; part of the context text"),
    Field("advanceReminder", ("text",), "how to continue; the end of the context text"),
    Field("blockReasonTemplate", ("text",), "what the agent is told when a tool is not allowed"),
    Field("notDoneReminder", ("text",), "what the agent is told when it stops too early"),
    Field("completionMessage", ("text",), "what the person is told once, when the workflow is done or cancelled"),
)

WORKFLOW = shape(
    "workflow.yaml",
    "A workflow that an agent follows phase by phase.",
    Field("name", ("text",), "what people call this workflow", required=True),
    Field("commandName", ("text",), f"the name it is started by: letters, digits, `_`, `-` ({COMMAND_NAME})"),
    Field("initialMessage", ("text",), "the first message to the agent"),
    Field(
        "phases",
        ("list",),
        "the phases in order: paths of Markdown files, or `subworkflow: KEY`",
        required=True,
        schema={
            "type": "array",
            "minItems": 1,
            "items": {
                "oneOf": [
                    {"type": "string", "description": "path of a phase file, relative to this one"},
                    {
                        "type": "object",
                        "properties": {"subworkflow": {"type": "string", "description": "key of a workflow"}},
                        "required": ["subworkflow"],
                    },
                ]
            },
        },
    ),
    Field(
        "show",
        ("text",),
        "`user`: can be started; `workflows`: only runs inside others",
        default="user",
        choices=("user", "workflows"),
    ),
    Field("loopable", ("boolean",), "whether the agent may restart the phases with `loop`", default=True),
    Field(
        "sessionNameMaxLength", ("integer",), "how many characters of the task the session's title shows", default=50
    ),
    *TEXTS,
)

TOOLS = shape(
    "tools",
    "Which tools the agent may use in this phase: one of the two lists.",
    Field("blacklist", ("list",), "these tools are denied", schema={"type": "array"}),
    Field("whitelist", ("list",), "only these tools are allowed", schema={"type": "array"}),
)

EXIT = (Field("name", ("text",), "what to call this check in messages"),)
EXIT_SCHEMA = {"$ref": "#/$defs/check"}

PHASE = shape(
    "phase file",
    "Front matter of a phase's Markdown file; the text below it is what the agent is told to do.",
    Field("id", ("text",), "unique in its workflow; a running session finds its phase by it", required=True),
    Field("name", ("text",), "what people call this phase", required=True),
    Field("emoji", ("text",), "an emoji for the status line", required=True),
    Field("tools", ("mapping",), "which tools may be used", schema=json_schema(TOOLS)),
    Field(
        "availableProfiles",
        ("list",),
        "subagent profiles that suit this phase",
        lenient=True,
        schema={"type": "array"},
    ),
    Field(
        "exit",
        ("list", "mapping"),
        "checks that have to hold before the phase is left",
        schema={"oneOf": [EXIT_SCHEMA, {"type": "array", "items": EXIT_SCHEMA}]},
    ),
)
