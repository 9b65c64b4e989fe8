"""What earlier flows of AgentWeaver left in a scope, as later flows get it: newest iterations, and params with paths.

A file that may be missing is three params: `hasX`, `XPath` (null if it is missing) and `X`, a text for a prompt.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from handrail.artifacts.names import NOT_PROVIDED, Wanted
from handrail.artifacts.schemas import artifact_table
from handrail.artifacts.shelf import files_in
from handrail.contracts import NodeError

if TYPE_CHECKING:
    from handrail.artifacts.world import World

PLANNING = {
    "designFile": "design-file",
    "designJsonFile": "design-json-file",
    "planFile": "plan-file",
    "planJsonFile": "plan-json-file",
}
QA = {"qaFile": "qa-file", "qaJsonFile": "qa-json-file"}
_SCHEMAS = {
    "design-json-file": "implementation-design/v1",
    "plan-json-file": "implementation-plan/v1",
    "qa-json-file": "qa-plan/v1",
    "design-review-json-file": "design-review/v1",
    "planning-answers-json-file": "user-input/v1",
    "instant-task-input-json-file": "user-input/v1",
    "task-context-json-file": "task-context/v1",
}
_TASK = {
    "taskContextJsonFile": "task-context-json-file",
    "jiraTaskFile": "jira-task-file",
    "taskInputJsonFile": "instant-task-input-json-file",
}
"""The files that can say what the task is: params → kinds."""
_MORE = {
    "jiraAttachmentsManifestFile": "jira-attachments-manifest-file",
    "jiraAttachmentsContextFile": "jira-attachments-context-file",
    "planningAnswersJsonFile": "planning-answers-json-file",
}


class Inputs:
    """The artifacts of one task in a project."""

    def __init__(self, world: World, key: str) -> None:
        self.world = world
        self.key = key
        self.table = artifact_table()

    def path(self, kind: str, iteration: int | None = None) -> str:
        return self.world.artifact(Wanted(key=self.key, kind=kind, iteration=iteration))

    def iterations(self, *kinds: str) -> set[int]:
        """The iterations of which a file of one of these kinds exists."""
        found = [self.table.iterations(kind, self.key, self.world.project, files_in) for kind in kinds]
        return set().union(*found)

    def next(self, *kinds: str) -> int:
        return max(self.iterations(*kinds), default=0) + 1

    def newest(self, *kinds: str) -> int | None:
        return max(self.iterations(*kinds), default=None)

    def bundle(self, kinds: Mapping[str, str], iteration: int) -> dict[str, str]:
        """The paths of the files of one iteration: param → path."""
        return {name: self.path(kind, iteration) for name, kind in kinds.items()}

    def newest_complete(self, kinds: Mapping[str, str]) -> int | None:
        """The newest iteration that has all these files."""
        turns = sorted(self.iterations(*kinds.values()), reverse=True)
        return next((turn for turn in turns if not missing(self.bundle(kinds, turn))), None)

    def checked(self, kinds: Mapping[str, str], iteration: int, why: str) -> dict[str, str]:
        """The paths of one iteration. Raises `NodeError` if a file is missing or does not match its schema."""
        paths = self.bundle(kinds, iteration)
        if absent := missing(paths):
            raise NodeError("inputs-missing", f"{why}; missing: {', '.join(absent)}", transient=False)
        for name, kind in kinds.items():
            self.refuse_invalid(kind, paths[name])
        return paths

    def refuse_invalid(self, kind: str, path: str) -> None:
        """Raise `NodeError` if a file does not match the schema of its kind."""
        schema = _SCHEMAS.get(kind)
        wrong = None if schema is None else self.world.against_schema(path, schema)
        if wrong is not None:
            raise NodeError("inputs-invalid", wrong, transient=False)

    def optional(self, kinds: Mapping[str, str]) -> dict[str, Any]:
        """The params of files that may be missing. Those that exist match their schemas."""
        found: dict[str, Any] = {}
        for name, kind in kinds.items():
            path = self.path(kind)
            is_there = os.path.isfile(path)
            if is_there:
                self.refuse_invalid(kind, path)
            found |= _maybe(name, path if is_there else None)
        return found

    def qa(self, iteration: int) -> dict[str, Any]:
        """The params of the QA plan of an iteration, which may be missing, but not one half of it."""
        paths = self.bundle(QA, iteration)
        absent = missing(paths)
        if len(absent) == len(paths):
            return {"hasQaArtifacts": False, **{f"{n}Path": None for n in QA}, **dict.fromkeys(QA, NOT_PROVIDED)}
        self.checked(QA, iteration, "a QA plan is a Markdown file and a JSON file")
        return {"hasQaArtifacts": True, **{f"{name}Path": path for name, path in paths.items()}, **paths}


def missing(paths: Mapping[str, str]) -> list[str]:
    return [path for path in paths.values() if not os.path.isfile(path)]


def _maybe(name: str, path: str | None) -> dict[str, Any]:
    title = name[0].upper() + name[1:]
    return {f"has{title}": path is not None, f"{name}Path": path, name: path or NOT_PROVIDED}


def for_design_review(inputs: Inputs) -> dict[str, Any]:
    """The params that a flow of the kind `design-review-flow` gets from the scope."""
    turn, paths = _planned(inputs)
    more = {**inputs.qa(turn), **inputs.optional({**_TASK, **_MORE})}
    return {"planningIteration": turn, "iteration": inputs.next("design-review-file"), **paths, **more}


def for_plan_revise(inputs: Inputs) -> dict[str, Any]:
    """The params that a flow of the kind `plan-revise-flow` gets from the scope."""
    turn, paths = _planned(inputs)
    kinds = {"reviewFile": "design-review-file", "reviewJsonFile": "design-review-json-file"}
    has_own = not missing(inputs.bundle(kinds, turn))
    review = turn if has_own else inputs.newest_complete(kinds)
    if review is None:
        message = "a plan can be revised after a design review, and there is none"
        raise NodeError("inputs-missing", message, transient=False)
    revised = inputs.bundle({**PLANNING, **QA}, turn + 1)
    return {
        "reviewIteration": review,
        **inputs.checked(kinds, review, "a plan can be revised after a complete design review"),
        "sourcePlanningIteration": turn,
        "outputIteration": turn + 1,
        **paths,
        **inputs.qa(turn),
        **{f"revised{name[0].upper()}{name[1:]}": path for name, path in revised.items()},
        **inputs.optional({**_TASK, **_MORE}),
    }


def for_review(inputs: Inputs) -> dict[str, Any]:
    """The params that a flow of the kind `review-flow` gets. Without a plan or a task in the scope, it gets none."""
    turn = inputs.newest_complete(PLANNING)
    task = {} if turn is None else inputs.optional(_TASK)
    if turn is None or not any(task[f"{name}Path"] for name in _TASK):
        return {}
    return {"planningIteration": turn, **inputs.checked(PLANNING, turn, "a review needs a plan"), **task}


CONTRACTS = {
    "design-review-flow": for_design_review,
    "plan-revise-flow": for_plan_revise,
    "review-flow": for_review,
}
"""Flows of these kinds get params from the scope of their task."""


def _planned(inputs: Inputs) -> tuple[int, dict[str, str]]:
    """The newest complete plan: its iteration and its files."""
    turn = inputs.newest_complete(PLANNING)
    if turn is None:
        turn = inputs.newest(*PLANNING.values()) or 1
    return turn, inputs.checked(PLANNING, turn, "this needs a design and a plan from an earlier planning flow")
