"""Fast JSON for hooks, and JSON as lines with a checksum, which cards and journals consist of.

Uses the C scanner of the interpreter without importing `json`: `import json` also imports `re`, which takes half as
long as starting Python. On an interpreter without the C scanner, this module uses `json`.
"""

from __future__ import annotations

from binascii import crc32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

try:
    import _json

    ACCELERATED = True
except ImportError:  # an interpreter without the accelerator
    ACCELERATED = False

_SPACE = " \t\n\r"


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


_scan = _json.make_scanner(_Context) if ACCELERATED else None  # type: ignore[arg-type]  # any object with these attributes


def loads(text: str) -> Any:
    """The value of a JSON text. Raises `ValueError` for any other text."""
    if _scan is None:
        return _loads_slowly(text)
    start, end = 0, len(text)
    while start < end and text[start] in _SPACE:
        start += 1
    try:
        value, stop = _scan(text, start)
    except (StopIteration, SystemError):  # `json` is not imported, so the scanner cannot raise `JSONDecodeError`
        raise ValueError("not a JSON value") from None
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None
    while stop < end and text[stop] in _SPACE:
        stop += 1
    if stop != end:
        raise ValueError("text after the JSON value")
    return value


def _raise_not_json(value: Any) -> Any:
    raise TypeError("not a JSON value: " + type(value).__name__)


_encode = (
    _json.make_encoder(None, _raise_not_json, _json.encode_basestring, None, ":", ",", False, False, False)
    if ACCELERATED
    else None
)


def dumps(value: Any) -> str:
    """Compact JSON on one line. Only lone surrogates are escaped, because UTF-8 cannot encode them."""
    if _encode is None:
        return _dumps_slowly(value)
    try:
        text = "".join(_encode(value, 0))
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None
    return text if text.isascii() or _encodable(text) else _dump_escaped(value)


_encode_spaced = (
    _json.make_encoder(None, _raise_not_json, _json.encode_basestring, None, ": ", ", ", False, False, True)
    if ACCELERATED
    else None
)


def dumps_spaced(value: Any) -> str:
    """JSON on one line with spaces, for people. The result equals `json.dumps(value, ensure_ascii=False)`."""
    if _encode_spaced is None:
        import json

        return json.dumps(value, ensure_ascii=False)
    return "".join(_encode_spaced(value, 0))


def _dump_escaped(value: Any) -> str:
    """Compact JSON of a value that contains lone surrogates. Only the texts that contain them are escaped."""
    if isinstance(value, str):
        return str(_json.encode_basestring(value)) if _encodable(value) else _escape(value)
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError("JSON has no such number")
        return float.__repr__(value)  # a subclass may have its own text, as numbers of flows have
    if isinstance(value, dict):
        return "{" + ",".join([_dump_escaped(str(k)) + ":" + _dump_escaped(v) for k, v in value.items()]) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join([_dump_escaped(item) for item in value]) + "]"
    raise TypeError("not a JSON value: " + type(value).__name__)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _escape(text: str) -> str:
    return str(_json.encode_basestring_ascii(text))


def _loads_slowly(text: str) -> Any:
    import json

    try:
        return json.loads(text, parse_constant=_Context.parse_constant)
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None


def _dumps_slowly(value: Any) -> str:
    import json

    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text if _encodable(text) else json.dumps(value, allow_nan=False, separators=(",", ":"))


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
