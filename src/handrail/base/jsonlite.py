"""Fast JSON for hooks, and JSON as lines with a checksum, which cards and journals consist of.

Uses the C functions of CPython without importing `json`: `import json` also imports `re`, which takes half as long as
starting Python.
"""

from __future__ import annotations

from _json import encode_basestring, encode_basestring_ascii, make_encoder, make_scanner
from binascii import crc32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Context:
    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    memo: dict[str, str] = {}

    @staticmethod
    def parse_constant(name: str) -> float:
        raise ValueError("not a JSON value: " + name)


_scan = make_scanner(_Context)  # type: ignore[arg-type]  # any object with these attributes


def loads(text: str) -> Any:
    """The value of a JSON text. Raises `ValueError` for any other text."""
    text = text.strip(" \t\n\r")
    try:
        value, stop = _scan(text, 0)
    except (StopIteration, SystemError):  # `json` is not imported, so the scanner cannot raise `JSONDecodeError`
        raise ValueError("not a JSON value") from None
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None
    if stop != len(text):
        raise ValueError("text after the JSON value")
    return value


def _raise_not_json(value: Any) -> Any:
    raise TypeError("not a JSON value: " + type(value).__name__)


_encode = make_encoder(None, _raise_not_json, encode_basestring, None, ":", ",", False, False, False)
_encode_ascii = make_encoder(None, _raise_not_json, encode_basestring_ascii, None, ":", ",", False, False, False)
_encode_spaced = make_encoder(None, _raise_not_json, encode_basestring, None, ": ", ", ", False, False, True)


def dumps(value: Any) -> str:
    """Compact JSON on one line. ASCII if a text has a lone surrogate, because UTF-8 cannot encode one."""
    try:
        text = "".join(_encode(value, 0))
        if not text.isascii():
            text.encode()
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None
    except UnicodeEncodeError:
        return "".join(_encode_ascii(value, 0))
    return text


def dumps_spaced(value: Any) -> str:
    """JSON on one line with spaces, for people. The result equals `json.dumps(value, ensure_ascii=False)`."""
    return "".join(_encode_spaced(value, 0))


_CHECKSUM_WIDTH = 9  # eight hexadecimal digits and a space


def encode_line(value: dict[str, Any]) -> bytes:
    """A value as one checksummed line."""
    body = dumps(value).encode()
    return b"%08x %s\n" % (crc32(body), body)


def decode_line(line: bytes) -> dict[str, Any] | None:
    """The value of a line without its line end. None if the line is not exactly what `encode_line` wrote."""
    body = line[_CHECKSUM_WIDTH:]
    try:
        if not body or line[:_CHECKSUM_WIDTH] != b"%08x " % crc32(body):
            return None
        value = loads(body.decode())
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def within(data: Any, *names: str) -> dict[str, Any]:
    """The object at this path of keys in decoded JSON; empty if there is none."""
    for name in names:
        data = data.get(name) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}
