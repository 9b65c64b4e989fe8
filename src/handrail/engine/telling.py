"""What an agent does, as events of a run: short, and without secrets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from handrail.contracts import AgentSaid
from handrail.driven import machine
from handrail.secrets import Redactor

SHORT = 200


class Telling:
    """Follows one piece of work. Usage is reported once, at its end: what was said last."""

    def __init__(self) -> None:
        self.usage: dict[str, Any] | None = None
        self.agent = ""

    def told(self, path: str, said: AgentSaid, redact: Redactor) -> Iterator[machine.Event]:
        data = said.data
        match said.kind:
            case "session":
                yield machine.SessionOpened(path, str(data.get("agent", "")), str(data["id"]))
            case "usage":
                self.usage = data
            case "tool":
                text = f"{data.get('name')} {json.dumps(data.get('input'), ensure_ascii=False)}"
                yield machine.AgentActed(path, "tool", redact.text(text)[:SHORT])
            case "denied":
                text = f"{data.get('name')}: {data.get('reason')}"
                yield machine.AgentActed(path, "denied", redact.text(text)[:SHORT])
            case "retry":
                yield machine.AgentActed(path, "retry", redact.text(str(data.get("message")))[:SHORT])
