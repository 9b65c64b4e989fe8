"""HTTP as uvicorn speaks it, with time limits: a client that sends or reads too slowly is disconnected.

So a client that never finishes its request, or never reads its answer, holds a connection only for a while.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 30.0
"""How long a request with its body may take to arrive."""
READING_SECONDS = 60.0
"""How long a client may leave a full buffer unread."""


class LimitedProtocol(H11Protocol):
    """One connection. The limits can be changed in a subclass."""

    request_seconds = REQUEST_SECONDS
    reading_seconds = READING_SECONDS
    _arriving: asyncio.TimerHandle | None = None
    _stuck: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn itself
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def _watch(self) -> None:
        """The timer runs while the client still has to send something, and is not started anew by each byte."""
        is_arriving = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        if is_arriving and self._arriving is None:
            self._arriving = self.loop.call_later(self.request_seconds, self.transport.abort)
        elif not is_arriving and self._arriving is not None:
            self._arriving.cancel()
            self._arriving = None

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._stuck is None:
            self._stuck = self.loop.call_later(self.reading_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._arriving, self._stuck):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)
