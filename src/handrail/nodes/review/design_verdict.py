"""`design-review-verdict`: says whether the review of a design allows the work to begin."""

from __future__ import annotations

from typing import Any

from handrail.contracts import Node, NodeContext, Verdict, Work
from handrail.nodes.review.scope import TASK_KEY, inputs_of, iteration_field, iteration_of, load

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
    verdict=Verdict("canProceed", True, ("verdict",)),
)


async def run(work: Work, context: NodeContext) -> Any:
    inputs = inputs_of(work, context)
    review = load(inputs, context, KIND, inputs.path(KIND, iteration_of(work, inputs, KIND)))
    is_refused = review["status"] == "needs_revision"
    return {
        "status": review["status"],
        "canProceed": not is_refused,
        "needsRevision": is_refused,
        "verdict": review["summary"],
    }
