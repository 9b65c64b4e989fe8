"""Small marker files beside a session's journal: what happened since the last move. The state does not depend on them.

If one is lost, an agent gets a text twice or one more reminder. Standard library only.
"""

from __future__ import annotations

import os

PROGRESS = "progress"
"""The agent did work since the last reminder."""
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
_BEGAN, _ENDED = "+", "-"
SEEN = "seen"
"""The last calls of `workflow_step` that a hook saw, one id per line, in a host that may skip hooks."""
_KEPT = 20

BRANCH = "branch"
"""The number of the last record that the host stored in its own history of the conversation."""


def is_set(folder: str, name: str) -> bool:
    return os.path.exists(os.path.join(folder, name))


def set_mark(folder: str, name: str, text: str = "") -> None:
    _write(folder, name, text)


def content(folder: str, name: str) -> str:
    """The text of a mark; empty if the mark is not set."""
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError):
        return ""


def clear(folder: str, name: str) -> None:
    try:
        os.unlink(os.path.join(folder, name))
    except OSError:
        return


def is_new_work(folder: str, ids: tuple[str, ...]) -> bool:
    """True if one of these pieces of background work is not known yet. All of them are known from then on."""
    try:
        with open(os.path.join(folder, AWAITED), encoding="utf-8") as file:
            known = set(file.read().split("\n"))
    except (OSError, ValueError):
        known = set()
    new = {id_.replace("\n", " ") for id_ in ids} - known
    if new:
        _write(folder, AWAITED, "\n".join(sorted(known | new)))
    return bool(new)


def see_call(folder: str, id_: str) -> None:
    """Record that a hook saw this call."""
    known = content(folder, SEEN).split("\n")[1 - _KEPT :]
    _write(folder, SEEN, "\n".join([*known, id_.replace("\n", " ")]))


def was_seen(folder: str, id_: str) -> bool:
    return bool(id_) and id_ in content(folder, SEEN).split("\n")


def shown(folder: str) -> tuple[str, str]:
    """(what the agent was told last, the call that told it); empty texts if nothing is known."""
    told, _, call = content(folder, SHOWN).partition("\n")
    return told, call


def remember(folder: str, told: str, call: str = "") -> None:
    """Record what the agent was told. If that fails, it is told again later."""
    _write(folder, SHOWN, f"{told}\n{call}" if call else told)


def begin_subagent(folder: str) -> None:
    """Record that a subagent begins. Raises `OSError` if that fails: its calls would count as the main agent's."""
    _append(folder, _BEGAN)


def end_subagent(folder: str) -> None:
    if is_set(folder, SUBAGENTS):
        _append(folder, _ENDED)


def has_subagent(folder: str) -> bool:
    """True if a subagent is at work, or if that cannot be read."""
    signs = content(folder, SUBAGENTS) if is_set(folder, SUBAGENTS) else _ENDED
    return not signs or signs.count(_BEGAN) > signs.count(_ENDED)


def _append(folder: str, sign: str) -> None:
    """Append one sign, which other processes may do at the same time."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    handle = os.open(os.path.join(folder, SUBAGENTS), flags, 0o600)
    try:
        os.write(handle, sign.encode())
    finally:
        os.close(handle)


def _write(folder: str, name: str, text: str) -> None:
    try:
        handle = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        return
