"""`gitlab-review-artifacts`: the comments that `fetch-gitlab-review` wrote, as findings of a review."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
from handrail.source.fields import Field
from handrail.source.plain_text import counted
from handrail.source.values import as_text
from handrail.steps.nodes.files.json_files import json_bytes, read_json, utf8_bytes
from handrail.steps.nodes.files.write_file import path_inside, put_files
from handrail.steps.nodes.forges.documents import comment_finding, findings_text

SEVERITY = "medium"
NODE = Node(
    about="Turns the comments of a GitLab merge request into findings of a review.",
    params=(
        Field("gitlabReviewJsonFile", ("text",), "the file with the comments", required=True, shortest=1, names="path"),
        Field("reviewFile", ("text",), "the file for Markdown", required=True, shortest=1, names="path"),
        Field("reviewJsonFile", ("text",), "the file for JSON", required=True, shortest=1, names="path"),
    ),
    others="ignored",
    outputs={
        "findingsCount": "how many findings there are",
        "readyToMerge": "true if there are none",
    },
    makes=("reviewFile", "reviewJsonFile"),
)


async def run(work: Work, context: NodeContext) -> Any:
    real = [path_inside(context, as_text(work.params[name])) for name in ("reviewFile", "reviewJsonFile")]
    given = as_text(work.params["gitlabReviewJsonFile"])
    if len({*real, path_inside(context, given)}) < 3:
        raise NodeError("params", "the three files have to be different", transient=False)
    said = read_json(context, given, "gitlab-review/v1")
    comments = [comment for comment in said["comments"] if comment["body"].strip()]
    findings = [_finding(number, comment) for number, comment in enumerate(comments, 1)]
    found = {
        "summary": f"GitLab has {counted(len(findings), 'comment')} on the merge request.",
        "ready_to_merge": not findings,
        "findings": findings,
    }
    text = findings_text({"Merge request": said["merge_request_url"]}, found)
    put_files({real[1]: json_bytes(found), real[0]: utf8_bytes(text)}, context)
    return {"findingsCount": len(findings), "readyToMerge": not findings}


def _finding(number: int, comment: dict[str, Any]) -> dict[str, str]:
    return comment_finding(f"GitLab comment {number}", SEVERITY, comment, {"Discussion": comment["discussion_id"]})
