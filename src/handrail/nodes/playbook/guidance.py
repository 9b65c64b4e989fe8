"""`project-guidance`: tells the agents of a phase which rules of the project's playbook to follow.

Without a playbook it says so. With one, it names the files that hold for every task. Practices are not selected by task
yet; the result says that, too.
"""

from __future__ import annotations

import math
import os
import re
from typing import Any

from handrail.contracts import Node, NodeContext, NodeError, Work
from handrail.nodes.jsonfiles import read_json, text_param, write_json, write_text
from handrail.nodes.playbook.manifest import FOLDER, MANIFEST, Playbook, read_playbook
from handrail.source.fields import Field
from handrail.source.values import shown

PHASES = {
    "plan": "plan",
    "design-review": "design-review",
    "design_review": "design-review",
    "implement": "implement",
    "review": "review",
    "repair": "repair/review-fix",
    "review-fix": "repair/review-fix",
    "review_fix": "repair/review-fix",
    "repair/review-fix": "repair/review-fix",
    "repair/review_fix": "repair/review-fix",
}
LIMITS = {"plan": 1200, "design-review": 1000, "implement": 1400, "review": 1000, "repair/review-fix": 1000}
THRESHOLD = 300
POLICIES = ("fail_before_prompt", "write_diagnostic_artifact")
SOURCES = ("jira", "manual")
NODE = Node(
    about="Writes which rules of the project's playbook the agents of a phase have to follow.",
    params=(
        Field(
            "taskContextJsonFile", ("text",), "the task, as JSON", required=True, shortest=1, names="path"
        ),
        Field("phase", ("text",), "the phase: `plan`, `design-review`, `implement`, `review` or `repair/review-fix`",
              required=True, choices=tuple(PHASES)),
        Field("outputJsonFile", ("text",), "the file for it, as JSON", required=True, shortest=1, names="path"),
        Field("outputFile", ("text",), "the file for it, as Markdown", required=True, shortest=1, names="path"),
        Field("markdownLanguage", ("text", "null"), "accepted because AgentWeaver's flows have it; not used"),
        Field("budgetLimit", ("integer", "null"), "how many tokens the rules may have, roughly", least=0),
        Field("inlineThreshold", ("integer", "null"), "how many tokens a rule in the guidance may have", least=0),
        Field("invalidPlaybookPolicy", ("text", "null"), "what happens if the playbook is not valid",
              default=POLICIES[0], choices=POLICIES),
    ),
    others="ignored",
    outputs={
        "status": "`available`, `missing_playbook`, `empty_selection` or `invalid_playbook`",
        "phase": "the phase",
        "outputJsonFile": "the guidance, as JSON",
        "outputFile": "the guidance, as Markdown",
    },
    makes=("outputJsonFile", "outputFile"),
)  # fmt: skip


async def run(work: Work, context: NodeContext) -> Any:
    params = work.params
    source, as_json, as_markdown = (
        text_param(params, name) for name in ("taskContextJsonFile", "outputJsonFile", "outputFile")
    )
    phase = PHASES.get(text_param(params, "phase"))
    policy = params.get("invalidPlaybookPolicy") or POLICIES[0]
    if phase is None or policy not in POLICIES:
        name = "phase" if phase is None else "invalidPlaybookPolicy"
        raise NodeError("params", f"`{name}` cannot be `{shown(params[name])}`", transient=False)
    task = read_json(context, source)
    playbook = read_playbook(context.project)
    if playbook.problem is not None and policy == POLICIES[0]:
        raise NodeError("playbook", f"the playbook of the project is not valid: {playbook.problem}", transient=False)
    budget = _budget(_number(params, "budgetLimit", LIMITS[phase]), _number(params, "inlineThreshold", THRESHOLD))
    found = _guidance(context.project, playbook, phase, _signals(task if isinstance(task, dict) else {}), budget)
    write_json(context, as_json, found)
    write_text(context, as_markdown, _markdown(found))
    return {"status": found["status"], "phase": phase, "outputJsonFile": as_json, "outputFile": as_markdown}


def _number(params: dict[str, Any], name: str, default: int) -> int:
    given = params.get(name)
    if given is None:
        return default
    if not isinstance(given, int | float) or isinstance(given, bool) or not 0 <= given < math.inf:
        raise NodeError("params", f"`{name}` has to be a number, 0 or more, found `{shown(given)}`", transient=False)
    return int(given)


def _budget(limit: int, threshold: int) -> dict[str, Any]:
    unit = {"unit": "approx_tokens", "estimator": "chars_div_4"}
    return {"limit": limit, "used": 0, "remaining": limit, "inline_threshold": threshold, **unit}


def _signals(task: dict[str, Any]) -> dict[str, Any]:
    """What the task says about itself. The schema of guidance needs it."""
    texts = [text for value in task.values() for text in (value if isinstance(value, list) else [value])]
    words = sorted({word for text in texts if isinstance(text, str) for word in text.split()})
    title = next((task[name] for name in ("title", "summary") if _is_text(task.get(name))), "a task without a title")
    paths = [word.strip("`'\"().,;:") for word in words if "/" in word and "://" not in word]
    return {
        "title": title,
        "source_type": task["source_type"] if task.get("source_type") in SOURCES else "unknown",
        "keywords": sorted({word for text in texts if isinstance(text, str) for word in _keywords(text)}),
        "file_globs": [],
        "referenced_paths": sorted({path for path in paths if path.strip("/")}),
        "languages": [],
        "frameworks": [],
    }


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _keywords(text: str) -> list[str]:
    return [word for word in re.findall(r"[^\W\d_][\w-]{2,}", text.lower()) if len(word) <= 100]


def _guidance(
    project: str, playbook: Playbook, phase: str, signals: dict[str, Any], budget: dict[str, Any]
) -> dict[str, Any]:
    status, summary, warning = _status(playbook)
    about: dict[str, Any] = {
        "root_dir": os.path.join(project, FOLDER),
        "manifest_path": os.path.join(project, MANIFEST),
        "exists": playbook.exists,
        "valid": playbook.is_valid,
    }
    if playbook.problem is not None:
        about["error"] = playbook.problem
    skipped = [
        {"id": path, "kind": kind, "source_path": path, "reason": "selection_not_supported"}
        for section, kind in (("practices", "practice"), ("examples", "example"))
        for path in (playbook.files or {}).get(section, ())
    ]
    return {
        "summary": summary,
        "status": status,
        "phase": phase,
        "source_playbook": about,
        "task_signals": signals,
        "selected_practices": [],
        "selected_examples": [],
        "always_include": list(playbook.always),
        "phase_sections": [],
        "budget": budget,
        "skipped_items": skipped,
        "warnings": [warning],
    }


def _status(playbook: Playbook) -> tuple[str, str, dict[str, str]]:
    """The status of the guidance, its summary, and the warning about it."""
    if not playbook.exists:
        summary = "The project has no playbook, so there is no guidance."
        return "missing_playbook", summary, _warning("missing_playbook", f"`{MANIFEST}` does not exist")
    if playbook.problem is not None:
        summary = "The playbook of the project is not valid, so there is no guidance."
        return "invalid_playbook", summary, _warning("invalid_playbook", playbook.problem, "error")
    message = "practices are not selected by task; all files of the playbook are listed"
    status = "available" if playbook.always else "empty_selection"
    return status, "Read the files of the playbook that are listed here.", _warning("selection_not_supported", message)


def _warning(code: str, message: str, severity: str = "warning") -> dict[str, str]:
    return {"code": code, "message": message, "severity": severity}


def _markdown(found: dict[str, Any]) -> str:
    parts = [f"# Project guidance: {found['phase']}", found["summary"]]
    if found["always_include"]:
        parts.append("## For every task\n\n" + "\n".join(f"- {path}" for path in found["always_include"]))
    if found["skipped_items"]:
        parts.append(
            "## More files of the playbook\n\n"
            + "\n".join(f"- {item['source_path']}" for item in found["skipped_items"])
        )
    parts.append("## Warnings\n\n" + "\n".join(f"- {warning['message']}" for warning in found["warnings"]))
    return "\n\n".join(parts) + "\n"
