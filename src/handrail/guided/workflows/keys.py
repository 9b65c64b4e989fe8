"""The keys of the files of a workflow: reader, JSON Schema and reference come from these tables. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.extensions.contracts import Check
from handrail.settings.sections import CANCEL_FIELD
from handrail.source.fields import NOT_BLANK, Field, json_schema, kinds_schema, shape

COMMAND_NAME = "A-Za-z0-9_-"
_NAMES = {"type": "array", "items": {"type": ["string", "number", "boolean", "null"]}}


def _text(name: str, about: str, *examples: str, **options: Any) -> Field:
    return Field(name, ("text",), about, examples=examples, **options)


def _required_text(name: str, about: str, *examples: str) -> Field:
    """A required text that is not blank."""
    return _text(name, about, *examples, required=True, shortest=1)


def _list(name: str, about: str, *examples: Any, **options: Any) -> Field:
    return Field(name, ("list",), about, examples=examples, **options)


TEXTS = (
    _text("sessionNamePrefix", "the beginning of the session's title", default="Workflow: "),
    _text(
        "roleInstruction",
        "who the agent is while this workflow runs; part of the context text",
        "You are a careful reviewer.",
    ),
    _text(
        "advanceReminder",
        "how to continue; the end of the context text",
        "When the phase is finished, call workflow_step with next.",
    ),
    _text(
        "blockReasonTemplate",
        "what the agent is told when a tool is not allowed",
        "{toolName} is not allowed in {phaseName}.",
    ),
    _text(
        "notDoneReminder",
        "what the agent is told when it stops too early",
        "The phase {phaseName} is not finished.",
    ),
    _text(
        "completionMessage",
        "what the person is told once, when the workflow is done",
        "Done: {description}",
    ),
)

SUBWORKFLOW = shape(
    "subworkflow",
    "The phases of another workflow, at this place.",
    _required_text("subworkflow", "the key of a workflow: the name of its folder", "code-review"),
)

_PHASE_PATH = {"type": "string", "pattern": NOT_BLANK, "description": "path of a phase file, relative to this one"}
WORKFLOW = shape(
    "workflow.yaml",
    "A workflow that an agent follows phase by phase.",
    _required_text("name", "what people call this workflow", "Bug fix"),
    _text(
        "commandName",
        f"the name it is started by: letters, digits, `_`, `-` ({COMMAND_NAME}); required unless `show: workflows`",
        "bug-fix",
    ),
    _text(
        "initialMessage",
        "the first message to the agent; required unless `show: workflows`",
        "Task: {description}. Begin with {firstPhaseName}.",
    ),
    _list(
        "phases",
        "the phases in order: paths of Markdown files, or `subworkflow: KEY`",
        ["plan.md", "build.md", {"subworkflow": "code-review"}],
        required=True,
        schema=lambda: {"type": "array", "minItems": 1, "items": {"anyOf": [_PHASE_PATH, json_schema(SUBWORKFLOW)]}},
    ),
    _text(
        "show",
        "`user`: can be started; `workflows`: only runs inside others",
        default="user",
        choices=("user", "workflows"),
        explained=("a person can start it", "it runs only inside other workflows"),
    ),
    Field("loopable", ("boolean",), "whether the agent may restart the phases with `loop`", default=True),
    CANCEL_FIELD,
    Field(
        "sessionNameMaxLength",
        ("integer",),
        "how many characters of the task the session's title shows",
        default=50,
        least=0,
    ),
    *TEXTS,
)

TOOLS = shape(
    "tools",
    "Which tools the agent may use in this phase: one list.",
    _list("deny", "these tools are denied", ["edit", "write"], schema=_NAMES),
    _list("allow", "only these tools are allowed", ["read", "search"], schema=_NAMES),
    _list("blacklist", "these tools are denied: the same as `deny`", ["edit", "write"], schema=_NAMES),
    _list("whitelist", "only these tools are allowed: the same as `allow`", ["read", "search"], schema=_NAMES),
)

GUIDANCE = shape(
    "guidance",
    "Which practices of the project's playbook the phase gets.",
    _text("phase", "the phase of the playbook, such as `plan` or `implement`", "implement", required=True),
)

EXIT = (_text("name", "what to call this check in messages", "the tests pass"),)
EXIT_SCHEMA = {"$ref": "#/definitions/check"}

PHASE = shape(
    "phase file",
    "Front matter of a phase's Markdown file; the text below it is what the agent is told to do.",
    _required_text("id", "unique in its workflow; a running session finds its phase by it", "plan"),
    _required_text("name", "what people call this phase", "Plan"),
    _required_text("emoji", "an emoji for the status line", "📝"),
    Field(
        "tools",
        ("mapping",),
        "which tools may be used",
        schema=lambda: json_schema(TOOLS) | {"oneOf": [{"required": [name]} for name in TOOLS.by_name]},
        examples=({"deny": ["edit", "write"]},),
    ),
    _list("availableProfiles", "subagent profiles that suit this phase", ["reviewer"], lenient=True, schema=_NAMES),
    Field(
        "exit",
        ("list", "mapping"),
        "checks that have to hold before the phase is left",
        schema={"anyOf": [EXIT_SCHEMA, {"type": "array", "items": EXIT_SCHEMA}]},
        examples=([{"file": "PLAN.md"}, {"run": ["make", "test"]}],),
    ),
    Field(
        "guidance",
        ("boolean", "mapping"),
        "`true`: the practices of the project's playbook that fit the task are part of the phase's text; `phase: NAME` "
        "names the phase of the playbook, which otherwise follows from the id and the name of this phase",
        schema=lambda: {"oneOf": [{"type": "boolean"}, json_schema(GUIDANCE)]},
    ),
    _text(
        "require",
        "`hard`: enter this phase only if `handrail doctor AGENT --probe` measured that the agent enforces its rules",
        choices=("hard",),
        explained=("enter the phase only if a probe measured that the agent enforces its rules",),
    ),
)


_HIDDEN = {"properties": {"show": {"const": "workflows"}}, "required": ["show"]}


def workflow_schema() -> dict[str, Any]:
    """The schema of `workflow.yaml`. A workflow that people start needs more than one that runs inside others."""
    visible_rules = {
        "required": ["commandName", "initialMessage"],
        "properties": {
            "commandName": {"pattern": f"^[{COMMAND_NAME}]+$"},
            "initialMessage": {"pattern": NOT_BLANK},
        },
    }
    return {**json_schema(WORKFLOW), "if": _HIDDEN, "else": visible_rules}


def phase_schema(checks: Mapping[str, Check]) -> dict[str, Any]:
    exit_kinds = {name: check for name, check in checks.items() if "exit" in check.places}
    return {**json_schema(PHASE), "definitions": {"check": kinds_schema(exit_kinds, EXIT)}}
