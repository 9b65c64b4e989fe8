"""Sections of the settings with keys of their own: `notify`, `prune`, `worktree`, `acp` and `approve`. Pure.

`notify` and `acp` start programs, `prune` removes runs, and `approve` answers in place of a person: only the user's own
settings may have them, since those of a project come with the repository. Of `worktree`, only `folder` is the user's.
"""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Literal

from handrail import CANCEL_POLICIES, NAMED_AGENT
from handrail.base.dataclasses import dataclass, field, replace
from handrail.source.fields import NOT_BLANK, Field, MappingReader, found, json_schema, quoted, shape
from handrail.source.suggestions import did_you_mean, nearest
from handrail.source.tree import TreeNode, node_text
from handrail.source.values import DURATION_EXAMPLE, DURATION_PATTERN, parse_duration


def known_entries(
    reader: MappingReader, node: TreeNode | None, known: Iterable[str], what: str, example: str | None = None
) -> Iterator[tuple[str, TreeNode]]:
    """The entries of a mapping whose keys are known. Reports all others. None has no entries."""
    names = list(known)
    for name, child in node.value.items() if node is not None else ():
        if name in names:
            yield name, child
        else:
            hint = did_you_mean(name, names) or example or f"its keys: {', '.join(names)}"
            reader.on(child, "unknown-key", f"{what} has no key `{name}`", hint)


def are_texts(node: TreeNode) -> bool:
    """True if a value is a list of texts that are not empty, with at least one item."""
    return node.kind == "list" and bool(node.value) and all(one.kind == "text" and one.value for one in node.value)


ChannelKind = Literal["bell", "desktop", "telegram", "command", "webhook", "ntfy"]
PLAIN_CHANNELS: dict[str, ChannelKind] = {"bell": "bell", "desktop": "desktop", "telegram": "telegram"}
CHANNELS_WITH_VALUE = ("command", "webhook", "ntfy")
CHANNEL_EXAMPLE = (
    "write `bell`, `desktop`, `telegram`, `{command: [PROGRAM, ARGUMENT]}`, `{webhook: https://HOST/PATH}` or "
    "`{ntfy: https://HOST/TOPIC}`"
)
_NOTIFY_COMMAND = {
    "type": "array",
    "items": {"type": "string", "minLength": 1},
    "minItems": 1,
    "description": "a program and its arguments; it gets the text as a further one, and JSON on its standard input",
}
_WEBHOOK = {
    "type": "string",
    "pattern": "^https?://[^/@\\s]+(/\\S*)?$",
    "description": "the address that gets the JSON by POST",
}
_NTFY = {
    "type": "string",
    "pattern": "^https?://[^/@\\s]+/[^/\\s]+$",
    "description": "the address of a topic of an ntfy server, which sends it to your phone",
}


def _only_key(name: str, schema: Mapping[str, object]) -> dict[str, object]:
    return {"type": "object", "properties": {name: schema}, "required": [name], "additionalProperties": False}


_WITH_VALUE: dict[str, Mapping[str, object]] = {"command": _NOTIFY_COMMAND, "webhook": _WEBHOOK, "ntfy": _NTFY}
_NOTIFY_ITEM = {
    "anyOf": [{"enum": list(PLAIN_CHANNELS)}, *(_only_key(name, schema) for name, schema in _WITH_VALUE.items())]
}
NOTIFY_FIELD = Field(
    "notify",
    ("list",),
    "only in the user's settings: how you are told, once, that a run or a session asks something, or that a run "
    "of more than a minute has ended. `bell` rings in the terminal. `desktop` uses `notify-send` or `osascript`, if "
    "there is one. `telegram` is your bot, with the variables that `telegram-notify` uses. "
    "`{command: [PROGRAM, ARGUMENT]}` gets the text as its last argument and JSON on its standard input. "
    "`{webhook: URL}` gets the JSON by POST. `{ntfy: URL}` sends it to your phone, by a topic of an ntfy server. "
    "Without this key, only `handrail ui` rings",
    schema={"type": "array", "items": _NOTIFY_ITEM},
    examples=(["bell", "desktop"], [{"command": ["say-it", "--loud"]}], [{"webhook": "https://example.com/hook"}]),
)


@dataclass(frozen=True)
class Channel:
    """A way to tell a person something. `argv` is the program of a command, `url` an address to send to."""

    kind: ChannelKind
    argv: tuple[str, ...] = ()
    url: str = ""


BELL = Channel("bell")


def may_ring(channels: tuple[Channel, ...] | None) -> bool:
    """True if a surface that stays open may ring: the settings say nothing about it, or they have `bell`."""
    return channels is None or BELL in channels


def read_notify(
    reader: MappingReader, node: TreeNode | None, before: tuple[Channel, ...] | None
) -> tuple[Channel, ...] | None:
    """The channels. Reports each that is wrong, at its place. One that is written twice counts once."""
    if node is None:
        return before
    channels = (_channel(reader, item) for item in node.value)
    return tuple(dict.fromkeys(channel for channel in channels if channel is not None))


def _channel(reader: MappingReader, item: TreeNode) -> Channel | None:
    if item.kind == "text" and item.value in PLAIN_CHANNELS:
        return Channel(PLAIN_CHANNELS[item.value])
    if item.kind == "text":
        hint = did_you_mean(item.value, (*PLAIN_CHANNELS, *CHANNELS_WITH_VALUE)) or CHANNEL_EXAMPLE
        reader.on(item, "bad-value", f"`notify` has no channel {quoted(item)}", hint)
        return None
    if item.kind != "mapping" or len(item.value) != 1:
        reader.on(item, "bad-value", f"an item of `notify` has to be one channel, found {found(item)}", CHANNEL_EXAMPLE)
        return None
    ((name, value),) = item.value.items()
    if name == "command":
        return _command_channel(reader, value)
    if name in ("webhook", "ntfy"):
        return _address_channel(reader, name, value)
    hint = did_you_mean(name, CHANNELS_WITH_VALUE) or CHANNEL_EXAMPLE
    reader.on(item, "unknown-key", f"`notify` has no channel `{name}`", hint)
    return None


def _command_channel(reader: MappingReader, node: TreeNode) -> Channel | None:
    if not are_texts(node):
        message = f"`command` has to be a list of texts, a program and its arguments, found {found(node)}"
        reader.on(node, "bad-value", message, "write `{command: [PROGRAM, ARGUMENT]}`")
        return None
    argv = tuple(str(item.value) for item in node.value)
    if "/" in argv[0] and not argv[0].startswith("/"):
        message = (
            f"the program of `command` has to be a name, or a path that begins with `/`, found {quoted(node.value[0])}"
        )
        reader.on(node.value[0], "bad-value", message, "a path that depends on a folder could be another program there")
        return None
    return Channel("command", argv=argv)


def _address_channel(reader: MappingReader, kind: Literal["webhook", "ntfy"], node: TreeNode) -> Channel | None:
    from urllib.parse import urlsplit

    url = node.value if node.kind == "text" else ""
    try:
        parts = urlsplit(url)
        is_right = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
        is_right = is_right and (parts.port is None or parts.port > 0) and url.isascii() and url.isprintable()
        is_right = is_right and (kind != "ntfy" or parts.path.strip("/") != "")
    except ValueError:
        is_right = False
    if not is_right or " " in url:
        end = " and ends with a topic" if kind == "ntfy" else ""
        message = f"`{kind}` has to be an address that begins with https:// or http:// and has no user{end}"
        reader.on(node, "bad-value", message, f"write `{{{kind}: https://HOST/{'TOPIC' if end else 'PATH'}}}`")
        return None
    return Channel(kind, url=url)


PRUNE_SHAPE = shape(
    "prune",
    "Which ended runs and sessions `handrail run` removes first.",
    Field(
        "olderThan",
        ("text",),
        f"those that ended longer ago than this: {DURATION_EXAMPLE}",
        schema={"type": "string", "pattern": f"^{DURATION_PATTERN}$"},
        examples=("30d",),
    ),
    Field("keep", ("integer",), "all but so many of the newest", least=0, examples=(100,)),
)


@dataclass(frozen=True)
class PruneSettings:
    """Which ended runs and sessions are removed: older than some seconds, and not among the newest."""

    older_than: float | None = None
    keep: int | None = None


def read_prune(reader: MappingReader, node: TreeNode | None, before: PruneSettings | None) -> PruneSettings | None:
    if node is None:
        return before
    entries = dict(known_entries(reader, node, PRUNE_SHAPE.by_name, "`prune`"))
    older_than, keep = entries.get("olderThan"), entries.get("keep")
    seconds = parse_duration(older_than.value) if older_than is not None and older_than.kind == "text" else None
    if older_than is not None and seconds is None:
        message = f"`olderThan` has to be {DURATION_EXAMPLE}, found {quoted(older_than)}"
        reader.on(older_than, "bad-value", message)
        return before
    if keep is not None and (keep.kind != "integer" or keep.value < 0):
        reader.on(keep, "bad-value", f"`keep` has to be a whole number, 0 or more, found {found(keep)}", None)
        return before
    if older_than is None and keep is None:
        reader.on(node, "bad-value", "`prune` says nothing", "write `olderThan: 30d`, `keep: 100`, or both")
        return before
    return PruneSettings(seconds, keep.value if keep is not None else None)


_SETUP_COMMAND = {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1}
WORKTREE_SHAPE = shape(
    "worktree",
    "How `handrail run --worktree` prepares a worktree.",
    Field(
        "setup",
        ("list",),
        "commands that run in it, each a list of arguments",
        schema={"type": "array", "items": _SETUP_COMMAND},
        examples=([["npm", "ci"]],),
    ),
    Field(
        "copy",
        ("list",),
        "files of the project that are not committed",
        schema={"type": "array", "items": {"type": "string", "pattern": NOT_BLANK}},
        examples=([".env"],),
    ),
    Field(
        "folder",
        ("text",),
        "where worktrees are made; only in the user's settings",
        schema={"type": "string", "pattern": "^(/|~/)"},
        examples=("~/worktrees",),
    ),
)
CANCEL_FIELD = Field(
    "cancel",
    ("text",),
    "who may cancel a workflow. `agent`: the agent may, by two calls in a row. `ask`, the default: the agent asks, and "
    "the workflow stays active until a person says yes. `person`: only a person may. If settings and workflow say it, "
    "the strictest holds",
    choices=CANCEL_POLICIES,
    explained=("the agent may cancel by two calls in a row", "the agent asks a person", "only a person may cancel"),
    examples=("person",),
)
WORKTREE_FIELD = Field(
    "worktree",
    ("mapping",),
    "how `handrail run --worktree` prepares a worktree: `setup` are commands that run in it, each a list of arguments; "
    "`copy` are files of the project that are not committed, such as `.env`; `folder` is where worktrees are made, and "
    "works only in the user's settings",
    schema=lambda: json_schema(WORKTREE_SHAPE),
    examples=({"setup": [["npm", "ci"]], "copy": [".env"]},),
)


@dataclass(frozen=True)
class WorktreeSettings:
    """How worktrees are prepared. `folder` is where they are made; None: in Handrail's state folder."""

    setup: tuple[tuple[str, ...], ...] = ()
    copy: tuple[str, ...] = ()
    folder: str | None = None


def read_worktree(reader: MappingReader, before: WorktreeSettings, *, is_user: bool) -> WorktreeSettings:
    """The setting of one file. Commands of the project replace those of the user; files to copy are added."""
    now = before
    for key, child in known_entries(reader, reader.child("worktree"), WORKTREE_SHAPE.by_name, "`worktree`"):
        if key == "setup":
            now = replace(now, setup=_setup_commands(reader, child))
        elif key == "copy":
            now = replace(now, copy=tuple(dict.fromkeys((*before.copy, *_copied_files(reader, child)))))
        else:
            now = replace(now, folder=_worktree_folder(reader, child, is_user=is_user) or before.folder)
    return now


def _setup_commands(reader: MappingReader, node: TreeNode) -> tuple[tuple[str, ...], ...]:
    commands: list[tuple[str, ...]] = []
    for item in node.value if node.kind == "list" else [node]:
        if node.kind != "list" or not are_texts(item):
            message = f"a command of `setup` has to be a list of texts, found {found(item)}"
            reader.on(item, "bad-value", message, "write `setup: [[npm, ci]]`")
        else:
            commands.append(tuple(word.value for word in item.value))
    return tuple(commands)


def _copied_files(reader: MappingReader, node: TreeNode) -> list[str]:
    names: list[str] = []
    for item in node.value if node.kind == "list" else [node]:
        is_name = node.kind == "list" and item.kind == "text" and item.value.strip()
        if not is_name or posixpath.isabs(item.value) or ".." in item.value.split("/"):
            message = f"an item of `copy` has to be a path in the project, found {quoted(item)}"
            reader.on(item, "bad-value", message, "write `copy: [.env]`")
        else:
            names.append(item.value)
    return names


def _worktree_folder(reader: MappingReader, node: TreeNode, *, is_user: bool) -> str | None:
    """A project must not decide where files are written: its settings come with the repository."""
    if not is_user:
        reader.on(node, "bad-value", "`folder` can be set only in the user's settings", "remove it here")
        return None
    is_path = node.kind == "text" and (posixpath.isabs(node.value) or node.value.startswith("~/"))
    if not is_path:
        reader.on(node, "bad-value", f"`folder` has to be a full path, or begin with `~/`, found {quoted(node)}", None)
        return None
    return str(node.value)


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
    choices = ", ".join(f"`{NAMED_AGENT}:{one}`" for one in agents)
    if not agents:
        raise NoSuchAgent(f"`{agent}` is not in your settings", f"write `{ACP_EXAMPLE}` to your settings.yaml")
    if name in agents:
        return agents[name]
    if name:
        hint = next((f"did you mean `{NAMED_AGENT}:{one}`?" for one in nearest(name, agents)), f"known: {choices}")
        raise NoSuchAgent(f"`{agent}` is not in your settings", hint)
    if len(agents) > 1:
        raise NoSuchAgent(f"`{agent}` may be one of several agents of your settings", f"name one: {choices}")
    return next(iter(agents.values()))


def read_acp_agents(reader: MappingReader, node: TreeNode | None, before: AcpAgents) -> dict[str, AcpAgent]:
    """The agents of a settings file. Reports each problem at its place."""
    agents = dict(before)
    for name, child in node.value.items() if node is not None else ():
        if (agent := _read_agent(reader, name, child)) is not None:
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
    modes: dict[str, str] = {}
    for name, child in known_entries(entry, entry.child("modes"), PERMISSIONS, "`modes`"):
        if child.kind != "text" or not child.value.strip():
            entry.on(child, "bad-value", f"a mode has to be text, found {quoted(child)}", None)
        else:
            modes[name] = child.value
    return modes


STEP = "step"
"""What every rule can ask for: the path of the step that asks."""
OPTION = "--approve"
_RULE_PATTERN = {"type": ["string", "boolean", "integer"], "description": "a pattern, with `*` and `?`"}
RULE_SHAPE = shape(
    "rule",
    "An effect that is approved without asking a person.",
    Field("effect", ("text",), "the node that has the effect", required=True, examples=("git-push",)),
    Field(
        "where",
        ("mapping",),
        "approve it only if these values fit; `*` and `?` stand for any text and any character",
        schema={"type": "object", "additionalProperties": _RULE_PATTERN},
        examples=({"branch": "handrail/*"},),
    ),
)


def rules_schema() -> dict[str, Any]:
    return {"type": "array", "items": {"anyOf": [{"type": "string"}, json_schema(RULE_SHAPE)]}}


Effects = Callable[[], Mapping[str, Collection[str]]]
"""The effects that can be approved, and the names that their rules can ask for."""


@dataclass(frozen=True)
class ApprovalRule:
    """Approves an effect if all of `where` fits: name and pattern, with `*` and `?`. `source` is where it is from."""

    effect: str
    where: tuple[tuple[str, str], ...] = ()
    source: str = OPTION

    def fits(self, effect: str, values: Mapping[str, str], risks: Collection[str]) -> bool:
        patterns = dict(self.where)
        if effect != self.effect or any(name not in patterns for name in risks):
            return False
        return all(name in values and fnmatch.fnmatchcase(values[name], patterns[name]) for name in patterns)

    def __str__(self) -> str:
        if self.source == OPTION:
            return f"{OPTION} {self.effect}"
        conditions = ", ".join(f"{name}: {pattern}" for name, pattern in self.where)
        return f"`approve` in {self.source}: {self.effect}" + (f" where {conditions}" if conditions else "")


def read_rules(
    reader: MappingReader, node: TreeNode | None, effects: Effects | None, before: tuple[ApprovalRule, ...]
) -> tuple[ApprovalRule, ...]:
    """The rules of a settings file. Reports each that is wrong, at its place."""
    if node is None:
        return before
    risks_of = effects() if effects is not None else None
    return tuple(rule for item in node.value if (rule := _rule(reader, item, risks_of)) is not None)


def _rule(reader: MappingReader, item: TreeNode, risks_of: Mapping[str, Collection[str]] | None) -> ApprovalRule | None:
    effect = item.value.get("effect") if item.kind == "mapping" else item
    if effect is None or effect.kind != "text":
        message = f"an item of `approve` has to name an effect, found {found(item if effect is None else effect)}"
        reader.on(item, "bad-value", message, "write `- EFFECT`, or `- {effect: EFFECT, where: {branch: NAME}}`")
        return None
    if risks_of is not None and effect.value not in risks_of:
        hint = did_you_mean(effect.value, risks_of) or f"effects: {', '.join(risks_of)}"
        reader.on(effect, "bad-value", f"there is no effect {quoted(effect)} that can be approved", hint)
        return None
    where: dict[str, str] | None = {}
    for name, child in item.value.items() if item.kind == "mapping" else ():
        if name == "where":
            where = _rule_where(reader, child, None if risks_of is None else (*risks_of[effect.value], STEP))
        elif name != "effect":
            hint = did_you_mean(name, RULE_SHAPE.by_name) or f"its keys: {', '.join(RULE_SHAPE.by_name)}"
            reader.on(child, "unknown-key", f"an item of `approve` has no key `{name}`", hint)
            where = None
    return None if where is None else ApprovalRule(effect.value, tuple(where.items()), "your settings")


def _rule_where(reader: MappingReader, node: TreeNode, names: Collection[str] | None) -> dict[str, str] | None:
    """The patterns by name. None if one is wrong: a rule without it would approve more than it was meant to."""
    if node.kind != "mapping":
        reader.on(node, "wrong-type", f"`where` has to be a mapping, found {found(node)}", "write `{NAME: PATTERN}`")
        return None
    patterns: dict[str, str] = {}
    for name, child in node.value.items():
        if names is not None and name not in names:
            hint = did_you_mean(name, names) or f"it can ask for: {', '.join(names)}"
            reader.on(child, "bad-value", f"this effect has no `{name}`", hint)
        elif child.kind not in ("text", "boolean", "integer"):
            reader.on(child, "wrong-type", f"`{name}` has to be a pattern, found {found(child)}", "write it as text")
        else:
            patterns[name] = node_text(child)
    return patterns if len(patterns) == len(node.value) else None
