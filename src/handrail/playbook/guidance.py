"""The guidance for one task in one phase: the practices of the project's playbook that fit, as text for an agent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from handrail.playbook.load import Found, read_playbook
from handrail.playbook.select import THRESHOLD, Chosen, Selection, Wish, select
from handrail.playbook.signals import Signals, signals_of
from handrail.playbook.spec import PAGE
from handrail.source.dataclasses import dataclass


@dataclass(frozen=True)
class Guidance:
    """What was found and chosen. `selection` is None if the project has no valid playbook."""

    found: Found
    signals: Signals
    selection: Selection | None

    @property
    def text(self) -> str:
        """The guidance for an agent; empty if there is none."""
        return "" if self.selection is None else guidance_text(self.selection, self.found.folder or "")


def guide(
    project: str,
    phase: str,
    task: Any,
    files: Iterable[str] = (),
    limits: tuple[int | None, int] = (None, THRESHOLD),
) -> Guidance:
    """The guidance for a task. `limits` are the budget, if it is not the manifest's, and the longest practice."""
    found, signals = read_playbook(project), signals_of(task, files)
    if found.playbook is None:
        return Guidance(found, signals, None)
    return Guidance(found, signals, select(found.playbook, Wish(phase, signals, *limits)))


def guidance_text(selection: Selection, folder: str) -> str:
    """The chosen practices as Markdown: short ones in full, of others the path. Empty if nothing was chosen."""
    if selection.is_empty:
        return ""
    told = [one for one in selection.practices if one.is_told and one.entry.body.strip()]
    others = [one for one in selection.chosen if one not in told]
    chosen = {one.entry.path for one in selection.chosen}
    always = [path for path in selection.always if path not in chosen]
    parts = [_practice(one) for one in told]
    read = [f"- `{folder}/{path}`{' (about the project)' if path == PAGE else ''}" for path in always]
    read += [f"- `{folder}/{one.entry.path}`: {_line(one.entry.title)}{_binding(one)}" for one in others]
    if read:
        parts.append("Read what your task needs of these files:\n" + "\n".join(read))
    return "\n\n".join(parts)


def _practice(one: Chosen) -> str:
    return f"### {_line(one.entry.title)}{_binding(one)}\n\n{one.entry.body.strip()}"


def _binding(one: Chosen) -> str:
    kind = " (example)" if one.entry.kind == "example" else ""
    return f" ({one.entry.severity})" if one.entry.severity in ("must", "should") else kind


def _line(text: str) -> str:
    return " ".join(text.split())
