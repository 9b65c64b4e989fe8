"""`flow-run`: runs another flow as one step. The interpreter does it; this module only declares it."""

from __future__ import annotations

from handrail.extensions.contracts import Node
from handrail.source.fields import Field

NODE = Node(
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
    },
    is_harmless=True,
)
