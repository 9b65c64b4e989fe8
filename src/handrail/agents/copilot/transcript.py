"""Copilot CLI's own record of a conversation: where it is, whose subagent wrote, what was typed.

Its lines are JSON events. Standard library only.
"""

from __future__ import annotations

import os
import time

from handrail.base import jsonlite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SECONDS = 3.0
"""How long to wait until Copilot CLI has recorded a subagent. It takes about a tenth of a second."""
_PAUSE = 0.02
_EVENTS = "events.jsonl"
_CALL = b'"toolCallId":"'
_COMPACTED = b'{"type":"session.compaction_complete"'
_HOOK = b'{"type":"hook.'
_COMPLETE = b'"type":"tool.execution_complete","data":{"toolCallId":"'


def home(env: Mapping[str, str], folder: str) -> str:
    """The folder with Copilot CLI's settings and state."""
    return env.get("COPILOT_HOME") or f"{folder}/.copilot"


def path(conversation: str) -> str:
    return f"{_conversations()}/{conversation}/{_EVENTS}"


def _conversations() -> str:
    return f"{home(os.environ, os.environ.get('HOME') or os.path.expanduser('~'))}/session-state"


def root(agent: str) -> str:
    """The conversation in which a subagent works. `agent` is the conversation itself or a subagent of it.

    Copilot CLI writes its record in the background, so a subagent may act before the record has it. Raises
    `ValueError` if it stays unknown: the call is then denied.
    """
    if os.path.exists(path(agent)):
        return agent
    end, last_second = time.monotonic() + SECONDS, time.time() - 1
    found = _recorded_in(agent)
    while found is None:
        if time.monotonic() >= end:
            raise ValueError(f"no conversation has the subagent {agent}")
        time.sleep(_PAUSE)
        found = _recorded_in(agent, last_second)
    return found


def _recorded_in(agent: str, since: float = 0.0) -> str | None:
    """The conversation whose record has an event of this subagent, of those that changed since a time; or None."""
    folder = _conversations()
    names = os.listdir(folder) if os.path.isdir(folder) else []
    mark = f'"agentId":"{agent}"'.encode()
    latest = sorted((name for name in names if _changed(path(name)) > since), key=lambda name: -_changed(path(name)))
    return next((name for name in latest if mark in _content(path(name))), None)


def _changed(file: str) -> float:
    try:
        return os.stat(file).st_mtime
    except OSError:
        return 0.0


def _content(file: str) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except OSError:
        return b""


def kept(history: bytes) -> bytes:
    """What the model can still read: the events since the last compaction, without records of hooks.

    The text of a hook is part of the history only where it became part of a message.
    """
    lines = history.split(b"\n")
    done = [at for at, line in enumerate(lines) if line.startswith(_COMPACTED) and b'"success":true' in line]
    return b"\n".join(line for line in lines[done[-1] + 1 if done else 0 :] if not line.startswith(_HOOK))


def was_told(history: bytes, call: str) -> bool:
    """True if the history has the result of a call. Its id is ours: it is in the arguments that were permitted."""
    at = history.find(f'"{call}"'.encode())
    begin = history.rfind(b"\n", 0, at) + 1
    found = history.find(_CALL, begin, history.find(b"\n", at))
    if at < 0 or found < 0:
        return False
    id_ = history[found + len(_CALL) :].partition(b'"')[0]
    return _COMPLETE + id_ + b'"' in history[begin:]


def last_typed(file: str | None) -> str:
    """The last text that a person sent while the agent was at work; empty if the turn began after it.

    Copilot CLI calls no hook for such a text.
    """
    for line in reversed(_content(file or "").split(b"\n")):
        if not line.startswith(b'{"type":"user.message"'):
            continue
        try:
            about = jsonlite.loads(line.decode("utf-8", "replace"))["data"]
            return str(about.get("content") or "") if about.get("delivery") == "steering" else ""
        except (ValueError, KeyError, TypeError, AttributeError):
            return ""
    return ""
