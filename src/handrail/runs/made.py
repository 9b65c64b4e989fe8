"""The files in `makes` of a step: which existed before it, and which it made. An unchanged file is no proof."""

from __future__ import annotations

from typing import Any

from handrail.contracts import Made, NodeError
from handrail.flows.plan import Phase, Step
from handrail.runs.resolve import Resolver
from handrail.source.values import Unresolved, shown

Before = dict[str, Any]
"""The fingerprint of each promised file that existed before the step; `*` is a key if not all paths were known."""


async def existing_outputs(values: Resolver, phase: Phase, step: Step, path: str) -> Before:
    """The promised files that exist before the first attempt of a step, as recorded then."""
    found: Before = {}
    for number, output in enumerate(step.makes):
        place = f"before.{number}"
        try:
            paths = await values.resolve(output.path, phase, path, place)
        except (Unresolved, NodeError):
            found["*"] = None
            continue
        for item in paths if isinstance(paths, list) else [paths]:
            if isinstance(item, str) and await values.durable.fact(path, place, "exists", item):
                found[item] = await values.durable.fact(path, place, "fingerprint", item)
    return found


async def made_by(values: Resolver, phase: Phase, step: Step, path: str, before: Before) -> list[Made]:
    """The files to publish. Raises `NodeError` if a required one was there before and the step did not change it."""
    made: list[Made] = []
    for number, output in enumerate(step.makes):
        found = await values.resolve(output.path, phase, path, f"makes.{number}")
        if found is None and not output.is_own:
            continue  # the node was not asked to make this file
        for item in found if isinstance(found, list) else [found]:
            if not isinstance(item, str):
                raise NodeError("artifact-path", f"{shown(item, 80)} is not a path", transient=False)
            old = before.get(item) if output.is_own else None
            if old is not None and old == await values.durable.look("fingerprint", item):
                if not output.required:
                    continue
                raise NodeError("artifact-unchanged", f"`{item}` was there before, and the step did not change it")
            is_new = item not in before and "*" not in before
            made.append(Made(item, output.name, output.schema, output.required, is_new))
    written = output_of(values, phase, step, step.published)
    paths = [written] if isinstance(written, str) else written or ()
    return made + [Made(item, None, None, required=True) for item in paths if isinstance(item, str)]


def output_of(values: Resolver, phase: Phase, step: Step, name: str | None) -> Any:
    """An output of a step that has just run. None if it has no such output."""
    outputs = values.steps[phase.id][step.id].get("outputs") if name is not None else None
    return outputs.get(name) if isinstance(outputs, dict) else None
