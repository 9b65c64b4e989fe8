"""`playbook-write`: writes the playbook of a project from an accepted draft.

A file that somebody else wrote is never changed. The manifest is written last, so a playbook with a manifest is whole.
If the node is interrupted, it can run again: files with the right content are its own.
"""

from __future__ import annotations

import os
from typing import Any

from handrail.artifacts.world import World
from handrail.contracts import Node, NodeContext, NodeError, Work
from handrail.nodes.jsonfiles import read_json, text_param, write_json, write_text
from handrail.nodes.playbook.files import playbook_files
from handrail.nodes.playbook.manifest import MANIFEST, PROJECT, read_playbook
from handrail.nodes.playbook.result import OUTPUTS, RESULT, outcome
from handrail.source.fields import Field

NODE = Node(
    about="Writes the playbook of a project from an accepted draft. It never changes a file that is there.",
    params=(
        Field("draftJsonFile", ("text",), "the draft", required=True, shortest=1, names="path"),
        Field(
            "answersJsonFile", ("text",), "the answers, with the acceptance", required=True, shortest=1, names="path"
        ),
        RESULT,
    ),
    others="ignored",
    outputs={
        **OUTPUTS,
        "finalJsonFile": "the manifest",
        "finalMarkdownFile": "the page about the project",
        "finalManifestFile": "the manifest",
    },
    makes=(RESULT.name,),
)


async def run(work: Work, context: NodeContext) -> Any:
    draft, answers, target = (
        text_param(work.params, name) for name in ("draftJsonFile", "answersJsonFile", RESULT.name)
    )
    manifest, page = (os.path.join(context.project, path) for path in (MANIFEST, PROJECT))
    is_accepted = read_json(context, answers, "playbook-answers/v1")["final_write_accepted"]
    found = (
        _write(context, read_json(context, draft, "playbook-draft/v1"), manifest)
        if is_accepted
        else outcome("not_accepted", "the draft was not accepted, so nothing was written", [manifest])
    )
    write_json(context, target, found)
    return {**found, "finalJsonFile": manifest, "finalMarkdownFile": page, "finalManifestFile": manifest}


def _write(context: NodeContext, draft: dict[str, Any], manifest: str) -> dict[str, Any]:
    """Write the files of a playbook, and say what became of them."""
    files, world = playbook_files(draft, os.path.basename(context.project)), World(context.project)
    before = {path: world.text(path) for path in files}
    intended = [os.path.join(context.project, path) for path in files]
    others = [os.path.join(context.project, path) for path, text in before.items() if text not in (None, files[path])]
    playbook = read_playbook(context.project)
    if playbook.is_valid and others:
        message = "the project has a valid playbook, which stays as it is"
        return outcome(
            "skipped_valid_existing", message, intended, skipped_files=[manifest], existing_playbook_path=manifest
        )
    if others:
        message = playbook.problem or "the folder of the playbook has other files with these names"
        existing = manifest if playbook.exists else ""
        return outcome("blocked", message, intended, blocked_paths=others, existing_playbook_path=existing)
    for path, text in files.items():
        if before[path] is None:
            write_text(context, path, text)
    wrong = read_playbook(context.project).problem
    if wrong is not None:
        raise NodeError("playbook", f"the written playbook cannot be used: {wrong}", transient=False)
    return outcome("written", "the playbook was written", intended, written_files=intended)
