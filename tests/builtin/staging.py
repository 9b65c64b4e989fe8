"""Prepares the agent of a run that has a worktree of its own: a setup command that runs in the worktree.

The prompts name files by their whole paths, and the path of a worktree is known only when it is made.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from agentweaver.agent import Mood
from builtin.shop import stage_agent

if __name__ == "__main__":
    folder = Path(os.environ["HANDRAIL_SCRIPT"]).parent
    task = json.loads(folder.with_suffix(".json").read_text())
    stage_agent(folder, Path.cwd(), task["key"], task["writes"], Mood(bad_reviews=1))
