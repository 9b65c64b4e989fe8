"""Entry point of hosts' hooks: a new process for every tool call an agent makes, so it stays small.

Reads the session's card, answers, ends. Only a card that is behind its journal costs more. With no active
workflow it allows; while one is active, what it cannot decide it denies. Standard library only.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":  # run by path, without the package installed for this interpreter
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from handrail import jsonlite
from handrail.engine import card as cards
from handrail.guided.gate import undecided, verdict
from handrail.project import Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def card_of(folder: str, project: str, session: str) -> dict[str, Any]:
    """What a session's card says now, rebuilt from the journal where the card is behind. Empty: no session."""
    card = cards.read_fresh(folder)
    if card is not None:
        return card
    if cards.journal_size(folder) is None:
        return {}
    from handrail.engine.session import Session

    return Session(folder, project, session, _no_clock).card()


def _no_clock() -> float:
    raise AssertionError("a hook only reads")


def answer(request: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    """The answer to one request of an agent that speaks Handrail's own protocol.

    `event` is `tool` (a verdict), `prompt` (the text to give to the agent) or `stop` (what to say to it).
    """
    folder = Places(env).session(request["project"], request["session"])
    event = request["event"]
    if event == "tool":
        return _verdict(folder, request)
    if event == "stop":
        return _stop(folder, request)
    card = card_of(folder, request["project"], request["session"])
    if event == "prompt":
        return {"context": card.get("context"), "statusLine": card.get("statusLine")}
    raise ValueError("unknown event: " + str(event))


def _verdict(folder: str, request: Mapping[str, Any]) -> dict[str, Any]:
    tool = str(request["tool"])
    try:
        card = card_of(folder, request["project"], request["session"])
        return verdict(card.get("gate"), tool, request.get("aliases") or ())
    except Exception as error:  # noqa: BLE001 - whatever went wrong, an active workflow stays closed
        return undecided(tool, getattr(error, "message", None) or type(error).__name__, request.get("aliases") or ())


def _stop(folder: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """The agent stops: it is sent on, or let go with a reason, or the person is told how the workflow ended."""
    reply: dict[str, Any] = {"sendOn": None, "letGo": None, "farewell": None}
    if cards.journal_size(folder) is None:
        return reply
    import time

    from handrail.engine.session import Session
    from handrail.guided.machine import AgentStopped, LetGo, SentOn, Tell

    session = Session(folder, request["project"], request["session"], time.time)
    card = session.card()
    if card.get("farewell") and session.do(Tell()).decision.events:
        return {**reply, "farewell": card["farewell"]}
    command = AgentStopped(bool(request.get("aborted")), bool(request.get("progress")))
    for event in session.do(command).decision.events:
        if isinstance(event, SentOn):
            reply["sendOn"] = card.get("reminder")
        elif isinstance(event, LetGo):
            reply["letGo"] = event.reason
    return reply


def main(argv: list[str], env: Mapping[str, str]) -> int:
    """`handrail hook AGENT`: one JSON request on stdin, one JSON answer on stdout."""
    if argv != ["scripted"]:
        sys.stderr.write("error: `handrail hook` knows these agents: scripted\n")
        return 2
    try:
        request = jsonlite.loads(sys.stdin.read())
        reply = answer(request, env)
    except (ValueError, KeyError, TypeError) as error:
        sys.stderr.write(f"error: not a request: {error}\n")
        return 2
    sys.stdout.write(jsonlite.dumps(reply) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
