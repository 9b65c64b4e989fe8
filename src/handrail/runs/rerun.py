"""The questions whether a step may run again, and what their answers mean. Pure.

There are two: a node was interrupted and may have finished, or a node finished and the proof of its step does not hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from handrail.contracts import NodeError
from handrail.source.written import typed

RERUN = "rerun"
"""The id of these forms, and of their first field."""
WHOLE = "value"
"""In `Work.reads`: the flow uses the whole result, not only outputs of it."""
_OUTPUT = "outputs."
_AGAIN = {"value": "again", "label": "run it again"}


def interrupted_form(path: str, start: int, reads: Sequence[str]) -> dict[str, Any]:
    """Asks what to do with an interrupted node. If it had finished, the outputs that the flow uses are asked for."""
    title = f"Did `{path}` finish? It was running when the run was interrupted"
    options = [
        _AGAIN,
        {"value": "done", "label": "it finished: continue"},
        {"value": "fail", "label": "neither: fail the run"},
    ]
    fields = [
        {"id": RERUN, "type": "single-select", "label": "what to do with it", "required": True, "options": options}
    ]
    when = {"field": RERUN, "equals": "done"}
    told = "the flow uses it; JSON or text, `null` if there is none"
    for name in reads:
        label = "its whole result" if name == WHOLE else f"its output `{name}`"
        id_ = name if name == WHOLE else f"{_OUTPUT}{name}"
        field = {"id": id_, "type": "text", "label": label, "help": told, "required": True, "when": when}
        fields.append({**field, "json": True})
    return {"formId": RERUN, "title": title, "description": f"attempt {start}", "fields": fields}


def interrupted(path: str) -> str:
    return f"`{path}` was running when the run was interrupted, and may have finished"


def assumed_result(answer: Mapping[str, Any]) -> Any:
    """The result of a node that had finished, by the word of a person."""
    value = {name.removeprefix(_OUTPUT): _read(text) for name, text in answer.items() if name.startswith(_OUTPUT)}
    whole = _read(answer[WHOLE]) if answer.get(WHOLE) is not None else {}
    return {"assumedDone": True, **whole, **value} if isinstance(whole, dict) else whole


def _read(answer: Any) -> Any:
    return typed(answer) if isinstance(answer, str) else answer


def refuted_form(path: str, number: int, reason: str) -> dict[str, Any]:
    """Asks whether a step whose proof does not hold may run again."""
    title = f"`{path}` has finished, but: {reason}"
    options = [_AGAIN, {"value": "fail", "label": "do not: fail the run, so that I can fix it by hand"}]
    field = {"id": RERUN, "type": "single-select", "label": "run it again?", "required": True, "options": options}
    return {"formId": RERUN, "title": title, "description": f"after {number} failed attempts", "fields": [field]}


def refuse_rerun(path: str, error: NodeError) -> NodeError:
    """The error of a step that must not run again, and whose proof does not hold."""
    told = f"{error.message}; `{path}` has `rerun: never`, so it is not run again"
    return NodeError(error.code, told, transient=False)
