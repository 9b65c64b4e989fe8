"""What an agent is told when a prompt comes, a conversation begins or a subagent starts: only what changed."""

from __future__ import annotations

import os

from handrail.hosts.tools import PAUSED, TURN, card_of, set_mark
from handrail.state import jsonlite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SHOWN = "shown"


def answer(seat: dict[str, Any] | None, request: dict[str, Any]) -> dict[str, Any]:
    card = card_of(seat) if seat else {}
    if seat is None or card.get("context") is None:
        return {}
    if request["event"] == "subagent":
        return {"context": card["brief"]}
    if request["event"] == "begin":
        return _begin(seat, card, request)
    begin_turn(seat["folder"], request)
    return {"context": news(seat["folder"], card) or card["statusLine"], "title": card["title"], **_for_scripts(card)}


def begin_turn(folder: str, request: dict[str, Any]) -> None:
    """A person's interrupt is final until they speak; what else wakes the agent does not set it going again.

    A turn that began and never came to a stop was interrupted. The host's own record of it may come late.
    """
    if request.get("by_person", True):
        set_mark(folder, PAUSED, False)
    elif request.get("interrupted") or os.path.exists(os.path.join(folder, TURN)):
        set_mark(folder, PAUSED, True)
    set_mark(folder, TURN, True)


def _for_scripts(card: dict[str, Any]) -> dict[str, Any]:
    return {"statusLine": card["statusLine"]}


def _begin(seat: dict[str, Any], card: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """A conversation that goes on has its history; one that was compacted, or killed, has lost some of it."""
    if request["source"] == "compact" or not _was_heard(seat["folder"], card, request.get("transcript")):
        forget(seat["folder"])
    set_mark(seat["folder"], TURN, False)
    if card["state"]["cancel_asked"]:
        _withdraw_cancel(seat)
    text = news(seat["folder"], card)
    return {"context": text} if text else {}


def _was_heard(folder: str, card: dict[str, Any], transcript: str | None) -> bool:
    """Is what the agent was told in the history that its conversation goes on with?

    A host that is killed loses what it did not write down yet. Without a transcript there is no reason for doubt.
    """
    if not transcript:
        return True
    try:
        with open(transcript, "rb") as file:
            history = file.read()
    except OSError:
        return False
    call = (_shown(folder) or "").partition("\n")[2]
    if call and f'"tool_use_id":"{call}"'.encode() in history:
        return True
    context, task = str(card["context"]), card["state"]["task_id"]
    step = context.find(" (", context.find("**Progress:**"))
    return jsonlite.dumps(context[context.rfind(task, 0, step) : step])[1:-1].encode() in history


def _withdraw_cancel(seat: dict[str, Any]) -> None:
    import time

    from handrail.sessions.machine import Resumed
    from handrail.sessions.store import Session

    Session(seat["folder"], seat["project"], seat["session"], time.time).do(Resumed())


def mark_of(card: dict[str, Any]) -> str:
    """Changes whenever the agent has to be told something new."""
    state = card["state"]
    return f"{state['task_id']} {state['steps']} {state['plan']}"


def news(folder: str, card: dict[str, Any]) -> str | None:
    """The whole context text if the agent has not been told yet; nothing if it has."""
    if (_shown(folder) or "").partition("\n")[0] == mark_of(card):
        return None
    remember(folder, mark_of(card))
    return str(card["context"])


def _shown(folder: str) -> str | None:
    try:
        with open(os.path.join(folder, SHOWN), encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError):
        return None


def remember(folder: str, mark: str, call: str = "") -> None:
    """Note what the agent was told, and as the result of which call. If that fails it is told twice."""
    _write_shown(folder, f"{mark}\n{call}" if call else mark)


def copy_shown(parent: str, child: str) -> None:
    """A conversation that has another's history knows what that one was told."""
    if told := _shown(parent):
        _write_shown(child, told)


def _write_shown(folder: str, text: str) -> None:
    try:
        handle = os.open(os.path.join(folder, SHOWN), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        return


def forget(folder: str) -> None:
    try:
        os.unlink(os.path.join(folder, SHOWN))
    except OSError:
        return
