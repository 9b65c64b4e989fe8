"""What a node remembers while it works: recorded once, and found again by its name after a crash."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from handrail.runs.machine import FactFound
from handrail.runs.tries import OWN
from handrail.secrets.redaction import Secrets

Facts = Mapping[str, Mapping[tuple[str, str, str], Any]]


def recall(facts: Facts, secrets: Secrets, path: str, name: str) -> Any:
    """The value that the work at this path recorded under a name. None if it recorded none."""
    known = facts.get(path, {}).get((OWN, "value", name))
    return None if known is None else secrets.from_storage(known)


def remember(
    facts: Facts, record: Callable[[FactFound], None], secrets: Secrets, path: str, name: str, value: Any
) -> Any:
    """The value that the work at this path recorded under a name. If it recorded none, it records this one."""
    known, key = facts.get(path, {}), (OWN, "value", name)
    if key in known:
        return secrets.from_storage(known[key])
    record(FactFound(path, *key, value))
    return value
