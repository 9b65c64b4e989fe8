"""Runs the real Claude Code with a scripted model, as the tests of agents do. Says why if it cannot be installed."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from bench.measure import BenchError, talk
from bench.piworkflows import Missing
from bench.place import ROOT

sys.path.append(str(ROOT / "tests"))

from handrail.agents.claude.offline import STEP
from real.claude import Claude
from real.hosts import NODE
from real.model import Model, Turn, texts, tool_results

__all__ = ["Claude", "Model", "Turn", "answer", "converse", "find_claude", "texts", "tool_results"]

LIMIT = 120.0
RAN = "(Bash completed with no output)"
BASH = Turn("I run it.", tools=(("Bash", {"command": "true", "description": "nothing"}),))
NEXT = Turn("On.", tools=((STEP, {"action": "next", "summary": "did what the phase asked for"}),))
STOP, DONE = Turn("I stop here."), Turn("Done.")


def find_claude() -> Missing | None:
    """Install the pinned version if needed. None if Claude Code can be run."""
    talk("Claude Code: installing if needed")
    done = subprocess.run([str(ROOT / "scripts" / "agents")], stdout=subprocess.DEVNULL, check=False)
    if done.returncode != 0 or not (NODE / "claude").exists():
        return Missing("Claude Code could not be installed; see above")
    return None


def answer(claude: Claude, prompt: str) -> str:
    """The result of one call without a terminal."""
    with _running(claude, prompt, "--output-format", "json") as process:
        out, _ = process.communicate()
    if process.returncode != 0:
        raise BenchError(f"Claude Code ended with {process.returncode}: {out[-400:]}")
    return str(json.loads(out)["result"])


def converse(claude: Claude, prompts: list[str]) -> Generator[list[dict[str, Any]]]:
    """One conversation. Sends each prompt after the previous answer, and yields the model requests of each prompt."""
    shape = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
    with _running(claude, *shape) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for prompt in prompts:
            before = len(claude.model.received())
            message = {"type": "user", "message": {"role": "user", "content": prompt}}
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            if not any(json.loads(line)["type"] == "result" for line in process.stdout):
                raise BenchError(f"Claude Code ended before it had answered {prompt!r}")
            yield claude.model.received()[before:]


@contextmanager
def _running(claude: Claude, *options: str) -> Iterator[subprocess.Popen[str]]:
    """The running program. It is killed after `LIMIT` seconds."""
    argv = [claude.program, "-p", *options, "--dangerously-skip-permissions"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(argv, cwd=claude.project, env=claude.env, stdin=pipe, stdout=pipe, text=True)
    watchdog = threading.Timer(LIMIT, process.kill)
    watchdog.start()
    try:
        with process:
            yield process
    finally:
        watchdog.cancel()
