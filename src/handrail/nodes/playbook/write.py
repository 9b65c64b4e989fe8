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
from handrail.nodes.playbook.guidance import flaw
from handrail.nodes.playbook.result import OUTPUTS, RESULT, outcome
from handrail.playbook.files import playbook_files
from handrail.playbook.load import read_playbook
from handrail.playbook.making import about_project, facts_of, wrong_evidence
from handrail.playbook.repository import Repository
from handrail.playbook.spec import MANIFEST, OWN, PAGE
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
    before = read_playbook(context.project)
    folder = before.folder if before.folder and before.has_manifest else OWN
    manifest, page = (os.path.join(context.project, folder, name) for name in (MANIFEST, PAGE))
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
    project = context.project
    wrong = wrong_evidence(project, draft["accepted_rules"])
    if wrong:
        raise NodeError("evidence", "; ".join(wrong[:5]), transient=False)
    about = about_project(facts_of(Repository(project)))
    files, world = playbook_files(draft, os.path.basename(project), about), World(project)
    before = {path: world.text(path) for path in files}
    intended = [os.path.join(project, path) for path in files]
    others = [os.path.join(project, path) for path, text in before.items() if text not in (None, files[path])]
    playbook = read_playbook(project)
    is_ours = not others and all(before.values())
    if playbook.playbook is not None and not is_ours:
        message = "the project has a valid playbook, which stays as it is"
        return outcome(
            "skipped_valid_existing", message, intended, skipped_files=[manifest], existing_playbook_path=manifest
        )
    if others or flaw(playbook) is not None:
        message = flaw(playbook) or "the folder of the playbook has other files with these names"
        existing = manifest if playbook.has_manifest else ""
        blocked = others or [manifest]
        return outcome("blocked", message, intended, blocked_paths=blocked, existing_playbook_path=existing)
    for path, text in files.items():
        if before[path] is None:
            write_text(context, path, text)
    found = flaw(read_playbook(project))
    if found is not None:
        raise NodeError("playbook", f"the written playbook cannot be used: {found}", transient=False)
    return outcome("written", "the playbook was written", intended, written_files=intended)
