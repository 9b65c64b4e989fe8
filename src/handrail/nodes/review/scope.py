"""The artifacts of the task that a step names with `taskKey`, for the nodes of reviews and plans."""

from __future__ import annotations

from typing import Any

from handrail.artifacts.inputs import Inputs
from handrail.artifacts.names import name_text, whole_iteration
from handrail.artifacts.world import World
from handrail.contracts import NodeContext, NodeError, Work
from handrail.nodes.jsonfiles import read_json
from handrail.source.fields import Field
from handrail.source.values import Unresolved

TASK_KEY = Field("taskKey", ("text",), "the key of the task, which is the name of its scope", required=True, shortest=1)


def iteration_field(what: str) -> Field:
    return Field("iteration", ("integer", "null"), f"the iteration of {what}; by default the newest one", least=1)


def inputs_of(work: Work, context: NodeContext) -> Inputs:
    """The artifacts of the task. Raises `NodeError` if its key cannot be a folder."""
    try:
        return Inputs(World(context.project), name_text(work.params.get("taskKey"), "key"))
    except Unresolved as error:
        raise NodeError(error.code, error.message, transient=False) from error


def iteration_of(work: Work, inputs: Inputs, kind: str) -> int:
    """The given iteration, else the newest one of this kind of file, else 1."""
    given = work.params.get("iteration")
    if given is None:
        return inputs.newest(kind) or 1
    try:
        return whole_iteration(given)
    except Unresolved as error:
        raise NodeError(error.code, error.message, transient=False) from error


def load(inputs: Inputs, context: NodeContext, kind: str, path: str) -> dict[str, Any]:
    """The content of an artifact. Raises `NodeError` if it is missing or does not match the schema of its kind."""
    data = read_json(context, path, inputs.table.kinds[kind].schema)
    assert isinstance(data, dict)
    return data
