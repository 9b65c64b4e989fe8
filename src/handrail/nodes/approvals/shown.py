"""What a person sees before the yes: bounded, without control characters, and comparable with a later look. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from handrail.contracts import Preview
from handrail.forms.form import Form, FormField
from handrail.source.plain import plain, plain_lines

APPROVED, REASON = "approved", "reason"
LONGEST = 20_000
"""How many characters of one fact are shown."""
LONGEST_TITLE = 200
_COMPARED = ("title", "facts", "state")
Record = dict[str, Any]
"""A preview as plain data, as it is recorded: `title`, `facts`, `state`, `where`, `risks`, and the `params`."""


def record(preview: Preview, mask: Callable[[str], str]) -> Record:
    """A preview as it is shown and recorded: secrets are masked, long texts are cut, and say so."""
    title = plain(" ".join(mask(preview.title).split()))
    return {
        "title": title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…",
        "facts": [[plain(name), _bounded(mask(text))] for name, text in preview.facts],
        "state": {name: mask(value) for name, value in preview.state.items()},
        "where": {name: mask(value) for name, value in preview.where.items()},
        "risks": list(preview.risks),
    }


def _bounded(text: str) -> str:
    """The text, or its beginning. The digest of the rest lets a later look find a change in it."""
    shown = plain_lines(text)
    if len(shown) <= LONGEST:
        return shown
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    return f"{shown[:LONGEST]}\n… NOT SHOWN: {len(shown) - LONGEST} more characters (sha256 of the whole: {digest})"


def is_same(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    return all(before[name] == now[name] for name in _COMPARED)


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The names of what is different, in the words of the preview."""
    states = [
        f"{name} ({plain(before['state'].get(name, 'none'))[:12]} → {plain(now['state'].get(name, 'none'))[:12]})"
        for name in _different(before["state"], now["state"])
    ]
    return [*_different(_by_name(before), _by_name(now)), *states] or ["title"]


def changed_names(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The names of what is different, such as files: of the state, or of facts if the state is the same."""
    states = [plain(name) for name in _different(before["state"], now["state"])]
    return states or _different(_by_name(before), _by_name(now)) or ["title"]


def _different(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    return [name for name in dict.fromkeys((*before, *now)) if before.get(name) != now.get(name)]


def _by_name(seen: Mapping[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, text in seen["facts"]:
        found.setdefault(name, []).append(text)
    return found


def form(id_: str, label: str, seen: Mapping[str, Any], before: Mapping[str, Any] | None) -> Form:
    """The question for a person. `before` is what it was about when it was asked last, if that has changed since."""
    parts = []
    if before is not None:
        listed = ", ".join(changes(before, seen))
        parts.append(f"This has changed since it was asked last, so an earlier answer does not count: {listed}")
    parts += [_fact(name, text) for name, text in seen["facts"]]
    fields = (
        FormField(APPROVED, "boolean", label, required=True),
        FormField(REASON, "text", "Reason", help="for the record, and for later steps"),
    )
    return Form(id_, seen["title"], "\n".join(parts), fields)


def _fact(name: str, text: str) -> str:
    if "\n" not in text:
        return f"{name}: {text}"
    return "\n".join([f"{name}:", *(f"  | {line}" for line in text.split("\n"))])
