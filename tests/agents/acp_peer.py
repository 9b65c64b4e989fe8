"""A program that speaks the Agent Client Protocol as its script says, also wrongly. Standard library only.

`python acp_peer.py SCRIPT LOG`: the script is JSON. `initialize`, `session/new`, `session/load` and so on are the
results of these requests, or errors as `{"error": ...}`. `turn` is the list of actions of a prompt, `turns` has
one list for each prompt. All that it receives is appended to the log.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCRIPT, LOG = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])
DEFAULTS: dict[str, Any] = {
    "initialize": {"protocolVersion": 1, "agentCapabilities": {}},
    "session/new": {"sessionId": "s-1"},
    "turn": [{"say": "It is done."}],
}
STUBBORN = (
    "import signal, time, sys; signal.signal(15, signal.SIG_IGN); open(sys.argv[1], 'w').close(); time.sleep(600)"
)


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def received() -> Iterator[dict[str, Any]]:
    for line in sys.stdin:
        with LOG.open("a", encoding="utf-8") as log:
            log.write(line)
        yield json.loads(line)


INBOX = received()


def answer(request: dict[str, Any], result: Any) -> None:
    if isinstance(result, dict) and "error" in result:
        send(id=request["id"], error=result["error"])
    else:
        send(id=request["id"], result=result)


def update(session: str, **told: Any) -> None:
    send(method="session/update", params={"sessionId": session, "update": told})


def turn(request: dict[str, Any], actions: list[dict[str, Any]]) -> None:
    """Play the actions of a prompt. `ask` is a request to the client: it waits for the answer."""
    session, end = request["params"]["sessionId"], {"stopReason": "end_turn"}
    for number, action in enumerate(actions):
        ((name, value),) = action.items()
        match name:
            case "say":
                update(session, sessionUpdate="agent_message_chunk", content={"type": "text", "text": value})
            case "update":
                update(session, **value)
            case "ask":
                send(id=1000 + number, method=value["method"], params={"sessionId": session, **value["params"]})
                next(INBOX)
            case "raw":
                sys.stdout.write(f"{value}\n")
                sys.stdout.flush()
            case "flood":
                sys.stdout.write("x" * value + "\n")
                sys.stdout.flush()
            case "complain":
                sys.stderr.write(f"{value}\n")
                sys.stderr.flush()
            case "spawn":
                subprocess.Popen([sys.executable, "-c", STUBBORN, value], start_new_session=True)
                while not Path(value).exists():
                    pass
            case "wait":
                next(INBOX)
            case "exit":
                sys.exit(value)
            case "end":
                end = value
    answer(request, end)


for asked in INBOX:
    method = asked.get("method")
    if method == "session/prompt":
        turn(asked, SCRIPT["turns"].pop(0) if SCRIPT.get("turns") else SCRIPT.get("turn", DEFAULTS["turn"]))
    elif method is not None and "id" in asked:
        replay = SCRIPT.get("replay", []) if method in ("session/load", "session/resume") else []
        for text in replay:
            chunk = {"type": "text", "text": text}
            update(asked["params"]["sessionId"], sessionUpdate="agent_message_chunk", content=chunk)
        found = SCRIPT.get(method, DEFAULTS.get(method, {}))
        if isinstance(found, list):  # one answer after the other
            found = found.pop(0)
        if found is not None:
            answer(asked, found)
