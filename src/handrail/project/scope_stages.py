"""The stages of a scope as data: which exist, which are stale and why, what reviews say. Pure.

A stage is stale if one of its inputs changed after it was made. What was recorded decides, where it is known: the
versions that an artifact was made from, else the time of publishing. Without a record, the time of the file counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from handrail.base.dataclasses import dataclass, field
from handrail.driven.artifacts.names import parse_reference
from handrail.driven.forms.form import SEVERITIES, severity_of
from handrail.source.plain_text import counted

CODE = "code"
"""The need of a stage that is made from the files of the project."""
FINISHED_WORK = "finished-work/v1"
"""The schema of a published artifact that records a finished stage without files. Its key is the id of the stage."""
Basis = Literal["lineage", "content", "record", "run", "file time"]
"""How something is known, the surest first."""
_SURE: tuple[Basis, ...] = ("lineage", "content", "record", "run", "file time")
StageState = Literal["made", "stale", "incomplete", "invalid", "missing"]


@dataclass(frozen=True)
class Stage:
    """A row of `builtin/stages.json`."""

    id: str
    title: str
    flow: str
    files: Sequence[Sequence[str]] = ()
    prompts: Sequence[str] = ()
    needs: Sequence[str] = ()
    reads: str | None = None
    optional: bool = False


def stages_from(data: Mapping[str, Any]) -> tuple[Stage, ...]:
    return tuple(Stage(**row) for row in data["stages"])


@dataclass(frozen=True, kw_only=True)
class StagePiece:
    """One file of a stage. `id` and `sha256` are those of its newest record; `digest` is that of the file now."""

    path: str
    time: float
    basis: Basis
    id: str | None = None
    sha256: str | None = None
    digest: str | None = None
    run: str | None = None
    flow: str | None = None
    inputs: tuple[str, ...] = ()

    @property
    def is_edited(self) -> bool:
        """True if the file was changed after it was published."""
        return self.sha256 is not None and self.digest is not None and self.sha256 != self.digest


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What was found of a stage. `problem` says why it cannot be used; `absent` are its missing files."""

    stage: Stage
    pieces: tuple[StagePiece, ...] = ()
    absent: tuple[str, ...] = ()
    iteration: int | None = None
    problem: str | None = None
    detail: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def time(self) -> float:
        return max(piece.time for piece in self.pieces)


@dataclass(frozen=True)
class Stale:
    """Why a stage is stale, and how that is known."""

    because: str
    basis: Basis


@dataclass(frozen=True)
class StageStanding:
    """A stage as it stands."""

    evidence: Evidence
    state: StageState
    stale: tuple[Stale, ...] = ()

    @property
    def stage(self) -> Stage:
        return self.evidence.stage

    @property
    def newest(self) -> StagePiece | None:
        return max(self.evidence.pieces, key=lambda piece: piece.time, default=None)


def judge_stages(
    found: Iterable[Evidence], code: StagePiece | None, contents: Mapping[str, str]
) -> list[StageStanding]:
    """How each stage stands. `code` is the last change of the project's files, `contents` the digest of each id."""
    standings: dict[str, StageStanding] = {}
    for evidence in found:
        if not evidence.pieces:
            standings[evidence.stage.id] = StageStanding(evidence, "missing")
            continue
        stale = tuple(_stale(evidence, standings, code, contents))
        state: StageState = "stale" if stale else "made"
        if evidence.problem is not None or evidence.absent:
            state = "invalid" if evidence.problem is not None else "incomplete"
        standings[evidence.stage.id] = StageStanding(evidence, state, stale)
    return list(standings.values())


def _stale(
    own: Evidence, before: Mapping[str, StageStanding], code: StagePiece | None, contents: Mapping[str, str]
) -> Iterable[Stale]:
    for id_ in own.stage.needs:
        if id_ == CODE:
            if code is not None and code.time > own.time:
                yield Stale(f"`{code.path}` was changed later", "file time")
            continue
        need = before.get(id_)
        if need is None or not need.evidence.pieces:
            continue
        found = _against(own, need.evidence, contents)
        if found is not None:
            yield found
        elif need.stale:
            yield Stale(f"the {need.stage.title} is stale", max((s.basis for s in need.stale), key=_SURE.index))


def _against(own: Evidence, need: Evidence, contents: Mapping[str, str]) -> Stale | None:
    """Why one input makes a stage stale: by the versions that it was made from, else by time."""
    title = need.stage.title
    used = {ref.key: id_ for piece in own.pieces for id_ in piece.inputs if (ref := parse_reference(id_)) is not None}
    is_known = False
    for piece in need.pieces:
        ref = parse_reference(piece.id) if piece.id is not None else None
        if piece.id is None or ref is None or ref.key not in used:
            continue
        is_known = True
        now = piece.digest or piece.sha256
        if used[ref.key] != piece.id and contents.get(used[ref.key]) != now:
            made = f"it was made from `{_version(used[ref.key])}`, and now there is `{_version(piece.id)}`"
            return Stale(made, "lineage")
        if piece.is_edited and contents.get(used[ref.key]) != now:
            return Stale(f"`{piece.path}` was edited after it was used", "content")
    if is_known:
        return None
    last, mine = max(need.pieces, key=lambda piece: piece.time), min(own.pieces, key=lambda piece: piece.time)
    if last.time <= mine.time:
        return None
    return Stale(f"the {title} is newer", max(last.basis, mine.basis, key=_SURE.index))


def _version(id_: str) -> str:
    """`KEY@vN` of an artifact's id."""
    ref = parse_reference(id_)
    return id_ if ref is None else f"{ref.key}@v{ref.version}"


ReviewWords = tuple[str, dict[str, Any]]
"""The words for people, and the same as data."""


def verdict_words(data: Mapping[str, Any], _: list[str]) -> ReviewWords:
    """The verdict of a design review."""
    status, findings = str(data.get("status")), data.get("blocking_findings")
    count = len(findings) if isinstance(findings, list) else 0
    words = status.replace("_", " ") + (f", {counted(count, 'blocking finding')}" if count else "")
    return words, {"verdict": status, "blockingFindings": count}


def findings_words(data: Mapping[str, Any], blocking: list[str]) -> ReviewWords:
    """The findings of a review by severity, and whether they block a merge."""
    found = data.get("findings")
    severities = [severity_of(one.get("severity")) for one in found if isinstance(one, dict)] if found else []
    counts = Counter(name for name in severities if name is not None)
    blocks = sum(counts[name] for name in blocking)
    told = ", ".join(f"{counts[name]} {name}" for name in SEVERITIES if counts[name]) or "no findings"
    ordered = {name: counts[name] for name in SEVERITIES if counts[name]}
    words = f"{told}; {'blocks' if blocks else 'does not block'}"
    return words, {"findings": ordered, "blocking": blocks, "blockingSeverities": blocking}


REVIEW_READERS = {"verdict": verdict_words, "findings": findings_words}
