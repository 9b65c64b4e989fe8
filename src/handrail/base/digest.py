"""SHA-256 without OpenSSL. `hashlib` loads OpenSSL on import, which takes a fifth of Python's start time."""

from __future__ import annotations

try:
    from _sha2 import sha256  # type: ignore[import-not-found]  # CPython 3.12 and later
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found]  # CPython 3.11
    except ImportError:  # another interpreter, or one without built-in SHA-256
        from hashlib import sha256

from handrail.base.files import read_regular


def hex_digest(data: bytes) -> str:
    return str(sha256(data).hexdigest())


def file_digest(path: str) -> str | None:
    """The digest of a file's content; None if the file does not exist or cannot be read."""
    try:
        return hex_digest(read_regular(path))
    except OSError:
        return None
