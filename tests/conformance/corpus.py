"""Reads the cases from our copy, or from the folder in `HANDRAIL_CONFORMANCE_DIR`.

Another folder may have more cases. If it has no file for a suite, that suite is empty.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

Case = dict[str, Any]

OURS = Path(__file__).parent / "cases"
SUITES = ("context", "gating", "loading", "reconstruct", "templates", "transitions")


def folder() -> Path:
    return Path(os.environ.get("HANDRAIL_CONFORMANCE_DIR") or OURS)


def read(suite: str, base: Path | None = None) -> list[Case]:
    file = (base or folder()) / "guided" / f"{suite}.json"
    if not file.exists():
        return []
    cases: list[Case] = json.loads(file.read_text("utf-8"))["cases"]
    return cases


def every(suite: str) -> pytest.MarkDecorator:
    """Run a test once per case of a suite."""
    return pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in read(suite)])
