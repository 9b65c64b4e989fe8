"""`review-verdict`: decides from the findings of a review whether a change is ready to merge.

It writes the decision into the JSON file of the review. `ready-to-merge.md` of the task exists afterwards if, and
only if, no finding blocks. Running it again changes nothing. The other nodes of this folder use its rule for
findings that block, and its way to find the artifacts of the task in `taskKey`.
"""

from __future__ import annotations

from typing import Any

from handrail.driven.artifacts.agentweaver_params import TaskArtifacts
from handrail.driven.artifacts.names import name_text
from handrail.driven.artifacts.project_files import ProjectFiles
from handrail.driven.forms.form import SEVERITIES_VARIABLE, blocking_severities, severity_of
from handrail.extensions.contracts import Node, NodeContext, NodeError, OutputVerdict, Work
from handrail.source.fields import Field
from handrail.source.values import Unresolved
from handrail.steps.nodes.files.json_files import read_json, remove_file, write_json, write_text

TASK_KEY = Field("taskKey", ("text",), "the key of the task, which is the name of its scope", required=True, shortest=1)


def iteration_field(what: str) -> Field:
    return Field("iteration", ("integer", "null"), f"the iteration of {what}; by default the newest one", least=1)


def task_artifacts(work: Work, context: NodeContext) -> TaskArtifacts:
    """The artifacts of the task. Raises `NodeError` if its key cannot be a folder."""
    try:
        return TaskArtifacts(ProjectFiles(context.project), name_text(work.params.get("taskKey"), "key"))
    except Unresolved as error:
        raise NodeError(error.code, error.message, transient=False) from error


def iteration_of(work: Work, inputs: TaskArtifacts, kind: str) -> int:
    """The given iteration, else the newest one of this kind of file, else 1."""
    return work.params.get("iteration") or inputs.newest(kind) or 1


def load_artifact(inputs: TaskArtifacts, context: NodeContext, kind: str, path: str) -> dict[str, Any]:
    """The content of an artifact. Raises `NodeError` if it is missing or does not match the schema of its kind."""
    data = read_json(context, path, inputs.table.kinds[kind].schema)
    assert isinstance(data, dict)
    return data


BLOCKING_SEVERITIES = Field(
    "blockingSeverities",
    ("list", "text", "null"),
    f"the severities that block; by default those in `{SEVERITIES_VARIABLE}`, else blocker, critical and high",
    items=("text",),
)


def severities_that_block(work: Work, context: NodeContext) -> list[str]:
    """The severities that block. Raises `NodeError` for an unknown one."""
    try:
        return blocking_severities(work.params.get(BLOCKING_SEVERITIES.name), context.env)
    except Unresolved as error:
        raise NodeError(error.code, error.message, transient=False) from error


def blocking_titles(findings: list[dict[str, Any]], blocking: list[str]) -> list[str]:
    """The titles of the findings whose severity blocks."""
    found = [finding for finding in findings if severity_of(finding.get("severity")) in blocking]
    return [finding["title"] for finding in found if str(finding.get("title") or "").strip()]


KIND = "review-json-file"
READY = "# Ready to merge\n\nThe review has no blocking finding.\n\n## Summary\n\n{summary}\n"
NODE = Node(
    about="Decides from the findings of a review whether a change is ready to merge, and records the decision.",
    params=(TASK_KEY, iteration_field("the review"), BLOCKING_SEVERITIES),
    others="ignored",
    outputs={
        "readyToMerge": "true if no finding blocks",
        "blockingSeverities": "the severities that block",
        "blockingFindingTitles": "the titles of the findings that block",
        "blockingFindingsCount": "how many block",
        "summary": "the summary of the review",
        "reviewJsonFile": "the JSON file of the review",
        "writtenFiles": "the files that are published: the review, and `ready-to-merge.md` if it is ready",
    },
    published="writtenFiles",
    verdict=OutputVerdict("readyToMerge", True, ("blockingFindingTitles",)),
)


async def run(work: Work, context: NodeContext) -> Any:
    inputs, blocking = task_artifacts(work, context), severities_that_block(work, context)
    path, marker = inputs.path(KIND, iteration_of(work, inputs, KIND)), inputs.path("ready-to-merge-file")
    review = load_artifact(inputs, context, KIND, path)
    titles = blocking_titles(review["findings"], blocking)
    is_ready = not titles
    if review["ready_to_merge"] is not is_ready:
        write_json(context, path, {**review, "ready_to_merge": is_ready})
    if is_ready:
        write_text(context, marker, READY.format(summary=review["summary"].strip()))
    else:
        remove_file(context, marker)
    return {
        "readyToMerge": is_ready,
        "blockingSeverities": blocking,
        "blockingFindingTitles": titles,
        "blockingFindingsCount": len(titles),
        "summary": review["summary"],
        "reviewJsonFile": path,
        "writtenFiles": [path, marker] if is_ready else [path],
    }
