"""Agents that speak the Agent Client Protocol (ACP): how the settings of the user name them. Pure.

Each one is a program, so only the user's own settings may have them: those of a project come with the repository.
"""

from __future__ import annotations

from collections.abc import Mapping

from handrail import NAMED_AGENT
from handrail.base.dataclasses import dataclass, field
from handrail.source.fields import NOT_BLANK, Field, MappingReader, found, json_schema, quoted, shape
from handrail.source.suggestions import did_you_mean, nearest
from handrail.source.tree import TreeNode

ACP_EXAMPLE = f"{NAMED_AGENT}: {{goose: {{command: [goose, acp]}}}}"
PERMISSIONS = ("read", "work", "full")
"""What a step may allow its agent."""
_TEXTS = {"type": "array", "items": {"type": ["string", "number", "boolean", "null"]}}
_MODE = {"type": "string", "pattern": NOT_BLANK}
ACP_ENTRY = shape(
    "acp.NAME",
    "How Handrail starts an agent that speaks the Agent Client Protocol.",
    Field(
        "command",
        ("list",),
        "the program and its arguments: `[goose, acp]`",
        required=True,
        schema={**_TEXTS, "minItems": 1},
        examples=(["goose", "acp"],),
    ),
    Field(
        "passEnv",
        ("list",),
        "environment variables that this agent may see, by name or pattern",
        schema=_TEXTS,
        examples=(["GOOSE_*"],),
    ),
    Field(
        "modes",
        ("mapping",),
        "the mode of the agent per `permissions` of a step: `{read: plan}`",
        schema={
            "type": "object",
            "properties": {
                name: {**_MODE, "description": f"its mode in steps with `permissions: {name}`"} for name in PERMISSIONS
            },
            "additionalProperties": False,
        },
        examples=({"read": "plan"},),
    ),
    Field("auth", ("text",), "the method with which it signs in, if it has to be asked to: one of its own names"),
)
ACP_FIELD = Field(
    NAMED_AGENT,
    ("mapping",),
    "only in the user's settings: agents that speak the Agent Client Protocol, by name. `goose: {command: [goose, "
    "acp]}` is the agent `acp:goose`. An entry may also have `passEnv: [NAME]`, further environment variables for "
    "this agent; `modes: {read: MODE}`, its mode in steps with these `permissions`; `auth: METHOD`, how it signs in",
    schema=lambda: {"type": "object", "additionalProperties": json_schema(ACP_ENTRY)},
    examples=({"goose": {"command": ["goose", "acp"]}},),
)


@dataclass(frozen=True)
class AcpAgent:
    """One agent. `command` is its argument list; `modes` has its mode by the permissions of a step."""

    command: tuple[str, ...]
    pass_env: tuple[str, ...] = ()
    modes: dict[str, str] = field(default_factory=dict)
    auth: str | None = None


AcpAgents = Mapping[str, AcpAgent]


class NoSuchAgent(Exception):
    """No agent of the settings has this name. The message says which, the hint what to write."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def agent_named(agent: str, agents: AcpAgents) -> AcpAgent | None:
    """The agent `acp:NAME`, or the only one for `acp`; None for agents that are not in the settings.

    Raises `NoSuchAgent` if the settings have none of this name.
    """
    kind, _, name = agent.partition(":")
    if kind != NAMED_AGENT:
        return None
    known = ", ".join(f"`{NAMED_AGENT}:{one}`" for one in agents)
    if not agents:
        raise NoSuchAgent(f"`{agent}` is not in your settings", f"write `{ACP_EXAMPLE}` to your settings.yaml")
    if name:
        if name not in agents:
            near = [f"did you mean `{NAMED_AGENT}:{one}`?" for one in nearest(name, agents)[:1]]
            raise NoSuchAgent(f"`{agent}` is not in your settings", near[0] if near else f"known: {known}")
        return agents[name]
    if len(agents) > 1:
        raise NoSuchAgent(f"`{agent}` may be one of several agents of your settings", f"name one: {known}")
    return next(iter(agents.values()))


def read_acp_agents(reader: MappingReader, before: AcpAgents, *, is_user: bool) -> dict[str, AcpAgent]:
    """The agents of a settings file. Reports each problem at its place."""
    node = reader.child(ACP_FIELD.name)
    if node is None:
        return dict(before)
    if not is_user:
        message = f"`{ACP_FIELD.name}` can be set only in the user's settings: a project must not choose a program"
        reader.on(node, "bad-value", message, "write it in your own settings file")
        return dict(before)
    agents = dict(before)
    for name, child in node.value.items():
        agent = _read_agent(reader, name, child)
        if agent is not None:
            agents[name] = agent
    return agents


def _read_agent(reader: MappingReader, name: str, node: TreeNode) -> AcpAgent | None:
    if ":" in name or name != name.strip() or not name:
        reader.on(node, "bad-value", f"the name of an agent must not have colons or spaces around it: `{name}`", None)
        return None
    if node.kind != "mapping":
        message = f"`{name}` has to be a mapping, found {found(node)}"
        reader.on(node, "wrong-type", message, f"write `{name}: {{command: [PROGRAM, ARGUMENT]}}`")
        return None
    entry = MappingReader(reader.source, node, ACP_ENTRY, reader.report)
    command = entry.texts("command")
    if command is None:
        return None
    if not command or not command[0].strip():
        entry.on(node.value["command"], "bad-value", "`command` has to begin with a program", "write `[PROGRAM]`")
        return None
    return AcpAgent(command, entry.texts("passEnv") or (), _read_modes(entry), entry.text("auth"))


def _read_modes(entry: MappingReader) -> dict[str, str]:
    node, modes = entry.child("modes"), dict[str, str]()
    for name, child in node.value.items() if node is not None else ():
        if name not in PERMISSIONS:
            hint = did_you_mean(name, PERMISSIONS) or f"its keys: {', '.join(PERMISSIONS)}"
            entry.on(child, "unknown-key", f"`modes` has no key `{name}`", hint)
        elif child.kind != "text" or not child.value.strip():
            entry.on(child, "bad-value", f"a mode has to be text, found {quoted(child)}", None)
        else:
            modes[name] = child.value
    return modes
