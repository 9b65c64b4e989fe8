"""SHA-256 without loading OpenSSL, which `hashlib` does on import and which costs a fifth of starting Python."""

from __future__ import annotations

try:
    from _sha2 import sha256  # type: ignore[import-not-found]  # CPython 3.12 and later
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found]  # CPython 3.11
    except ImportError:  # another interpreter, or one that was built without its own
        from hashlib import sha256


def hex_digest(data: bytes) -> str:
    return str(sha256(data).hexdigest())
