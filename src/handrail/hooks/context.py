"""What an agent is told when a prompt comes, a conversation begins or a subagent starts: only what changed."""

from __future__ import annotations

import os

from handrail.engine import links
from handrail.hooks.tools import card_of
from handrail.project import Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SHOWN = "shown"


def answer(agent: str, seat: dict[str, Any] | None, request: dict[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    if request["event"] == "begin" and request["source"] == "fork" and seat is None:
        seat = _follow_parent(agent, request, env)
    card = card_of(seat) if seat else {}
    if seat is None or card.get("context") is None:
        return {}
    if request["event"] == "subagent":
        return {"context": card["brief"]}
    if request["event"] == "begin":
        return _begin(seat, card, request["source"])
    return {"context": news(seat["folder"], card) or card["statusLine"], "title": card["title"], **_for_scripts(card)}


def _for_scripts(card: dict[str, Any]) -> dict[str, Any]:
    return {"statusLine": card["statusLine"]}


def _begin(seat: dict[str, Any], card: dict[str, Any], source: str) -> dict[str, Any]:
    """A conversation that goes on has its history; one that was compacted has lost what it was told."""
    if source in ("compact", "fork"):
        forget(seat["folder"])
    if card["state"]["cancel_asked"]:
        _withdraw_cancel(seat)
    text = news(seat["folder"], card)
    return {"context": text} if text else {}


def _withdraw_cancel(seat: dict[str, Any]) -> None:
    import time

    from handrail.engine.session import Session
    from handrail.guided.machine import Resumed

    Session(seat["folder"], seat["project"], seat["session"], time.time).do(Resumed())


def mark_of(card: dict[str, Any]) -> str:
    """Changes whenever the agent has to be told something new."""
    state = card["state"]
    return f"{state['task_id']} {state['steps']} {state['plan']}"


def news(folder: str, card: dict[str, Any]) -> str | None:
    """The whole context text if the agent has not been told yet; nothing if it has."""
    if _shown(folder) == mark_of(card):
        return None
    remember(folder, mark_of(card))
    return str(card["context"])


def _shown(folder: str) -> str | None:
    try:
        with open(os.path.join(folder, SHOWN), encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError):
        return None


def remember(folder: str, mark: str) -> None:
    """Note what the agent was told. If that fails it is told twice."""
    try:
        handle = os.open(os.path.join(folder, SHOWN), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(mark)
    except OSError:
        return


def forget(folder: str) -> None:
    try:
        os.unlink(os.path.join(folder, SHOWN))
    except OSError:
        return


def _follow_parent(agent: str, request: dict[str, Any], env: Mapping[str, str]) -> dict[str, Any] | None:
    """A forked conversation goes on at its parent's place, in a session of its own."""
    from handrail.engine.session import fork_session

    places = Places(env)
    wanted = request["parents"]
    folder = os.path.dirname(links.path(places, agent, request["conversation"]))
    for name in sorted(os.listdir(folder)) if wanted and os.path.isdir(folder) else []:
        parent = links.read(os.path.join(folder, name))
        card = card_of(parent) if parent else {}
        if parent and card.get("context") and card["state"]["task_id"] in wanted:
            link = links.path(places, agent, request["conversation"])
            session = f"{agent}-{request['conversation']}"
            child = places.session(parent["project"], session)
            fork_session(parent, {"folder": child, "project": parent["project"], "session": session, "link": link})
            return links.read(link)
    return None
