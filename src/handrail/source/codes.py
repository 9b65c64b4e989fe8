"""The meaning of each problem code, with an example and a cure. The texts are in `builtin/codes.yaml`.

The file is read on first use, because loading definitions does not need the texts.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import cast

from handrail.source.diagnostics import Severity

FILE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "builtin", "codes.yaml")


@dataclass(frozen=True)
class Rule:
    """One kind of problem."""

    code: str
    severity: Severity
    meaning: str
    example: str
    cure: str


@cache
def rules() -> dict[str, Rule]:
    """All kinds of problems, by code."""
    import yaml

    with open(FILE, encoding="utf-8") as file:
        rows: dict[str, dict[str, str]] = yaml.safe_load(file)
    return {code: Rule(code, *_texts(row)) for code, row in rows.items()}


def _texts(row: dict[str, str]) -> tuple[Severity, str, str, str]:
    return cast("Severity", row["severity"]), row["meaning"], row["example"], row["cure"]
