"""What a session shows after one action, in a common form for pi-workflows, Handrail and `ideal`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

Path = list[tuple[str, int]]


class Facts(NamedTuple):
    """A session's state, as far as the cases compare it."""

    active: bool
    path: Path
    steps: int
    cancelled: bool
    told: bool
    task: str


class Seen(NamedTuple):
    """The state, the status line, the requests to the host, and the answer to the command."""

    facts: Facts | None
    line: str | None
    events: dict[str, str]
    result: dict[str, Any]


def recorded(step: Mapping[str, Any]) -> Seen:
    """What pi-workflows showed."""
    state = step["state"]
    facts = state and Facts(
        state["active"],
        [(key, index) for key, index in state["path"]],
        state["steps"],
        state["cancelled"],
        state["notified"],
        state["task"],
    )
    return Seen(facts, step["statusLineAtTurnEnd"], _events(step["events"]), _result(step))


def _events(events: list[dict[str, Any]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for event in events:
        if "sessionName" in event:
            found["title"] = event["sessionName"]
        elif "userMessage" in event:
            found["message"] = event["userMessage"]
        elif event.get("notify") == "error":
            found["error"] = ""
        elif any(name.startswith("confirm") for name in event):
            found["confirm"] = ""
    return found


def _result(step: Mapping[str, Any]) -> dict[str, Any]:
    """The facts in a result. Of its text, only the name of the next phase counts."""
    result = step.get("result")
    if step["action"] == "before_agent":
        told = result.values() if isinstance(result, dict) else [result]
        return {"context": any(told)}
    if not isinstance(result, dict):
        return {}
    found = {name: result[name] for name in ("blocked", "completions") if name in result}
    details = result.get("details", {})
    found |= {name: details[name] for name in ("from", "to") if name in details}
    if "from" in details and details["to"] != "DONE":
        found["next"] = (result.get("summaryLine") or "").rpartition("Next: ")[2]
    if "resultType" in result:
        is_idle = details.get("active") is False and not details.get("cancelled")
        found |= {"refused": is_idle or result["resultType"] == "error", "asked": bool(details.get("cancelPending"))}
    return found
