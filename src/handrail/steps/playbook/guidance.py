"""Which entries of a playbook a task needs in a phase, and their text for an agent.

Entries are chosen by what they apply to, ordered by score, cut by budget. The weights and the order are those of
AgentWeaver. `strict` matching differs from AgentWeaver in this: an entry with `applies_to` is chosen only if
something in it fits the task, only keywords of the entry count as keywords, and what the manifest says about
budgets and examples holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from handrail.base.dataclasses import dataclass, replace
from handrail.steps.playbook.load import FoundPlaybook, read_playbook
from handrail.steps.playbook.spec import BUDGETS, PAGE, PHASES, Playbook, PlaybookEntry, glob_matches, phase_key
from handrail.steps.playbook.survey import Signals, signals_of, usual_name

TOKEN = 4
"""About how many characters a token has."""
THRESHOLD = 300
"""How many tokens a practice may have to be told in full, if the caller does not say."""
MAX_NAMED = 30
"""How many entries are named at most, beside those that are told in full."""
_SEVERITY = {"must": 30, "should": 10}
_REASONS = {
    "always_include": "for every task",
    "phase_match": "for this phase",
    "keyword_match": "keyword",
    "glob_match": "path",
    "language_match": "language",
    "framework_match": "framework",
    "priority": "priority",
    "severity": "",
}


@dataclass(frozen=True)
class SelectionRequest:
    """What is asked for: the phase, the task, and limits that replace those of the manifest."""

    phase: str
    signals: Signals
    limit: int | None = None
    threshold: int = THRESHOLD
    matching: str | None = None


@dataclass(frozen=True)
class ChosenEntry:
    """A chosen entry. `reasons` are codes with details. `is_told`: its text is told, not only its path."""

    entry: PlaybookEntry
    score: int
    reasons: tuple[tuple[str, str], ...]
    is_told: bool = False
    left_out: str | None = None

    @property
    def why(self) -> str:
        """The reasons in words: `for this phase, language python, must`."""
        told = [f"{_REASONS[code]} {detail}".strip() for code, detail in self.reasons]
        return ", ".join(told)

    @property
    def tokens(self) -> int:
        """About how many tokens the text has."""
        return math.ceil(len(self.entry.body) / TOKEN)


@dataclass(frozen=True)
class Selection:
    """The chosen entries, best first. `limit` and `used` are tokens. `dropped` fit as well, but are not named."""

    phase: str
    chosen: tuple[ChosenEntry, ...]
    dropped: tuple[ChosenEntry, ...]
    always: tuple[str, ...]
    limit: int
    used: int
    threshold: int

    @property
    def practices(self) -> list[ChosenEntry]:
        return [one for one in self.chosen if one.entry.kind == "practice"]

    @property
    def examples(self) -> list[ChosenEntry]:
        return [one for one in self.chosen if one.entry.kind == "example"]

    @property
    def is_empty(self) -> bool:
        return not self.chosen and not self.always

    @property
    def characters(self) -> int:
        """How many characters the texts have that are told."""
        return sum(len(one.entry.body) for one in self.chosen if one.is_told)


def select(playbook: Playbook, wish: SelectionRequest) -> Selection:
    """The entries that a task needs in a phase."""
    matching = wish.matching or playbook.matching
    if matching == "agentweaver":
        limit = BUDGETS.get(phase_key(wish.phase), playbook.budget(wish.phase))
        scored = [_scored_as_agentweaver(entry, playbook, wish) for entry in playbook.entries]
    else:
        limit = playbook.budget(wish.phase)
        scored = [_scored(entry, playbook, wish) for entry in playbook.entries]
    ordered = sorted((one for one in scored if one is not None), key=_order)
    if matching != "agentweaver":
        ordered = _with_fewer_examples(ordered, playbook)
    limit = limit if wish.limit is None else wish.limit
    chosen, used = _with_told(ordered, limit, wish.threshold)
    named = chosen if matching == "agentweaver" else _named_entries(chosen)
    return Selection(
        phase=wish.phase,
        chosen=tuple(named),
        dropped=tuple(one for one in chosen if one not in named),
        always=playbook.always,
        limit=limit,
        used=used,
        threshold=wish.threshold,
    )


def _order(one: ChosenEntry) -> tuple[bool, int, int, int, str]:
    is_always = any(code == "always_include" for code, _ in one.reasons)
    entry = one.entry
    return not is_always, -one.score, -(entry.priority or 0), -_SEVERITY.get(entry.severity or "", 0), entry.id


def _with_told(ordered: list[ChosenEntry], limit: int, threshold: int) -> tuple[list[ChosenEntry], int]:
    """The entries, with the practices marked that are told in full; and how many tokens these have."""
    found: list[ChosenEntry] = []
    used = 0
    for one in ordered:
        too_long, too_much = one.tokens > threshold, one.tokens > limit - used
        if too_long or too_much:
            found.append(replace(one, left_out="inline_threshold_exceeded" if too_long else "over_budget"))
        elif one.entry.kind == "practice":
            used += one.tokens
            found.append(replace(one, is_told=True))
        else:
            found.append(one)
    return found, used


def _named_entries(chosen: list[ChosenEntry]) -> list[ChosenEntry]:
    """What is told in full, and the best of the others."""
    others = [one for one in chosen if not one.is_told][:MAX_NAMED]
    return [one for one in chosen if one.is_told or one in others]


def _with_fewer_examples(ordered: list[ChosenEntry], playbook: Playbook) -> list[ChosenEntry]:
    examples = [one for one in ordered if one.entry.kind == "example"]
    most = playbook.max_examples if playbook.include_examples else 0
    wanted = examples if most is None else examples[:most]
    return [one for one in ordered if one.entry.kind == "practice" or one in wanted]


def _start(entry: PlaybookEntry, playbook: Playbook, phase: str) -> tuple[int, list[tuple[str, str]]] | None:
    """The score and the reasons of an entry's place. None if it is for other phases."""
    score, reasons = 0, []
    if entry.path in playbook.always:
        score, reasons = 1000, [("always_include", "")]
    if not entry.phases or phase_key(phase) in entry.phases:
        return score + 100, [*reasons, ("phase_match", "")]
    return (score, reasons) if reasons else None


def _end(entry: PlaybookEntry, score: int, reasons: list[tuple[str, str]]) -> ChosenEntry:
    """The entry with its priority and its severity counted."""
    if entry.priority is not None:
        reasons = [*reasons, ("priority", str(entry.priority))]
    if entry.severity is not None:
        reasons = [*reasons, ("severity", entry.severity)]
    score += (entry.priority or 0) * 5 + _SEVERITY.get(entry.severity or "", 0)
    return ChosenEntry(entry, score, tuple(reasons))


def _scored(entry: PlaybookEntry, playbook: Playbook, wish: SelectionRequest) -> ChosenEntry | None:
    start = _start(entry, playbook, wish.phase)
    if start is None:
        return None
    score, reasons = start
    fitting = _fitting(entry, playbook, wish.signals)
    if not fitting and not entry.applies.is_open and entry.path not in playbook.always:
        return None
    for code, details in fitting.items():
        score += 8 * min(len(details), 10) if code == "keyword_match" else 40 if code == "glob_match" else 30
        reasons = [*reasons, (code, " ".join(details))]
    return _end(entry, score, reasons)


def _fitting(entry: PlaybookEntry, playbook: Playbook, signals: Signals) -> dict[str, list[str]]:
    """What of an entry's `applies_to` fits a task. The project's languages count if the task names nothing."""
    applies = entry.applies
    languages, frameworks = signals.known_languages, signals.known_frameworks
    if not languages and not signals.touched:
        languages = frozenset(map(usual_name, playbook.languages))
    if not frameworks and not signals.touched:
        frameworks = frozenset(map(usual_name, playbook.frameworks))
    found = {
        "keyword_match": [word for word in applies.keywords or () if signals.says(word)],
        "glob_match": [path for path in signals.touched if any(glob_matches(g, path) for g in applies.globs or ())][:3],
        "language_match": [name for name in applies.languages or () if usual_name(name) in languages],
        "framework_match": [
            name for name in applies.frameworks or () if usual_name(name) in frameworks or signals.says(name)
        ],
    }
    return {code: details for code, details in found.items() if details}


def _scored_as_agentweaver(entry: PlaybookEntry, playbook: Playbook, wish: SelectionRequest) -> ChosenEntry | None:
    """As AgentWeaver 0.1.18 does it: `applies_to` only adds to the score, and an entry's own text has keywords."""
    start = _start(entry, playbook, wish.phase)
    if start is None:
        return None
    score, reasons = start
    applies, signals = entry.applies, wish.signals
    text = f"{entry.id} {entry.title} {entry.body}".lower()
    words = signals.keywords if applies.keywords is None else applies.keywords
    hits = [word for word in words if word.lower() in signals.keywords or word.lower() in text]
    if hits:
        score, reasons = score + 8 * min(len(hits), 10), [*reasons, ("keyword_match", " ".join(hits))]
    if any(glob_matches(glob, path.removeprefix("./")) for glob in applies.globs or () for path in signals.paths):
        score, reasons = score + 40, [*reasons, ("glob_match", "")]
    if any(name.lower() in signals.languages for name in applies.languages or ()):
        score, reasons = score + 30, [*reasons, ("language_match", "")]
    if any(name.lower() in signals.frameworks for name in applies.frameworks or ()):
        score, reasons = score + 30, [*reasons, ("framework_match", "")]
    return _end(entry, score, reasons)


@dataclass(frozen=True)
class TaskGuidance:
    """What was found and chosen. `selection` is None if the project has no valid playbook."""

    found: FoundPlaybook
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
) -> TaskGuidance:
    """The guidance for a task. `limits` are the budget, if it is not the manifest's, and the longest practice."""
    found, signals = read_playbook(project), signals_of(task, files)
    if found.playbook is None:
        return TaskGuidance(found, signals, None)
    return TaskGuidance(found, signals, select(found.playbook, SelectionRequest(phase, signals, *limits)))


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


def _practice(one: ChosenEntry) -> str:
    return f"### {_line(one.entry.title)}{_binding(one)}\n\n{one.entry.body.strip()}"


def _binding(one: ChosenEntry) -> str:
    kind = " (example)" if one.entry.kind == "example" else ""
    return f" ({one.entry.severity})" if one.entry.severity in ("must", "should") else kind


def _line(text: str) -> str:
    return " ".join(text.split())


PHASE_SIGNS = {
    "repair": ("repair", "fix"),
    "design_review": ("design_review",),
    "review": ("review", "verify", "check", "audit"),
    "plan": ("plan", "design", "understand", "explore", "research", "spec", "analy"),
}
"""Phase of a playbook → parts of the names of phases that mean it. All others mean `implement`."""


def practices_for(project: str, names: tuple[str, ...], task: str) -> str:
    """The practices of the project for a phase with these names; empty if there are none.

    If the playbook has errors, the text says so: an agent must not believe that there are no practices.
    """
    found = read_playbook(project)
    if found.playbook is None:
        if not found.has_manifest:
            return ""
        return f"The playbook in `{found.folder}` has errors. Tell the person: `handrail playbook check` shows them."
    phase = playbook_phase(found.playbook, names)
    return guidance_text(select(found.playbook, SelectionRequest(phase, signals_of(task))), found.playbook.folder)


def playbook_phase(playbook: Playbook, names: tuple[str, ...]) -> str:
    """The phase of the playbook that one of these names is, or that the first one most likely means."""
    known = {*PHASES, *playbook.budgets, *(phase for entry in playbook.entries for phase in entry.phases)}
    for name in names:
        if phase_key(name) in known:
            return phase_key(name)
    keys = [phase_key(name) for name in names]
    found = (phase for phase, signs in PHASE_SIGNS.items() if any(sign in key for key in keys for sign in signs))
    return next(found, "implement")
