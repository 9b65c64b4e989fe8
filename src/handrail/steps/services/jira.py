"""Jira, cloud or server: an issue, the parent of a subtask, and the attachments that are text.

Credentials are sent to JIRA_BASE_URL only. Nothing is written here.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from handrail.extensions.contracts import LastingError, NodeError
from handrail.source.values import shown
from handrail.steps.services.addresses import JIRA, is_issue_key, is_same_host, jira_base, origin
from handrail.steps.services.http import JsonObject, Service, json_object

MOST_FILES = 50
LARGEST_FILE = 8 * 1024 * 1024
LARGEST_TOTAL = 32 * 1024 * 1024
MODES = ("auto", "basic", "bearer")
DOCUMENTS = (".doc",)
"""They are downloaded, but they are not text."""
TEXTS = (
    ".md", ".json", ".txt", ".csv", ".diff", ".html", ".ini", ".log", ".markdown", ".patch", ".properties", ".rst",
    ".sql", ".toml", ".tsv", ".xml", ".yaml", ".yml",
)  # fmt: skip
_LEFT_OUT = ("service-missing", "service-forbidden", "service-large")
"""After these failures an attachment is left out, and the rest is fetched."""


class Attachment(NamedTuple):
    """One attachment. `body` is None if it was not downloaded, and `reason` says why."""

    id: str
    name: str
    extension: str
    mime: str | None
    size: int | None
    created: str | None
    url: str
    body: bytes | None = None
    reason: str | None = None

    @property
    def text(self) -> str | None:
        if self.body is None or self.extension in DOCUMENTS:
            return None
        try:
            return self.body.decode("utf-16" if self.body[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
        except UnicodeDecodeError:
            return None


class Parent(NamedTuple):
    """The parent of a subtask. `issue` is None if it may not be seen, and `reason` says why."""

    key: str
    issue: dict[str, Any] | None
    reason: str | None = None


class FetchedIssue(NamedTuple):
    """`body` is the answer of Jira as it was sent; `issue` is its JSON."""

    body: bytes
    issue: dict[str, Any]
    parent: Parent | None
    attachments: tuple[Attachment, ...]


def jira(env: Mapping[str, str]) -> Service:
    """The configured Jira. Raises `NodeError` if a variable is missing or wrong."""
    base, key = jira_base(env), env.get("JIRA_API_KEY", "").strip()
    if base is None:
        raise _unset("set JIRA_BASE_URL to the address of your Jira; the credentials are sent nowhere else")
    if not key:
        raise _unset("set JIRA_API_KEY to an API token (cloud) or a personal access token (server)")
    mode = env.get("JIRA_AUTH_MODE", "").strip().lower() or "auto"
    if mode not in MODES:
        raise _unset(f"JIRA_AUTH_MODE has to be one of {', '.join(MODES)}, found `{shown(mode, 40)}`")
    if mode == "auto":
        mode = "basic" if "atlassian" in origin(base).host else "bearer"
    secrets: tuple[str, ...] = (key,)
    if mode == "basic":
        user = env.get("JIRA_USERNAME", "").strip()
        if not user:
            raise _unset("set JIRA_USERNAME to the account of JIRA_API_KEY, on the cloud its e-mail address")
        pair = base64.b64encode(f"{user}:{key}".encode()).decode()
        authorization, secrets = f"Basic {pair}", (key, pair)
    else:
        authorization = f"Bearer {key}"
    if not authorization.isascii() or not authorization.isprintable():
        raise _unset("JIRA_API_KEY contains a character that no token has")
    names = "JIRA_API_KEY and JIRA_USERNAME" if mode == "basic" else "JIRA_API_KEY"
    return Service(
        name=JIRA,
        base=base,
        headers={"Authorization": authorization},
        secrets=secrets,
        reason=_reason,
        advice={
            401: f"check {names} (JIRA_AUTH_MODE is {mode})",
            403: "may the account of JIRA_API_KEY see this?",
            404: "does the issue exist, and may the account of JIRA_API_KEY see it?",
        },
    )


def _unset(message: str) -> NodeError:
    return LastingError("service-config", f"{JIRA}: {message}")


def _reason(answer: JsonObject) -> object:
    texts = answer.data.get("errorMessages")
    if isinstance(texts, list) and texts:
        return "; ".join(map(str, texts))
    return answer.data.get("errors") or answer.data.get("message")


async def fetch(service: Service, api: str, *, with_attachments: bool) -> FetchedIssue:
    """Everything about an issue. `api` is its address in the API; it has to be on the configured host."""
    body, issue = await service.get_both(api)
    if not isinstance(issue, dict) or not isinstance(issue.get("fields"), dict):
        raise LastingError("service-json", f"{JIRA}: its answer is not an issue: it has no `fields`")
    parent = await _parent(service, api, issue["fields"])
    attachments = await _attachments(service, issue["fields"]) if with_attachments else ()
    return FetchedIssue(body, issue, parent, attachments)


async def _parent(service: Service, api: str, fields: dict[str, Any]) -> Parent | None:
    issue = json_object(fields)
    key = issue.child("parent").raw("key")
    if not issue.child("issuetype").flag("subtask") or not is_issue_key(key):
        return None
    url = urlsplit(api)
    address = url._replace(path=f"{url.path.rstrip('/').rpartition('/')[0]}/{key}").geturl()
    try:
        data = await service.get_json(address)
    except NodeError as error:
        if error.code not in ("service-missing", "service-forbidden"):
            raise
        return Parent(key, None, error.message)
    if not isinstance(data, dict):
        raise LastingError("service-json", f"{JIRA}: its answer for the parent `{key}` is not an issue")
    return Parent(key, data)


async def _attachments(service: Service, fields: dict[str, Any]) -> tuple[Attachment, ...]:
    """All attachments; those that are wanted and allowed with their content."""
    items = fields.get("attachment")
    attachments: list[Attachment] = []
    files, total = 0, 0
    for item in items if isinstance(items, list) else []:
        attachment = _attachment(item)
        reason = _why_left_out(attachment, service.base, files, LARGEST_TOTAL - total)
        if reason is None:
            attachment = await _download(service, attachment, min(LARGEST_FILE, LARGEST_TOTAL - total))
            total += len(attachment.body or b"")
            files += attachment.body is not None
        else:
            attachment = attachment._replace(reason=reason)
        attachments.append(attachment)
    return tuple(attachments)


async def _download(service: Service, attachment: Attachment, most: int) -> Attachment:
    try:
        return attachment._replace(body=await service.get_file(attachment.url, most))
    except NodeError as error:
        if error.code not in _LEFT_OUT:
            raise
        return attachment._replace(reason=error.message)


def _attachment(item: Any) -> Attachment:
    """An attachment as Jira describes it. Members that are missing or wrong become empty."""
    data = json_object(item)
    name, texts = data.raw("filename"), {key: text for key, text in data.data.items() if isinstance(text, str)}
    return Attachment(
        id=str(data.data.get("id", "")),
        name=name,
        extension=PurePosixPath(name.replace("\\", "/")).suffix.lower(),
        mime=texts.get("mimeType"),
        size=data.number("size"),
        created=texts.get("created"),
        url=data.raw("content"),
    )


def _why_left_out(attachment: Attachment, base: str, files: int, room: int) -> str | None:
    """Why an attachment is not downloaded. None if it is."""
    is_text = attachment.extension in TEXTS or (attachment.mime or "").startswith("text/")
    if not is_text and attachment.extension not in DOCUMENTS:
        return "its kind is not read as text"
    if not is_same_host(attachment.url, base):
        return "its address is not on the host of JIRA_BASE_URL"
    if attachment.size is not None and attachment.size > LARGEST_FILE:
        return f"it is larger than {LARGEST_FILE} bytes"
    if files >= MOST_FILES:
        return f"there are more than {MOST_FILES} files"
    if room <= 0 or (attachment.size or 0) > room:
        return f"all files together are larger than {LARGEST_TOTAL} bytes"
    return None
