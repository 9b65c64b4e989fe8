"""The smallest nodes: `set` names values, `wait` waits, and `flow-run` runs another flow."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, OneNode, Work
from handrail.source.fields import Field

MAX_SECONDS = 604_800
_SET = Node(
    about="Its outputs are its params, so that later steps can refer to these values.",
    others="used",
    open_outputs=True,
    members=dict.fromkeys,
    instant=True,
    is_harmless=True,
)
_WAIT = Node(
    about="Waits for a number of seconds.",
    params=(
        Field(
            "seconds",
            ("integer", "number"),
            "how long",
            required=True,
            least=0,
            most=MAX_SECONDS,
            unit="seconds",
            also=("duration", "time", "for", "delay"),
        ),
    ),
    outputs={"seconds": "how long it waited"},
    is_harmless=True,
)
_FLOW_RUN = Node(
    about="Runs another flow. Finished steps in it do not run again.",
    params=(
        Field(
            "fileName",
            ("text",),
            "the flow: its id, or the name of its file",
            required=True,
            names="flow",
            also=("flow", "file", "flowId", "name"),
        ),
    ),
    others="used",
    outputs={
        "flowKind": "the `kind` of the flow",
        "flowVersion": "its `version`",
        "executionState": (
            "how it ended: `terminated`, `terminationOutcome`, and its steps by name, as "
            "`phases.PHASE.steps.STEP` with `status`, `value` and `outputs`"
        ),
        "publishedArtifacts": "the artifacts that its steps published, each with `artifact_id`, `logical_key`, "
        "`payload_path`, `version`, `schema_id` and `content_hash`; only if the flow uses it",
    },
    is_harmless=True,
)


async def _set(work: Work, context: NodeContext) -> Any:
    del context
    return work.params


async def _wait(work: Work, context: NodeContext) -> Any:
    seconds = work.params["seconds"]
    await context.rest(seconds)
    return {"seconds": seconds}


class _FlowRun:
    """It has no `run`: the interpreter runs the flow."""

    NODE = _FLOW_RUN


SET = OneNode(_SET, _set)
WAIT = OneNode(_WAIT, _wait)
FLOW_RUN = _FlowRun()
