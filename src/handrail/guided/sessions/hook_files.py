"""The small files that hooks read and write: the link of a conversation, and a session's card and marks.

A hook reads the link first; if there is none, no workflow is active. The card has all that a hook needs. It is derived
from the journal, and is not used if it does not cover the whole journal or its checksum is wrong. Marks say what
happened since the last move; if one is lost, an agent gets a text twice or one more reminder. Imports almost nothing.
"""

from __future__ import annotations

import os

from handrail.base import jsonlite
from handrail.base.files import overwrite, read_regular, remove, replace
from handrail.base.jsonlite import decode_line, encode_line
from handrail.base.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from handrail.extensions.contracts.messages import Card
    from handrail.settings.folders import UserFolders

_FORK = {"fork": True}


class UnsettledFork(ValueError):
    """The conversation is a fork, and its parent is not known yet."""


class SessionRef(Record):
    """Where a session is stored: its folder, project and id, and the host's link to it, if there is one."""

    folder: str
    project: str
    session: str
    link: str | None = None


def link_path(places: UserFolders, agent: str, conversation: str) -> str:
    from handrail.settings.folders import file_name

    return os.path.join(places.state, "hosts", file_name(agent), file_name(conversation))


def read_link(link: str) -> SessionRef | None:
    """The session that a link points to; None if there is no link. Raises `ValueError` if the link is damaged."""
    try:
        text = read_regular(link).decode()
    except FileNotFoundError:
        if os.path.islink(link):
            raise ValueError("the link to the session leads nowhere") from None
        return None
    try:
        value = jsonlite.loads(text)
    except ValueError:
        raise ValueError("the link to the session is damaged") from None
    if value == _FORK:
        raise UnsettledFork("it is not known yet which conversation this one was forked from")
    if not isinstance(value, dict) or not {"folder", "project", "session"} <= value.keys():
        raise ValueError("the link to the session is damaged")
    return SessionRef(value["folder"], value["project"], value["session"], link)


def write_link(link: str, ref: SessionRef) -> None:
    body = jsonlite.dumps({"folder": ref.folder, "project": ref.project, "session": ref.session})
    replace(link, body.encode(), durable=True)


def write_unsettled_link(link: str) -> None:
    """Mark a fork whose parent is not known yet. Until then, its gate denies every call."""
    replace(link, jsonlite.dumps(_FORK).encode(), durable=True)


def remove_link(link: str) -> None:
    try:
        os.unlink(link)
    except FileNotFoundError:
        return


def is_unsettled_link(link: str) -> bool:
    """True if the link marks a fork whose parent is not known yet."""
    try:
        read_link(link)
    except (ValueError, OSError) as error:
        return isinstance(error, UnsettledFork)
    return False


def is_link_absent(link: str) -> bool:
    """True if there is no link. False if that cannot be found out, because then there may be one."""
    try:
        os.lstat(link)
    except OSError as error:
        return isinstance(error, FileNotFoundError)
    return False


CARD = "card"
JOURNAL = "journal"
ABOUT = "about"
CARD_FORMAT = 1


def read_card(folder: str) -> Card | None:
    """The card as it was written; None if there is no card or its checksum is wrong."""
    try:
        data = read_regular(os.path.join(folder, CARD))
    except OSError:
        return None
    card: Card | None = decode_line(data[:-1]) if data.endswith(b"\n") else None  # type: ignore[assignment]  # checksummed
    return card if card is not None and card.get("format") == CARD_FORMAT and _has_gate(card) else None


def _has_gate(card: Card) -> bool:
    """True if the card of an active workflow has its gate. Without it, every call would be allowed."""
    state: object = card.get("state")
    gate: object = card.get("gate")
    if not isinstance(state, dict) or state.get("status") not in ("active", "waiting"):
        return isinstance(state, dict) and gate is None
    return isinstance(gate, dict) and {"deny", "allow", "template", "values"} <= gate.keys()


def read_fresh_card(folder: str) -> Card | None:
    """The card if it covers the whole journal, else None."""
    card = read_card(folder)
    return card if card is not None and card.get("end") == journal_size(folder) else None


def journal_size(folder: str) -> int | None:
    """The size of the journal in bytes; None if there is no journal, -1 if its size cannot be read."""
    try:
        return os.stat(os.path.join(folder, JOURNAL)).st_size
    except FileNotFoundError:
        return None
    except OSError:
        return -1


def write_card(folder: str, card: Card) -> None:
    """Write the card. If that fails, remove it: hooks then read the journal, which is slower.

    It is written in place, because replacing a file takes as long as all else in a move. A hook that reads a
    half-written card notices it by the checksum.
    """
    path = os.path.join(folder, CARD)
    try:
        overwrite(path, encode_line(card))  # type: ignore[arg-type]  # a card is a dictionary
    except OSError:
        remove(path)


PROGRESS = "progress"
"""The agent did work since the last reminder."""
WORKED = "worked"
"""A call that writes or runs something was allowed. Contains the id of the task."""
TURN = "turn"
"""A turn has begun and has not ended yet. Contains the host's id of the turn, if it has one."""
PAUSED = "paused"
"""A person interrupted the agent and has not written a prompt since."""
LET_GO = "let-go"
"""Why the agent was allowed to stop, until the next prompt: for hosts that show people only a status line."""
SENT = "sent"
"""How often the agent was sent on since the last prompt, in a host that has a limit for that."""
AWAITED = "awaited"
"""The background work for which the agent was allowed to wait, one id per line."""
SHOWN = "shown"
"""What the agent was told last, and the tool call whose result told it."""
HEARD = "heard"
"""A plugin has asked what to tell the model. It was not told by a mark in its history."""
THREAD = "thread"
"""The id that the agent itself gave the conversation. Handrail calls the agent again in it."""
HISTORY = "history"
"""The length of the history at the last call of the model."""
SUBAGENTS = "subagents"
"""One sign per subagent that began or ended in this turn, if the host does not tell the calls of subagents apart."""
_BEGAN, _ENDED = b"+", b"-"
MOVING = "moving"
"""The message of the model, or the call, with the last move of the workflow."""
SEEN = "seen"
"""The last calls of `workflow_step` that a hook saw, one id per line, in a host that may skip hooks."""
_SEEN_KEPT = 20

BRANCH = "branch"
"""The number of the last record that the host stored in its own history of the conversation."""


def has_mark(folder: str, name: str) -> bool:
    return os.path.exists(os.path.join(folder, name))


def set_mark(folder: str, name: str, text: str = "") -> None:
    """Set a mark. An error is ignored."""
    try:
        handle = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        return


def mark_text(folder: str, name: str) -> str:
    """The text of a mark; empty if the mark is not set."""
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError):
        return ""


def clear_marks(folder: str, *names: str) -> None:
    for name in names:
        remove(os.path.join(folder, name))


def note_work(folder: str, task: str) -> None:
    """Record that a call which writes or runs something was allowed in a task."""
    if mark_text(folder, WORKED) != task:
        set_mark(folder, WORKED, task)


def is_new_work(folder: str, ids: tuple[str, ...]) -> bool:
    """True if one of these pieces of background work is not known yet. All of them are known from then on."""
    known_ids = set(filter(None, mark_text(folder, AWAITED).split("\n")))
    new_ids = {id_.replace("\n", " ") or " " for id_ in ids} - known_ids
    if new_ids:
        set_mark(folder, AWAITED, "\n".join(sorted(known_ids | new_ids)))
    return bool(new_ids)


def claim_move(folder: str, message: str, is_same: Callable[[str, str], bool]) -> bool:
    """Record a move of the workflow by its message or its call. False if the move before is in the same message."""
    from handrail.base.locks import locked

    with locked(os.path.join(folder, MOVING + ".lock"), 1.0, OSError):
        if is_same(mark_text(folder, MOVING), message):
            return False
        set_mark(folder, MOVING, message)
    return True


def see_call(folder: str, id_: str) -> None:
    """Record that a hook saw this call."""
    ids = mark_text(folder, SEEN).split("\n")[1 - _SEEN_KEPT :]
    set_mark(folder, SEEN, "\n".join([*ids, id_.replace("\n", " ")]))


def was_seen(folder: str, id_: str) -> bool:
    return bool(id_) and id_ in mark_text(folder, SEEN).split("\n")


def last_shown(folder: str) -> tuple[str, str]:
    """(what the agent was told last, the call that told it); empty texts if nothing is known."""
    text, _, call = mark_text(folder, SHOWN).partition("\n")
    return text, call


def remember_shown(folder: str, text: str, call: str = "") -> None:
    """Record what the agent was told. If that fails, it is told again later."""
    set_mark(folder, SHOWN, f"{text}\n{call}" if call else text)


def begin_subagent(folder: str) -> None:
    """Record that a subagent begins. Raises `OSError` if that fails: its calls would count as the main agent's."""
    append(os.path.join(folder, SUBAGENTS), _BEGAN)


def end_subagent(folder: str) -> None:
    if has_mark(folder, SUBAGENTS):
        append(os.path.join(folder, SUBAGENTS), _ENDED)


def has_subagent(folder: str) -> bool:
    """True if a subagent is at work, or if that cannot be read."""
    signs = mark_text(folder, SUBAGENTS).encode() if has_mark(folder, SUBAGENTS) else _ENDED
    return not signs or signs.count(_BEGAN) > signs.count(_ENDED)


def append(path: str, data: bytes) -> None:
    """Append to a file, which other processes may do at the same time."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.write(handle, data)
    finally:
        os.close(handle)
