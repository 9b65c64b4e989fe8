"""Requests as bytes on a socket, so that a test can send what no client library sends."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping
from typing import NamedTuple

PATIENCE = 20.0


class Answered(NamedTuple):
    """All bytes of an answer. `statuses` are those of all answers on the connection."""

    data: bytes

    @property
    def statuses(self) -> list[int]:
        lines = [line for line in self.data.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]
        return [int(line.split(b" ")[1]) for line in lines]

    @property
    def body(self) -> str:
        return self.data.partition(b"\r\n\r\n")[2].decode("utf-8", "replace")


def request(method: str, target: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    """A request as a browser sends it. A header with an empty value is left out."""
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items() if value)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


def send(port: int, data: bytes, *, wants_more: bool = False) -> Answered:
    """Send bytes and read until the server closes the connection, or until its first answer if `wants_more`."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as wire:
        with contextlib.suppress(OSError):  # the server may answer and close before all was sent
            wire.sendall(data)
        found = b""
        with contextlib.suppress(ConnectionResetError, TimeoutError):
            while chunk := wire.recv(65536):
                found += chunk
                if wants_more and b"\r\n\r\n" in found:
                    break
    return Answered(found)
