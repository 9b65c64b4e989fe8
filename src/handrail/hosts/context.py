"""The text for an agent when a prompt arrives, a conversation opens or a subagent starts: only what changed."""

from __future__ import annotations

from handrail.sessions import marks
from handrail.sessions.current import current_card

TYPE_CHECKING = False
if TYPE_CHECKING:
    from handrail.contracts import Host
    from handrail.contracts.messages import (
        CardBody,
        Context,
        ConversationOpened,
        ModelCalled,
        PromptGiven,
        StateData,
        SubagentEnded,
        SubagentStarted,
    )
    from handrail.sessions.links import SessionRef


def tell(
    host: Host,
    ref: SessionRef | None,
    request: PromptGiven | ConversationOpened | ModelCalled | SubagentStarted | SubagentEnded,
) -> Context:
    if ref is not None and request["event"] == "subagent-end":
        marks.end_subagent(ref.folder)
    card = current_card(ref) if ref is not None else None
    if ref is None or card is None or card["context"] is None or request["event"] == "subagent-end":
        return context(None)
    if request["event"] == "subagent":
        return context(card["brief"])
    if request["event"] == "begin":
        return _begin(host, ref, card, request)
    if request["event"] == "model":
        return _before_model(ref.folder, card, request)
    begin_turn(ref.folder, request)
    answer = _told(ref.folder, card)
    text = answer["text"] or card["statusLine"]
    return {**answer, "text": text, "title": card["title"], "status_line": card["statusLine"]}


def context(text: str | None, title: str | None = None, notice: str | None = None) -> Context:
    return {"kind": "context", "text": text, "title": title, "status_line": None, "notice": notice}


def _told(folder: str, card: CardBody) -> Context:
    """The context text with its mark, if the agent does not have it yet."""
    text = news(folder, card)
    return context(None) if text is None else {**context(text), "mark": mark_of(card["state"])}


def begin_turn(folder: str, request: PromptGiven) -> None:
    """Record that a turn begins, and whether the agent is paused.

    After a person's interrupt the agent stays paused until the person writes a prompt; a notification does not end the
    pause. A turn that began but never ended was interrupted, even if the host has not recorded that yet. But a
    notification with the id of the turn that has begun came in the middle of it: the agent is still at work.
    """
    turn = request.get("turn") or ""
    marks.clear(folder, marks.SUBAGENTS)
    marks.clear(folder, marks.LET_GO)
    if request["by_person"]:
        marks.clear(folder, marks.PAUSED)
    elif turn and marks.content(folder, marks.TURN) == turn:
        return
    elif request["was_interrupted"] or marks.is_set(folder, marks.TURN):
        marks.set_mark(folder, marks.PAUSED)
    marks.set_mark(folder, marks.TURN, turn)


def _begin(host: Host, ref: SessionRef, card: CardBody, request: ConversationOpened) -> Context:
    """Repeat the context text if the history has lost it: after compaction, or after the host was killed.

    A host that tells only that compaction begins gets nothing now: the agent is told at its next prompt or call.
    """
    if request["source"] == "compacting":
        marks.clear(ref.folder, marks.SHOWN)
        marks.clear(ref.folder, marks.HISTORY)
        return context(None)
    if request["source"] == "compact" or not _was_heard(host, ref.folder, card, request["transcript"]):
        marks.clear(ref.folder, marks.SHOWN)
    marks.clear(ref.folder, marks.TURN)
    marks.clear(ref.folder, marks.HISTORY)
    if card["state"]["cancel_asked"]:
        _withdraw_cancel(ref)
    return context(None) if request.get("waits") else _told(ref.folder, card)


def _before_model(folder: str, card: CardBody, request: ModelCalled) -> Context:
    """The brief for a subagent; for the main agent the context text, if its history does not have it.

    The history does not keep this text, so it is not recorded as told: the next prompt tells it.
    """
    mark = mark_of(card["state"])
    if "told" in request:
        if mark in request["told"]:
            return context(None)
        marks.clear(folder, marks.SHOWN)
        marks.set_mark(folder, marks.HEARD)
        return context(card["context"])
    if marks.has_subagent(folder):
        return context(card["brief"])
    known, messages = marks.content(folder, marks.HISTORY), request.get("messages", 0)
    if known.isdigit() and messages < int(known):
        marks.clear(folder, marks.SHOWN)
    if known != str(messages):
        marks.set_mark(folder, marks.HISTORY, str(messages))
    return context(None if marks.shown(folder)[0] == mark else card["context"])


def _was_heard(host: Host, folder: str, card: CardBody, transcript: str | None) -> bool:
    """True if the conversation's history contains what the agent was told last.

    A host that is killed loses what it had not written yet. Without a transcript this assumes that nothing is lost.
    """
    if not transcript:
        return True
    try:
        with open(transcript, "rb") as file:
            history = file.read()
    except OSError:
        return False
    kept = getattr(host, "kept", None)
    history = kept(history) if kept is not None else history
    _, call = marks.shown(folder)
    if call and host.was_told(history, call):
        return True
    from handrail.state import jsonlite

    return jsonlite.dumps(_fingerprint(card))[1:-1].encode() in history


def _fingerprint(card: CardBody) -> str:
    """The part of a context text that no other has: from the task id to the number of the step."""
    text, task = str(card["context"]), card["state"]["task_id"]
    step = text.find(" (", text.find("**Progress:**"))
    return text[text.rfind(task, 0, step) : step]


def _withdraw_cancel(ref: SessionRef) -> None:
    import time

    from handrail.sessions.machine import Resumed
    from handrail.sessions.store import Session

    Session(ref, time.time).do(Resumed())


def mark_of(state: StateData) -> str:
    """A key that changes whenever the agent needs a new context text."""
    return f"{state['task_id']} {state['steps']} {state['plan']}"


def news(folder: str, card: CardBody) -> str | None:
    """The context text if the agent does not have it yet, else None. Records that it is told."""
    mark = mark_of(card["state"])
    if marks.shown(folder)[0] == mark:
        return None
    marks.remember(folder, mark)
    return card["context"]
