"""`design-review-verdict`: says whether the review of a design allows the work to begin."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, OutputVerdict, Work
from handrail.steps.nodes.review.verdict import TASK_KEY, iteration_field, iteration_of, load_artifact, task_artifacts

KIND = "design-review-json-file"
NODE = Node(
    about="Says whether the review of a design allows the work to begin.",
    params=(TASK_KEY, iteration_field("the design review")),
    others="ignored",
    outputs={
        "status": "`approved`, `approved_with_warnings` or `needs_revision`",
        "canProceed": "true if the design is approved, with or without warnings",
        "needsRevision": "true if the design has to be revised",
        "verdict": "the summary of the review",
    },
    verdict=OutputVerdict("canProceed", True, ("verdict",)),
)


async def run(work: Work, context: NodeContext) -> Any:
    inputs = task_artifacts(work, context)
    review = load_artifact(inputs, context, KIND, inputs.path(KIND, iteration_of(work, inputs, KIND)))
    is_refused = review["status"] == "needs_revision"
    return {
        "status": review["status"],
        "canProceed": not is_refused,
        "needsRevision": is_refused,
        "verdict": review["summary"],
    }
