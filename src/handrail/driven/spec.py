"""What a flow file may say. The tables here are all there is: reader, JSON Schema and reference come from them."""

from __future__ import annotations

from typing import NamedTuple

from handrail.fields import Field, shape
from handrail.yamltree import Kind

ROUTING_GROUPS = ("planning", "design-review", "implementation", "review", "repair-loop", "local-fix-loop")
OUTCOMES = ("success", "stopped")
ANYTHING: tuple[Kind, ...] = ("text", "integer", "number", "boolean", "null", "list", "mapping")
_VALUES = {"type": "object", "additionalProperties": True}
_CONDITION = {"type": ["object", "boolean", "string"]}

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
    Field("phases", ("list",), "phases and repeats, in order", required=True, schema={"type": "array"}),
    Field("timeout", ("integer", "number"), "seconds that a whole run may take"),
    Field("overrides", ("boolean",), "may take the place of another source's flow of the same id", default=False),
)

PARAM = shape(
    "param",
    "A parameter that a flow takes; `NAME: value` for short.",
    Field("required", ("boolean",), "nothing runs without it", default=False),
    Field("default", ANYTHING, "its value where none is given", schema={}),
    Field("about", ("text",), "what people are told it is for"),
)

PHASE = shape(
    "phase",
    "Steps that belong together.",
    Field("id", ("text",), "unique in the flow", required=True),
    Field("when", ("mapping", "boolean", "text"), "the phase is skipped if this does not hold", schema=_CONDITION),
    Field("steps", ("list",), "what is done, in order", required=True, schema={"type": "array"}),
    Field("parallel", ("boolean", "integer"), "run the steps at once; a number limits how many"),
    Field("timeout", ("integer", "number"), "seconds that the phase may take"),
)

REPEAT = shape(
    "repeat",
    "Phases that are gone through again and again.",
    Field("var", ("text",), "the name of the round's number: `${NAME}`, `repeat.NAME`"),
    Field("from", ("integer",), "number of the first round", default=1),
    Field("to", ("integer",), "number of the last round"),
    Field(
        "over",
        ("mapping", "list", "text"),
        "a round for each item of this list; `repeat.index` counts them, or what `var` names",
    ),
    Field("until", ("mapping", "text"), "no further round once this holds", schema=_CONDITION),
    Field("max", ("integer",), "the most rounds that `until` and `over` may take"),
)

BLOCK = shape(
    "repeat block",
    "A repeat and its phases.",
    Field("repeat", ("mapping",), "how often", required=True, schema={"type": "object"}),
    Field("phases", ("list",), "what is repeated", required=True, schema={"type": "array"}),
)

STEP = shape(
    "step",
    "One unit of work.",
    Field("id", ("text",), "unique in its phase", required=True),
    Field("node", ("text",), "what does the work", required=True),
    Field("routingGroup", ("text",), "which agent and model it is given to", choices=ROUTING_GROUPS),
    Field("when", ("mapping", "boolean", "text"), "the step is skipped if this does not hold", schema=_CONDITION),
    Field("prompt", ("mapping",), "what an agent is told", schema={"type": "object"}),
    Field("params", ("mapping",), "values for the node", schema=_VALUES),
    Field("expect", ("list",), "what has to hold afterwards", schema={"type": "array"}),
    Field("stopFlowIf", ("mapping", "boolean", "text"), "the flow ends here if this holds", schema=_CONDITION),
    Field("stopFlowOutcome", ("text",), "how it ends then", default="success", choices=OUTCOMES),
    Field("after", ("list",), "what is done afterwards", schema={"type": "array"}),
    Field("retry", ("mapping",), "how often it is tried", schema={"type": "object"}),
    Field("timeout", ("integer", "number"), "seconds that it may take"),
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

EXPECT_KINDS = {
    "require-artifacts": ("paths",),
    "require-structured-artifacts": ("items",),
    "require-file": ("path",),
    "step-output": ("value",),
}
AFTER_KINDS = {"set-summary-from-file": ("path",)}
OPTIONAL = {"step-output": ("equals",)}


class NodeInfo(NamedTuple):
    """What a node's users have to know: whether it takes a prompt, what it needs, which param names a flow."""

    prompt: str = "forbidden"
    required: tuple[str, ...] = ()
    nested: str | None = None
    routed: bool = False
