"""What people say about a change, as JSON and Markdown, and as findings of a review.

`github-reviews`, `gitlab-reviews` and `change-reviews` do both. `fetch-gitlab-review` and `gitlab-review-artifacts`,
which AgentWeaver's flows have, do one of it each. A thread of comments is one finding, unless it is resolved. What a
step of Handrail wrote is none.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from handrail.extensions.contracts import LastingError, Node, NodeContext, NodeError, OneNode, Work
from handrail.source.fields import Field
from handrail.source.plain_text import counted
from handrail.source.values import as_text, shown
from handrail.steps.nodes.files import (
    json_bytes,
    output_files,
    path_inside,
    put_files,
    read_json,
    time_text,
    utf8_bytes,
)
from handrail.steps.nodes.forges.documents import (
    FORGE_MODULES,
    OUTPUT_NAMES,
    OWN_SCHEMA,
    change_node,
    document,
    one_line,
)
from handrail.steps.nodes.params import path_param
from handrail.steps.services.forges import FORGES, ForgeItem, ForgeName, is_marked

LONGEST_EXCERPT = 72
CHANGES_REQUESTED = "changes_requested"
USUAL_SEVERITY, LOWEST_SEVERITY = "medium", "info"
FINDINGS_NAMES = ("reviewFile", "reviewJsonFile")
_FINDINGS_FILES = (
    path_param("reviewFile", "a file for the findings as Markdown", required=False),
    path_param("reviewJsonFile", "a file for the findings as JSON", required=False),
)
_AFTER = Field("after", ("text", "null"), "only what was said after this time is a finding, such as `lastAt` of before")
_FINDINGS_OUTPUTS = {
    "reviewFile": "the file with the findings; null if none was asked for",
    "reviewJsonFile": "the file with the findings as JSON of the schema `review-findings/v1`; null if none was "
    "asked for",
}
_COMMENTS_COUNT = {"commentsCount": "how many comments there are; notes that the service wrote itself do not count"}
_FINDINGS_COUNT = {"findingsCount": "how many findings there are"}
_COUNTS = {
    **_COMMENTS_COUNT,
    **_FINDINGS_COUNT,
    "openCount": "how many of them are more than an information",
    "readyToMerge": "true if nobody requests changes, and if no finding is more than an information",
    "lastAt": "when something was said last; an empty text if nothing was said",
}


async def _run(kind: ForgeName, reference: str, work: Work, context: NodeContext) -> dict[str, Any]:
    files, forge = output_files(work, context, *OUTPUT_NAMES, *FINDINGS_NAMES), FORGE_MODULES[kind]
    after = _utc_time(work.params.get("after"), exact=kind == "gitlab")
    target = forge.change(reference, context.env)
    async with forge.open_service(context.env) as service:
        data = await forge.fetch_reviews(service, target, time_text())
    review = _findings(kind, data, after)
    findings = review["findings"]
    contents = {
        "outputJsonFile": json_bytes(data),
        "outputFile": utf8_bytes(_markdown(kind, target, data)),
        "reviewJsonFile": json_bytes(review),
        "reviewFile": utf8_bytes(_findings_markdown(kind, target.page, review)),
    }
    files.write(contents, context)
    return {
        **dict.fromkeys(FINDINGS_NAMES),
        **files.paths,
        "forge": kind,
        "url": target.page,
        "reviewsCount": len(data.get("reviews", ())),
        "commentsCount": len(data["comments"]),
        "findingsCount": len(findings),
        "openCount": sum(finding["severity"] != LOWEST_SEVERITY for finding in findings),
        "readyToMerge": review["ready_to_merge"],
        "lastAt": max((_time(kind, item) for item in (*data.get("reviews", ()), *data["comments"])), default=""),
    }


def _time(kind: ForgeName, item: dict[str, Any]) -> str:
    """When a comment or a review was written; an empty text if the forge does not say it."""
    try:
        return _utc_time(item["submitted_at" if "submitted_at" in item else "created_at"], exact=kind == "gitlab")
    except NodeError:
        return ""


def _utc_time(value: Any, *, exact: bool) -> str:
    """A time in seconds, or exactly, in a form that can be compared as text. An empty text is before all times."""
    text = "" if value is None else as_text(value).strip()
    if not text:
        return ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        message = f"`after` has to be a time such as 2026-01-31T12:00:00Z, found `{shown(value, 80)}`"
        raise LastingError("params", message) from None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if exact else "%Y-%m-%dT%H:%M:%SZ")


def _is_later(kind: ForgeName, item: dict[str, Any], after: str) -> bool:
    """True if it was written later than `after`, or if the forge does not say when."""
    written = _time(kind, item)
    return not after or not written or written > after


def _findings(kind: ForgeName, data: dict[str, Any], after: str) -> dict[str, Any]:
    """A document of `review-findings/v1`. Only what was said later than `after` counts.

    It is ready to merge if nobody requests changes, and if no finding is more than an information.
    """
    words, reviews = FORGES[kind], data.get("reviews", ())
    remarks = [_review_remark(review) for review in reviews if _counts(kind, review, after)]
    remarks += [_thread_remark(words.thread, thread) for thread in _threads(kind, data["comments"], after)]
    findings = [
        _finding(f"{words.title} {remark['name']} {number}", remark["severity"], remark, remark["more"])
        for number, remark in enumerate(remarks, 1)
    ]
    is_ready = not any(map(_asks, reviews)) and all(item["severity"] == LOWEST_SEVERITY for item in findings)
    return {
        "summary": f"{words.title} has {counted(len(findings), 'remark')} on the {words.change}.",
        "ready_to_merge": is_ready,
        "findings": findings,
    }


def _asks(review: dict[str, Any]) -> bool:
    """True if a review requests changes, and no later one of the same person replaces it."""
    return review["state"] == CHANGES_REQUESTED and review["is_current"] is True


def _counts(kind: ForgeName, review: dict[str, Any], after: str) -> bool:
    return not review["is_own"] and bool(review["body"].strip() or _asks(review)) and _is_later(kind, review, after)


def _review_remark(review: dict[str, Any]) -> dict[str, Any]:
    usual = USUAL_SEVERITY if review["state"] == "commented" else LOWEST_SEVERITY
    return {
        "name": "review",
        "severity": "high" if _asks(review) else usual,
        "author": review["author"],
        "created_at": review["submitted_at"],
        "body": review["body"].strip() or "Changes are requested; see the comments.",
        "more": {"Review": review["state"].replace("_", " ")},
    }


def _threads(kind: ForgeName, comments: list[dict[str, Any]], after: str) -> list[list[dict[str, Any]]]:
    """The open threads in which a person said something later than `after`."""
    threads: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    for comment in comments:
        threads.setdefault((comment.get("kind"), comment[f"{FORGES[kind].thread}_id"]), []).append(comment)
    return [
        thread
        for thread in threads.values()
        if not _is_resolved(thread)
        and any(not is_marked(comment["body"]) and _is_later(kind, comment, after) for comment in thread)
    ]


def _is_resolved(thread: list[dict[str, Any]]) -> bool:
    resolvable = [comment for comment in thread if comment.get("resolvable")]
    return bool(resolvable) and all(comment["resolved"] for comment in resolvable)


def _thread_remark(word: str, thread: list[dict[str, Any]]) -> dict[str, Any]:
    """A thread: its first comment, and the replies below it. On a line that has changed since, it is less severe."""
    first, replies = thread[0], thread[1:]
    more, severity = {word.capitalize(): first[f"{word}_id"]}, USUAL_SEVERITY
    if first.get("is_outdated"):
        more, severity = {**more, "Note": "the code has changed since"}, "low"
    if first.get("kind") == "general" and first["is_bot"]:
        severity = LOWEST_SEVERITY
    answers = [f"{reply['author']} replied at {reply['created_at']}:\n\n{reply['body'].strip()}" for reply in replies]
    body = "\n\n".join([first["body"].strip(), *answers])
    return {**first, "name": "comment", "severity": severity, "body": body, "more": more}


def _finding(name: str, severity: str, comment: dict[str, Any], more: dict[str, str]) -> dict[str, str]:
    """A comment as a finding. `name` begins its title; `more` are further facts about it."""
    author, place = one_line(comment["author"]), _place(comment)
    about = {"Place": place, "Author": author, **more, "Time": comment["created_at"]}
    lines = "\n".join(f"{fact}: {one_line(value)}" for fact, value in about.items())
    return {
        "severity": severity,
        "title": f"{name} | {place} | {author} | {one_line(comment['body'], LONGEST_EXCERPT)}",
        "description": f"{lines}\n\n{comment['body'].strip()}",
    }


def _place(comment: dict[str, Any]) -> str:
    """The place of a comment: a line of a file, a file, or `general`."""
    path = comment.get("file_path")
    if not isinstance(path, str) or not path:
        return "general"
    line = comment.get("new_line") or comment.get("old_line")
    return one_line(path) if line is None else f"{one_line(path)}:{line}"


def _findings_markdown(kind: ForgeName, page: str, review: dict[str, Any]) -> str:
    findings = review["findings"]
    facts = {FORGES[kind].change.capitalize(): page, "Ready to merge": "yes" if review["ready_to_merge"] else "no"}
    sections = [(item["title"], f"- Severity: {item['severity']}\n\n{item['description']}") for item in findings]
    return document("Review", facts, sections, "No findings.")


def _markdown(kind: ForgeName, target: ForgeItem, data: dict[str, Any]) -> str:
    if kind == "gitlab":
        title, facts = f"Comments on {target.name} of {one_line(target.project)}", {"Merge request": target.page}
        nothing = "No comments were found."
    else:
        title, nothing = f"Reviews of {target.name} in {one_line(target.project)}", "No reviews or comments were found."
        reviews = str(len(data["reviews"]))
        facts = {"Pull request": target.page, "Commit": one_line(data["commit"]), "Reviews": reviews}
    sections = []
    for review in data.get("reviews", ()):
        heading = f"Review: {one_line(review['state'].replace('_', ' '))}, {one_line(review['author'])}"
        sections.append((heading, f"- Time: {one_line(review['submitted_at'])}\n\n{review['body'].strip()}".strip()))
    for number, comment in enumerate(data["comments"], 1):
        heading = f"{number}. {_place(comment)}" if kind == "gitlab" else f"Comment {number}: {_place(comment)}"
        sections.append((heading, f"{_about(kind, comment)}\n\n{comment['body'].strip()}"))
    return document(title, {**facts, "Comments": str(len(data["comments"]))}, sections, nothing)


def _about(kind: ForgeName, comment: dict[str, Any]) -> str:
    thread = FORGES[kind].thread
    lines = [f"- Author: {one_line(comment['author'])}", f"- Time: {one_line(comment['created_at'])}"]
    lines += [f"- {thread.capitalize()}: {one_line(comment[f'{thread}_id'])}"]
    if kind == "gitlab":
        state = "resolved" if comment["resolved"] else "open" if comment["resolvable"] else "not resolvable"
        lines += [f"- State: {state}"]
    elif comment["is_outdated"]:
        lines += ["- The code has changed since"]
    return "\n".join(lines)


async def _run_findings(work: Work, context: NodeContext) -> Any:
    """Only the findings, from the comments in a file. Each comment is one."""
    real = [path_inside(context, work.params[name]) for name in FINDINGS_NAMES]
    path = work.params["gitlabReviewJsonFile"]
    if len({*real, path_inside(context, path)}) < 3:
        raise LastingError("params", "the three files have to be different")
    data = read_json(context, path, "gitlab-review/v1")
    comments = [comment for comment in data["comments"] if comment["body"].strip()]
    findings = [
        _finding(f"GitLab comment {number}", USUAL_SEVERITY, comment, {"Discussion": comment["discussion_id"]})
        for number, comment in enumerate(comments, 1)
    ]
    review = {
        "summary": f"GitLab has {counted(len(findings), 'comment')} on the merge request.",
        "ready_to_merge": not findings,
        "findings": findings,
    }
    text = _findings_markdown("gitlab", data["merge_request_url"], review)
    put_files({real[1]: json_bytes(review), real[0]: utf8_bytes(text)}, context)
    return {"findingsCount": len(findings), "readyToMerge": not findings}


def _reviews_node(kind: ForgeName | None, schema: str, about: str, more: dict[str, str]) -> OneNode:
    node = Node(
        about=about,
        params=(*_FINDINGS_FILES, _AFTER),
        outputs={**_FINDINGS_OUTPUTS, **more, **_COUNTS},
        makes=FINDINGS_NAMES,
    )
    return change_node(kind, schema, node, _run)


GITHUB = _reviews_node(
    "github",
    "`github-review/v1`",
    "Fetches what people say about a GitHub pull request with GITHUB_TOKEN: reviews, comments on lines, general "
    "comments. A thread is one finding. What Handrail itself wrote is no finding.",
    {"reviewsCount": "how many reviews there are"},
)
GITLAB = _reviews_node(
    "gitlab",
    "`gitlab-review/v1`",
    "Fetches what people say about a GitLab merge request with GITLAB_TOKEN. A discussion is one finding, unless it is "
    "resolved. What Handrail itself wrote is no finding.",
    {},
)
CHANGE_REVIEWS = _reviews_node(
    None,
    OWN_SCHEMA,
    "Fetches what people say about a pull request of GitHub (`github-reviews`) or a merge request of GitLab "
    "(`gitlab-reviews`).",
    {},
)
GITLAB_COMMENTS = change_node(
    "gitlab",
    "`gitlab-review/v1`",
    Node(
        about="Fetches the comments of a GitLab merge request with GITLAB_TOKEN.",
        others="ignored",
        outputs=_COMMENTS_COUNT,
    ),
    _run,
)
GITLAB_FINDINGS = OneNode(
    Node(
        about="Turns the comments of a GitLab merge request into findings of a review.",
        params=(
            path_param("gitlabReviewJsonFile", "the file with the comments"),
            path_param("reviewFile", "the file for Markdown"),
            path_param("reviewJsonFile", "the file for JSON"),
        ),
        others="ignored",
        outputs={**_FINDINGS_COUNT, "readyToMerge": "true if there are none"},
        makes=FINDINGS_NAMES,
    ),
    _run_findings,
)
