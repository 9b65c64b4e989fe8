"""Takes over the artifacts of a scope that have a manifest: they are published as AgentWeaver recorded them.

The files stay where they are. The version, the time, the step and the lineage are those of the manifest.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator

from handrail.agentweaver.manifests import HISTORY, INDEX, BrokenManifest, Manifest, manifests_in
from handrail.agentweaver.reading import ARCHIVES, INNER, entries, files_below
from handrail.artifacts.fingerprint import MAX_BYTES
from handrail.artifacts.names import artifact_id
from handrail.artifacts.shelf import Draft, Published, Shelf
from handrail.flows.paths import segment
from handrail.importing.report import Item, Result
from handrail.source.dataclasses import dataclass
from handrail.source.plain import command_line, counted
from handrail.state.files import real_inside
from handrail.state.regular import Unreadable, read_regular

ORIGIN = "agentweaver"
LONGEST = 100


@dataclass(frozen=True)
class Shelving:
    """Where artifacts are taken to. `secret_in` names the variable of a secret in a content; None if there is none."""

    project: str
    shelf: Shelf
    secret_in: Callable[[bytes], str | None]
    is_dry: bool


def take_artifacts(folder: str, shelving: Shelving) -> Iterator[Item]:
    """Take over all artifacts of a scope, the oldest first."""
    scope = os.path.basename(folder)
    manifests: dict[str, Manifest] = {}
    for found in manifests_in(folder):
        if isinstance(found, BrokenManifest):
            yield _item("manifest", scope, os.path.basename(found.path), found.path, f"it {found.why}")
        else:
            manifests.setdefault(found.id, found)
    ids: dict[str, str] = {}
    known = {(one.run, one.step, one.key, one.sha256): one for one in shelving.shelf.records()}
    for manifest in sorted(manifests.values(), key=lambda one: (one.created, one.key, one.version)):
        yield _take(manifest, shelving, ids, known)
    yield from _others(folder, scope, {manifest.payload for manifest in manifests.values()})


def run_of(manifest: Manifest) -> str:
    """The id under which a run of AgentWeaver is known."""
    return f"{ORIGIN}:{re.sub(r'[^A-Za-z0-9._-]', '-', manifest.run)[:LONGEST]}"


Known = dict[tuple[str, str, str, str], Published]


def _take(manifest: Manifest, to: Shelving, ids: dict[str, str], known: Known) -> Item:
    run, step = run_of(manifest), f"{segment(manifest.phase)}/{segment(manifest.step)}"
    name = f"{manifest.key}@v{manifest.version}"
    before = known.get((run, step, manifest.key, manifest.sha256))
    if before is not None:
        ids[manifest.id] = before.id
        return _item("artifact", manifest.scope, name, manifest.payload, f"it is `{before.id}`", "already")
    content = _content(manifest, to)
    if isinstance(content, str):
        return _item("artifact", manifest.scope, name, manifest.payload, content)
    draft = Draft(
        scope=manifest.scope,
        key=manifest.key,
        name=manifest.key,
        path=os.path.relpath(manifest.payload, to.project),
        run=run,
        step=step,
        schema=manifest.schema,
        family=manifest.family,
        created=manifest.created,
        inputs=tuple(dict.fromkeys(ids.get(id_, id_) for id_ in manifest.inputs)),
    )
    if to.is_dry:
        ids[manifest.id] = new = artifact_id(manifest.scope, manifest.key, manifest.version)
    else:
        ids[manifest.id] = new = to.shelf.publish(draft, content, manifest.version).id
    return _item("artifact", manifest.scope, name, manifest.payload, f"it is `{new}` of the run `{run}`", "taken")


def _content(manifest: Manifest, to: Shelving) -> bytes | str:
    """The content that a manifest describes, or why it is not there."""
    folder = manifest.payload.rpartition(f"/{manifest.scope}/")[0]
    real = real_inside(os.path.join(folder, manifest.scope), manifest.payload)
    if real is None:
        return "its file is a link that leads out of the scope"
    try:
        content = read_regular(real, MAX_BYTES)
    except Unreadable as error:
        return f"its file {error.message}"
    if hashlib.sha256(content).hexdigest() != manifest.sha256:
        return "its file has another content now, and this version is not kept anywhere"
    secret = to.secret_in(content)
    return content if secret is None else f"its content contains the value of the secret variable `{secret}`"


def _others(folder: str, scope: str, taken: set[str]) -> Iterator[Item]:
    """What else lies in a scope: files without a manifest, the index, archives."""
    free = [entry.path for entry in files_below(folder, without=(ARCHIVES, HISTORY)) if _is_free(entry, taken)]
    if free:
        note = f"{counted(len(free), 'file')} without a manifest; flows and `handrail scope` find files by their names"
        command = command_line("handrail", "scope", scope)
        yield Item(kind="files", name=scope, path=folder, result="works", note=note, scope=scope, command=command)
    index = os.path.join(folder, INNER, INDEX)
    if os.path.lexists(index):
        yield _item("index", scope, INDEX, index, "it is made from the manifests, so it is not needed")
    for entry in entries(os.path.join(folder, INNER, ARCHIVES)):
        if entry.is_dir(follow_symlinks=False):
            command = command_line("handrail", "scope", "reset", scope, "--restore", entry.name)
            note = "an archive of a restart; it can be restored into the empty scope"
            yield Item(
                kind="archive",
                name=entry.name,
                path=entry.path,
                result="works",
                note=note,
                scope=scope,
                command=command,
            )


def _is_free(entry: os.DirEntry[str], taken: set[str]) -> bool:
    is_own = entry.name.endswith(".manifest.json") or entry.name == INDEX or entry.name.startswith(".agentweaver-")
    return not is_own and entry.path not in taken


def _item(kind: str, scope: str, name: str, path: str, note: str, result: Result = "left") -> Item:
    return Item(kind=kind, name=name, path=path, result=result, note=note, scope=scope)
