"""Name → implementation. Built-ins come through the same door that extensions will use; nothing is imported early."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from handrail.contracts import CheckKind

CHECKS: dict[str, str] = {"file": "handrail.checks.file", "run": "handrail.checks.run"}
AGENTS: dict[str, str] = {"scripted": "handrail.agents.scripted"}


def check_kind(name: str) -> CheckKind:
    return cast("CheckKind", import_module(CHECKS[name]))
