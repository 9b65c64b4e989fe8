"""`playbook-ensure`: says whether the project has a playbook, and whether a flow may make one."""

from __future__ import annotations

import os
from typing import Any

from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
from handrail.source.fields import Field
from handrail.steps.nodes.files.json_files import read_json, write_json
from handrail.steps.nodes.playbook.guidance import playbook_error
from handrail.steps.nodes.playbook.write import RESULT_FILE, RESULT_OUTPUTS, write_result
from handrail.steps.playbook.load import read_playbook
from handrail.steps.playbook.spec import MANIFEST, OWN

NODE = Node(
    about="Says whether the project has a playbook, and whether a flow may make one.",
    params=(
        RESULT_FILE,
        Field("acceptPlaybookDraft", ("boolean", "null"), "true if a flow may make a playbook without asking"),
        Field("verifyAfterInit", ("boolean", "null"), "true after a flow has tried to make one"),
    ),
    others="ignored",
    outputs={
        **RESULT_OUTPUTS,
        "shouldRunPlaybookInit": "true if a playbook has to be made first",
        "manifestPath": "the manifest of the playbook",
    },
    makes=(RESULT_FILE.name,),
)


async def run(work: Work, context: NodeContext) -> Any:
    target, may_make = work.params[RESULT_FILE.name], work.params.get("acceptPlaybookDraft") is True
    playbook = read_playbook(context.project)
    manifest = os.path.join(
        context.project, playbook.folder if playbook.folder and playbook.has_manifest else OWN, MANIFEST
    )
    wanted, existing = [manifest], manifest if playbook.has_manifest else ""
    if playbook.playbook is not None:
        message, more = "the project has a valid playbook", {"skipped_files": wanted}
        found = write_result("skipped_valid_existing", message, wanted, existing_playbook_path=existing, **more)
    elif playbook.has_manifest:
        message, more = str(playbook_error(playbook)), {"blocked_paths": wanted}
        found = write_result("invalid_manifest", message, wanted, existing_playbook_path=existing, **more)
    elif work.params.get("verifyAfterInit") is True and _was_dry(context, target):
        found = write_result("dry_run_written", "a dry run would have written a playbook", wanted)
    elif may_make:
        found = write_result("missing_playbook", "the project has no playbook; it can be made", wanted)
    else:
        message = "the project has no playbook, and this run may not make one; run `handrail playbook init`"
        found = write_result("blocked", message, wanted, blocked_paths=wanted)
    write_json(context, target, found)
    return {**found, "shouldRunPlaybookInit": found["status"] == "missing_playbook", "manifestPath": manifest}


def _was_dry(context: NodeContext, path: str) -> bool:
    try:
        before = read_json(context, path)
    except NodeError:
        return False
    return isinstance(before, dict) and before.get("status") == "dry_run_written"
