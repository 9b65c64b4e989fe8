"""`review-findings-form`: makes a form from the findings of a review, for a later `user-input`."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, Work
from handrail.source.values import as_text
from handrail.steps.nodes.people.form_steps import (
    DESCRIPTION,
    FORM_ID,
    TITLE,
    form_heading,
    object_list,
    path_field,
    read_object,
    required_object,
    stripped_text,
)

NODE = Node(
    about="Makes a form to choose the findings of a review that are to be fixed. Resolved findings are left out.",
    params=(
        path_field("reviewFindingsJsonFile", "the JSON file with `findings`"),
        path_field("reviewAssessmentJsonFile", "a JSON file with `assessments` of these findings", is_required=False),
        FORM_ID,
        TITLE,
        DESCRIPTION,
    ),
    others="ignored",
    outputs={
        "formId": "the form's id",
        "title": "its title",
        "description": "its description; empty if it has none",
        "submitLabel": "the text of the button that sends it",
        "fields": "its fields: `apply_all`, `selected_findings` (if there are findings) and `extra_notes`",
        "findingCount": "how many findings there are to choose from",
    },
)


async def run(work: Work, context: NodeContext) -> Any:
    path = as_text(work.params["reviewFindingsJsonFile"])
    findings = object_list(required_object(read_object(context, path), path), "findings", path)
    options = _options(findings, _assessments(work, context))
    return {
        **form_heading(work.params),
        "submitLabel": "Fix these findings",
        "fields": _fields(options),
        "findingCount": len(options),
    }


def _assessments(work: Work, context: NodeContext) -> dict[str, str]:
    """What an assessment says about each finding, by the title of the finding. The first one counts."""
    given = work.params.get("reviewAssessmentJsonFile")
    if given is None or not as_text(given).strip():
        return {}
    path = as_text(given)
    said: dict[str, str] = {}
    for item in object_list(required_object(read_object(context, path), path), "assessments", path):
        parts = {"Verdict": stripped_text(item, "verdict"), "Rationale": stripped_text(item, "rationale")}
        parts["Proposed fix"] = stripped_text(item, "proposed_fix")
        if isinstance(item.get("fix_required"), bool):
            parts["Fix required"] = "yes" if item["fix_required"] else "no"
        text = "\n\n".join(f"{name}: {part}" for name, part in parts.items() if part)
        said.setdefault(stripped_text(item, "finding_title"), text)
    return said


def _options(findings: list[dict[str, Any]], assessments: dict[str, str]) -> list[dict[str, str]]:
    """An option for each open finding. Findings with the same title are one option."""
    options: dict[str, dict[str, str]] = {}
    for finding in findings:
        title = stripped_text(finding, "title")
        if not title or stripped_text(finding, "disposition").lower() == "resolved":
            continue
        if title in options:
            texts = (options[title]["description"], stripped_text(finding, "description"))
        else:
            options[title] = {"value": title, "label": f"{title} | {stripped_text(finding, 'severity') or '-'}"}
            texts = (stripped_text(finding, "description"), assessments.get(title, ""))
        options[title]["description"] = "\n\n".join(text for text in texts if text)
    return list(options.values())


def _fields(options: list[dict[str, str]]) -> list[dict[str, Any]]:
    choose = {
        "id": "selected_findings",
        "type": "multi-select",
        "label": "Findings to fix",
        "help": "They are not needed if all findings are to be fixed.",
        "options": options,
        "default": [],
    }
    return [
        {"id": "apply_all", "type": "boolean", "label": "Fix all findings", "default": not options},
        *([choose] if options else []),
        {"id": "extra_notes", "type": "text", "label": "Notes for the fix", "multiline": True, "default": ""},
    ]
