"""The stages of a scope: what exists of each, which are stale and why, what reviews say.

A stage is stale if one of its inputs changed after it was made. What was recorded decides, where it is known: the
versions that an artifact was made from, else the time of publishing. Without a record, the time of the file counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Literal, get_args

import handrail
from handrail.base.dataclasses import dataclass, field, replace
from handrail.base.errors import HandrailError, StateError
from handrail.base.files import real_inside
from handrail.base.processes import Task, capture
from handrail.driven.artifacts.agentweaver_params import TaskArtifacts
from handrail.driven.artifacts.names import AGENTWEAVER, HANDRAIL, parse_reference
from handrail.driven.artifacts.project_files import ProjectFiles
from handrail.driven.artifacts.shelf import ArtifactVersion, Shelf, digest_of_file
from handrail.driven.flows.plan import step_at
from handrail.driven.forms.form import DEFAULT_BLOCKING_SEVERITIES, SEVERITIES, blocking_severities, severity_of
from handrail.driven.runs.request import LoadedRun, about_from_text
from handrail.driven.runs.run_events import StepDone
from handrail.driven.runs.runs import Runs
from handrail.driven.runs.summary import Summary
from handrail.extensions.contracts import NodeError
from handrail.settings.secrets import without_secrets
from handrail.source.plain_text import counted
from handrail.source.values import Unresolved

CODE = "code"
"""The need of a stage that is made from the files of the project."""
FINISHED_WORK = "finished-work/v1"
"""The schema of a published artifact that records a finished stage without files. Its key is the id of the stage."""
Basis = Literal["lineage", "content", "record", "run", "file time"]
"""How something is known, the surest first."""
_SURE: tuple[Basis, ...] = get_args(Basis)
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


def load_stages() -> tuple[Stage, ...]:
    with open(os.path.join(handrail.__path__[0], "builtin", "stages.json"), encoding="utf-8") as file:
        return tuple(Stage(**row) for row in json.load(file)["stages"])


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
    evidences: Iterable[Evidence], code: StagePiece | None, contents: Mapping[str, str]
) -> list[StageStanding]:
    """How each stage stands. `code` is the last change of the project's files, `contents` the digest of each id."""
    standings: dict[str, StageStanding] = {}
    for evidence in evidences:
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
        if (reason := _against(own, need.evidence, contents)) is not None:
            yield reason
        elif need.stale:
            yield Stale(f"the {need.stage.title} is stale", max((s.basis for s in need.stale), key=_SURE.index))


def _against(own: Evidence, need: Evidence, contents: Mapping[str, str]) -> Stale | None:
    """Why one input makes a stage stale: by the versions that it was made from, else by time."""
    title = need.stage.title
    ids = [id_ for piece in own.pieces for id_ in piece.inputs]
    versions = {ref.key: id_ for id_ in ids if (ref := parse_reference(id_)) is not None}
    is_known = False
    for piece in need.pieces:
        ref = parse_reference(piece.id) if piece.id is not None else None
        if piece.id is None or ref is None or ref.key not in versions:
            continue
        is_known = True
        now = piece.digest or piece.sha256
        if versions[ref.key] != piece.id and contents.get(versions[ref.key]) != now:
            because = f"it was made from `{_version(versions[ref.key])}`, and now there is `{_version(piece.id)}`"
            return Stale(because, "lineage")
        if piece.is_edited and contents.get(versions[ref.key]) != now:
            return Stale(f"`{piece.path}` was edited after it was used", "content")
    if is_known:
        return None
    input_piece = max(need.pieces, key=lambda piece: piece.time)
    own_piece = min(own.pieces, key=lambda piece: piece.time)
    if input_piece.time <= own_piece.time:
        return None
    return Stale(f"the {title} is newer", max(input_piece.basis, own_piece.basis, key=_SURE.index))


def _version(id_: str) -> str:
    """`KEY@vN` of an artifact's id."""
    ref = parse_reference(id_)
    return id_ if ref is None else f"{ref.key}@v{ref.version}"


def verdict_words(data: Mapping[str, Any], _: list[str]) -> tuple[str, dict[str, Any]]:
    """The verdict of a design review: words for people, and the same as data."""
    status, findings = str(data.get("status")), data.get("blocking_findings")
    count = len(findings) if isinstance(findings, list) else 0
    words = status.replace("_", " ") + (f", {counted(count, 'blocking finding')}" if count else "")
    return words, {"verdict": status, "blockingFindings": count}


def findings_words(data: Mapping[str, Any], blocking: list[str]) -> tuple[str, dict[str, Any]]:
    """The findings of a review by severity, and whether they block a merge: words for people, and data."""
    severities = [severity_of(one.get("severity")) for one in data.get("findings") or () if isinstance(one, dict)]
    counts = {name: severities.count(name) for name in SEVERITIES if name in severities}
    blocks = sum(counts.get(name, 0) for name in blocking)
    words = ", ".join(f"{count} {name}" for name, count in counts.items()) or "no findings"
    words += "; blocks" if blocks else "; does not block"
    return words, {"findings": counts, "blocking": blocks, "blockingSeverities": blocking}


REVIEW_READERS = {"verdict": verdict_words, "findings": findings_words}


@dataclass(frozen=True)
class ScopeRun:
    """A run of a scope. `steps` are those that were done with one of the prompts of stages, by the name of the prompt.

    `blocking` are the severities that block in it, as they were given; None if none were.
    """

    summary: Summary
    steps: tuple[tuple[str, StagePiece], ...] = ()
    blocking: Any = None


def runs_by_scope(runs: Runs, prompts: Collection[str]) -> dict[str, list[ScopeRun]]:
    """All runs that can be read, by scope, the oldest first. `prompts` are the names of the prompts to look for."""
    runs_of: dict[str, list[ScopeRun]] = {}
    for summary in runs.engine.summaries():
        try:
            about = about_from_text(summary.id, runs.engine.load(summary.id)[0])
            may_use = any(prompt in about.prompts for prompt in prompts)  # compiling the flows takes long
            steps = tuple(_steps_of(runs.load(summary.id), prompts)) if may_use else ()
        except (HandrailError, LookupError):  # it is damaged, or was removed just now
            continue
        blocking = about.request.params.get("reviewBlockingSeverities")
        runs_of.setdefault(about.request.scope, []).append(ScopeRun(summary, steps, blocking))
    return runs_of


def _steps_of(run: LoadedRun, prompts: Collection[str]) -> Iterator[tuple[str, StagePiece]]:
    for time, event in run.records:
        step = step_at(run.plan, event.path, run.find) if isinstance(event, StepDone) else None
        name = step.prompt.name if step is not None and step.prompt is not None else None
        if name is not None and name in prompts:
            yield name, StagePiece(path="", time=time, basis="run", run=run.id, flow=run.about.flow)


GIT_SECONDS = 30.0
MAX_GIT_OUTPUT = 64 * 1024 * 1024
_GIT_LIST = (
    *("git", "-c", "core.fsmonitor=false"),
    *("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "."),
)
_SCOPE_FOLDERS = tuple(f"{folder}/".encode() for folder in (AGENTWEAVER, HANDRAIL))


async def last_code_change(project: str, env: Mapping[str, str]) -> StagePiece | None:
    """The file that was changed last, and when. None if the project is in no repository, or git does not answer."""
    git_env = {name: value for name, value in without_secrets(env).items() if not name.startswith("GIT_")}
    try:
        output = await capture(Task(argv=_GIT_LIST, cwd=project, env=git_env, timeout=GIT_SECONDS), MAX_GIT_OUTPUT)
    except OSError:
        return None
    if output.exit_code != 0 or output.timed_out or output.left_out:
        return None
    folder = os.fsencode(project)
    newest: tuple[float, bytes] | None = None
    for name in output.data.split(b"\0"):
        if not name or name.startswith(_SCOPE_FOLDERS):
            continue
        try:
            entry = os.lstat(os.path.join(folder, name)).st_mtime, name
        except OSError:  # deleted
            continue
        newest = entry if newest is None else max(newest, entry)
    return None if newest is None else StagePiece(path=os.fsdecode(newest[1]), time=newest[0], basis="file time")


@dataclass(frozen=True)
class ScopeContext:
    """A scope of a project: its key, its shelf and its runs."""

    project: str
    key: str
    shelf: Shelf
    runs: tuple[ScopeRun, ...]
    env: Mapping[str, str]

    @cached_property
    def inputs(self) -> TaskArtifacts:
        return TaskArtifacts(ProjectFiles(self.project), self.key)

    @cached_property
    def records(self) -> list[ArtifactVersion]:
        try:
            return self.shelf.records()
        except StateError:
            return []

    def evidence(self, stage: Stage) -> Evidence:
        if not stage.files:
            return Evidence(stage=stage, pieces=self._last_work(stage))
        for kinds in stage.files:
            with suppress(Unresolved, NodeError):  # no file can have this name
                evidence = self._of_files(stage, kinds)
                if evidence.pieces:
                    return evidence
        return Evidence(stage=stage)

    def _of_files(self, stage: Stage, kinds: Sequence[str]) -> Evidence:
        iterated = [kind for kind in kinds if "{iteration}" in self.inputs.table.kinds[kind].file]
        turn = self.inputs.newest(*iterated) if iterated else None
        if iterated and turn is None:
            return Evidence(stage=stage)
        paths = {kind: self.inputs.path(kind, turn) for kind in kinds}
        existing = {kind: path for kind, path in paths.items() if os.path.isfile(real_inside(self.project, path) or "")}
        evidence = Evidence(
            stage=stage,
            pieces=tuple(map(self._piece, existing.values())),
            absent=tuple(os.path.relpath(path, self.project) for kind, path in paths.items() if kind not in existing),
            iteration=turn,
        )
        return replace(evidence, **self._content(stage, existing))

    def _content(self, stage: Stage, existing: Mapping[str, str]) -> dict[str, Any]:
        """Whether the JSON files of a stage match their schemas, and what they say."""
        world = self.inputs.world
        for kind, path in existing.items():
            schema = self.inputs.table.kinds[kind].schema
            if schema is None:
                continue
            try:
                wrong = world.against_schema(path, schema)
            except NodeError as error:
                wrong = error.message
            if wrong is not None:
                return {"problem": wrong.replace(self.project + os.sep, "")}
            if stage.reads is not None:
                data, blocking = json.loads(world.text(path) or "{}"), self._blocking_in(self._piece(path).run)
                words, facts = REVIEW_READERS[stage.reads](data, blocking)
                return {"detail": words, "facts": facts}
        return {}

    def _blocking_in(self, run: str | None) -> list[str]:
        """The severities that block in a run: those that it was given, else the usual ones."""
        severities = next((one.blocking for one in self.runs if run is not None and one.summary.id == run), None)
        if severities is not None:
            with suppress(Unresolved):
                return blocking_severities(severities, {})
        with suppress(Unresolved):
            return blocking_severities(None, self.env)
        return list(DEFAULT_BLOCKING_SEVERITIES)

    def _piece(self, path: str) -> StagePiece:
        """A file with its newest record."""
        relative = os.path.relpath(path, self.project)
        digest, modified = digest_of_file(path), os.stat(path).st_mtime
        records = [one for one in self.records if one.path == relative]
        if not records:
            return StagePiece(path=relative, time=modified, basis="file time", digest=digest)
        record = records[-1]
        # A later step may only have added to the file, so the inputs are those of all versions that the run published.
        inputs = dict.fromkeys(id_ for one in records if one.run == record.run for id_ in one.inputs)
        piece = StagePiece(
            path=relative,
            time=record.created,
            basis="record",
            id=record.id,
            sha256=record.sha256,
            digest=digest,
            run=record.run,
            flow=next((run.summary.flow for run in self.runs if run.summary.id == record.run), None),
            inputs=tuple(inputs),
        )
        return replace(piece, time=max(modified, piece.time), basis="file time") if piece.is_edited else piece

    def _last_work(self, stage: Stage) -> tuple[StagePiece, ...]:
        """The last step that did the work of a stage without files."""
        done = [piece for run in self.runs for prompt, piece in run.steps if prompt in stage.prompts]
        done += [
            StagePiece(path=record.path, time=record.created, basis="record", run=record.run)
            for record in self.records
            if (record.schema, record.key) == (FINISHED_WORK, stage.id)
        ]
        return (max(done, key=lambda piece: piece.time),) if done else ()
