"""What people say about a change, as findings of a review and as Markdown: the same for every forge. Pure."""

from __future__ import annotations

from typing import Any

from handrail.nodes.markdown import document, fenced, one_line
from handrail.source.fields import Field

LONGEST_EXCERPT = 72
FINDINGS = ("reviewFile", "reviewJsonFile")
FINDINGS_FILES = (
    Field("reviewFile", ("text",), "a file for the findings as Markdown", shortest=1, names="path"),
    Field("reviewJsonFile", ("text",), "a file for the findings as JSON", shortest=1, names="path"),
)
AFTER = Field("after", ("text", "null"), "only what was said after this time is a finding, such as `lastAt` of before")


def where(comment: dict[str, Any]) -> str:
    """The place of a comment: a line of a file, a file, or `general`."""
    path = comment.get("file_path")
    if not isinstance(path, str) or not path:
        return "general"
    line = comment.get("new_line") or comment.get("old_line")
    return one_line(path) if line is None else f"{one_line(path)}:{line}"


def remark(name: str, severity: str, comment: dict[str, Any], more: dict[str, str]) -> dict[str, str]:
    """A comment as a finding. `name` begins its title; `more` are further facts about it."""
    author, at = one_line(comment["author"]), where(comment)
    about = {"Place": at, "Author": author, **more, "Time": comment["created_at"]}
    lines = "\n".join(f"{fact}: {one_line(value)}" for fact, value in about.items())
    return {
        "severity": severity,
        "title": f"{name} | {at} | {author} | {one_line(comment['body'], LONGEST_EXCERPT)}",
        "description": f"{lines}\n\n{comment['body'].strip()}",
    }


def findings_text(facts: dict[str, str], found: dict[str, Any]) -> str:
    """The findings of a review for people and agents."""
    facts = {**facts, "Ready to merge": "yes" if found["ready_to_merge"] else "no"}
    listed = found["findings"]
    sections = [(item["title"], f"- Severity: {item['severity']}\n\n{item['description']}") for item in listed]
    return document("Review", facts, sections, "No findings.")


def issue_text(name: str, page: str, found: dict[str, Any]) -> str:
    """An issue and its comments. `name` is what the forge calls it, such as `#12`."""
    issue = found["issue"]
    facts = {
        "Issue": page,
        "State": one_line(issue["state"]),
        "Author": one_line(issue["author"]),
        "Labels": one_line(", ".join(issue["labels"])) or "none",
        "Milestone": one_line(issue["milestone"] or "none"),
        "Updated": one_line(issue["updated_at"]),
    }
    sections = [("Description", issue["body"].strip() or "There is no description.")]
    for number, comment in enumerate(found["comments"], 1):
        title = f"Comment {number}: {one_line(comment['author'])}, {one_line(comment['created_at'])}"
        sections.append((title, comment["body"].strip()))
    return document(f"{name} {one_line(issue['title'])}", facts, sections, "")


def change_facts(about: dict[str, Any], files: list[Any]) -> dict[str, str]:
    """What a pull or merge request says of itself, one line each."""
    return {
        "State": f"{one_line(about['state'])}{' (draft)' if about['draft'] else ''}",
        "Branches": f"{one_line(about['source_branch'])} → {one_line(about['target_branch'])}",
        "Commit": one_line(about["sha"]),
        "Author": one_line(about["author"]),
        "Updated": one_line(about["updated_at"]),
        "Changed files": str(len(files)),
    }


def change_sections(about: dict[str, Any], files: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The sections of a changed branch: its description, and the difference of each file."""
    words = about["description"].strip()
    sections = [("Description", words)] if words else []
    for file in files:
        moved = f" (from {one_line(file['old_path'])})" if file["old_path"] != file["new_path"] else ""
        title = f"{one_line(file['new_path'])}: {file['change_type']}{moved}"
        sections.append((title, fenced(file["diff"], "diff")))
    return sections
