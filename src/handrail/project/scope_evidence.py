"""Collects what exists of each stage of a scope: files, published artifacts, steps of runs.

Also finds the last change of the project's own files, as far as git knows them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from handrail.base.dataclasses import dataclass, replace
from handrail.base.errors import HandrailError, StateError
from handrail.base.files import real_inside
from handrail.base.processes import Task, capture
from handrail.driven.artifacts.agentweaver_params import TaskArtifacts
from handrail.driven.artifacts.names import AGENTWEAVER, HANDRAIL
from handrail.driven.artifacts.project_files import ProjectFiles
from handrail.driven.artifacts.shelf import ArtifactVersion, Shelf, digest_of_file
from handrail.driven.flows.plan import step_at
from handrail.driven.forms.form import blocking_severities
from handrail.driven.runs.loaded_run import LoadedRun
from handrail.driven.runs.request import about_from_text
from handrail.driven.runs.run_events import StepDone
from handrail.driven.runs.runs import Runs
from handrail.driven.runs.summary import Summary
from handrail.extensions.contracts import NodeError
from handrail.project.scope_stages import FINISHED_WORK, REVIEW_READERS, Evidence, Stage, StagePiece
from handrail.settings.secrets import without_secrets
from handrail.source.values import Unresolved


@dataclass(frozen=True)
class WorkedStep:
    """A step with a prompt that was done: in which run and flow, and when."""

    prompt: str
    run: str
    flow: str
    time: float


@dataclass(frozen=True)
class ScopeRun:
    """A run of a scope. `blocking` are the severities that block in it, as they were given; None if none were."""

    scope: str
    summary: Summary
    worked: tuple[WorkedStep, ...] = ()
    blocking: Any = None


def runs_by_scope(runs: Runs, prompts: Iterable[str]) -> dict[str, list[ScopeRun]]:
    """All runs that can be read, by scope, the oldest first. `prompts` are the names of the prompts to look for."""
    found: dict[str, list[ScopeRun]] = {}
    for summary in runs.summaries():
        try:
            about = about_from_text(summary.id, runs.engine.load(summary.id)[0])
            may_use = any(prompt in about.prompts for prompt in prompts)  # compiling the flows takes long
            worked = tuple(_worked(runs.load(summary.id), set(prompts))) if may_use else ()
        except (HandrailError, LookupError):  # it is damaged, or was removed just now
            continue
        blocking = about.request.params.get("reviewBlockingSeverities")
        found.setdefault(about.request.scope, []).append(ScopeRun(about.request.scope, summary, worked, blocking))
    return found


def _worked(run: LoadedRun, prompts: set[str]) -> Iterator[WorkedStep]:
    for time, event in run.records:
        step = step_at(run.plan, event.path, run.find) if isinstance(event, StepDone) else None
        if step is not None and step.prompt is not None and step.prompt.name in prompts:
            yield WorkedStep(step.prompt.name, run.id, run.about.flow, time)


GIT_SECONDS = 30.0
MAX_GIT_OUTPUT = 64 * 1024 * 1024
_GIT_LIST = (
    *("git", "-c", "core.fsmonitor=false"),
    *("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "."),
)
_SCOPE_FOLDERS = tuple(f"{folder}/".encode() for folder in (AGENTWEAVER, HANDRAIL))


async def last_code_change(project: str, env: Mapping[str, str]) -> StagePiece | None:
    """The file that was changed last, and when. None if the project is in no repository, or git does not answer."""
    own = {name: value for name, value in without_secrets(env).items() if not name.startswith("GIT_")}
    try:
        printed = await capture(Task(argv=_GIT_LIST, cwd=project, env=own, timeout=GIT_SECONDS), MAX_GIT_OUTPUT)
    except OSError:
        return None
    if printed.exit_code != 0 or printed.timed_out or printed.left_out:
        return None
    folder = os.fsencode(project)
    newest: tuple[float, bytes] | None = None
    for name in printed.data.split(b"\0"):
        if not name or name.startswith(_SCOPE_FOLDERS):
            continue
        try:
            found = os.lstat(os.path.join(folder, name)).st_mtime, name
        except OSError:  # deleted
            continue
        newest = found if newest is None else max(newest, found)
    return None if newest is None else StagePiece(path=os.fsdecode(newest[1]), time=newest[0], basis="file time")


@dataclass(frozen=True)
class ScopeContext:
    """A scope of a project: its key, its shelf, its runs, and the severities that block a merge."""

    project: str
    key: str
    shelf: Shelf
    runs: tuple[ScopeRun, ...]
    blocking: list[str]

    @cached_property
    def inputs(self) -> TaskArtifacts:
        return TaskArtifacts(ProjectFiles(self.project), self.key)

    @cached_property
    def records(self) -> list[ArtifactVersion]:
        try:
            return self.shelf.records()
        except StateError:
            return []

    def blocking_in(self, run: str | None) -> list[str]:
        """The severities that block in a run: those that it was given, else the usual ones."""
        given = next((one.blocking for one in self.runs if run is not None and one.summary.id == run), None)
        try:
            return self.blocking if given is None else blocking_severities(given, {})
        except Unresolved:
            return self.blocking

    @property
    def contents(self) -> Mapping[str, str]:
        """The digest of each published version, by its id."""
        return {record.id: record.sha256 for record in self.records}


def gather_evidence(ground: ScopeContext, stages: Iterable[Stage]) -> list[Evidence]:
    """What exists of each stage."""
    return [_of_files(ground, stage) if stage.files else _of_work(ground, stage) for stage in stages]


def _of_files(ground: ScopeContext, stage: Stage) -> Evidence:
    for kinds in stage.files:
        try:
            found = _bundle(ground, stage, kinds)
        except (Unresolved, NodeError):  # no file can have this name
            continue
        if found.pieces:
            return found
    return Evidence(stage=stage)


def _bundle(ground: ScopeContext, stage: Stage, kinds: Sequence[str]) -> Evidence:
    iterated = [kind for kind in kinds if "{iteration}" in ground.inputs.table.kinds[kind].file]
    turn = ground.inputs.newest(*iterated) if iterated else None
    if iterated and turn is None:
        return Evidence(stage=stage)
    paths = {kind: ground.inputs.path(kind, turn) for kind in kinds}
    there = {kind: path for kind, path in paths.items() if _is_file(ground, path)}
    evidence = Evidence(
        stage=stage,
        pieces=tuple(_piece(ground, path) for path in there.values()),
        absent=tuple(os.path.relpath(path, ground.project) for kind, path in paths.items() if kind not in there),
        iteration=turn,
    )
    return replace(evidence, **_content(ground, stage, there)) if there else evidence


def _is_file(ground: ScopeContext, path: str) -> bool:
    real = real_inside(ground.project, path)
    return real is not None and os.path.isfile(real)


def _content(ground: ScopeContext, stage: Stage, there: Mapping[str, str]) -> dict[str, Any]:
    """Whether the JSON files of a stage match their schemas, and what they say."""
    world, kinds = ground.inputs.world, ground.inputs.table.kinds
    for kind, path in there.items():
        schema = kinds[kind].schema
        if schema is None:
            continue
        try:
            wrong = world.against_schema(path, schema)
        except NodeError as error:
            wrong = error.message
        if wrong is not None:
            return {"problem": wrong.replace(ground.project + os.sep, "")}
        if stage.reads is not None:
            blocking = ground.blocking_in(_piece(ground, path).run)
            words, facts = REVIEW_READERS[stage.reads](json.loads(world.text(path) or "{}"), blocking)
            return {"detail": words, "facts": facts}
    return {}


def _piece(ground: ScopeContext, path: str) -> StagePiece:
    """A file with its newest record."""
    shown = os.path.relpath(path, ground.project)
    digest, changed = digest_of_file(path), os.stat(path).st_mtime
    record = next((one for one in reversed(ground.records) if one.path == shown), None)
    if record is None:
        return StagePiece(path=shown, time=changed, basis="file time", digest=digest)
    flow = next((run.summary.flow for run in ground.runs if run.summary.id == record.run), None)
    piece = StagePiece(
        path=shown,
        time=record.created,
        basis="record",
        id=record.id,
        sha256=record.sha256,
        digest=digest,
        run=record.run,
        flow=flow,
        inputs=_made_from(ground.records, record),
    )
    return replace(piece, time=max(changed, piece.time), basis="file time") if piece.is_edited else piece


def _made_from(records: list[ArtifactVersion], record: ArtifactVersion) -> tuple[str, ...]:
    """The inputs of a file, in all versions that the same run published: a later step may only have added to it."""
    same = [one for one in records if (one.path, one.run) == (record.path, record.run)]
    return tuple(dict.fromkeys(id_ for one in same for id_ in one.inputs))


def _of_work(ground: ScopeContext, stage: Stage) -> Evidence:
    """The last step that did the work of a stage without files."""
    done = [
        StagePiece(path="", time=work.time, basis="run", run=work.run, flow=work.flow)
        for run in ground.runs
        for work in run.worked
        if work.prompt in stage.prompts
    ]
    done += [
        StagePiece(path=record.path, time=record.created, basis="record", run=record.run)
        for record in ground.records
        if (record.schema, record.key) == (FINISHED_WORK, stage.id)
    ]
    last = max(done, key=lambda piece: piece.time, default=None)
    return Evidence(stage=stage, pieces=() if last is None else (last,))
