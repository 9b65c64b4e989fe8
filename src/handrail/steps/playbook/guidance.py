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
_WEIGHTS = {"keyword_match": 0, "glob_match": 40, "language_match": 30, "framework_match": 30}
"""The score of what fits a task. Keywords are counted, so each of them has a score instead."""
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
        return ", ".join(f"{_REASONS[code]} {detail}".strip() for code, detail in self.reasons)

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


def select(playbook: Playbook, request: SelectionRequest) -> Selection:
    is_strict = (request.matching or playbook.matching) != "agentweaver"
    budget = playbook.budget(request.phase)
    if not is_strict:
        budget = BUDGETS.get(phase_key(request.phase), budget)
    limit = budget if request.limit is None else request.limit
    scores = [_score(entry, playbook, request, is_strict) for entry in playbook.entries]
    ordered = sorted((one for one in scores if one is not None), key=_order)
    if is_strict:
        examples = [one for one in ordered if one.entry.kind == "example"]
        most = playbook.max_examples if playbook.include_examples else 0
        left_out = [] if most is None else examples[most:]
        ordered = [one for one in ordered if one not in left_out]
    chosen, used = _with_full_texts(ordered, limit, request.threshold)
    too_many = [one for one in chosen if not one.is_told][MAX_NAMED:] if is_strict else []
    return Selection(
        phase=request.phase,
        chosen=tuple(one for one in chosen if one not in too_many),
        dropped=tuple(too_many),
        always=playbook.always,
        limit=limit,
        used=used,
        threshold=request.threshold,
    )


def _order(one: ChosenEntry) -> tuple[bool, int, int, int, str]:
    is_always = any(code == "always_include" for code, _ in one.reasons)
    entry = one.entry
    return not is_always, -one.score, -(entry.priority or 0), -_SEVERITY.get(entry.severity or "", 0), entry.id


def _with_full_texts(ordered: list[ChosenEntry], limit: int, threshold: int) -> tuple[list[ChosenEntry], int]:
    """The entries, with the practices marked that are told in full; and how many tokens these have."""
    entries: list[ChosenEntry] = []
    used = 0
    for one in ordered:
        if one.tokens > threshold:
            entries.append(replace(one, left_out="inline_threshold_exceeded"))
        elif one.tokens > limit - used:
            entries.append(replace(one, left_out="over_budget"))
        else:
            is_told = one.entry.kind == "practice"
            used += one.tokens if is_told else 0
            entries.append(replace(one, is_told=is_told))
    return entries, used


def _score(entry: PlaybookEntry, playbook: Playbook, request: SelectionRequest, is_strict: bool) -> ChosenEntry | None:
    """The entry with its score and the reasons for it. None if it is not for the phase, or does not fit the task."""
    is_always = entry.path in playbook.always
    is_for_phase = not entry.phases or phase_key(request.phase) in entry.phases
    if not is_always and not is_for_phase:
        return None
    matches = (_matches if is_strict else _matches_as_agentweaver)(entry, playbook, request.signals)
    if is_strict and not matches and not entry.applies.is_open and not is_always:
        return None
    reasons = [("always_include", "")] if is_always else []
    reasons += [("phase_match", "")] if is_for_phase else []
    reasons += [(code, " ".join(details)) for code, details in matches.items()]
    reasons += [("priority", str(entry.priority))] if entry.priority is not None else []
    reasons += [("severity", entry.severity)] if entry.severity is not None else []
    score = 1000 * is_always + 100 * is_for_phase
    score += sum(_WEIGHTS[code] for code in matches) + 8 * min(len(matches.get("keyword_match", ())), 10)
    score += (entry.priority or 0) * 5 + _SEVERITY.get(entry.severity or "", 0)
    return ChosenEntry(entry, score, tuple(reasons))


def _matches(entry: PlaybookEntry, playbook: Playbook, signals: Signals) -> dict[str, list[str]]:
    """What of an entry's `applies_to` fits a task. The project's languages count if the task names nothing."""
    applies = entry.applies
    languages, frameworks = signals.known_languages, signals.known_frameworks
    if not languages and not signals.touched_files:
        languages = frozenset(map(usual_name, playbook.languages))
    if not frameworks and not signals.touched_files:
        frameworks = frozenset(map(usual_name, playbook.frameworks))
    matches = {
        "keyword_match": [word for word in applies.keywords or () if signals.says(word)],
        "glob_match": [
            path for path in signals.touched_files if any(glob_matches(g, path) for g in applies.globs or ())
        ][:3],
        "language_match": [name for name in applies.languages or () if usual_name(name) in languages],
        "framework_match": [
            name for name in applies.frameworks or () if usual_name(name) in frameworks or signals.says(name)
        ],
    }
    return {code: details for code, details in matches.items() if details}


def _matches_as_agentweaver(entry: PlaybookEntry, playbook: Playbook, signals: Signals) -> dict[str, list[str]]:
    """As AgentWeaver 0.1.18 does it: an entry's own text has keywords, too, and only they are told as details."""
    del playbook
    applies, text = entry.applies, f"{entry.id} {entry.title} {entry.body}".lower()
    words = signals.keywords if applies.keywords is None else applies.keywords
    hits = [word for word in words if word.lower() in signals.keywords or word.lower() in text]
    paths = [path.removeprefix("./") for path in signals.paths]
    matches = {
        "glob_match": any(glob_matches(glob, path) for glob in applies.globs or () for path in paths),
        "language_match": any(name.lower() in signals.languages for name in applies.languages or ()),
        "framework_match": any(name.lower() in signals.frameworks for name in applies.frameworks or ()),
    }
    keywords = {"keyword_match": hits} if hits else {}
    return {**keywords, **{code: [] for code, is_match in matches.items() if is_match}}


@dataclass(frozen=True)
class TaskGuidance:
    """The playbook of a project and what was chosen from it. `selection` is None if there is no valid playbook."""

    source: FoundPlaybook
    signals: Signals
    selection: Selection | None

    @property
    def text(self) -> str:
        """The guidance for an agent; empty if there is none."""
        return "" if self.selection is None else guidance_text(self.selection, self.source.folder or "")


def guide(
    project: str,
    phase: str,
    task: Any,
    files: Iterable[str] = (),
    limits: tuple[int | None, int] = (None, THRESHOLD),
) -> TaskGuidance:
    """The guidance for a task. `limits` are the budget, if it is not the manifest's, and the longest practice."""
    source, signals = read_playbook(project), signals_of(task, files)
    if source.playbook is None:
        return TaskGuidance(source, signals, None)
    return TaskGuidance(source, signals, select(source.playbook, SelectionRequest(phase, signals, *limits)))


def guidance_text(selection: Selection, folder: str) -> str:
    """The chosen practices as Markdown: short ones in full, of others the path. Empty if nothing was chosen."""
    if selection.is_empty:
        return ""
    full = [one for one in selection.practices if one.is_told and one.entry.body.strip()]
    others = [one for one in selection.chosen if one not in full]
    chosen = {one.entry.path for one in selection.chosen}
    always = [path for path in selection.always if path not in chosen]
    parts = [f"### {_heading(one)}\n\n{one.entry.body.strip()}" for one in full]
    lines = [f"- `{folder}/{path}`{' (about the project)' if path == PAGE else ''}" for path in always]
    lines += [f"- `{folder}/{one.entry.path}`: {_heading(one)}" for one in others]
    if lines:
        parts.append("Read what your task needs of these files:\n" + "\n".join(lines))
    return "\n\n".join(parts)


def _heading(one: ChosenEntry) -> str:
    kind = " (example)" if one.entry.kind == "example" else ""
    binding = f" ({one.entry.severity})" if one.entry.severity in ("must", "should") else kind
    return " ".join(one.entry.title.split()) + binding


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
    source = read_playbook(project)
    if source.playbook is None:
        if not source.has_manifest:
            return ""
        return f"The playbook in `{source.folder}` has errors. Tell the person: `handrail playbook check` shows them."
    phase = playbook_phase(source.playbook, names)
    return guidance_text(select(source.playbook, SelectionRequest(phase, signals_of(task))), source.playbook.folder)


def playbook_phase(playbook: Playbook, names: tuple[str, ...]) -> str:
    """The phase of the playbook that one of these names is, or that the first one most likely means."""
    phases = {*PHASES, *playbook.budgets, *(phase for entry in playbook.entries for phase in entry.phases)}
    for name in names:
        if phase_key(name) in phases:
            return phase_key(name)
    keys = [phase_key(name) for name in names]
    likely = (phase for phase, signs in PHASE_SIGNS.items() if any(sign in key for key in keys for sign in signs))
    return next(likely, "implement")
