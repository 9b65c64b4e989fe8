"""Sections of the settings with keys of their own: `notify`, `prune` and `worktree`.

`notify` starts programs and sends to addresses, `prune` removes runs: only the user's own settings may have them. Of
`worktree`, only `folder` is the user's alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

from handrail.base.dataclasses import dataclass, replace
from handrail.source.fields import NOT_BLANK, Field, MappingReader, found, json_schema, quoted, shape
from handrail.source.suggestions import did_you_mean
from handrail.source.tree import TreeNode
from handrail.source.values import DURATION_EXAMPLE, DURATION_PATTERN, parse_duration

ChannelKind = Literal["bell", "desktop", "command", "webhook"]
PLAIN_CHANNELS: dict[str, ChannelKind] = {"bell": "bell", "desktop": "desktop"}
CHANNELS_WITH_VALUE = ("command", "webhook")
CHANNEL_EXAMPLE = "write `bell`, `desktop`, `{command: [PROGRAM, ARGUMENT]}` or `{webhook: https://HOST/PATH}`"
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


def _only_key(name: str, schema: Mapping[str, object]) -> dict[str, object]:
    return {"type": "object", "properties": {name: schema}, "required": [name], "additionalProperties": False}


_NOTIFY_ITEM = {
    "anyOf": [{"enum": list(PLAIN_CHANNELS)}, _only_key("command", _NOTIFY_COMMAND), _only_key("webhook", _WEBHOOK)]
}
NOTIFY_FIELD = Field(
    "notify",
    ("list",),
    "only in the user's settings: how you are told, once, that a run asks something, or that a run of more than a "
    "minute has ended. `bell` rings in the terminal. `desktop` uses `notify-send` or `osascript`, if there is one. "
    "`{command: [PROGRAM, ARGUMENT]}` gets the text as its last argument and JSON on its standard input. "
    "`{webhook: URL}` gets the JSON by POST. Without this key, only `handrail ui` rings",
    schema={"type": "array", "items": _NOTIFY_ITEM},
    examples=(["bell", "desktop"], [{"command": ["say-it", "--loud"]}], [{"webhook": "https://example.com/hook"}]),
)


@dataclass(frozen=True)
class Channel:
    """A way to tell a person something. `argv` is the program of a command, `url` the address of a webhook."""

    kind: ChannelKind
    argv: tuple[str, ...] = ()
    url: str = ""


BELL = Channel("bell")


def may_ring(channels: tuple[Channel, ...] | None) -> bool:
    """True if a surface that stays open may ring: the settings say nothing about it, or they have `bell`."""
    return channels is None or BELL in channels


def read_notify(reader: MappingReader, node: TreeNode) -> tuple[Channel, ...]:
    """The channels. Reports each that is wrong, at its place. One that is written twice counts once."""
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
    if name == "webhook":
        return _webhook_channel(reader, value)
    reader.on(
        item,
        "unknown-key",
        f"`notify` has no channel `{name}`",
        did_you_mean(name, CHANNELS_WITH_VALUE) or CHANNEL_EXAMPLE,
    )
    return None


def _command_channel(reader: MappingReader, node: TreeNode) -> Channel | None:
    items = node.value if node.kind == "list" else []
    if not items or any(item.kind != "text" or not item.value for item in items):
        message = f"`command` has to be a list of texts, a program and its arguments, found {found(node)}"
        reader.on(node, "bad-value", message, "write `{command: [PROGRAM, ARGUMENT]}`")
        return None
    argv = tuple(str(item.value) for item in items)
    if "/" in argv[0] and not argv[0].startswith("/"):
        message = f"the program of `command` has to be a name, or a path that begins with `/`, found {quoted(items[0])}"
        reader.on(items[0], "bad-value", message, "a path that depends on a folder could be another program there")
        return None
    return Channel("command", argv=argv)


def _webhook_channel(reader: MappingReader, node: TreeNode) -> Channel | None:
    url = node.value if node.kind == "text" else ""
    try:
        parts = urlsplit(url)
        is_right = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
        is_right = is_right and (parts.port is None or parts.port > 0) and url.isascii() and url.isprintable()
    except ValueError:
        is_right = False
    if not is_right or " " in url:
        message = "`webhook` has to be an address that begins with https:// or http:// and has no user"
        reader.on(node, "bad-value", message, "write `{webhook: https://HOST/PATH}`")
        return None
    return Channel("webhook", url=url)


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
    older, keep = node.value.get("olderThan"), node.value.get("keep")
    for name, child in node.value.items():
        if name not in PRUNE_SHAPE.by_name:
            reader.on(child, "bad-value", f"`prune` has no key `{name}`", f"its keys: {', '.join(PRUNE_SHAPE.by_name)}")
    seconds = parse_duration(older.value) if older is not None and older.kind == "text" else None
    if older is not None and seconds is None:
        reader.on(older, "bad-value", f"`olderThan` has to be {DURATION_EXAMPLE}, found {quoted(older)}", None)
        return before
    if keep is not None and (keep.kind != "integer" or keep.value < 0):
        reader.on(keep, "bad-value", f"`keep` has to be a whole number, 0 or more, found {found(keep)}", None)
        return before
    if older is None and keep is None:
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
    node = reader.child(WORKTREE_FIELD.name)
    now = before
    for key, child in node.value.items() if node is not None else ():
        match key:
            case "setup":
                now = replace(now, setup=_setup_commands(reader, child))
            case "copy":
                now = replace(now, copy=tuple(dict.fromkeys((*before.copy, *_copied_files(reader, child)))))
            case "folder":
                now = replace(now, folder=_worktree_folder(reader, child, is_user=is_user) or before.folder)
            case _:
                hint = did_you_mean(key, WORKTREE_SHAPE.by_name) or f"its keys: {', '.join(WORKTREE_SHAPE.by_name)}"
                reader.on(child, "unknown-key", f"`worktree` has no key `{key}`", hint)
    return now


def _setup_commands(reader: MappingReader, node: TreeNode) -> tuple[tuple[str, ...], ...]:
    commands: list[tuple[str, ...]] = []
    for item in node.value if node.kind == "list" else [node]:
        words = item.value if item.kind == "list" else []
        if node.kind != "list" or not words or any(word.kind != "text" or not word.value for word in words):
            message = f"a command of `setup` has to be a list of texts, found {found(item)}"
            reader.on(item, "bad-value", message, "write `setup: [[npm, ci]]`")
        else:
            commands.append(tuple(word.value for word in words))
    return tuple(commands)


def _copied_files(reader: MappingReader, node: TreeNode) -> list[str]:
    names: list[str] = []
    for item in node.value if node.kind == "list" else [node]:
        is_name = node.kind == "list" and item.kind == "text" and item.value.strip()
        if not is_name or os.path.isabs(item.value) or ".." in item.value.split("/"):
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
    is_path = node.kind == "text" and (os.path.isabs(node.value) or node.value.startswith("~/"))
    if not is_path:
        reader.on(node, "bad-value", f"`folder` has to be a full path, or begin with `~/`, found {quoted(node)}", None)
        return None
    return str(node.value)
