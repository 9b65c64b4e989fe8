"""The meaning of each code: of problems in files, and of the ways in which steps, runs, sessions and commands end.

The texts are in `builtin/codes.yaml` and `builtin/endings.yaml`. They are read on first use, because loading
definitions does not need them.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import handrail
from handrail.base.dataclasses import dataclass
from handrail.source.diagnostics import Severity

_BUILTIN = os.path.join(handrail.__path__[0], "builtin")
FILE = os.path.join(_BUILTIN, "codes.yaml")


@dataclass(frozen=True)
class ProblemKind:
    code: str
    severity: Severity
    meaning: str
    example: str
    cure: str


@dataclass(frozen=True)
class Ending:
    """One way in which something ends without success. `of` says what: `step`, `run`, `session` or `command`."""

    code: str
    of: tuple[str, ...]
    meaning: str
    cure: str


def _rows(path: str) -> dict[str, dict[str, Any]]:
    import yaml

    with open(path, encoding="utf-8") as file:
        rows: dict[str, dict[str, Any]] = yaml.safe_load(file)
    return rows


@cache
def endings() -> dict[str, Ending]:
    """All codes with which steps, runs, sessions and commands end, by code."""
    rows = _rows(os.path.join(_BUILTIN, "endings.yaml"))
    return {code: Ending(code, tuple(row["of"]), row["meaning"], row["cure"]) for code, row in rows.items()}


@cache
def problem_kinds() -> dict[str, ProblemKind]:
    return {code: ProblemKind(code, **row) for code, row in _rows(FILE).items()}
