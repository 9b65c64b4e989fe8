"""A value as one line with a checksum. Standard library only, and little of it: hooks read cards with this."""

from __future__ import annotations

from binascii import crc32

from handrail.state import jsonlite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HEAD = 9  # eight hexadecimal digits and a space


def encode(value: dict[str, Any]) -> bytes:
    """A value as one checksummed line."""
    body = jsonlite.dumps(value).encode()
    return b"%08x %s\n" % (crc32(body), body)


def mark(value: dict[str, Any]) -> str:
    """The checksum of a record, which identifies it."""
    return encode(value)[:8].decode()


def decode(line: bytes) -> dict[str, Any] | None:
    """The value of a line without its line end. None if the line is not exactly what `encode` wrote."""
    body = line[_HEAD:]
    try:
        if not body or line[:_HEAD] != b"%08x " % crc32(body):
            return None
        value = jsonlite.loads(body.decode())
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
