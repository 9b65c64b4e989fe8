"""Whether an open question still shows the present state, so that a yes to something else is refused at once.

The run looks again after each yes anyway. This look comes earlier, for the person who answers, and records nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from handrail import registry
from handrail.contracts import ApprovalKind, NodeContext, NodeError, Work
from handrail.errors import HandrailError, RefusedError
from handrail.runs.glance import APPROVED, kind_of_question
from handrail.runs.loaded import LoadedRun
from handrail.runs.machine import Asked, NodeStarted
from handrail.runs.memory import Memory
from handrail.runs.remember import recall
from handrail.runs.runs import Runs
from handrail.secrets.redaction import refuse_lost
from handrail.source.dataclasses import replace
from handrail.source.values import Unresolved


class ChangedError(RefusedError):
    """What an approval is about has changed since it was asked. `can_ask_again`: the run can show what it is now."""

    def __init__(self, message: str, hint: str, *, can_ask_again: bool) -> None:
        super().__init__(message, hint)
        self.can_ask_again = can_ask_again


async def refuse_changed(runs: Runs, run: LoadedRun, asked: Asked, values: Mapping[str, Any]) -> None:
    """Raise `ChangedError` for a yes to something that has changed since. A no always counts.

    If the look fails for another reason, such as a service that does not answer, the run has to find out.
    """
    if kind_of_question(asked.question) != "approval" or values.get(APPROVED) is not True:
        return
    kind = registry.nodes().get(str(asked.question.get("formId")))
    work = _work(runs, run, asked)
    if kind is None or not hasattr(kind, "changed") or work is None:
        return
    context = await asyncio.to_thread(_context, runs, run, asked.path)
    try:
        names = await cast(ApprovalKind, kind).changed(work, context)
    except NodeError as error:
        if error.transient:
            return
        hint = "undo that and answer again, or say no"
        raise ChangedError(f"a yes is not possible now: {error.message}", hint, can_ask_again=False) from error
    except (OSError, HandrailError):
        return
    if names:
        listed = ", ".join(f"`{name}`" for name in names)
        message = f"{listed} changed after this was asked, so the yes does not count"
        raise ChangedError(message, "read what is asked now, then answer again", can_ask_again=True)


def _work(runs: Runs, run: LoadedRun, asked: Asked) -> Work | None:
    """The work of the step that asks, as it was started. None if that is not recorded, or a secret in it is not set."""
    started = [event for _, event in run.records if isinstance(event, NodeStarted) and event.path == asked.path]
    if not started:
        return None
    last = started[-1]
    try:
        given = last.given if last.payload is None else run.payload(last.payload)
        params = runs.secrets.from_storage(given or {}).get("params")
        refuse_lost(params)
    except (HandrailError, Unresolved):
        return None
    if not isinstance(params, dict):
        return None
    node = str(asked.question["formId"])
    return Work(path=asked.path, node=node, params=params, prompt=None, own_checks=False, timeout=None)


def _context(runs: Runs, run: LoadedRun, path: str) -> NodeContext:
    """The context of a step that recalls what it recorded, and records nothing."""
    memory = Memory()
    for _, event in run.records:
        memory.take(event)
    recalls = partial(recall, memory.facts, runs.secrets, path)

    def remember(name: str, value: Any) -> Any:
        known = recalls(name)
        return value if known is None else known

    return replace(runs.outside(run).context, recall=recalls, remember=remember)
