"""`jira-fetch`: an issue as Jira sends it, the parent of a subtask, and attachments that are text.

Nothing is written before everything was fetched.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
from handrail.source.fields import Field
from handrail.source.values import as_text
from handrail.steps.nodes.files.json_files import json_bytes, utf8_bytes
from handrail.steps.nodes.files.write_file import path_inside, put_files

if TYPE_CHECKING:
    from handrail.steps.services.jira import Attachment, Parent

FOLDER = "jira-attachments"
LONGEST_NAME = 120
NO_TEXT = "No attachment of this issue is text.\n"
FILES = ("outputFile", "attachmentsManifestFile", "attachmentsContextFile")
NODE = Node(
    about="Fetches a Jira issue with JIRA_API_KEY from JIRA_BASE_URL, and sends the key nowhere else.",
    params=(
        Field(
            "jiraApiUrl",
            ("text", "null"),
            "the address of the issue in the API; a flow gets null if it is not known, and then the step fails",
            required=True,
            shortest=1,
        ),
        Field("outputFile", ("text",), "the file for the issue", required=True, shortest=1, names="path"),
        Field(
            "attachmentsManifestFile",
            ("text",),
            f"the file for the list of attachments; those that are text are saved in `{FOLDER}` beside it",
            shortest=1,
            names="path",
        ),
        Field("attachmentsContextFile", ("text",), "the file for their texts, joined", shortest=1, names="path"),
    ),
    others="ignored",
    outputs={
        "outputFile": "the file with the issue",
        "downloadedAttachments": "how many attachments were downloaded",
        "planningContextAttachments": "how many of them are text",
        "attachmentsManifestFile": "the file with the list; null if none was asked for",
        "attachmentsContextFile": "the file with the texts; null if none was asked for",
        "enrichedFile": "for a subtask, `NAME-enriched.json` beside `outputFile` with `issue` and `parent`; it is "
        "published, too. Else null",
    },
    makes=FILES,
    published="enrichedFile",
)


async def run(work: Work, context: NodeContext) -> Any:
    from handrail.steps.services.jira import fetch, jira

    paths = {name: as_text(work.params[name]) for name in FILES if work.params.get(name) is not None}
    real = {name: path_inside(context, path) for name, path in paths.items()}
    if len(set(real.values())) < len(real):
        raise NodeError("params", f"{', '.join(f'`{name}`' for name in real)} have to be different", transient=False)
    if work.params["jiraApiUrl"] is None:
        why = "the run was started without an issue" if context.env.get("JIRA_BASE_URL") else "JIRA_BASE_URL is not set"
        raise NodeError("issue-unknown", f"the address of the Jira issue is not known: {why}", transient=False)
    wants_attachments = len(paths) > 1
    async with jira(context.env) as service:
        found = await fetch(service, as_text(work.params["jiraApiUrl"]).strip(), with_attachments=wants_attachments)
    loaded = [attachment for attachment in found.attachments if attachment.body is not None]
    output = paths["outputFile"]
    files = {real["outputFile"]: found.body}
    enriched = None if found.parent is None else f"{os.path.splitext(output)[0]}-enriched.json"
    if enriched is not None and found.parent is not None:
        files[path_inside(context, enriched)] = json_bytes(_enriched(found.issue, found.parent))
    if "attachmentsManifestFile" in paths:
        folder = os.path.join(os.path.dirname(paths["attachmentsManifestFile"]), FOLDER)
        saved = [(item, os.path.join(folder, _file_name(place, item))) for place, item in enumerate(loaded, 1)]
        files |= {path_inside(context, path): item.body or b"" for item, path in saved}
        files[real["attachmentsManifestFile"]] = json_bytes(_manifest(found.attachments, saved))
    if "attachmentsContextFile" in paths:
        files[real["attachmentsContextFile"]] = utf8_bytes(_joined(loaded))
    put_files(files, context)
    return {
        **{name: paths.get(name) for name in FILES},
        "downloadedAttachments": len(loaded),
        "planningContextAttachments": sum(item.text is not None for item in loaded),
        "enrichedFile": enriched,
    }


def _enriched(issue: dict[str, Any], parent: Parent) -> dict[str, Any]:
    """`issue` and `parent` are the issues as Jira sends them. `parentProblem` says why there is no parent."""
    found: dict[str, Any] = {"issue": issue, "parentKey": parent.key, "parent": parent.issue}
    return found if parent.reason is None else {**found, "parentProblem": parent.reason}


def _manifest(attachments: tuple[Attachment, ...], saved: list[tuple[Attachment, str]]) -> dict[str, Any]:
    """The downloaded attachments in `attachments`, and the others in `skipped`, each with a reason."""
    listed = [
        {**_about(item), "savedPath": path, "includedInPlanningContext": item.text is not None} for item, path in saved
    ]
    skipped = [{**_about(item), "reason": item.reason} for item in attachments if item.body is None]
    counts = {
        "downloadedCount": len(listed),
        "planningContextCount": sum(item["includedInPlanningContext"] is True for item in listed),
        "skippedCount": len(skipped),
    }
    return {"summary": counts, "attachments": listed, "skipped": skipped}


def _about(item: Attachment) -> dict[str, Any]:
    return {
        "id": item.id,
        "fileName": item.name,
        "extension": item.extension,
        "mimeType": item.mime,
        "sizeBytes": item.size,
        "createdAt": item.created,
        "downloadUrl": item.url,
    }


def _joined(loaded: list[Attachment]) -> str:
    blocks = [
        f"=== Attachment: {item.name} ===\n{text.strip()}\n" for item in loaded if (text := item.text) is not None
    ]
    return "\n".join(blocks) or NO_TEXT


def _file_name(place: int, item: Attachment) -> str:
    """A name that is safe in every folder: the place of the file, and letters, digits, dots and dashes."""
    stem, extension = os.path.splitext(re.sub(r"[^\w.-]+", "-", item.name.replace("\\", "/").rpartition("/")[2]))
    short = stem.encode("utf-8", "replace")[:LONGEST_NAME].decode("utf-8", "ignore").strip(".-") or "file"
    return f"{place:03d}-{short}{extension if len(extension.encode()) <= 16 else ''}"
