"""Nodes about issues of Jira: their addresses, what Jira says about them, and their type."""

from __future__ import annotations

import os
import re
from typing import Any

from handrail.extensions.contracts import LastingError, Node, NodeContext, OneNode, Work
from handrail.source.fields import SCALARS, Field
from handrail.source.values import as_text, shown
from handrail.steps.nodes.files import json_bytes, output_files, path_inside, put_files, read_json, utf8_bytes
from handrail.steps.nodes.params import path_param, text_param, unused_param
from handrail.steps.services.addresses import jira_issue
from handrail.steps.services.jira import Attachment, fetch, jira

_CONTEXT = Node(
    about="Finds the key and the addresses of a Jira issue. A bare key needs JIRA_BASE_URL.",
    params=(text_param("jiraRef", "the key of the issue, or the address of its page"),),
    others="ignored",
    outputs={
        "jiraRef": "the reference as it was given",
        "jiraIssueKey": "the key, in capital letters",
        "jiraBrowseUrl": "the address of its page",
        "jiraApiUrl": "its address in the API, for `jira-fetch`",
    },
)


async def _find_addresses(work: Work, context: NodeContext) -> Any:
    """It sends no request."""
    reference = work.params["jiraRef"]
    issue = jira_issue(reference, context.env)
    return {"jiraRef": reference, "jiraIssueKey": issue.key, "jiraBrowseUrl": issue.page, "jiraApiUrl": issue.api}


FOLDER = "jira-attachments"
LONGEST_NAME = 120
NO_TEXT = "No attachment of this issue is text.\n"
FILES = ("outputFile", "attachmentsManifestFile", "attachmentsContextFile")
_FETCH = Node(
    about="Fetches a Jira issue with JIRA_API_KEY from JIRA_BASE_URL, and sends the key nowhere else.",
    params=(
        Field(
            "jiraApiUrl",
            ("text", "null"),
            "the address of the issue in the API; a flow gets null if it is not known, and then the step fails",
            required=True,
            shortest=1,
        ),
        path_param("outputFile", "the file for the issue"),
        path_param(
            "attachmentsManifestFile",
            f"the file for the list of attachments; those that are text are saved in `{FOLDER}` beside it",
            required=False,
        ),
        path_param("attachmentsContextFile", "the file for their texts, joined", required=False),
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


async def _fetch_issue(work: Work, context: NodeContext) -> Any:
    """Nothing is written before everything was fetched."""
    paths, real = output_files(work, context, *FILES)
    if work.params["jiraApiUrl"] is None:
        why = "the run was started without an issue" if context.env.get("JIRA_BASE_URL") else "JIRA_BASE_URL is not set"
        raise LastingError("issue-unknown", f"the address of the Jira issue is not known: {why}")
    async with jira(context.env) as service:
        answer = await fetch(service, work.params["jiraApiUrl"].strip(), with_attachments=len(paths) > 1)
    loaded = [attachment for attachment in answer.attachments if attachment.body is not None]
    files, enriched = {real["outputFile"]: answer.body}, None
    if answer.parent is not None:
        enriched = f"{os.path.splitext(paths['outputFile'])[0]}-enriched.json"
        problem = {} if answer.parent.reason is None else {"parentProblem": answer.parent.reason}
        both = {"issue": answer.issue, "parentKey": answer.parent.key, "parent": answer.parent.issue, **problem}
        files[path_inside(context, enriched)] = json_bytes(both)
    if "attachmentsManifestFile" in paths:
        folder = os.path.join(os.path.dirname(paths["attachmentsManifestFile"]), FOLDER)
        saved = [(item, os.path.join(folder, _file_name(number, item))) for number, item in enumerate(loaded, 1)]
        files |= {path_inside(context, path): item.body or b"" for item, path in saved}
        files[real["attachmentsManifestFile"]] = json_bytes(_manifest(answer.attachments, saved))
    if "attachmentsContextFile" in paths:
        files[real["attachmentsContextFile"]] = utf8_bytes(_joined_text(loaded))
    put_files(files, context)
    return {
        **{name: paths.get(name) for name in FILES},
        "downloadedAttachments": len(loaded),
        "planningContextAttachments": sum(item.text is not None for item in loaded),
        "enrichedFile": enriched,
    }


def _manifest(attachments: tuple[Attachment, ...], saved: list[tuple[Attachment, str]]) -> dict[str, Any]:
    """The downloaded attachments in `attachments`, and the others in `skipped`, each with a reason."""
    rows = [
        {**_about(item), "savedPath": path, "includedInPlanningContext": item.text is not None} for item, path in saved
    ]
    skipped = [{**_about(item), "reason": item.reason} for item in attachments if item.body is None]
    counts = {
        "downloadedCount": len(rows),
        "planningContextCount": sum(item["includedInPlanningContext"] is True for item in rows),
        "skippedCount": len(skipped),
    }
    return {"summary": counts, "attachments": rows, "skipped": skipped}


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


def _joined_text(loaded: list[Attachment]) -> str:
    texts = [(item.name, item.text) for item in loaded]
    blocks = [f"=== Attachment: {name} ===\n{text.strip()}\n" for name, text in texts if text is not None]
    return "\n".join(blocks) or NO_TEXT


def _file_name(number: int, item: Attachment) -> str:
    """A name that is safe in every folder: the number of the file, and letters, digits, dots and dashes."""
    stem, extension = os.path.splitext(re.sub(r"[^\w.-]+", "-", item.name.replace("\\", "/").rpartition("/")[2]))
    short = stem.encode("utf-8", "replace")[:LONGEST_NAME].decode("utf-8", "ignore").strip(".-") or "file"
    return f"{number:03d}-{short}{extension if len(extension.encode()) <= 16 else ''}"


_ISSUE_CHECK = Node(
    about="Checks the type of a Jira issue that `jira-fetch` wrote.",
    params=(
        path_param("jiraTaskFile", "the file with the issue"),
        Field(
            "allowedIssueTypes",
            ("list",),
            "the names of the allowed types; upper and lower case are the same",
            required=True,
            items=SCALARS,
            shortest=1,
        ),
        unused_param("labelText"),
    ),
    others="ignored",
    outputs={"issueType": "the name of its type"},
)


async def _check_issue(work: Work, context: NodeContext) -> Any:
    allowed = [name for item in work.params["allowedIssueTypes"] if (name := as_text(item).strip())]
    if not allowed:
        raise LastingError("params", "`allowedIssueTypes` is empty")
    path = work.params["jiraTaskFile"]
    value, place = read_json(context, path), ""
    for name in ("fields", "issuetype", "name"):
        if not isinstance(value, dict) or name not in value:
            raise LastingError("inputs-invalid", f"`{path}` is not an issue of Jira: it has no `{place}{name}`")
        value, place = value[name], f"{place}{name}."
    if not isinstance(value, str) or not value.strip():
        raise LastingError("inputs-invalid", f"`{path}` is not an issue of Jira: `fields.issuetype.name` is not text")
    kind = value.strip()
    if kind.casefold() not in {name.casefold() for name in allowed}:
        raise LastingError("issue-type", f"the type of the issue is `{shown(kind, 80)}`; allowed: {', '.join(allowed)}")
    return {"issueType": kind}


CONTEXT = OneNode(_CONTEXT, _find_addresses)
FETCH = OneNode(_FETCH, _fetch_issue)
ISSUE_CHECK = OneNode(_ISSUE_CHECK, _check_issue)
