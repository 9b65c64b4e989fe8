"""`github-reviews`: reviews and comments of a pull request, as JSON and Markdown, and as findings of a review."""

from __future__ import annotations

from typing import Any

from handrail.contracts import Node, NodeContext, Work
from handrail.nodes.github.findings import QUIET, findings, last_time
from handrail.nodes.github.place import PULL_REQUEST, place
from handrail.nodes.jsonfiles import as_bytes, json_bytes, time_text, utc_time
from handrail.nodes.markdown import document, one_line
from handrail.nodes.outputs import FILES, OUTPUT_FILES
from handrail.nodes.remarks import AFTER, FINDINGS, FINDINGS_FILES, findings_text, where
from handrail.nodes.write_file import put_files
from handrail.services.numbered import pull_request
from handrail.source.values import as_text

NODE = Node(
    about="Fetches what people say about a GitHub pull request with GITHUB_TOKEN: reviews, comments on lines, general "
    "comments. A thread is one finding. What Handrail itself wrote is no finding.",
    params=(
        PULL_REQUEST,
        *OUTPUT_FILES,
        *FINDINGS_FILES,
        AFTER,
    ),
    outputs={
        "outputFile": "the file with Markdown",
        "outputJsonFile": "the file with JSON of the schema `github-review/v1`",
        "reviewFile": "the file with the findings; null if none was asked for",
        "reviewJsonFile": "the file with the findings as JSON of the schema `review-findings/v1`; null if none was "
        "asked for",
        "pullRequestUrl": "the address of the pull request",
        "reviewsCount": "how many reviews there are",
        "commentsCount": "how many comments there are",
        "findingsCount": "how many findings there are",
        "openCount": "how many of them are more than an information",
        "readyToMerge": "true if nobody requests changes, and if no finding is more than an information",
        "lastAt": "when something was said last; an empty text if nothing was said",
    },
    makes=(*FILES, *FINDINGS),
)


async def run(work: Work, context: NodeContext) -> Any:
    from handrail.services.github.pulls import fetch_reviews
    from handrail.services.github.site import github

    at, after = place(work, context, *FINDINGS), utc_time(work.params.get("after"))
    wanted = pull_request(as_text(work.params["pullRequestUrl"]), context.env)
    async with github(context.env) as service:
        said = await fetch_reviews(service, wanted, time_text())
    found = findings(said, after)
    files = {
        "outputJsonFile": json_bytes(said),
        "outputFile": as_bytes(_markdown(said)),
        "reviewJsonFile": json_bytes(found),
        "reviewFile": as_bytes(findings_text({"Pull request": wanted.page}, found)),
    }
    put_files({at.real[name]: data for name, data in files.items() if name in at.real}, context)
    return {
        **dict.fromkeys(FINDINGS),
        **at.given,
        "pullRequestUrl": wanted.page,
        "reviewsCount": len(said["reviews"]),
        "commentsCount": len(said["comments"]),
        "findingsCount": len(found["findings"]),
        "openCount": sum(finding["severity"] != QUIET for finding in found["findings"]),
        "readyToMerge": found["ready_to_merge"],
        "lastAt": last_time(said),
    }


def _markdown(said: dict[str, Any]) -> str:
    facts = {
        "Pull request": said["pull_request_url"],
        "Commit": one_line(said["commit"]),
        "Reviews": str(len(said["reviews"])),
        "Comments": str(len(said["comments"])),
    }
    sections = []
    for review in said["reviews"]:
        title = f"Review: {one_line(review['state'].replace('_', ' '))}, {one_line(review['author'])}"
        sections.append((title, f"- Time: {one_line(review['submitted_at'])}\n\n{review['body'].strip()}".strip()))
    for number, comment in enumerate(said["comments"], 1):
        about = [f"- Author: {one_line(comment['author'])}", f"- Time: {one_line(comment['created_at'])}"]
        about += [f"- Thread: {one_line(comment['thread_id'])}"]
        about += ["- The code has changed since"] if comment["is_outdated"] else []
        sections.append((f"Comment {number}: {where(comment)}", "\n".join(about) + f"\n\n{comment['body'].strip()}"))
    title = f"Reviews of #{said['number']} in {one_line(said['repository'])}"
    return document(title, facts, sections, "No reviews or comments were found.")
