"""Finds credentials in what a service answers: as they are, and as JSON, addresses and headers write them. Pure."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from urllib.parse import quote

HIDDEN = "***"
SHORTEST = 8
"""Shorter credentials are not looked for in answers: they would be found everywhere."""


def hidden(text: str, secrets: Iterable[str]) -> str:
    """The text without these secrets. Upper and lower case are the same: the host of an address has lost them."""
    spellings = sorted({form for secret in secrets if secret for form in _spellings(secret)}, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, spellings)), HIDDEN, text, flags=re.IGNORECASE) if spellings else text


def holds(data: bytes, secrets: Iterable[str]) -> bool:
    """True if the data contains one of these secrets."""
    forms = {form for secret in secrets if len(secret) >= SHORTEST for form in _spellings(secret)}
    return any(form.encode() in data for form in forms)


def _spellings(secret: str) -> set[str]:
    escaped = json.dumps(secret)[1:-1]
    encoded = base64.b64encode(secret.encode()).decode()
    return {secret, quote(secret), quote(secret, safe=""), escaped, escaped.replace("/", "\\/"), encoded}
