"""What an approval shows, as lines under headings: what Handrail checked is kept apart from what an agent says. Pure.

A part that is not known is shown as such, and never left out: a person must see that nobody has looked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from handrail.source.plain import counted
from handrail.topics.signs import DONE, FAILED, PENDING

UNKNOWN = "–"
MOST = 40
"""Changed files that are listed."""
DIGEST = 16
"""Characters that are shown of a digest."""
_DIGEST = re.compile(r"[0-9a-f]{32,}")
Action = Mapping[str, Any]


class Fact(NamedTuple):
    """A heading, a text beside it, and lines below it. The texts are foreign."""

    heading: str
    beside: str = ""
    below: tuple[str, ...] = ()


def facts(need: Mapping[str, Any]) -> Iterator[Fact]:
    """What a person has to know before the yes, in the order of the screen."""
    action: Action = need.get("action") or {}
    form: Mapping[str, Any] = need.get("form") or {}
    yield Fact("IF YOU APPROVE", str(action.get("does") or need.get("title") or UNKNOWN))
    command = action.get("command")
    if command:
        yield Fact("IT RUNS", "one argument per line", tuple(_arguments(command)))
    if form.get("description"):
        yield Fact("WHAT IS ASKED", "", tuple(str(form["description"]).split("\n")))
    if action.get("gate"):
        yield Fact("GATE THERE", gate_words(action["gate"]))
    yield Fact("CHECKED BY HANDRAIL", _tree_words(action), tuple(_check_lines(action.get("checks"))))
    yield Fact("CHANGED", changes_words(action.get("changes")), tuple(_change_lines(action.get("changes"))))
    state = action.get("state")
    known = list(_state_lines(state)) if isinstance(state, Mapping) else []
    if known:
        yield Fact("THE YES IS FOR", "", tuple(known))
    if action.get("claim"):
        yield Fact("SAID BY THE AGENT (a claim, not checked)", "", tuple(str(action["claim"]).split("\n")))


def _state_lines(state: Action) -> Iterator[str]:
    """What the yes depends on. Of a digest its beginning is enough."""
    for name, value in state.items():
        text = "" if value is None else str(value)
        if text and value not in ([], {}):
            yield f"{name} {f'{text[:DIGEST]}…' if _DIGEST.fullmatch(text) else text}"


def _arguments(command: Any) -> list[str]:
    """One argument per line, each in quotes, so that blanks and empty arguments can be seen."""
    if isinstance(command, Sequence) and not isinstance(command, str):
        return [f"“{one}”" for one in command]
    return str(command).split("\n")


def gate_words(gate: Any) -> str:
    """Which tools a phase allows."""
    if not isinstance(gate, Mapping):
        return str(gate)
    words = [
        f"only {_listed(gate['allow'])}" if gate.get("allow") else "",
        f"all tools but {_listed(gate['deny'])}" if gate.get("deny") else "",
        f"writes {_listed(gate['writes'])}" if gate.get("writes") else "",
    ]
    return "; ".join(word for word in words if word) or "all tools"


def _listed(names: Any) -> str:
    return names if isinstance(names, str) else ", ".join(str(name) for name in names)


def _tree_words(action: Action) -> str:
    tree = action.get("tree")
    if not tree:
        return "" if action.get("checks") else UNKNOWN
    name = tree.get("digest") if isinstance(tree, Mapping) else tree
    is_stale = any(one.get("stale") for one in action.get("checks") or ())
    return f"on tree {str(name)[:7]}, {'CHANGED since' if is_stale else 'unchanged since'}"


def _check_lines(checks: Any) -> Iterator[str]:
    if checks is None:
        yield f"{PENDING.char} not known whether anything was checked"
    elif not checks:
        yield f"{PENDING.char} nothing was checked"
    for check in checks or ():
        sign = {True: DONE, False: FAILED}.get(check.get("held"), PENDING).char
        told = [str(check["detail"])] if check.get("detail") else []
        told += ["never run"] if check.get("held") is None and not told else []
        told += [f"{check['seconds']:.0f}s"] if isinstance(check.get("seconds"), int | float) else []
        told += ["stale: the files changed since"] if check.get("stale") else []
        name = str(check.get("name") or UNKNOWN)
        yield f"{sign} {name:<16}  {' · '.join(told)}".rstrip()


def _files(changes: Any) -> list[Any]:
    if isinstance(changes, Mapping):
        return list(changes.get("files") or ())
    return list(changes) if isinstance(changes, Sequence) and not isinstance(changes, str) else []


def changes_words(changes: Any) -> str:
    """How many files have changed, and by how many lines as far as this is known."""
    if changes is None:
        return "not recorded"
    files = _files(changes)
    whole = changes if isinstance(changes, Mapping) else {}
    sums = [_sum(files, whole, name) for name in ("added", "removed")]
    lines = "" if None in sums or not files else f" +{sums[0]} −{sums[1]}"
    return f"{counted(len(files), 'file')}{lines}"


def _sum(files: list[Any], whole: Mapping[str, Any], name: str) -> int | None:
    if isinstance(whole.get(name), int):
        return int(whole[name])
    found = [one.get(name) if isinstance(one, Mapping) else None for one in files]
    return sum(found) if all(isinstance(one, int) for one in found) else None  # type: ignore[arg-type]


def _change_lines(changes: Any) -> Iterator[str]:
    files = _files(changes)
    for one in files[:MOST]:
        if not isinstance(one, Mapping):
            yield str(one)
            continue
        counts = [f"{sign}{one[name]}" for sign, name in (("+", "added"), ("−", "removed")) if one.get(name)]
        status = [str(one["status"])] if one.get("status") else []
        yield " ".join([*status, str(one.get("path") or UNKNOWN), *counts])
    if len(files) > MOST:
        yield f"… and {len(files) - MOST} more"


def diff_of(need: Mapping[str, Any]) -> str | None:
    """The text of the changes; None if it is not recorded."""
    changes = (need.get("action") or {}).get("changes")
    diff = changes.get("diff") if isinstance(changes, Mapping) else None
    return None if not diff else str(diff)
