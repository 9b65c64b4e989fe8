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
from handrail.source.plain import counted

MOST_TEXTS = 20
MOST_ANNOTATIONS = 50
LONGEST_TEXT = 20_000
LONGEST_SUMMARY = 4_000
LARGEST_LOG = 32 * 1024 * 1024
PASSED = ("success", "neutral", "skipped")
_RUNS_LOGS = "github-actions"
"""The app whose check runs have the ids of jobs, which have logs."""
_LEFT_OUT = ("service-missing", "service-forbidden", "service-failed", "service-large")
"""After these failures a log or the annotations are left out, and the rest is fetched."""
_SHA = re.compile(r"[0-9a-fA-F]{7,64}")
_TIME = re.compile(r"^\ufeff?\d{4}-\d\d-\d\dT[\d:.]+Z ", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_CONTROL = re.compile(r"[\0-\x08\x0b-\x1f\x7f]")


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
        "summary": _summary(wanted, checks),
        **head(wanted, "pull_request", now),
        "commit": sha,
        "is_head": latest.startswith(sha),
        "pull_request_state": state_of_pull(pull),
        "branch": text(inner(pull, "head"), "ref"),
        "state": state,
        "checks": checks,
    }


def state_of(checks: list[dict[str, Any]]) -> str:
    """`failed` if one failed, else `pending` if one is not done, else `passed`; `none` if there are no checks."""
    states = {check["state"] for check in checks}
    return next((state for state in ("failed", "pending", "passed") if state in states), "none")


def _summary(wanted: Numbered, checks: list[dict[str, Any]]) -> str:
    if not checks:
        return f"#{wanted.number}: no checks"
    parts = []
    for state in ("passed", "failed", "pending"):
        count = sum(check["state"] == state for check in checks)
        parts += [f"{count} {state}"] if count else []
    return f"#{wanted.number}: {counted(len(checks), 'check')}: {', '.join(parts)}"


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
        "text": _clean(raw_text(item, "description"))[:LONGEST_SUMMARY] if state == "failed" else "",
    }


async def _explain(service: Service, wanted: Numbered, failed: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    """Set the text of each failed check run. Only the first ones have one."""
    for place, (item, check) in enumerate(failed):
        if place >= MOST_TEXTS:
            check["text"] = f"The texts of more than {MOST_TEXTS} failed checks are not fetched."
            continue
        check["text"] = await _text(service, wanted, item)


async def _text(service: Service, wanted: Numbered, item: dict[str, Any]) -> str:
    """What a check run says about its failure: its own words, its annotations, and the end of its log."""
    said, id_ = inner(item, "output"), number(item, "id")
    words = [_cut(_clean(raw_text(said, name))) for name in ("title", "summary", "text")]
    parts = [part for part in words if part]
    repository = wanted.repository.path
    if id_ is not None and number(said, "annotations_count") != 0:
        parts.append(await _annotations(service, f"{repository}/check-runs/{id_}/annotations"))
    if id_ is not None and text(inner(item, "app"), "slug") == _RUNS_LOGS:
        parts.append(await _log(service, f"{repository}/actions/jobs/{id_}/logs"))
    return _tail("\n\n".join(part for part in parts if part))


async def _annotations(service: Service, path: str) -> str:
    try:
        listed = await fetch_list(service, path)
    except NodeError as error:
        if error.code not in _LEFT_OUT:
            raise
        return f"The annotations cannot be fetched: {error.message}"
    lines = [_annotation(item) for item in listed[:MOST_ANNOTATIONS]]
    more = len(listed) - len(lines)
    return "\n".join([*lines, *([f"… and {more} more annotations"] if more else [])])


def _annotation(item: dict[str, Any]) -> str:
    line = number(item, "start_line")
    place = f"{text(item, 'path')}{'' if line is None else f':{line}'}"
    words = ": ".join(part for part in (raw_text(item, "title"), raw_text(item, "message")) if part.strip())
    return f"{place}: {text(item, 'annotation_level')}: {_cut(_clean(words))}"


async def _log(service: Service, path: str) -> str:
    try:
        body = await service.get_file(path, LARGEST_LOG)
    except NodeError as error:
        if error.code not in _LEFT_OUT:
            raise
        return f"The log cannot be fetched: {error.message}"
    return _tail(_clean(body.decode("utf-8", "replace")), LONGEST_TEXT - 2 * LONGEST_SUMMARY)


def _clean(said: str) -> str:
    """A text without times at the beginning of lines, colours and control characters."""
    lines = _TIME.sub("", said.replace("\r\n", "\n"))
    return _CONTROL.sub("", _COLOUR.sub("", lines)).strip()


def _cut(said: str) -> str:
    return said if len(said) <= LONGEST_SUMMARY else f"{said[:LONGEST_SUMMARY]}…"


def _tail(said: str, most: int = LONGEST_TEXT) -> str:
    """The end of a text; the first line says how much was left out."""
    left = len(said) - most
    return said if left <= 0 else f"… {left} characters before this were left out\n{said[left:]}"
