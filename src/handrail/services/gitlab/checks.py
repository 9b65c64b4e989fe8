"""The checks of a commit of a merge request: the jobs of its pipelines and the statuses that others set, with logs.

GitLab lists both together, the last one of each name. Texts are bounded, as those of GitHub.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from handrail.contracts import NodeError
from handrail.services.gitlab.merge_requests import STATES, head
from handrail.services.gitlab.site import PAGE, UNKNOWN, line, text
from handrail.services.http import Service
from handrail.services.references import GITLAB, MergeRequest
from handrail.services.results import (
    LARGEST_LOG,
    LEFT_OUT,
    LONGEST_TEXT,
    MOST_TEXTS,
    TOO_MANY,
    clean,
    cut,
    state_of,
    summary_of,
    tail,
)

_STATES = {"success": "passed", "skipped": "passed", "manual": "passed", "failed": "failed", "canceled": "failed"}
"""What a result means. Every other one, such as `running`, is not done."""


async def fetch_checks(
    service: Service, wanted: MergeRequest, url: str, commit: str | None, now: str
) -> dict[str, Any]:
    """The checks of a merge request's last commit, or of one of its commits: a document of `gitlab-checks/v1`."""
    details = await service.get_json(wanted.path)
    latest = text(details, "sha", "") if isinstance(details, dict) else ""
    sha = commit or latest
    if not sha:
        raise NodeError("service-json", f"{GITLAB}: the merge request has no commit", transient=False)
    project = f"api/v4/projects/{quote(wanted.project, safe='')}"
    place = f"{project}/repository/commits/{quote(sha, safe='')}/statuses"
    listed = [item async for page in service.pages(place, PAGE) for item in page if isinstance(item, dict)]
    checks = [_check(item) for item in listed]
    await _explain(
        service, project, [pair for pair in zip(listed, checks, strict=True) if pair[1]["state"] == "failed"]
    )
    state = text(details, "state", UNKNOWN)
    return {
        "summary": summary_of(f"!{wanted.number}", checks),
        **head(wanted, url, now),
        "commit": sha,
        "is_head": sha == latest,
        "merge_request_state": STATES.get(state, state),
        "branch": text(details, "source_branch", UNKNOWN),
        "state": state_of(checks),
        "checks": checks,
    }


def _check(item: dict[str, Any]) -> dict[str, Any]:
    """A job that may fail never fails the pipeline."""
    result = text(item, "status", UNKNOWN)
    state = _STATES.get(result, "pending")
    return {
        "name": text(item, "name", UNKNOWN),
        "state": "passed" if state == "failed" and item.get("allow_failure") is True else state,
        "result": result,
        "url": text(item, "target_url", "") or None,
        "text": "",
    }


async def _explain(service: Service, project: str, failed: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    """Set the text of each failed check. Only the first ones have one."""
    for place, (item, check) in enumerate(failed):
        check["text"] = await _text(service, project, item) if place < MOST_TEXTS else TOO_MANY


async def _text(service: Service, project: str, item: dict[str, Any]) -> str:
    """What a failed check says: its description, and the end of its log if it is a job."""
    parts, id_ = [cut(clean(text(item, "description", "")))], line(item, "id")
    if id_ is not None:
        try:
            log = await service.get_file(f"{project}/jobs/{id_}/trace", LARGEST_LOG)
            parts.append(tail(clean(log.decode("utf-8", "replace")), LONGEST_TEXT // 2))
        except NodeError as error:
            if error.code not in LEFT_OUT:
                raise
            parts.append(f"The log cannot be fetched: {error.message}")
    return "\n\n".join(part for part in parts if part)
