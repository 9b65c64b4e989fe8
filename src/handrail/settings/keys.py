"""The keys of a settings file. The reader, the JSON Schema and the reference page come from this table. Pure."""

from __future__ import annotations

from handrail.settings.notify import FIELD as NOTIFY
from handrail.settings.prune import SHAPE as PRUNE
from handrail.settings.routes import DEFAULT
from handrail.settings.rules import SCHEMA as RULES
from handrail.settings.worktree import FIELD as WORKTREE
from handrail.source.agents import FIELD as ACP
from handrail.source.fields import NOT_BLANK, Field, json_schema, shape

GROUPS = {
    "planning": "steps that plan, describe a task or ask about it",
    "design-review": "steps that review a plan",
    "implementation": "steps that write code",
    "review": "steps that review or describe a change",
    "repair-loop": "steps that fix what a review found",
    "local-fix-loop": "steps that fix what a check found",
}
"""The groups of steps, and what belongs to each."""
MAX_IDLE_STOPS = 7  # hosts give up after eight
_ROUTE = {"type": "string", "pattern": r"^\s*[^:\s]"}
_ROUTES = {
    "type": "object",
    "properties": {
        **{group: {**_ROUTE, "description": f"the agent for {about}"} for group, about in GROUPS.items()},
        DEFAULT: {**_ROUTE, "description": "the agent for steps of no group, and of groups that are not here"},
    },
    "additionalProperties": False,
}
_NESTED = {"type": "object", "additionalProperties": _ROUTES}
_VARIABLES = {"type": "array", "items": {"type": "string", "pattern": "^[^0-9\\W]\\w*$"}}
_PATTERNS = {"type": "array", "items": {"type": "string", "pattern": r"^[^ =$]*[^ =$\s][^ =$]*$"}}
SECRETS = shape(
    "secrets",
    "Which environment variables hold secrets.",
    Field("add", ("list",), "names or patterns of variables that hold secrets", schema=_PATTERNS),
    Field("except", ("list",), "only in the user's settings: variables that hold no secrets", schema=_PATTERNS),
)
LIMITS = shape(
    "limits",
    "What a run may use at most.",
    Field("usd", ("integer", "number"), "the cost of all agents, in US dollars", above=0, examples=(5,)),
    Field("minutes", ("integer", "number"), "the time of the run, in minutes", above=0, examples=(60,)),
    Field("tokens", ("integer",), "the tokens of all agents", above=0, examples=(2_000_000,)),
)
SETTINGS = shape(
    "settings.yaml",
    "How Handrail behaves in this project, or for this user.",
    Field(
        "idleStops",
        ("integer",),
        "how often an agent that makes no progress is told to continue before it may stop",
        default=3,
        least=0,
        most=MAX_IDLE_STOPS,
    ),
    Field(
        "reminders",
        ("integer",),
        "how often an agent is told to continue in one phase, even if it works in between, before it may stop",
        default=12,
        least=0,
        most=100,
    ),
    Field(
        "sameFailures",
        ("integer",),
        "how often in a row a check may fail in the same way while an agent works on it; then a repeat of a flow ends, "
        "and the agent in a workflow is told. 0: never. A repeat may say otherwise",
        default=3,
        least=0,
        most=100,
        schema={"type": "integer", "minimum": 0, "maximum": 100, "not": {"const": 1}},
    ),
    Field(
        "agent",
        ("text",),
        "the agent for steps that name no agent: `AGENT` or `AGENT:MODEL`",
        schema=_ROUTE,
    ),
    ACP,
    Field(
        "routes",
        ("mapping",),
        "the agent per group of steps: `review: AGENT:MODEL`",
        schema=_ROUTES,
    ),
    Field(
        "presets",
        ("mapping",),
        "named sets of routes, for `--preset NAME`",
        schema=_NESTED,
    ),
    Field("flows", ("mapping",), "routes per flow, by flow id", schema=_NESTED),
    Field(
        "passEnv",
        ("list",),
        "names of additional environment variables that agents may see",
        schema=_VARIABLES,
        examples=(["JAVA_HOME"],),
    ),
    Field(
        "secrets",
        ("mapping",),
        "which environment variables hold secrets: `add: [NAME]` and `except: [NAME]`, by name or pattern (`SONAR_*`). "
        "`except` works only in the user's settings",
        schema=json_schema(SECRETS),
        examples=({"add": ["SONAR_*"]},),
    ),
    Field(
        "prune",
        ("mapping",),
        "only in the user's settings: what `handrail run` removes first: `{olderThan: 30d, keep: 100}`",
        schema={**json_schema(PRUNE), "minProperties": 1},
        examples=({"olderThan": "30d", "keep": 100},),
    ),
    Field(
        "limits",
        ("mapping",),
        "what a run may use at most: `{usd: 5, minutes: 60, tokens: 2000000}`. If the settings of the user and "
        "of the project both have one, the lower one holds. `--max-usd`, `--max-minutes` and "
        "`--max-tokens` win over them",
        schema=json_schema(LIMITS),
        examples=({"usd": 5, "minutes": 60},),
    ),
    Field(
        "check",
        ("text", "list"),
        "the command that checks the project, for flows that need one: `make test` or `[make, test]`; no shell runs it",
        schema={
            "anyOf": [
                {"type": "string", "pattern": NOT_BLANK},
                {"type": "array", "items": {"type": "string"}, "minItems": 1},
            ]
        },
        examples=("make test", ["make", "test"]),
    ),
    Field(
        "approve",
        ("list",),
        "only in the user's settings: effects that `propose` may do, and questions that `approve` may pass, without "
        "asking a person: `git-push`, or `{effect: git-push, where: {branch: handrail/*}}`",
        schema=RULES,
        examples=(["git-push"], [{"effect": "git-push", "where": {"branch": "handrail/*"}}]),
    ),
    Field(
        "agentLogins",
        ("boolean",),
        "only in the user's settings: agents that runs start get your logins of git, GitHub and GitLab",
        default=False,
    ),
    NOTIFY,
    WORKTREE,
    Field("engine", ("text",), "the engine that stores and runs flows", default="embedded"),
)
