"""Handrail is killed while an agent works: its own record says what the agent used, or that is said to be unknown."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from support import Project

ID = "01a1e197-3365-7790-9ad7-6707fe4a0388"
USAGE = {"input_tokens": 600, "cache_read_input_tokens": 400, "cache_creation_input_tokens": 0, "output_tokens": 50}
MESSAGE = {"id": "m1", "stop_reason": "tool_use", "usage": USAGE}
RECORD = {"timestamp": "2030-01-01T00:00:00Z", "type": "assistant", "message": MESSAGE}
PROGRAM = """\
#!/bin/sh
if [ -e killed ]; then
  echo '{"type": "result", "subtype": "success", "result": "done", "session_id": "@ID@", "total_cost_usd": 0.5,
    "model_usage_since_last_result": {"m": {"inputTokens": 7, "outputTokens": 3, "costUSD": 0.5}}}' | tr -d '\\n'
  exit
fi
touch killed
mkdir -p HOME/.claude/projects/p
RECORD
echo '{"type": "system", "subtype": "init", "session_id": "@ID@"}'
echo '{"type": "assistant", "session_id": "@ID@", "message": {"id": "m1", "content": [{"type": "text"}]}}'
until grep -q SessionOpened STATE/runs/*/*/1/journal; do sleep 0.01; done
kill -9 $PPID
"""


def killed(project: Project, tmp_path: Path, *, records: bool) -> str:
    """A run whose process was killed by its agent, a program in the place of Claude Code, that used 1,000 tokens."""
    line = json.dumps(RECORD, separators=(",", ":"))
    record = f"echo '{line}' > HOME/.claude/projects/p/{ID}.jsonl" if records else ""
    text = PROGRAM.replace("RECORD", record).replace("STATE", str(project.home / "state"))
    program = tmp_path / "my-claude"
    program.write_text(text.replace("HOME", str(tmp_path / "user")).replace("@ID@", ID))
    program.chmod(0o755)
    project.write(".handrail/flows/one.yaml", "phases: [{id: p, steps: [{id: s, node: llm-prompt, prompt: Go.}]}]\n")
    bounds = ("--max-usd", "3", "--max-tokens", "5000")
    said = project.process("run", "one", "--agent", "claude", *bounds, CLAUDE_BIN=str(program))
    assert said.code == -signal.SIGKILL, said
    return str(project.json("runs")["runs"][0]["run"])


@pytest.mark.whole
def test_a_resumed_run_counts_what_its_agent_used_before_the_kill(project: Project, tmp_path: Path) -> None:
    id_ = killed(project, tmp_path, records=True)
    said = project.process("resume", id_, "--json", CLAUDE_BIN=str(tmp_path / "my-claude"))
    assert said.code == 0, said
    assert said.data["usage"] == {"inputTokens": 1007, "outputTokens": 53, "usd": 0.5}
    log = project.run("log", id_).out
    assert "cost unknown" not in log
    assert "the agent did not report what it cost, so it cannot be counted for `--max-usd`" in log


@pytest.mark.whole
def test_a_restarted_run_counts_it_too_and_its_bounds_hold(project: Project, tmp_path: Path) -> None:
    id_ = killed(project, tmp_path, records=True)
    own = {"CLAUDE_BIN": str(tmp_path / "my-claude")}
    ended = project.process("restart", id_, "--max-tokens", "1050", "--json", **own)
    assert (ended.code, ended.data["reason"]) == (6, "it used 1050 of at most 1050 tokens (`--max-tokens`)")


@pytest.mark.whole
def test_without_a_record_the_cost_is_unknown_and_the_limits_say_that_they_cannot_hold(
    project: Project, tmp_path: Path
) -> None:
    id_ = killed(project, tmp_path, records=False)
    said = project.process("resume", id_, CLAUDE_BIN=str(tmp_path / "my-claude"))
    assert said.code == 0, said
    words = "cost unknown: claude left no record of what it used before the run was interrupted"
    assert f"{words}, so `--max-usd` and `--max-tokens` cannot hold" in project.run("log", id_).out
    assert project.json("runs", id_)["usage"] == {"inputTokens": 7, "outputTokens": 3, "usd": 0.5}
