"""`change-checks`: the checks of a pull or merge request."""

from __future__ import annotations

from typing import Any

from handrail.contracts import Node, NodeContext, Work
from handrail.nodes.changes.forge import CHANGE, FORGE, pass_on
from handrail.nodes.checked import COMMIT, OUTPUTS
from handrail.nodes.outputs import FILES, OUTPUT_FILES

NODE = Node(
    about="Fetches the checks of a pull request of GitHub (`github-checks`) or of a merge request of GitLab "
    "(`gitlab-checks`). It does not wait for them.",
    params=(CHANGE, *OUTPUT_FILES, COMMIT),
    outputs={
        "outputFile": "the file with Markdown",
        "outputJsonFile": "the file with JSON, of the schema of the forge's own node",
        **FORGE,
        "commit": "the commit whose checks these are",
        "changeState": "`open`, `closed` or `merged`",
        "branch": "the branch of the change",
        **OUTPUTS,
    },
    makes=FILES,
)


async def run(work: Work, context: NodeContext) -> Any:
    return await pass_on(work, context, "checks")
