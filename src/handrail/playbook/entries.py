"""A Markdown file of a playbook → a practice or an example, and its problems; and the problems between entries."""

from __future__ import annotations

from collections.abc import Iterable

from handrail.playbook import keys
from handrail.playbook.spec import PHASES, AppliesTo, Entry, Kind, phase_key
from handrail.playbook.values import child, count, texts
from handrail.source.diagnostics import Diagnostic
from handrail.source.fields import Reader, Report
from handrail.source.files import Source
from handrail.source.frontmatter import no_front_matter, read_mapping, split_front_matter
from handrail.source.suggest import did_you_mean

Read = tuple[Entry, Reader, Source]
RELATIONS = ("related", "related_practices", "related_examples")


def read_entry(source: Source, path: str, kind: Kind, report: Report) -> Read | None:
    """The entry in a file, with its reader, so that later problems can be located. None if it cannot be used."""
    parts = split_front_matter(source.text)
    if parts is None:
        report(no_front_matter(source))
        return None
    front, body, _ = parts
    reader = read_mapping(source, front, 2, keys.ENTRY, report)
    if reader is None:
        return None
    id_, title = reader.text("id"), reader.text("title")
    entry = Entry(
        kind=kind,
        id=id_ or "",
        title=title or "",
        path=path,
        body=body,
        phases=_phases(reader),
        applies=_applies(reader),
        priority=count(reader, "priority"),
        severity=reader.text("severity"),
        related=tuple(node.value for name in RELATIONS for node in texts(reader, name) or ()),
    )
    return (entry, reader, source) if id_ is not None and title is not None else None


def _phases(reader: Reader) -> tuple[str, ...]:
    found: list[str] = []
    for node in texts(reader, "phases") or ():
        if reader.source.is_foreign and node.value not in PHASES:
            hint = did_you_mean(node.value, PHASES) or f"AgentWeaver knows {', '.join(PHASES)}"
            reader.on(node, "playbook-phase", f"there is no phase `{node.value}`", hint)
        found.append(phase_key(node.value))
    return tuple(dict.fromkeys(found))


def _applies(reader: Reader) -> AppliesTo:
    applies = child(reader, "applies_to", keys.APPLIES_TO)
    if applies is None:
        return AppliesTo()
    values = {}
    for name in ("languages", "frameworks", "globs", "keywords"):
        nodes = texts(applies, name)
        values[name] = None if nodes is None else tuple(node.value for node in nodes)
    return AppliesTo(**values)


def same_ids(entries: Iterable[Read]) -> list[Diagnostic]:
    """A problem for each entry whose id another one has."""
    first: dict[str, Entry] = {}
    problems: list[Diagnostic] = []
    for entry, reader, source in entries:
        other = first.setdefault(entry.id, entry)
        if other is not entry:
            node = reader.node.value["id"]
            place, hint = (node.line, node.column, node.width), f"`{other.path}` has it already; choose another one"
            problems.append(source.problem("playbook-id-twice", place, f"the id `{entry.id}` is used twice", hint))
    return problems


def related_problems(entries: Iterable[Read]) -> list[Diagnostic]:
    """A problem for each related id that no entry has."""
    every = list(entries)
    known = {entry.id for entry, _, _ in every}
    problems: list[Diagnostic] = []
    for _, reader, source in every:
        named = [
            node for name in RELATIONS if name in reader.node.value for node in reader.node.value[name].value or ()
        ]
        for node in named:
            if node.kind == "text" and node.value.strip() and node.value not in known:
                place, hint = (node.line, node.column, node.width), did_you_mean(node.value, sorted(known))
                message = f"no entry has the id `{node.value}`"
                problems.append(source.problem("playbook-related", place, message, hint or "name the id of an entry"))
    return problems
