"""The keys that the files of a workflow may have: reader, JSON Schema and reference come from these tables. Pure."""

from __future__ import annotations

from handrail.source.fields import Field, json_schema, shape

COMMAND_NAME = "A-Za-z0-9_-"
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
    Field(
        "commandName",
        ("text",),
        f"the name it is started by: letters, digits, `_`, `-` ({COMMAND_NAME}); required unless `show: workflows`",
    ),
    Field("initialMessage", ("text",), "the first message to the agent; required unless `show: workflows`"),
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

GUIDANCE = shape(
    "guidance",
    "Which practices of the project's playbook the phase gets.",
    Field("phase", ("text",), "the phase of the playbook, such as `plan` or `implement`", required=True),
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
    Field(
        "guidance",
        ("boolean", "mapping"),
        "`true`: the practices of the project's playbook that fit the task are part of the phase's text; `phase: NAME` "
        "names the phase of the playbook, which otherwise follows from the id and the name of this phase",
        schema={"oneOf": [{"type": "boolean"}, json_schema(GUIDANCE)]},
    ),
    Field(
        "require",
        ("text",),
        "`hard`: enter this phase only if `handrail doctor AGENT --probe` measured that the agent enforces its rules",
        choices=("hard",),
    ),
)
