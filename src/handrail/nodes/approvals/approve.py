"""`approve`: asks a person for a yes before the flow continues. Files that are part of the question must not change."""

from __future__ import annotations

import hashlib
from typing import Any

from handrail.contracts import Node, NodeContext, NodeError, Preview, Work
from handrail.nodes.approvals.agreeing import OTHERWISE, OUTPUTS, Agreement, Question, otherwise
from handrail.nodes.write_file import inside
from handrail.source.fields import SCALARS, Field
from handrail.source.plain import counted
from handrail.source.values import as_text, shown
from handrail.state.files import real_inside
from handrail.state.regular import Unreadable, read_regular

MAX_BYTES = 16 * 1024 * 1024
LONGEST_PATH = 500
NODE = Node(
    about="Asks a person for a yes, and waits for the answer. If one of the files changes after the yes, the person is "
    "asked again.",
    params=(
        Field("question", SCALARS, "the question, in one line", required=True, shortest=1, also=("title",)),
        Field("details", (*SCALARS, "null"), "a text below the question, or the path of a file with it"),
        Field("files", ("list", "null"), "files that the question is about", items=("text",)),
        OTHERWISE,
    ),
    outputs=OUTPUTS,
    stops="stopped",
    where=(),
    is_harmless=True,
)


async def run(work: Work, context: NodeContext) -> Any:
    after_no = otherwise(work)
    agreed = await _agreement(work, context).reach()
    return agreed.outputs(after_no)


async def changed(work: Work, context: NodeContext) -> list[str]:
    return await _agreement(work, context).changed()


def _agreement(work: Work, context: NodeContext) -> Agreement:
    question = Question(work.node, "approve", "Do you approve it?", {})
    return Agreement(question, lambda: preview(work, context), work, context)


async def preview(work: Work, context: NodeContext) -> Preview:
    title = " ".join(as_text(work.params["question"]).split())
    if not title:
        raise NodeError("params", "`question` is blank", transient=False)
    details, state = work.params.get("details"), {}
    facts: list[tuple[str, str]] = []
    if details is not None:
        text = as_text(details)
        data = _details_file(context, text)
        if data is not None:
            facts.append(("File", text))
            state[text] = _digest(data)
        facts.append(("Details", text if data is None else data.decode("utf-8", "replace").strip()))
    for path in _files(work.params.get("files")):
        data = _read(context, path)
        facts.append(("File", f"{path} ({counted(len(data), 'byte')})"))
        state[path] = _digest(data)
    return Preview(title=title, facts=tuple(facts), state=state)


def _files(given: Any) -> list[str]:
    listed = [] if given is None else given
    if not isinstance(listed, list) or not all(isinstance(item, str) and item for item in listed):
        raise NodeError("params", f"`files` has to be a list of paths, found {shown(given, 80)}", transient=False)
    return list(dict.fromkeys(listed))


def _details_file(context: NodeContext, text: str) -> bytes | None:
    """The content of the file that the details name. None if they name no file of the project: then they are text."""
    if not text.strip() or len(text) > LONGEST_PATH or "\n" in text:
        return None
    real = real_inside(context.project, text)
    try:
        return None if real is None else read_regular(real, MAX_BYTES)
    except Unreadable:
        return None


def _read(context: NodeContext, path: str) -> bytes:
    try:
        return read_regular(inside(context, path), MAX_BYTES)
    except Unreadable as error:
        raise NodeError("file-unreadable", f"`{path}` {error.message}", transient=False) from error


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
