"""Finds a preset: a named set of routes."""

from __future__ import annotations

from collections.abc import Mapping

from handrail.errors import NotFound
from handrail.source.plain import some
from handrail.source.suggest import did_you_mean


def find_preset(known: Mapping[str, dict[str, str]], name: str) -> dict[str, str]:
    """The preset with this name. Raises `NotFound` with the names that there are."""
    found = known.get(name)
    if found is None:
        hint = did_you_mean(name, known) or f"presets: {some(sorted(known), 12)}; `settings.yaml` may define more"
        raise NotFound(f"there is no preset `{name}`", hint)
    return found
