"""The setting `notify`: how a person is told that a run needs them, or that a long run has ended. Pure.

Only the user's own settings have it: it starts programs and sends to addresses, and the settings of a project come with
the repository.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

from handrail.source.dataclasses import dataclass
from handrail.source.fields import Field, Reader, found, quoted
from handrail.source.suggest import did_you_mean
from handrail.source.yamltree import Node

Kind = Literal["bell", "desktop", "command", "webhook"]
PLAIN: dict[str, Kind] = {"bell": "bell", "desktop": "desktop"}
WITH_VALUE = ("command", "webhook")
EXAMPLE = "write `bell`, `desktop`, `{command: [PROGRAM, ARGUMENT]}` or `{webhook: https://HOST/PATH}`"
_COMMAND = {
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


def _only(name: str, schema: Mapping[str, object]) -> dict[str, object]:
    return {"type": "object", "properties": {name: schema}, "required": [name], "additionalProperties": False}


_ITEM = {"anyOf": [{"enum": list(PLAIN)}, _only("command", _COMMAND), _only("webhook", _WEBHOOK)]}
FIELD = Field(
    "notify",
    ("list",),
    "only in the user's settings: how you are told, once, that a run asks something, or that a run of more than a "
    "minute has ended. `bell` rings in the terminal. `desktop` uses `notify-send` or `osascript`, if there is one. "
    "`{command: [PROGRAM, ARGUMENT]}` gets the text as its last argument and JSON on its standard input. "
    "`{webhook: URL}` gets the JSON by POST. Without this key, only `handrail ui` rings",
    schema={"type": "array", "items": _ITEM},
    examples=(["bell", "desktop"], [{"command": ["say-it", "--loud"]}], [{"webhook": "https://example.com/hook"}]),
)


@dataclass(frozen=True)
class Channel:
    """A way to tell a person something. `argv` is the program of a command, `url` the address of a webhook."""

    kind: Kind
    argv: tuple[str, ...] = ()
    url: str = ""


BELL = Channel("bell")


def rings(channels: tuple[Channel, ...] | None) -> bool:
    """True if a surface that stays open may ring: the settings say nothing about it, or they have `bell`."""
    return channels is None or BELL in channels


def read_notify(reader: Reader, node: Node) -> tuple[Channel, ...]:
    """The channels. Reports each that is wrong, at its place. One that is written twice counts once."""
    channels = (_channel(reader, item) for item in node.value)
    return tuple(dict.fromkeys(channel for channel in channels if channel is not None))


def _channel(reader: Reader, item: Node) -> Channel | None:
    if item.kind == "text" and item.value in PLAIN:
        return Channel(PLAIN[item.value])
    if item.kind == "text":
        hint = did_you_mean(item.value, (*PLAIN, *WITH_VALUE)) or EXAMPLE
        reader.on(item, "bad-value", f"`notify` has no channel {quoted(item)}", hint)
        return None
    if item.kind != "mapping" or len(item.value) != 1:
        reader.on(item, "bad-value", f"an item of `notify` has to be one channel, found {found(item)}", EXAMPLE)
        return None
    ((name, value),) = item.value.items()
    if name == "command":
        return _command(reader, value)
    if name == "webhook":
        return _webhook(reader, value)
    reader.on(item, "unknown-key", f"`notify` has no channel `{name}`", did_you_mean(name, WITH_VALUE) or EXAMPLE)
    return None


def _command(reader: Reader, node: Node) -> Channel | None:
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


def _webhook(reader: Reader, node: Node) -> Channel | None:
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
