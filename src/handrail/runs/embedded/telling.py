"""Turns what an agent does into events of a run: shortened, and without secrets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from handrail.contracts import AgentSaid, GuideNews
from handrail.runs import machine
from handrail.secrets.redaction import Secrets
from handrail.source.values import shown

SHORT = 200
LONG = 2_000
MAIN = (
    "command", "cmd", "pattern", "query", "url", "file_path", "filePath", "path", "absolute_path", "notebook_path",
    "prompt",
)  # fmt: skip
"""The argument that says most about a call, by the names that agents have for it."""


def call_words(name: str, given: Any) -> str:
    """A call of a tool in one line: `edit src/cart.py`. All arguments, as JSON, if none of them says most.

    Some agents give a call a title that names the argument already.
    """
    main = next((given[key] for key in MAIN if given.get(key)), None) if isinstance(given, dict) else None
    if isinstance(main, list):
        main = " ".join(map(str, main))
    if isinstance(main, str):
        about = " ".join(main.split())
        return name if about in name else f"{name} {about}"
    return f"{name} {json.dumps(given, ensure_ascii=False)}" if given else name


class Telling:
    """Follows the agent of one step. For each call of the agent, the last usage report counts."""

    def __init__(self) -> None:
        self.usages: list[dict[str, Any]] = []
        self._usage: dict[str, Any] | None = None

    def settle(self) -> list[dict[str, Any]]:
        """The usage of every call, including an interrupted one."""
        last = [] if self._usage is None else [self._usage]
        self.usages, self._usage = self.usages + last, None
        return self.usages

    def events(self, path: str, said: AgentSaid, secrets: Secrets) -> Iterator[machine.Event]:
        data = said.data
        match said.kind:
            case "session":
                yield machine.SessionOpened(path, str(data.get("agent", "")), str(data["id"]))
            case "usage":
                self._usage = data
            case "finished":
                self.settle()
            case "tool":
                text = call_words(str(data.get("name")), secrets.for_people(data.get("input")))
                yield machine.AgentActed(path, "tool", shown(secrets.mask(text), SHORT))
            case "denied" | "allowed":
                text = f"{data.get('name')}: {data.get('reason')}"
                yield machine.AgentActed(path, said.kind, shown(secrets.mask(text), SHORT))
            case "plan":
                yield machine.AgentActed(path, "plan", shown(secrets.mask(str(data.get("text"))), SHORT))
            case "retry" | "again":
                yield machine.AgentActed(path, said.kind, shown(secrets.mask(str(data.get("message"))), SHORT))
            case "guided":
                news: GuideNews = data["news"]
                yield machine.Guided(path, **{**vars(news), "text": shown(secrets.mask(news.text), LONG)})
