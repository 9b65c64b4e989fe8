"""`planning-bundle`: finds the newest design, plan and QA plan of a task. They have to be complete and valid."""

from __future__ import annotations

from typing import Any

from handrail.driven.artifacts.agentweaver_params import PLANNING, QA
from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
from handrail.steps.nodes.review.verdict import TASK_KEY, task_artifacts

KINDS = {**PLANNING, **QA}
NODE = Node(
    about="Finds the newest design, plan and QA plan of a task. An incomplete one is a failure, not passed over.",
    params=(TASK_KEY,),
    others="ignored",
    outputs={
        "planningIteration": "their iteration",
        "designFile": "the design, as Markdown",
        "designJsonFile": "the design, as JSON",
        "planFile": "the plan, as Markdown",
        "planJsonFile": "the plan, as JSON",
        "qaFile": "the QA plan, as Markdown",
        "qaJsonFile": "the QA plan, as JSON",
    },
)


async def run(work: Work, context: NodeContext) -> Any:
    inputs = task_artifacts(work, context)
    turn = inputs.newest(*KINDS.values())
    if turn is None:
        message = f"the task `{inputs.key}` has no design and no plan; `handrail run plan` makes them"
        raise NodeError("inputs-missing", message, transient=False)
    paths = inputs.checked(KINDS, turn, f"the plan of iteration {turn} is not complete")
    return {"planningIteration": turn, **paths}
