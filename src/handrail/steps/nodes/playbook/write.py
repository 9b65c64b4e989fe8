"""`playbook-write`: writes the playbook of a project from an accepted draft.

A file that somebody else wrote is never changed. The manifest is written last, so a playbook with a manifest is
complete. If the node is interrupted, it can run again: files with the right content are its own. `playbook-ensure`
writes its result in the same format, `playbook-write-result/v1`.
"""

from __future__ import annotations

import os
from typing import Any

from handrail.driven.artifacts.project_files import ProjectFiles
from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
from handrail.source.fields import Field
from handrail.steps.nodes.files.json_files import read_json, write_json, write_text
from handrail.steps.nodes.playbook.guidance import playbook_error
from handrail.steps.playbook.draft import languages_and_frameworks, playbook_files, wrong_evidence
from handrail.steps.playbook.load import read_playbook
from handrail.steps.playbook.spec import MANIFEST, OWN, PAGE
from handrail.steps.playbook.survey import ProjectTree, facts_of

RESULT_FILE = Field(
    "writeResultJsonFile", ("text",), "the file for the result", required=True, shortest=1, names="path"
)
RESULT_OUTPUTS = {
    "status": "what became of it, such as `written`, `skipped_valid_existing`, `blocked` or `missing_playbook`",
    "message": "the status in words",
    "written_files": "the files that were written",
    "skipped_files": "the files that were there and stay as they are",
    "existing_playbook_path": "the manifest that was there; empty if there was none",
    "intended_files": "the files that a playbook has",
    "blocked_paths": "the files that prevent the playbook from being written",
}


def write_result(status: str, message: str, intended: list[str], **more: list[str] | str) -> dict[str, Any]:
    """A result. `more` are the members that are not empty."""
    return {
        "status": status,
        "message": message,
        "written_files": [],
        "skipped_files": [],
        "existing_playbook_path": "",
        "intended_files": intended,
        "blocked_paths": [],
        **more,
    }


NODE = Node(
    about="Writes the playbook of a project from an accepted draft. It never changes a file that is there.",
    params=(
        Field("draftJsonFile", ("text",), "the draft", required=True, shortest=1, names="path"),
        Field(
            "answersJsonFile", ("text",), "the answers, with the acceptance", required=True, shortest=1, names="path"
        ),
        RESULT_FILE,
    ),
    others="ignored",
    outputs={
        **RESULT_OUTPUTS,
        "finalJsonFile": "the manifest",
        "finalMarkdownFile": "the page about the project",
        "finalManifestFile": "the manifest",
    },
    makes=(RESULT_FILE.name,),
)


async def run(work: Work, context: NodeContext) -> Any:
    draft, answers, target = (work.params[name] for name in ("draftJsonFile", "answersJsonFile", RESULT_FILE.name))
    before = read_playbook(context.project)
    folder = before.folder if before.folder and before.has_manifest else OWN
    manifest, page = (os.path.join(context.project, folder, name) for name in (MANIFEST, PAGE))
    is_accepted = read_json(context, answers, "playbook-answers/v1")["final_write_accepted"]
    found = (
        _write(context, read_json(context, draft, "playbook-draft/v1"), manifest)
        if is_accepted
        else write_result("not_accepted", "the draft was not accepted, so nothing was written", [manifest])
    )
    write_json(context, target, found)
    return {**found, "finalJsonFile": manifest, "finalMarkdownFile": page, "finalManifestFile": manifest}


def _write(context: NodeContext, draft: dict[str, Any], manifest: str) -> dict[str, Any]:
    """Write the files of a playbook, and say what became of them."""
    project = context.project
    wrong = wrong_evidence(project, draft["accepted_rules"])
    if wrong:
        raise NodeError("evidence", "; ".join(wrong[:5]), transient=False)
    about = languages_and_frameworks(facts_of(ProjectTree(project)))
    files, world = playbook_files(draft, os.path.basename(project), about), ProjectFiles(project)
    before = {path: world.text(path) for path in files}
    intended = [os.path.join(project, path) for path in files]
    others = [os.path.join(project, path) for path, text in before.items() if text not in (None, files[path])]
    playbook = read_playbook(project)
    is_ours = not others and all(before.values())
    if playbook.playbook is not None and not is_ours:
        message = "the project has a valid playbook, which stays as it is"
        return write_result(
            "skipped_valid_existing", message, intended, skipped_files=[manifest], existing_playbook_path=manifest
        )
    if others or playbook_error(playbook) is not None:
        message = playbook_error(playbook) or "the folder of the playbook has other files with these names"
        existing = manifest if playbook.has_manifest else ""
        blocked = others or [manifest]
        return write_result("blocked", message, intended, blocked_paths=blocked, existing_playbook_path=existing)
    for path, text in files.items():
        if before[path] is None:
            write_text(context, path, text)
    found = playbook_error(read_playbook(project))
    if found is not None:
        raise NodeError("playbook", f"the written playbook cannot be used: {found}", transient=False)
    return write_result("written", "the playbook was written", intended, written_files=intended)
