"""The folder of the user's workflows in pi."""

from __future__ import annotations

import os
from collections.abc import Mapping


def user_workflows(env: Mapping[str, str], home: str) -> str:
    return os.path.join(env.get("PI_CODING_AGENT_DIR") or os.path.join(home, ".pi", "agent"), "workflows")
