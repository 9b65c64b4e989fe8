"""The checks of a commit on GitHub: check runs and commit statuses, with the text of those that failed.

Texts are bounded: for one check, for all together, and in the number of checks that have one.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from handrail.contracts import NodeError
from handrail.services.github.pulls import fetch_pull, state_of_pull
from handrail.services.github.site import fetch_list, head, inner, number, raw_text, text
from handrail.services.http import Service
from handrail.services.numbered import GITHUB, Numbered
from handrail.services.results import (
    LARGEST_LOG,
    LEFT_OUT,
    LONGEST_SUMMARY,
    LONGEST_TEXT,
    MOST_TEXTS,
    TOO_MANY,
    clean,
    cut,
    state_of,
    summary_of,
    tail,
)

MOST_ANNOTATIONS = 50
PASSED = ("success", "neutral", "skipped")
_RUNS_LOGS = "github-actions"
"""The app whose check runs have the ids of jobs, which have logs."""
_SHA = re.compile(r"[0-9a-fA-F]{7,64}")


async def fetch_checks(service: Service, wanted: Numbered, commit: str | None, now: str) -> dict[str, Any]:
    """The checks of a pull request's head, or of one of its commits: a document of `github-checks/v1`."""
    pull = await fetch_pull(service, wanted)
    latest = text(inner(pull, "head"), "sha")
    sha = commit or latest
    if not _SHA.fullmatch(sha):
        raise NodeError("service-json", f"{GITHUB}: the pull request has no head commit", transient=False)
    path = f"{wanted.repository.path}/commits/{quote(sha, safe='')}"
    runs = await fetch_list(service, f"{path}/check-runs", "check_runs")
    statuses = await fetch_list(service, f"{path}/status", "statuses")
    checks = [_of_run(item) for item in runs] + [_of_status(item) for item in statuses]
    state = state_of(checks)
    await _explain(service, wanted, [item for item in zip(runs, checks, strict=False) if item[1]["state"] == "failed"])
    return {
        "summary": summary_of(f"#{wanted.number}", checks),
        **head(wanted, "pull_request", now),
        "commit": sha,
        "is_head": latest.startswith(sha),
        "pull_request_state": state_of_pull(pull),
        "branch": text(inner(pull, "head"), "ref"),
        "state": state,
        "checks": checks,
    }


def _of_run(item: dict[str, Any]) -> dict[str, Any]:
    result = raw_text(item, "conclusion")
    is_done = text(item, "status") == "completed"
    return {
        "name": text(item, "name"),
        "kind": "check-run",
        "state": ("passed" if result in PASSED else "failed") if is_done else "pending",
        "result": (result or "unknown") if is_done else text(item, "status"),
        "url": text(item, "html_url", text(item, "details_url", "")) or None,
        "text": "",
    }


def _of_status(item: dict[str, Any]) -> dict[str, Any]:
    result = text(item, "state")
    state = {"success": "passed", "pending": "pending"}.get(result, "failed")
    return {
        "name": text(item, "context"),
        "kind": "status",
        "state": state,
        "result": result,
        "url": text(item, "target_url", "") or None,
        "text": clean(raw_text(item, "description"))[:LONGEST_SUMMARY] if state == "failed" else "",
    }


async def _explain(service: Service, wanted: Numbered, failed: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    """Set the text of each failed check run. Only the first ones have one."""
    for place, (item, check) in enumerate(failed):
        if place >= MOST_TEXTS:
            check["text"] = TOO_MANY
            continue
        check["text"] = await _text(service, wanted, item)


async def _text(service: Service, wanted: Numbered, item: dict[str, Any]) -> str:
    """What a check run says about its failure: its own words, its annotations, and the end of its log."""
    said, id_ = inner(item, "output"), number(item, "id")
    words = [cut(clean(raw_text(said, name))) for name in ("title", "summary", "text")]
    parts = [part for part in words if part]
    repository = wanted.repository.path
    if id_ is not None and number(said, "annotations_count") != 0:
        parts.append(await _annotations(service, f"{repository}/check-runs/{id_}/annotations"))
    if id_ is not None and text(inner(item, "app"), "slug") == _RUNS_LOGS:
        parts.append(await _log(service, f"{repository}/actions/jobs/{id_}/logs"))
    return tail("\n\n".join(part for part in parts if part))


async def _annotations(service: Service, path: str) -> str:
    try:
        listed = await fetch_list(service, path)
    except NodeError as error:
        if error.code not in LEFT_OUT:
            raise
        return f"The annotations cannot be fetched: {error.message}"
    lines = [_annotation(item) for item in listed[:MOST_ANNOTATIONS]]
    more = len(listed) - len(lines)
    return "\n".join([*lines, *([f"… and {more} more annotations"] if more else [])])


def _annotation(item: dict[str, Any]) -> str:
    line = number(item, "start_line")
    place = f"{text(item, 'path')}{'' if line is None else f':{line}'}"
    words = ": ".join(part for part in (raw_text(item, "title"), raw_text(item, "message")) if part.strip())
    return f"{place}: {text(item, 'annotation_level')}: {cut(clean(words))}"


async def _log(service: Service, path: str) -> str:
    try:
        body = await service.get_file(path, LARGEST_LOG)
    except NodeError as error:
        if error.code not in LEFT_OUT:
            raise
        return f"The log cannot be fetched: {error.message}"
    return tail(clean(body.decode("utf-8", "replace")), LONGEST_TEXT - 2 * LONGEST_SUMMARY)
