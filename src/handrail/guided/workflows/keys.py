"""The keys of the files of a workflow: reader, JSON Schema and reference come from these tables. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.extensions.contracts import Check
from handrail.source.fields import NOT_BLANK, Field, json_schema, kinds_schema, shape

COMMAND_NAME = "A-Za-z0-9_-"
_NAMES = {"type": "array", "items": {"type": ["string", "number", "boolean", "null"]}}
TEXTS = (
    Field("sessionNamePrefix", ("text",), "the beginning of the session's title", default="Workflow: "),
    Field(
        "roleInstruction",
        ("text",),
        "who the agent is while this workflow runs; part of the context text",
        examples=("You are a careful reviewer.",),
    ),
    Field(
        "advanceReminder",
        ("text",),
        "how to continue; the end of the context text",
        examples=("When the phase is finished, call workflow_step with next.",),
    ),
    Field(
        "blockReasonTemplate",
        ("text",),
        "what the agent is told when a tool is not allowed",
        examples=("{toolName} is not allowed in {phaseName}.",),
    ),
    Field(
        "notDoneReminder",
        ("text",),
        "what the agent is told when it stops too early",
        examples=("The phase {phaseName} is not finished.",),
    ),
    Field(
        "completionMessage",
        ("text",),
        "what the person is told once, when the workflow is done or cancelled",
        examples=("Done: {description}",),
    ),
)

SUBWORKFLOW = shape(
    "subworkflow",
    "The phases of another workflow, at this place.",
    Field(
        "subworkflow",
        ("text",),
        "the key of a workflow: the name of its folder",
        required=True,
        shortest=1,
        examples=("code-review",),
    ),
)

WORKFLOW = shape(
    "workflow.yaml",
    "A workflow that an agent follows phase by phase.",
    Field("name", ("text",), "what people call this workflow", required=True, shortest=1, examples=("Bug fix",)),
    Field(
        "commandName",
        ("text",),
        f"the name it is started by: letters, digits, `_`, `-` ({COMMAND_NAME}); required unless `show: workflows`",
        examples=("bug-fix",),
    ),
    Field(
        "initialMessage",
        ("text",),
        "the first message to the agent; required unless `show: workflows`",
        examples=("Task: {description}. Begin with {firstPhaseName}.",),
    ),
    Field(
        "phases",
        ("list",),
        "the phases in order: paths of Markdown files, or `subworkflow: KEY`",
        required=True,
        schema=lambda: {
            "type": "array",
            "minItems": 1,
            "items": {
                "anyOf": [
                    {
                        "type": "string",
                        "pattern": NOT_BLANK,
                        "description": "path of a phase file, relative to this one",
                    },
                    json_schema(SUBWORKFLOW),
                ]
            },
        },
        examples=(["plan.md", "build.md", {"subworkflow": "code-review"}],),
    ),
    Field(
        "show",
        ("text",),
        "`user`: can be started; `workflows`: only runs inside others",
        default="user",
        choices=("user", "workflows"),
        explained=("a person can start it", "it runs only inside other workflows"),
    ),
    Field("loopable", ("boolean",), "whether the agent may restart the phases with `loop`", default=True),
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
    "Which tools the agent may use in this phase: one of the two lists.",
    Field("blacklist", ("list",), "these tools are denied", schema=_NAMES, examples=(["edit", "write"],)),
    Field("whitelist", ("list",), "only these tools are allowed", schema=_NAMES, examples=(["read", "search"],)),
)

GUIDANCE = shape(
    "guidance",
    "Which practices of the project's playbook the phase gets.",
    Field(
        "phase",
        ("text",),
        "the phase of the playbook, such as `plan` or `implement`",
        required=True,
        examples=("implement",),
    ),
)

EXIT = (Field("name", ("text",), "what to call this check in messages", examples=("the tests pass",)),)
EXIT_SCHEMA = {"$ref": "#/definitions/check"}

PHASE = shape(
    "phase file",
    "Front matter of a phase's Markdown file; the text below it is what the agent is told to do.",
    Field(
        "id",
        ("text",),
        "unique in its workflow; a running session finds its phase by it",
        required=True,
        shortest=1,
        examples=("plan",),
    ),
    Field("name", ("text",), "what people call this phase", required=True, shortest=1, examples=("Plan",)),
    Field("emoji", ("text",), "an emoji for the status line", required=True, shortest=1, examples=("📝",)),
    Field(
        "tools",
        ("mapping",),
        "which tools may be used",
        schema=lambda: json_schema(TOOLS) | {"oneOf": [{"required": ["blacklist"]}, {"required": ["whitelist"]}]},
        examples=({"blacklist": ["edit", "write"]},),
    ),
    Field(
        "availableProfiles",
        ("list",),
        "subagent profiles that suit this phase",
        lenient=True,
        schema=_NAMES,
        examples=(["reviewer"],),
    ),
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
    Field(
        "require",
        ("text",),
        "`hard`: enter this phase only if `handrail doctor AGENT --probe` measured that the agent enforces its rules",
        choices=("hard",),
        explained=("enter the phase only if a probe measured that the agent enforces its rules",),
    ),
)


_HIDDEN = {"properties": {"show": {"const": "workflows"}}, "required": ["show"]}


def workflow_schema() -> dict[str, Any]:
    """The schema of `workflow.yaml`. A workflow that people start needs more than one that runs inside others."""
    started = {
        "required": ["commandName", "initialMessage"],
        "properties": {
            "commandName": {"pattern": f"^[{COMMAND_NAME}]+$"},
            "initialMessage": {"pattern": NOT_BLANK},
        },
    }
    return {**json_schema(WORKFLOW), "if": _HIDDEN, "else": started}


def phase_schema(checks: Mapping[str, Check]) -> dict[str, Any]:
    usable = {name: check for name, check in checks.items() if "exit" in check.places}
    return {**json_schema(PHASE), "definitions": {"check": kinds_schema(usable, EXIT)}}
