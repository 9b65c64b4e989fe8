"""What a flow file may say. The tables here are all there is: reader, JSON Schema and reference come from them."""

from __future__ import annotations

from collections.abc import Mapping

from handrail.settings import GROUPS
from handrail.source.fields import ANYTHING, Field, json_schema, shape
from handrail.source.yamltree import Kind

OUTCOMES = ("success", "stopped")
RERUNS = ("safe", "ask", "never")
CONTINUES = ("again", "from-stop")
ON_FAILURE = ("stop", "finish")
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
    Field("when", ("mapping", "boolean", "text"), "checked only if this holds", schema=_CONDITION),
    Field("message", ("text",), "what people are told when it does not hold"),
)

PROMPT = shape(
    "prompt",
    "What an agent is told.",
    Field("templateRef", ("text",), "the name of a prompt of the catalog"),
    Field("inlineTemplate", ("text",), "the prompt itself; wins over `templateRef`"),
    Field("vars", ("mapping",), "values for its `{name}` placeholders", schema=_VALUES),
    Field("extraPrompt", ("mapping", "text"), "text that is added below"),
    Field("format", ("text",), "`plain`, or with headings", default="task-prompt", choices=("plain", "task-prompt")),
)

RETRY = shape(
    "retry",
    "How often a step is tried.",
    Field("attempts", ("integer",), "how often at the most", required=True),
    Field("wait", ("integer", "number"), "seconds before the second attempt", default=1),
    Field("factor", ("integer", "number"), "how much longer each further wait is", default=2),
)

OUTPUT = shape(
    "made file",
    "A file that a step makes; just its path for short.",
    Field("path", ("text", "mapping"), "where it is", required=True),
    Field("name", ("text",), "what it is published as; its path says it where this is left out"),
    Field("schema", ("text",), "the schema that it has to fit"),
    Field("required", ("boolean",), "the step fails if it is not there", default=True),
)

STEP = shape(
    "step",
    "One unit of work.",
    Field("id", ("text",), "unique in its phase", required=True),
    Field("node", ("text",), "what does the work", required=True),
    Field("routingGroup", ("text",), "which agent and model it is given to", choices=GROUPS),
    Field("when", ("mapping", "boolean", "text"), "the step is skipped if this does not hold", schema=_CONDITION),
    Field(
        "prompt",
        ("mapping", "text"),
        "what an agent is told: text with `${...}` in it, or a template",
        schema={"anyOf": [{"type": "string"}, json_schema(PROMPT)]},
    ),
    Field("params", ("mapping",), "values for the node", schema=_VALUES),
    Field(
        "expect",
        ("list",),
        "checks that have to hold afterwards",
        schema={"type": "array", "items": EXPECTATION_SCHEMA},
    ),
    Field(
        "makes",
        ("list",),
        "files that it makes: paths, or mappings with `path`; they are published when it is done",
        schema={"type": "array", "items": {"type": ["string", "object"]}},
    ),
    Field("stopFlowIf", ("mapping", "boolean", "text"), "the flow ends here if this holds", schema=_CONDITION),
    Field("stopFlowOutcome", ("text",), "how it ends then", default="success", choices=OUTCOMES),
    Field("after", ("list",), "what is done afterwards", schema=_kinds(AFTER_KINDS)),
    Field("retry", ("mapping",), "how often it is tried", schema=json_schema(RETRY)),
    Field("timeout", ("integer", "number"), "seconds that it may take"),
    Field(
        "rerun",
        ("text",),
        "whether it may be done again after it was cut off; its node says so where this is left out",
        choices=RERUNS,
    ),
)

TOGETHER = shape(
    "parallel",
    "How things run at once; `true`, or a number as the limit, for short.",
    Field("limit", ("integer",), "how many at the most", default=MAX_PARALLEL),
    Field(
        "onFailure",
        ("text",),
        "whether a failure ends the others, or they finish first",
        default="stop",
        choices=ON_FAILURE,
    ),
)
_TOGETHER = {"anyOf": [{"type": ["boolean", "integer"]}, json_schema(TOGETHER)]}

PHASE = shape(
    "phase of a flow",
    "Steps that belong together.",
    Field("id", ("text",), "unique in the flow", required=True),
    Field("when", ("mapping", "boolean", "text"), "the phase is skipped if this does not hold", schema=_CONDITION),
    Field(
        "steps",
        ("list",),
        "what is done, in order",
        required=True,
        schema={"type": "array", "items": STEP_SCHEMA},
    ),
    Field("parallel", _TOGETHER_KINDS, "run the steps at once; a number limits how many", schema=_TOGETHER),
    Field("timeout", ("integer", "number"), "seconds that the phase may take"),
)

REPEAT = shape(
    "repeat",
    "How phases are gone through again and again.",
    Field("var", ("text",), "the name of the round's number: `${NAME}`, `repeat.NAME`"),
    Field("from", ("integer",), "number of the first round", default=1),
    Field("to", ("integer",), "number of the last round"),
    Field(
        "over",
        ("mapping", "list", "text"),
        "a round for each item of this list; `repeat.index` counts them, or what `var` names",
    ),
    Field("item", ("text",), "the name of the round's item of `over`: `repeat.NAME`", default="item"),
    Field("until", ("mapping", "text"), "no further round once this holds", schema=_CONDITION),
    Field("max", ("integer",), "the most rounds that `until` and `over` may take"),
    Field("parallel", _TOGETHER_KINDS, "run the rounds at once; a number limits how many", schema=_TOGETHER),
)

BLOCK = shape(
    "repeat block",
    "A repeat and its phases.",
    Field("repeat", ("mapping",), "how often", required=True, schema=json_schema(REPEAT)),
    Field("phases", ("list",), "what is repeated", required=True, schema=_ENTRIES),
)

GROUP = shape(
    "parallel block",
    "Phases, and repeats of phases, that run at once.",
    Field("parallel", _TOGETHER_KINDS, "true, or how many at once", required=True, schema=_TOGETHER),
    Field("phases", ("list",), "what runs at once", required=True, schema=_ENTRIES),
)

PARAM = shape(
    "param",
    "A parameter that a flow takes; `NAME: value` for short.",
    Field("required", ("boolean",), "nothing runs without it", default=False),
    Field("default", ANYTHING, "its value where none is given", schema={}),
    Field("about", ("text",), "what people are told it is for"),
)

_PHASES = {"type": "array", "items": {"anyOf": [json_schema(entry) for entry in (PHASE, BLOCK, GROUP)]}}

FLOW = shape(
    "flow file",
    "A flow that Handrail runs: phases of steps.",
    Field("kind", ("text",), "the family this flow belongs to; its id where it is left out"),
    Field("version", ("integer",), "counts up when the flow changes its meaning", default=1),
    Field("description", ("text",), "what people are told it does"),
    Field(
        "catalogVisibility",
        ("text",),
        "`hidden` flows only run inside others",
        default="visible",
        choices=("visible", "hidden"),
    ),
    Field("constants", ("mapping",), "values that steps refer to as `flow.NAME`", schema=_VALUES),
    Field("params", ("mapping",), "parameters it takes; steps refer to them as `params.NAME`", schema=_VALUES),
    Field(
        "env",
        ("list",),
        "environment variables that steps may refer to as `context.env.NAME`; no others",
        schema={"type": "array", "items": {"type": "string"}},
    ),
    Field("phases", ("list",), "phases, repeats and parallel blocks, in order", required=True, schema=_PHASES),
    Field("timeout", ("integer", "number"), "seconds that a whole run may take"),
    Field(
        "continue",
        ("text",),
        "how a run that has ended may be gone on with: all of it `again`, or `from-stop`, where it stopped itself",
        choices=CONTINUES,
    ),
    Field("overrides", ("boolean",), "may take the place of another source's flow of the same id", default=False),
)

SHAPES = (FLOW, PARAM, PHASE, STEP, PROMPT, OUTPUT, RETRY, TOGETHER, BLOCK, REPEAT, GROUP)
