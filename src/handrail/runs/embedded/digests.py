"""Digests of values: of the params of a step and of its form. Pure."""

from __future__ import annotations

import hashlib
from typing import Any

from handrail.contracts import NodeError
from handrail.state import jsonlite


def not_json(error: Exception) -> str:
    """Why a value is not JSON, in plain words."""
    if isinstance(error, ValueError) and "float" in str(error):
        return "it holds a number that JSON does not have, such as infinity"
    return str(error)


def as_json(value: Any) -> str:
    """The params or the form of a step as JSON. Raises `NodeError` for a value that is not JSON, such as infinity."""
    try:
        return jsonlite.dumps(value)
    except (ValueError, TypeError) as error:
        raise NodeError("params", f"its params cannot be stored: {not_json(error)}", transient=False) from error


def digest_of(value: Any) -> str:
    return digest_of_text(as_json(value))


def digest_of_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
