"""Sends messages to an agent's hook in a new process, as the host does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import handrail

HOOK = str(Path(handrail.__file__).parent / "hook.py")


def tell(agent: str, message: dict[str, Any], *, path: str | None = None) -> dict[str, Any]:
    """The answer to a message; empty if the hook prints nothing. `path` is a folder with more modules."""
    argv = [sys.executable, "-I", "-S", HOOK, agent]
    if path is not None:
        start = f"import sys; sys.path[:0] = [{str(Path(HOOK).parent.parent)!r}, {path!r}]"
        row = f"from handrail.extensions import registry; registry.AGENTS[{agent!r}] = {{'host': 'toyhost'}}"
        call = f"import os; from handrail.agents.calls.hook import main; sys.exit(main([{agent!r}], os.environ))"
        argv = [sys.executable, "-c", f"{start}; {row}; {call}"]
    ended = subprocess.run(argv, input=json.dumps(message), capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    said = json.loads(ended.stdout or "{}")
    assert isinstance(said, dict)
    return said
