"""`change-checks`: the checks of a pull or merge request. Its address says which forge it is on."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, Work
from handrail.steps.nodes.forges.documents import (
    CHANGE,
    CHECKS_OUTPUTS,
    COMMIT,
    FORGE_OUTPUTS,
    OUTPUT_FILES,
    OUTPUT_NAMES,
    run_forge_node,
)

NODE = Node(
    about="Fetches the checks of a pull request of GitHub (`github-checks`) or of a merge request of GitLab "
    "(`gitlab-checks`). It does not wait for them.",
    params=(CHANGE, *OUTPUT_FILES, COMMIT),
    outputs={
        "outputFile": "the file with Markdown",
        "outputJsonFile": "the file with JSON, of the schema of the forge's own node",
        **FORGE_OUTPUTS,
        "commit": "the commit whose checks these are",
        "changeState": "`open`, `closed` or `merged`",
        "branch": "the branch of the change",
        **CHECKS_OUTPUTS,
    },
    makes=OUTPUT_NAMES,
)


async def run(work: Work, context: NodeContext) -> Any:
    return await run_forge_node(work, context, "checks")
