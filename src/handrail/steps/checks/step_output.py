"""`step-output`: a value of a step is true, or equals another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.extensions.contracts import Check, CheckContext, Finding
from handrail.source.fields import ANYTHING, Field
from handrail.source.values import is_true, same

CHECK = Check(
    about="A value is true, or equals another one. Only for `expect`, which can read the outputs of its own step.",
    words="holds",
    is_harmless=True,
    params=(
        Field("value", ANYTHING, "the value, such as `${steps.PHASE.STEP.outputs.NAME}`", required=True),
        Field("equals", ANYTHING, "the value that it has to equal; without `equals`, it has to be true"),
    ),
    places=("expect",),
)


async def verify(params: Mapping[str, Any], context: CheckContext) -> Finding:
    del context
    holds = same(params["value"], params["equals"]) if "equals" in params else is_true(params["value"])
    return Finding(holds, "")
