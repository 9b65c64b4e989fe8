"""`review-verdict`: decides from the findings of a review whether a change is ready to merge.

It writes the decision into the JSON file of the review. `ready-to-merge.md` of the task exists afterwards if, and only
if, no finding blocks. Running it again changes nothing.
"""

from __future__ import annotations

from typing import Any

from handrail.contracts import Node, NodeContext, Verdict, Work
from handrail.nodes.jsonfiles import remove_file, write_json, write_text
from handrail.nodes.review.scope import TASK_KEY, inputs_of, iteration_field, iteration_of, load
from handrail.nodes.review.severities import FIELD, blocking_of, blocking_titles

KIND = "review-json-file"
READY = "# Ready to merge\n\nThe review has no blocking finding.\n\n## Summary\n\n{summary}\n"
NODE = Node(
    about="Decides from the findings of a review whether a change is ready to merge, and records the decision.",
    params=(TASK_KEY, iteration_field("the review"), FIELD),
    others="ignored",
    outputs={
        "readyToMerge": "true if no finding blocks",
        "blockingSeverities": "the severities that block",
        "blockingFindingTitles": "the titles of the findings that block",
        "blockingFindingsCount": "how many block",
        "summary": "the summary of the review",
        "reviewJsonFile": "the JSON file of the review",
        "writtenFiles": "the files that are published: the review, and `ready-to-merge.md` if it is ready",
    },
    published="writtenFiles",
    verdict=Verdict("readyToMerge", True, ("blockingFindingTitles",)),
)


async def run(work: Work, context: NodeContext) -> Any:
    inputs, blocking = inputs_of(work, context), blocking_of(work, context)
    path, marker = inputs.path(KIND, iteration_of(work, inputs, KIND)), inputs.path("ready-to-merge-file")
    review = load(inputs, context, KIND, path)
    titles = blocking_titles(review["findings"], blocking)
    is_ready = not titles
    if review["ready_to_merge"] is not is_ready:
        write_json(context, path, {**review, "ready_to_merge": is_ready})
    if is_ready:
        write_text(context, marker, READY.format(summary=review["summary"].strip()))
    else:
        remove_file(context, marker)
    return {
        "readyToMerge": is_ready,
        "blockingSeverities": blocking,
        "blockingFindingTitles": titles,
        "blockingFindingsCount": len(titles),
        "summary": review["summary"],
        "reviewJsonFile": path,
        "writtenFiles": [path, marker] if is_ready else [path],
    }
