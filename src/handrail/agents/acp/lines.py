"""Messages of the protocol as lines of JSON on the standard streams of an agent.

Agents print other things, too. Whatever is no JSON object goes to our standard error, where it explains a crash.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from handrail.source.values import shown

LONGEST_NOISE = 500


class Lines:
    """What the protocol's package calls a transport. `receive` returns None at the end of the agent's output."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.writer, self.reader = process.stdin, process.stdout

    async def send(self, message: dict[str, Any]) -> None:
        self.writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        await self.writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        while True:
            try:
                line = await self.reader.readline()
            except ValueError:  # a line that is longer than the limit is skipped
                continue
            if not line:
                return None
            try:
                data = json.loads(line)
            except (ValueError, RecursionError):
                data = None
            if isinstance(data, dict):
                return data
            noise = line[:LONGEST_NOISE].decode("utf-8", "replace").strip()
            if noise:
                sys.stderr.write(f"{shown(noise, LONGEST_NOISE)}\n")

    async def close(self) -> None:
        self.writer.close()
