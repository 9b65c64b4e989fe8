"""The tokens of a conversation so far, from Gemini CLI's record of it.

Gemini CLI prints its usage only at the end of a turn, but records it with each answer of the model. An answer may be
recorded several times; the last one counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from handrail.agents.newlines import NewLines
from handrail.agents.usage import Spent, total, within

_ID = 8
"""The name of a record ends with so many characters of the conversation's id."""


class AnswerCount:
    """Counts the answers of one conversation. Those that are there when it is made do not count."""

    def __init__(self, home: str, conversation: str | None) -> None:
        self.folder = Path(home, ".gemini", "tmp")
        self.records: dict[str, NewLines] = {}
        self.answers: dict[str, Mapping[str, Any]] = {}
        self.before: set[str] = set()
        if conversation is not None:
            self._read(conversation)
            self.before = set(self.answers)

    def now(self, conversation: str) -> Spent:
        """What the answers since the begin of this job used."""
        self._read(conversation)
        spent = Spent()
        for id_, tokens in self.answers.items():
            if id_ not in self.before:
                whole = total(dict(tokens), "input")
                spent.add(whole, total(dict(tokens), "total") - whole, total(dict(tokens), "cached"), 0.0)
        return spent

    def _read(self, conversation: str) -> None:
        if not conversation.replace("-", "").isalnum():
            return
        for path in self.folder.glob(f"*/chats/session-*-{conversation[:_ID]}.jsonl"):
            for line in self.records.setdefault(str(path), NewLines(str(path))).read():
                if b'"type":"gemini"' in line and b'"tokens"' in line:
                    self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            data = json.loads(line)
        except ValueError:
            return
        if isinstance(data, dict) and isinstance(data.get("id"), str):
            self.answers[data["id"]] = within(data, "tokens")
