"""`write-selection-file`: selects the blocking findings of a review for a fix, as a person would in a form."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, Work
from handrail.source.fields import Field
from handrail.steps.nodes.files.json_files import read_json, time_text, write_json
from handrail.steps.nodes.review.verdict import BLOCKING_SEVERITIES, blocking_titles, severities_that_block

FORM = "review-fix-selection"
MODE = "auto-blocking-severities"
NODE = Node(
    about="Selects the blocking findings of a review for a fix, and writes the selection to a file.",
    params=(
        Field("outputFile", ("text",), "the file for the selection, as JSON", required=True, shortest=1, names="path"),
        Field(
            "reviewFindingsJsonFile", ("text",), "the findings of the review", required=True, shortest=1, names="path"
        ),
        Field("selectionMode", ("text",), "how findings are selected", required=True, choices=(MODE,)),
        BLOCKING_SEVERITIES,
    ),
    others="ignored",
    outputs={
        "outputFile": "the file",
        "findingsCount": "how many findings are selected",
        "selectedFindings": "their titles",
        "applyAll": "false: a selection never means all findings",
    },
    makes=("outputFile",),
)


async def run(work: Work, context: NodeContext) -> Any:
    target, source = work.params["outputFile"], work.params["reviewFindingsJsonFile"]
    findings = read_json(context, source, "review-findings/v1")["findings"]
    is_open = [str(finding.get("disposition", "")).strip().lower() != "resolved" for finding in findings]
    wanted = [finding for finding, counts in zip(findings, is_open, strict=True) if counts]
    titles = blocking_titles(wanted, severities_that_block(work, context))
    values = {"apply_all": False, "selected_findings": titles, "extra_notes": ""}
    submitted = context.remember("submittedAt", time_text())
    write_json(context, target, {"form_id": FORM, "submitted_at": submitted, "values": values})
    return {"outputFile": target, "findingsCount": len(titles), "selectedFindings": titles, "applyAll": False}
