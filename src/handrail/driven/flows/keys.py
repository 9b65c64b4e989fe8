"""The keys of a flow file, and its JSON Schema for editors. Pure.

The reader, the JSON Schema and the reference page are generated from these tables. The schema also has the params of
each node and check.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.driven.expressions.parser import ARITHMETIC, CONDITIONS, PAIRS, VALUE_FORMS, VALUES, ExpressionForm
from handrail.extensions.contracts import Check, Node
from handrail.settings.settings import GROUPS
from handrail.source.field_checks import plain_data
from handrail.source.fields import ANYTHING, NOT_BLANK, Field, exact_pattern, json_schema, kinds_schema, shape
from handrail.source.tree import ValueKind
from handrail.source.values import DURATION_PATTERN
from handrail.source.yaml_text import read_yaml

PARAM_KINDS: dict[ValueKind, tuple[type, ...]] = {
    "text": (str, int, float), "number": (int, float), "integer": (int,), "boolean": (bool,), "list": (list,),
    "mapping": (dict,),
}  # fmt: skip
"""The kinds that a flow can declare for a param, and the values that have each of them."""
MAX_DEPTH = 32
MAX_PARALLEL = 64
MAX_SECONDS = 604_800
MAX_ROUNDS = 1_000
UNATTENDED, ALL_TEXTS = "unattended", "*"
"""A `deadline` only for runs that nobody watches, and the key in `default` for all texts without one."""
AFTER = {
    "set-summary-from-file": Check(
        about="", words="", params=(Field("path", ANYTHING, "the path of the action", required=True),)
    ),
}
"""The kinds of actions after a step."""
_PARTS = ("value", "any", "condition", "test", "step", "expectation", "output", "entry", "param")
_REFERENCE = {name: {"$ref": f"#/definitions/{name}"} for name in _PARTS}
_LIST_OF = {name: {"type": "array", "items": reference} for name, reference in _REFERENCE.items()}
VALUE_SCHEMA, ANY_SCHEMA = _REFERENCE["value"], _REFERENCE["any"]
_VALUES = {"type": "object", "additionalProperties": True}
_EXPRESSIONS = {"type": "object", "additionalProperties": ANY_SCHEMA}


def _after_schema() -> dict[str, Any]:
    items = [
        {
            "type": "object",
            "properties": {
                "kind": {"const": kind, "description": "what is done"},
                "when": {**_REFERENCE["condition"], "description": "do it only if this is true"},
                **{field.name: {**ANY_SCHEMA, "description": field.about} for field in action.params},
            },
            "required": ["kind", *(field.name for field in action.params)],
            "additionalProperties": False,
        }
        for kind, action in AFTER.items()
    ]
    return {"type": "array", "items": items[0] if len(items) == 1 else {"anyOf": items}}


def _condition(name: str, about: str) -> Field:
    return Field(name, ("mapping", "boolean", "text"), about, schema=_REFERENCE["condition"])


def _timeout(of: str) -> Field:
    about = f"the time limit of {of}, in seconds; it goes on when the run is resumed"
    return Field("timeout", ("integer", "number"), about, above=0, most=MAX_SECONDS, unit="seconds", examples=(600,))


EXPECTATION = (
    _condition("when", "run the check only if this is true"),
    Field("message", ("text",), "the text that people see if the check fails", examples=("PLAN.md was not written",)),
)

PROMPT = shape(
    "prompt",
    "The prompt for an agent.",
    Field("templateRef", ("text",), "the name of a prompt in the catalog", examples=("review",)),
    Field(
        "inlineTemplate", ("text",), "the prompt itself; used instead of `templateRef` if both are given", shortest=1
    ),
    Field("vars", ("mapping",), "values for the `{name}` placeholders", schema=_EXPRESSIONS),
    Field(
        "extraPrompt",
        ("mapping", "text"),
        "text that is added at the end",
        schema={"anyOf": [{"type": "string"}, VALUE_SCHEMA]},
    ),
    Field(
        "format",
        ("text",),
        "`plain`, or `task-prompt` with headings; files of AgentWeaver have `task-prompt` by default, others `plain`",
        choices=("plain", "task-prompt"),
        explained=("the text alone", "the text below headings, as AgentWeaver writes it"),
    ),
)

RETRY = shape(
    "retry",
    "How often a step is tried. An attempt is the node with `expect`, `after` and `makes`.",
    Field("attempts", ("integer",), "the maximum number of attempts", required=True, least=1, most=100),
    Field("wait", ("integer", "number"), "seconds before the second attempt", default=1, least=0, most=86_400),
    Field("factor", ("integer", "number"), "each further wait is this many times longer", default=2, least=0, most=100),
)

MADE_FILE = shape(
    "made file",
    "A file that a step makes. The short form is only its path.",
    Field(
        "path",
        ("text", "mapping"),
        "the path of the file",
        required=True,
        schema={"anyOf": [{"type": "string", "pattern": NOT_BLANK}, VALUE_SCHEMA]},
        examples=("notes.md",),
    ),
    Field("name", ("text",), "the name that it is published as; by default it is derived from the path"),
    Field("schema", ("text",), "the JSON Schema that the file has to match", examples=("review-findings/v1",)),
    Field("required", ("boolean",), "the step fails if the file is missing", default=True),
)

STEP = shape(
    "step",
    "One unit of work.",
    Field("id", ("text",), "unique in its phase", required=True, shortest=1, examples=("test",)),
    Field("node", ("text",), "the node that does the work", required=True, shortest=1),
    Field(
        "run",
        ("text", "list"),
        "short for the node `command`: a line for the shell, or the program and its arguments; `params` may have the "
        "other params of `command`",
        schema={"anyOf": [{"type": "string", "pattern": NOT_BLANK}, {"type": "array", "minItems": 1}]},
        examples=("make test", ["make", "test"]),
    ),
    Field(
        "routingGroup",
        ("text",),
        "the group that decides which agent and model the step uses",
        choices=tuple(GROUPS),
        explained=tuple(GROUPS.values()),
    ),
    _condition("when", "the step is skipped if this is false"),
    Field(
        "prompt",
        ("mapping", "text"),
        "the prompt for the agent: text with `${...}` in it, or a template",
        schema=lambda: {
            "anyOf": [
                {"type": "string", "pattern": NOT_BLANK},
                {**json_schema(PROMPT), "anyOf": [{"required": ["templateRef"]}, {"required": ["inlineTemplate"]}]},
            ]
        },
        examples=("Fix the failing test: ${steps.check.test.outputs.output}",),
    ),
    Field("params", ("mapping",), "values for the node", schema=_VALUES),
    Field(
        "expect",
        ("list",),
        "checks that have to pass after the step",
        schema=_LIST_OF["expectation"],
        examples=([{"file": "PLAN.md"}],),
    ),
    Field(
        "makes",
        ("list",),
        "files that the step makes or changes: paths, or mappings with `path`; published when the step is done",
        schema=_LIST_OF["output"],
        examples=(["notes.md"],),
    ),
    _condition("stopFlowIf", "the flow ends after this step if this is true"),
    Field(
        "stopFlowOutcome",
        ("text",),
        "the outcome of the flow if it ends here",
        default="success",
        choices=("success", "stopped"),
        explained=("the flow succeeded", "the flow was stopped; it may continue later"),
    ),
    Field("after", ("list",), "actions after the step", schema=_after_schema),
    Field(
        "retry", ("mapping",), "how often the step is tried: its node and its proof", schema=lambda: json_schema(RETRY)
    ),
    _timeout("an attempt"),
    Field(
        "rerun",
        ("text",),
        "whether the step may run again after an interruption, or if its proof still does not hold when the run is "
        "resumed; by default its node decides",
        choices=("safe", "ask", "never"),
        explained=("it runs again", "a person is asked", "it never runs again: the run fails"),
        meanings={"always": "safe", "again": "safe", "yes": "safe", "no": "never"},
    ),
    Field(
        "deadline",
        ("text",),
        "how long the question of the step stays open; then `default` is taken as its answer. `unattended`: at once in "
        "a run that was started with `--unattended`, and never in another one",
        schema={"type": "string", "pattern": f"^({DURATION_PATTERN}|{UNATTENDED})$"},
        examples=("8h", UNATTENDED),
    ),
    Field(
        "default",
        ("mapping",),
        "the answer that is taken at the `deadline`: field → value; other fields keep their own defaults. `*` is for "
        "every text without a default",
        schema=_EXPRESSIONS,
        examples=({"approved": False},),
    ),
)

PARALLEL = shape(
    "parallel",
    "How steps, rounds or phases run in parallel. The short form is `true`, or a number as the limit.",
    Field(
        "limit",
        ("integer",),
        "the maximum number that run at the same time",
        default=MAX_PARALLEL,
        least=1,
        most=MAX_PARALLEL,
    ),
    Field(
        "onFailure",
        ("text",),
        "after a failure, `stop` the others or let them `finish`",
        default="stop",
        choices=("stop", "finish"),
        explained=("end the others at once", "let the others finish; then fail"),
    ),
)


def _parallel(about: str, *, required: bool = False) -> Field:
    return Field(
        "parallel",
        ("boolean", "integer", "mapping"),
        about,
        required=required,
        schema=lambda: {
            "anyOf": [
                {"type": "boolean"},
                {"type": "integer", "minimum": 1, "maximum": MAX_PARALLEL},
                json_schema(PARALLEL),
            ]
        },
        least=1,
        most=MAX_PARALLEL,
        examples=(True, 4, {"limit": 4, "onFailure": "finish"}),
    )


PHASE = shape(
    "phase of a flow",
    "Steps that belong together.",
    Field("id", ("text",), "unique in the flow", required=True, shortest=1, examples=("check",)),
    _condition("when", "the phase is skipped if this is false"),
    Field("steps", ("list",), "the steps, in order", required=True, schema=_LIST_OF["step"]),
    _parallel("run the steps in parallel; a number is the limit"),
    _timeout("the phase"),
)

REPEAT = shape(
    "repeat",
    "How often phases are repeated.",
    Field("var", ("text",), "the name of the round's number, for `${NAME}` and `repeat.NAME`", shortest=1),
    Field("from", ("integer",), "the number of the first round", default=1),
    Field("to", ("integer",), "the number of the last round"),
    Field(
        "over",
        ("mapping", "list", "text"),
        "run one round per item of this list; `repeat.index`, or the name in `var`, is the number of the round",
        schema={"anyOf": [{"type": "array"}, VALUE_SCHEMA]},
        examples=("${params.files}",),
    ),
    Field(
        "item",
        ("text",),
        "the name of the round's list item, for `repeat.NAME`",
        default="item",
        schema={"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_-]*$"},
    ),
    Field("until", ("mapping", "text"), "stop after the first round in which this is true", schema=_REFERENCE["test"]),
    Field(
        "max",
        ("integer",),
        "the maximum number of rounds for `until` and `over`; not needed if `over` is a list in the file",
        least=1,
        most=MAX_ROUNDS,
    ),
    Field(
        "onExhausted",
        ("text",),
        "what happens if `until` never holds, or if `over` has more items than rounds are allowed",
        default="fail",
        choices=("fail", "continue"),
        explained=("the flow fails", "the flow goes on after the repeat"),
    ),
    Field(
        "sameFailures",
        ("integer",),
        "the flow fails if a check of the rounds fails in the same way in so many rounds in a row; 0: never. Without "
        "this key, `sameFailures` of the settings holds, and only rounds in which an agent worked count",
        schema={"type": "integer", "minimum": 0, "not": {"const": 1}},
        examples=(3, 0),
    ),
    _parallel("run the rounds in parallel; a number is the limit"),
)

_OWN_LIST = {"type": "array", "description": "a list in the file itself"}
_LITERAL_LIST = {"properties": {"over": _OWN_LIST}, "required": ["over"]}
BLOCK = shape(
    "repeat block",
    "A repeat and its phases.",
    Field(
        "repeat",
        ("mapping",),
        "how often the phases are repeated",
        required=True,
        schema=lambda: {
            **json_schema(REPEAT),
            "dependencies": {
                "item": ["over"],
                "onExhausted": {"anyOf": [{"required": ["until"]}, {"required": ["over"]}]},
            },
            "allOf": [
                {"anyOf": [{"required": ["to"]}, {"required": ["max"]}, _LITERAL_LIST]},
                {"anyOf": [{"required": ["var"]}, {"required": ["over"]}]},
            ],
        },
        examples=({"var": "round", "max": 3, "until": {"equals": ["${steps.check.test.outputs.exitCode}", 0]}},),
    ),
    Field("phases", ("list",), "the phases to repeat", required=True, schema=_LIST_OF["entry"]),
)

GROUP = shape(
    "parallel block",
    "Phases and repeats that run in parallel.",
    _parallel("`true`, or a number as the limit", required=True),
    Field("phases", ("list",), "the phases and repeats that run in parallel", required=True, schema=_LIST_OF["entry"]),
)

PARAM = shape(
    "param",
    "A parameter of a flow. The short form is `NAME: default`. Null means that there is no value.",
    Field("required", ("boolean",), "the flow does not start without a value other than null", default=False),
    Field("default", ANYTHING, "the value if none is given; null if this key is missing", schema={}),
    Field("about", ("text",), "a description for people", examples=("the branch to review",)),
    Field(
        "type",
        ("text",),
        "the kind of its values, checked at the start; `text` keeps `1.10` and `true` as they were typed",
        choices=tuple(PARAM_KINDS),
    ),
    Field("choices", ("list",), "the only values that it may have", schema={"type": "array", "minItems": 1}),
)

FLOW = shape(
    "flow file",
    "A flow that Handrail runs. It consists of phases, and each phase consists of steps.",
    Field("kind", ("text",), "the family of this flow; by default its id", shortest=1, examples=("review",)),
    Field("version", ("integer",), "a number to increase when the flow changes its meaning", default=1, least=1),
    Field("description", ("text",), "a description for people", examples=("Run the tests and fix what fails",)),
    Field(
        "also",
        ("list",),
        "other ids of this flow; a flow that has one of them as its own id is used instead",
        schema={"type": "array", "items": {"type": "string"}},
        examples=(["team/ship"],),
    ),
    Field(
        "examples",
        ("list",),
        "what may follow `handrail run ID`, for the help of the flow: `[ABC-1, Sort by date]`",
        schema={"type": "array", "items": {"type": ["string", "number", "boolean", "null"]}},
        examples=(["ABC-1", "Sort by date"],),
    ),
    Field(
        "catalogVisibility",
        ("text",),
        "a `hidden` flow runs only inside other flows",
        default="visible",
        choices=("visible", "hidden"),
        explained=("people can run it", "it runs only inside other flows"),
    ),
    Field(
        "form",
        ("text",),
        "a flow of the form `agentweaver` gets the params that AgentWeaver gives to its flows, besides those that it "
        "declares; files in `.agentweaver` get them in any case",
        choices=("agentweaver",),
        explained=("it gets the params that AgentWeaver gives to its flows",),
    ),
    Field("constants", ("mapping",), "values that steps refer to as `flow.NAME`", schema=_VALUES),
    Field(
        "params",
        ("mapping",),
        "parameters of the flow; steps refer to them as `params.NAME`",
        schema={"type": "object", "additionalProperties": _REFERENCE["param"]},
        examples=({"task": {"required": True, "about": "what to do"}, "rounds": 3},),
    ),
    Field(
        "env",
        ("list",),
        "the only environment variables that steps may refer to, as `context.env.NAME`",
        schema={"type": "array", "items": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}},
        examples=(["CI"],),
    ),
    Field(
        "phases",
        ("list",),
        "phases, repeats and parallel blocks, in order",
        required=True,
        schema=_LIST_OF["entry"],
        examples=(
            [{"id": "check", "steps": [{"id": "test", "node": "command", "params": {"argv": ["make", "test"]}}]}],
        ),
    ),
    _timeout("the whole run"),
    Field(
        "continue",
        ("text",),
        "how an ended run may continue: `again` repeats the flow, `from-stop` begins at the phase that stopped it",
        choices=("again", "from-stop"),
        explained=("the flow is repeated", "it begins at the phase that stopped it"),
    ),
    Field(
        "overrides",
        ("boolean",),
        "this flow may replace a flow with the same id from another source, also inside shipped flows",
        default=False,
    ),
)

SHAPES = (FLOW, PARAM, PHASE, STEP, PROMPT, MADE_FILE, RETRY, PARALLEL, BLOCK, REPEAT, GROUP)


def flow_schema(nodes: Mapping[str, Node], checks: Mapping[str, Check]) -> dict[str, Any]:
    """The schema. The params of each node are in `definitions`, as `params:NAME`."""
    usable = {name: check for name, check in checks.items() if "expect" in check.places}
    others = {"refused": False, "ignored": True, "used": ANY_SCHEMA}
    plain = {"type": ["string", "number", "boolean", "null", "array"]}  # a mapping with a single key has to be a form
    definitions = {
        "value": _computed(VALUES),
        "any": {"anyOf": [plain, VALUE_SCHEMA, {"type": "object", "minProperties": 2}]},
        "test": _computed(CONDITIONS),
        "condition": {"anyOf": [{"type": "boolean"}, _REFERENCE["test"]]},
        "param": {"anyOf": [plain, json_schema(PARAM)]},
        "output": _made_file(),
        "entry": _entry(),
        "step": _step(nodes),
        "expectation": kinds_schema(usable, EXPECTATION, VALUE_SCHEMA),
        **{
            f"params:{name}": {**json_schema(node.shape, VALUE_SCHEMA), "additionalProperties": others[node.others]}
            for name, node in nodes.items()
        },
    }
    return {**json_schema(FLOW), "definitions": definitions}


def _computed(table: Mapping[str, ExpressionForm]) -> dict[str, Any]:
    """What is known only when the flow runs: text with a reference in it, or a mapping of a known form."""
    forms: dict[str, Any] = {}
    for name, form in table.items():
        example, _ = read_yaml(form.example)
        assert example is not None
        forms[name] = {"description": form.about, "examples": [plain_data(example.value[name])], **_count(name)}
    mapping = {"type": "object", "properties": forms, "anyOf": [{"required": [name]} for name in table]}
    return {"anyOf": [{"type": "string", "pattern": r"\$\{"}, mapping]}


def _count(name: str) -> dict[str, Any]:
    """How many values a form takes, if it takes a list."""
    if name in PAIRS or ARITHMETIC.get(name) == 2:
        return {"type": "array", "minItems": 2, "maxItems": 2, "items": ANY_SCHEMA}
    if name == "default":
        return {"type": "array", "minItems": 2, "items": ANY_SCHEMA}
    return {"type": "array", "items": ANY_SCHEMA} if name in ARITHMETIC else {}


def _made_file() -> dict[str, Any]:
    """A file that a step makes: its path, or a mapping. A mapping of a form, without `path`, is a path, too."""
    path = {"type": "string", "pattern": NOT_BLANK}
    form = {"type": "object", "not": {"required": ["path"]}, "anyOf": [{"required": [form]} for form in VALUE_FORMS]}
    return {"anyOf": [path, json_schema(MADE_FILE), form]}


def _entry() -> dict[str, Any]:
    """A phase, a repeat or a parallel block, told apart by their keys. The common keys are here for editors."""
    keys = {"repeat": BLOCK, "parallel": GROUP, "phases": BLOCK}
    block = {"required": ["parallel", "phases"], "not": {"required": ["steps"]}}
    return {
        "type": "object",
        "description": "a phase, a repeat or a parallel block",
        "properties": {name: {"description": where.by_name[name].about} for name, where in keys.items()},
        "if": {"required": ["repeat"]},
        "then": json_schema(BLOCK),
        "else": {"if": block, "then": json_schema(GROUP), "else": json_schema(PHASE)},
    }


def _step(nodes: Mapping[str, Node]) -> dict[str, Any]:
    step = json_schema(STEP)
    abouts = [node.about for node in nodes.values()]
    step["properties"]["node"] |= {"enum": list(nodes), "enumDescriptions": abouts}
    step["allOf"] = [_node_rule(name, node) for name, node in nodes.items()]
    step["required"].remove("node")
    step["oneOf"] = [{"required": ["node"]}, {"required": ["run"], "properties": {"prompt": False}}]
    return step


def _node_rule(name: str, node: Node) -> dict[str, Any]:
    """What a step that uses this node has to look like."""
    needs = ["params"] if any(field.required for field in node.params) else []
    needs += ["prompt"] if node.prompt == "required" else []
    pointer = name.replace("~", "~0").replace("/", "~1")  # the node of a plugin has a slash in its name
    params = {"$ref": f"#/definitions/params:{pointer}"}
    then: dict[str, Any] = {"properties": {"params": params}, "required": needs}
    if node.prompt == "forbidden":
        then["properties"]["prompt"] = False
    if not node.routed:
        then["properties"]["routingGroup"] = False
    if node.must_route:
        named = [{"required": ["params"], "properties": {"params": {"required": [one]}}} for one in node.must_route]
        then["anyOf"] = [{"required": ["routingGroup"]}, *named]
    return {"if": {"properties": {"node": {"pattern": exact_pattern(name)}}, "required": ["node"]}, "then": then}
