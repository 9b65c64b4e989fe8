"""The keys of a flow file. The reader, the JSON Schema and the reference page are generated from these tables."""

from __future__ import annotations

from collections.abc import Mapping

from handrail.settings import GROUPS
from handrail.source.fields import ANYTHING, Field, json_schema, shape
from handrail.source.yamltree import Kind

OUTCOMES = ("success", "stopped")
RERUNS = ("safe", "ask", "never")
CONTINUES = ("again", "from-stop")
ON_FAILURE = ("stop", "finish")
FORMS = ("agentweaver",)
MAX_DEPTH = 32
MAX_PARALLEL = 64
AFTER_KINDS = {"set-summary-from-file": ("path",)}
STEP_SCHEMA = {"$ref": "#/$defs/step"}
EXPECTATION_SCHEMA = {"$ref": "#/$defs/expectation"}

_TOGETHER_KINDS: tuple[Kind, ...] = ("boolean", "integer", "mapping")
_VALUES = {"type": "object", "additionalProperties": True}
_CONDITION = {"type": ["object", "boolean", "string"]}
_ENTRIES = {"type": "array", "items": {"$ref": "#/properties/phases/items"}}


def _kinds(kinds: Mapping[str, tuple[str, ...]]) -> dict[str, object]:
    kind = {"type": "object", "properties": {"kind": {"enum": list(kinds)}}, "required": ["kind"]}
    return {"type": "array", "items": kind}


EXPECTATION = (
    Field("when", ("mapping", "boolean", "text"), "run the check only if this is true", schema=_CONDITION),
    Field("message", ("text",), "the text that people see if the check fails"),
)

PROMPT = shape(
    "prompt",
    "The prompt for an agent.",
    Field("templateRef", ("text",), "the name of a prompt in the catalog"),
    Field("inlineTemplate", ("text",), "the prompt itself; used instead of `templateRef` if both are given"),
    Field("vars", ("mapping",), "values for the `{name}` placeholders", schema=_VALUES),
    Field("extraPrompt", ("mapping", "text"), "text that is added at the end"),
    Field(
        "format",
        ("text",),
        "`plain`, or `task-prompt` with headings; files of AgentWeaver have `task-prompt` by default, others `plain`",
        choices=("plain", "task-prompt"),
    ),
)

RETRY = shape(
    "retry",
    "How often a step is tried. An attempt is the node with `expect`, `after` and `makes`.",
    Field("attempts", ("integer",), "the maximum number of attempts", required=True),
    Field("wait", ("integer", "number"), "seconds before the second attempt", default=1),
    Field("factor", ("integer", "number"), "each further wait is this many times longer", default=2),
)

OUTPUT = shape(
    "made file",
    "A file that a step makes. The short form is only its path.",
    Field("path", ("text", "mapping"), "the path of the file", required=True),
    Field("name", ("text",), "the name that it is published as; by default it is derived from the path"),
    Field("schema", ("text",), "the JSON Schema that the file has to match"),
    Field("required", ("boolean",), "the step fails if the file is missing", default=True),
)

STEP = shape(
    "step",
    "One unit of work.",
    Field("id", ("text",), "unique in its phase", required=True),
    Field("node", ("text",), "the node that does the work", required=True),
    Field("routingGroup", ("text",), "the group that decides which agent and model the step uses", choices=GROUPS),
    Field("when", ("mapping", "boolean", "text"), "the step is skipped if this is false", schema=_CONDITION),
    Field(
        "prompt",
        ("mapping", "text"),
        "the prompt for the agent: text with `${...}` in it, or a template",
        schema={"anyOf": [{"type": "string"}, json_schema(PROMPT)]},
    ),
    Field("params", ("mapping",), "values for the node", schema=_VALUES),
    Field(
        "expect",
        ("list",),
        "checks that have to pass after the step",
        schema={"type": "array", "items": EXPECTATION_SCHEMA},
    ),
    Field(
        "makes",
        ("list",),
        "files that the step makes or changes: paths, or mappings with `path`; published when the step is done",
        schema={"type": "array", "items": {"type": ["string", "object"]}},
    ),
    Field(
        "stopFlowIf", ("mapping", "boolean", "text"), "the flow ends after this step if this is true", schema=_CONDITION
    ),
    Field("stopFlowOutcome", ("text",), "the outcome of the flow if it ends here", default="success", choices=OUTCOMES),
    Field("after", ("list",), "actions after the step", schema=_kinds(AFTER_KINDS)),
    Field("retry", ("mapping",), "how often the step is tried: its node and its proof", schema=json_schema(RETRY)),
    Field(
        "timeout", ("integer", "number"), "the time limit of an attempt, in seconds; it goes on when the run is resumed"
    ),
    Field(
        "rerun",
        ("text",),
        "whether the step may run again after an interruption, or if its proof still does not hold when the run is "
        "resumed; by default its node decides",
        choices=RERUNS,
        meanings={"always": "safe", "again": "safe", "yes": "safe", "no": "never"},
    ),
)

TOGETHER = shape(
    "parallel",
    "How steps, rounds or phases run in parallel. The short form is `true`, or a number as the limit.",
    Field("limit", ("integer",), "the maximum number that run at the same time", default=MAX_PARALLEL),
    Field(
        "onFailure",
        ("text",),
        "after a failure, `stop` the others or let them `finish`",
        default="stop",
        choices=ON_FAILURE,
    ),
)
_TOGETHER = {"anyOf": [{"type": ["boolean", "integer"]}, json_schema(TOGETHER)]}

PHASE = shape(
    "phase of a flow",
    "Steps that belong together.",
    Field("id", ("text",), "unique in the flow", required=True),
    Field("when", ("mapping", "boolean", "text"), "the phase is skipped if this is false", schema=_CONDITION),
    Field(
        "steps",
        ("list",),
        "the steps, in order",
        required=True,
        schema={"type": "array", "items": STEP_SCHEMA},
    ),
    Field("parallel", _TOGETHER_KINDS, "run the steps in parallel; a number is the limit", schema=_TOGETHER),
    Field(
        "timeout", ("integer", "number"), "the time limit of the phase, in seconds; it goes on when the run is resumed"
    ),
)

REPEAT = shape(
    "repeat",
    "How often phases are repeated.",
    Field("var", ("text",), "the name of the round's number, for `${NAME}` and `repeat.NAME`"),
    Field("from", ("integer",), "the number of the first round", default=1),
    Field("to", ("integer",), "the number of the last round"),
    Field(
        "over",
        ("mapping", "list", "text"),
        "run one round per item of this list; `repeat.index`, or the name in `var`, is the number of the round",
    ),
    Field("item", ("text",), "the name of the round's list item, for `repeat.NAME`", default="item"),
    Field("until", ("mapping", "text"), "stop after the first round in which this is true", schema=_CONDITION),
    Field("max", ("integer",), "the maximum number of rounds for `until` and `over`"),
    Field(
        "onExhausted",
        ("text",),
        "what happens if `until` never holds, or if `over` has more items than rounds are allowed",
        default="fail",
        choices=("fail", "continue"),
    ),
    Field("parallel", _TOGETHER_KINDS, "run the rounds in parallel; a number is the limit", schema=_TOGETHER),
)

BLOCK = shape(
    "repeat block",
    "A repeat and its phases.",
    Field("repeat", ("mapping",), "how often the phases are repeated", required=True, schema=json_schema(REPEAT)),
    Field("phases", ("list",), "the phases to repeat", required=True, schema=_ENTRIES),
)

GROUP = shape(
    "parallel block",
    "Phases and repeats that run in parallel.",
    Field("parallel", _TOGETHER_KINDS, "`true`, or a number as the limit", required=True, schema=_TOGETHER),
    Field("phases", ("list",), "the phases and repeats that run in parallel", required=True, schema=_ENTRIES),
)

PARAM = shape(
    "param",
    "A parameter of a flow. The short form is `NAME: default`. Null means that there is no value.",
    Field("required", ("boolean",), "the flow does not start without a value other than null", default=False),
    Field("default", ANYTHING, "the value if none is given; null if this key is missing", schema={}),
    Field("about", ("text",), "a description for people"),
    Field("choices", ("list",), "the only values that it may have", schema={"type": "array"}),
)

_PHASES = {"type": "array", "items": {"anyOf": [json_schema(entry) for entry in (PHASE, BLOCK, GROUP)]}}

FLOW = shape(
    "flow file",
    "A flow that Handrail runs. It consists of phases, and each phase consists of steps.",
    Field("kind", ("text",), "the family of this flow; by default its id"),
    Field("version", ("integer",), "a number to increase when the flow changes its meaning", default=1),
    Field("description", ("text",), "a description for people"),
    Field(
        "also",
        ("list",),
        "other ids of this flow; a flow that has one of them as its own id is used instead",
        schema={"type": "array", "items": {"type": "string"}},
    ),
    Field(
        "examples",
        ("list",),
        "what may follow `handrail run ID`, for the help of the flow: `[ABC-1, Sort by date]`",
        schema={"type": "array", "items": {"type": "string"}},
    ),
    Field(
        "catalogVisibility",
        ("text",),
        "a `hidden` flow runs only inside other flows",
        default="visible",
        choices=("visible", "hidden"),
    ),
    Field(
        "form",
        ("text",),
        "a flow of the form `agentweaver` gets the params that AgentWeaver gives to its flows, besides those that it "
        "declares; files in `.agentweaver` get them in any case",
        choices=FORMS,
    ),
    Field("constants", ("mapping",), "values that steps refer to as `flow.NAME`", schema=_VALUES),
    Field("params", ("mapping",), "parameters of the flow; steps refer to them as `params.NAME`", schema=_VALUES),
    Field(
        "env",
        ("list",),
        "the only environment variables that steps may refer to, as `context.env.NAME`",
        schema={"type": "array", "items": {"type": "string"}},
    ),
    Field("phases", ("list",), "phases, repeats and parallel blocks, in order", required=True, schema=_PHASES),
    Field(
        "timeout",
        ("integer", "number"),
        "the time limit of the whole run, in seconds; it goes on when the run is resumed",
    ),
    Field(
        "continue",
        ("text",),
        "how an ended run may continue: `again` repeats the flow, `from-stop` begins at the phase that stopped it",
        choices=CONTINUES,
    ),
    Field(
        "overrides",
        ("boolean",),
        "this flow may replace a flow with the same id from another source, also inside shipped flows",
        default=False,
    ),
)

SHAPES = (FLOW, PARAM, PHASE, STEP, PROMPT, OUTPUT, RETRY, TOGETHER, BLOCK, REPEAT, GROUP)
