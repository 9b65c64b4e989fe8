"""`change-reviews`: what people say about a pull or merge request, also as findings of a review."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, Work
from handrail.steps.nodes.forges.documents import (
    AFTER,
    CHANGE,
    FINDINGS_FILES,
    FINDINGS_NAMES,
    FORGE_OUTPUTS,
    OUTPUT_FILES,
    OUTPUT_NAMES,
    run_forge_node,
)

NODE = Node(
    about="Fetches what people say about a pull request of GitHub (`github-reviews`) or a merge request of GitLab "
    "(`gitlab-reviews`).",
    params=(CHANGE, *OUTPUT_FILES, *FINDINGS_FILES, AFTER),
    outputs={
        "outputFile": "the file with Markdown",
        "outputJsonFile": "the file with JSON, of the schema of the forge's own node",
        "reviewFile": "the file with the findings; null if none was asked for",
        "reviewJsonFile": "the file with the findings as JSON of the schema `review-findings/v1`; null if none was "
        "asked for",
        **FORGE_OUTPUTS,
        "commentsCount": "how many comments there are",
        "findingsCount": "how many findings there are",
        "openCount": "how many of them are more than an information",
        "readyToMerge": "true if nobody asks for changes",
        "lastAt": "when something was said last; an empty text if nothing was said",
    },
    makes=(*OUTPUT_NAMES, *FINDINGS_NAMES),
)


async def run(work: Work, context: NodeContext) -> Any:
    found = await run_forge_node(work, context, "reviews")
    return {name: found[name] for name in NODE.outputs}
