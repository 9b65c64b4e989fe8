"""What the recipes of several agents share to be checked: reading settings, and harmless messages for their stubs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from handrail.agents import stubs as shell
from handrail.contracts import Stubs
from handrail.contracts.host import Trial
from handrail.source import jsonedit


def compact(message: Mapping[str, Any]) -> str:
    """A message as agents write it: stubs look for fields in the text, without spaces between them."""
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False) + "\n"


def served(stubs: Stubs, agent: str, params: Mapping[str, Any]) -> Trial:
    """A message for the process that a plugin keeps. It ends when its input ends."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "hook", "params": params}
    argv = (*stubs.handrail, "serve", "--stdio", "--agent", agent)
    return Trial(argv, compact(message), shell.variables(stubs))


def read_json(path: str) -> dict[str, Any]:
    """The object in a JSON file that may have comments; empty if there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.loads(jsonedit.plain(file.read()))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
