"""Collects what exists of each stage of a scope: files, what was recorded about them, steps of runs, saved states."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from handrail.agentweaver.manifests import Manifest, sidecar_of
from handrail.agentweaver.states import FlowState, states_in
from handrail.artifacts.fingerprint import digest_of_file
from handrail.artifacts.inputs import Inputs
from handrail.artifacts.names import AGENTWEAVER
from handrail.artifacts.shelf import Published, Shelf
from handrail.artifacts.world import World
from handrail.contracts import NodeError
from handrail.errors import StateError
from handrail.forms.severities import blocking_severities
from handrail.scopes.history import ScopeRun
from handrail.scopes.reading import READERS
from handrail.scopes.stages import Evidence, Piece, Stage
from handrail.source.dataclasses import dataclass, replace
from handrail.source.values import Unresolved
from handrail.state.files import real_inside


@dataclass(frozen=True)
class Ground:
    """A scope of a project: its key, its shelf, its runs, and the severities that block a merge."""

    project: str
    key: str
    shelf: Shelf
    runs: tuple[ScopeRun, ...]
    blocking: list[str]

    @property
    def folder(self) -> str:
        return os.path.join(self.project, AGENTWEAVER, self.key)

    @cached_property
    def inputs(self) -> Inputs:
        return Inputs(World(self.project), self.key)

    @cached_property
    def records(self) -> list[Published]:
        try:
            return self.shelf.records()
        except StateError:
            return []

    @cached_property
    def states(self) -> list[FlowState]:
        return [state for state in states_in(self.folder) if isinstance(state, FlowState)]

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


def gather(ground: Ground, stages: Iterable[Stage]) -> list[Evidence]:
    """What exists of each stage."""
    return [_of_files(ground, stage) if stage.files else _of_work(ground, stage) for stage in stages]


def _of_files(ground: Ground, stage: Stage) -> Evidence:
    for kinds in stage.files:
        try:
            found = _bundle(ground, stage, kinds)
        except (Unresolved, NodeError):  # no file can have this name
            continue
        if found.pieces:
            return found
    return Evidence(stage=stage)


def _bundle(ground: Ground, stage: Stage, kinds: tuple[str, ...]) -> Evidence:
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


def _is_file(ground: Ground, path: str) -> bool:
    real = real_inside(ground.project, path)
    return real is not None and os.path.isfile(real)


def _content(ground: Ground, stage: Stage, there: Mapping[str, str]) -> dict[str, Any]:
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
            words, facts = READERS[stage.reads](json.loads(world.text(path) or "{}"), blocking)
            return {"detail": words, "facts": facts}
    return {}


def _piece(ground: Ground, path: str) -> Piece:
    """A file with the newest thing that was recorded about it: by Handrail, or by AgentWeaver beside the file."""
    shown = os.path.relpath(path, ground.project)
    digest, changed = digest_of_file(path), os.stat(path).st_mtime
    record = next((one for one in reversed(ground.records) if one.path == shown), None)
    manifest = sidecar_of(path, ground.folder)
    if record is not None and (manifest is None or manifest.created <= record.created):
        flow = next((run.summary.flow for run in ground.runs if run.summary.id == record.run), None)
        piece = Piece(
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
    elif manifest is not None:
        piece = _of_manifest(shown, manifest, digest)
    else:
        return Piece(path=shown, time=changed, basis="file time", digest=digest)
    return replace(piece, time=max(changed, piece.time), basis="file time") if piece.is_edited else piece


def _made_from(records: list[Published], record: Published) -> tuple[str, ...]:
    """The inputs of a file, in all versions that the same run published: a later step may only have added to it."""
    same = [one for one in records if (one.path, one.run) == (record.path, record.run)]
    return tuple(dict.fromkeys(id_ for one in same for id_ in one.inputs))


def _of_manifest(path: str, manifest: Manifest, digest: str | None) -> Piece:
    return Piece(
        path=path,
        time=manifest.created,
        basis="manifest",
        id=manifest.id,
        sha256=manifest.sha256,
        digest=digest,
        run=manifest.run,
        flow=manifest.flow,
        inputs=manifest.inputs,
    )


def _of_work(ground: Ground, stage: Stage) -> Evidence:
    """The last step that did the work of a stage without files."""
    done = [
        Piece(path="", time=work.time, basis="run", run=work.run, flow=work.flow)
        for run in ground.runs
        for work in run.worked
        if work.prompt in stage.prompts
    ]
    done += [
        Piece(path="", time=ended.time, basis="saved state", flow=f"{state.flow} of AgentWeaver")
        for state in ground.states
        for ended in state.done
        if ended.kind in stage.kinds and ended.time is not None
    ]
    last = max(done, key=lambda piece: piece.time, default=None)
    return Evidence(stage=stage, pieces=() if last is None else (last,))
