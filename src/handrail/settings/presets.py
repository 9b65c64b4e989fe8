"""Presets: named sets of routes."""

from __future__ import annotations

import os
from collections.abc import Mapping

from handrail.errors import UsageError
from handrail.source.plain import some
from handrail.source.suggest import did_you_mean

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def shipped_presets() -> dict[str, dict[str, str]]:
    """The presets that exist without settings."""
    import json

    with open(os.path.join(_PACKAGE, "builtin", "presets.json")) as file:
        found: dict[str, dict[str, str]] = json.load(file)["presets"]
    return found


def find_preset(known: Mapping[str, dict[str, str]], name: str) -> dict[str, str]:
    """The preset with this name. Raises `UsageError` with the names that there are."""
    found = known.get(name)
    if found is None:
        hint = did_you_mean(name, known) or f"presets: {some(sorted(known), 12)}; `settings.yaml` may define more"
        raise UsageError(f"there is no preset `{name}`", hint)
    return found
