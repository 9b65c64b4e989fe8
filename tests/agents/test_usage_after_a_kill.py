"""What an agent used, from its own record of the conversation: Handrail reads it after it was killed."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from handrail.extensions.registry import Registry

ID = "01a1e197-3365-7790-9ad7-6707fe4a0388"
SINCE = 1_800_000_000.0
BEFORE, AFTER = (datetime.fromtimestamp(SINCE + seconds, UTC).isoformat() for seconds in (-5, 5))
Record = dict[str, Any]


def claude(number: int, at: str) -> list[Record]:
    usage = {"input_tokens": 600, "cache_read_input_tokens": 400, "cache_creation_input_tokens": 0, "output_tokens": 50}
    message = {"id": f"m{number}", "stop_reason": "tool_use", "usage": usage}
    return [{"timestamp": at, "type": "assistant", "message": message}] * 2  # one line per part of the message


def codex(number: int, at: str) -> list[Record]:
    counted = {"input_tokens": 1000 * number, "output_tokens": 50 * number, "cached_input_tokens": 400 * number}
    info = {"total_token_usage": counted}
    return [{"timestamp": at, "type": "event_msg", "payload": {"type": "token_count", "info": info}}]


def copilot(number: int, at: str) -> list[Record]:
    usage = {"inputTokens": 1000, "outputTokens": 50, "cacheReadTokens": 400}
    return [{"timestamp": at, "type": "session.usage_record", "data": {"usage": usage, "number": number}}]


def gemini(number: int, at: str) -> list[Record]:
    tokens = {"input": 1000, "output": 40, "cached": 400, "thoughts": 10, "total": 1050}
    return [{"id": f"answer-{number}", "timestamp": at, "type": "gemini", "tokens": tokens}] * 2


def pi(number: int, at: str) -> list[Record]:
    usage = {"input": 600, "output": 50, "cacheRead": 400, "cacheWrite": 0, "cost": {"total": 0.25}}
    message = {"role": "assistant", "usage": usage, "number": number}
    return [{"timestamp": at, "type": "message", "message": message}]


RECORDS: dict[str, tuple[str, Callable[[int, str], list[Record]], float | None]] = {
    "claude": (f".claude/projects/-p/{ID}.jsonl", claude, None),
    "codex": (f".codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-{ID}.jsonl", codex, None),
    "copilot": (f".copilot/session-state/{ID}/events.jsonl", copilot, None),
    "gemini": (f".gemini/tmp/p/chats/session-2026-01-02T03-04-{ID[:8]}.jsonl", gemini, None),
    "pi": (f".pi/agent/sessions/--p--/2026-01-02T03-04-05-000Z_{ID}.jsonl", pi, 0.5),
}


def write_records(home: Path, name: str, *moments: str) -> None:
    path, record, _ = RECORDS[name]
    (home / path).parent.mkdir(parents=True)
    with (home / path).open("a") as file:
        for number, at in enumerate(moments, 1):
            file.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in record(number, at))


def spent(name: str, home: Path, session: str = ID) -> Record | None:
    found: Record | None = Registry().executor(name).spent(session, {"HOME": str(home)}, SINCE)  # type: ignore[attr-defined]  # only some have it
    return found


@pytest.mark.parametrize("name", RECORDS)
def test_only_what_was_used_since_a_moment_counts(tmp_path: Path, name: str) -> None:
    write_records(tmp_path, name, BEFORE, AFTER, AFTER)
    usd = RECORDS[name][2]
    assert spent(name, tmp_path) == {"inputTokens": 2000, "outputTokens": 100, "cachedTokens": 800, "usd": usd}


@pytest.mark.parametrize("name", [*RECORDS, "opencode"])
def test_without_a_record_since_then_it_is_unknown(tmp_path: Path, name: str) -> None:
    assert spent(name, tmp_path) is None
    if name in RECORDS:
        write_records(tmp_path, name, BEFORE)
    assert spent(name, tmp_path) is None


def test_an_answer_of_claude_that_is_not_whole_has_no_known_output(tmp_path: Path) -> None:
    write_records(tmp_path, "claude", AFTER)
    path = tmp_path / RECORDS["claude"][0]
    path.write_text(path.read_text().replace('"tool_use"', "null"))
    found = spent("claude", tmp_path)
    assert found is not None
    assert (found["inputTokens"], found["outputTokens"]) == (1000, None)


def test_the_subagents_of_claude_have_records_of_their_own(tmp_path: Path) -> None:
    write_records(tmp_path, "claude", AFTER)
    path = tmp_path / RECORDS["claude"][0]
    below = path.with_suffix("") / "subagents" / "agent-1.jsonl"
    below.parent.mkdir(parents=True)
    below.write_text(path.read_text().replace('"m1"', '"other"'))
    found = spent("claude", tmp_path)
    assert found is not None
    assert (found["inputTokens"], found["outputTokens"]) == (2000, 100)


def test_the_database_of_opencode_has_a_session_and_its_subagents(tmp_path: Path) -> None:
    folder = tmp_path / ".local/share/opencode"
    folder.mkdir(parents=True)
    tokens = {"input": 600, "output": 40, "reasoning": 10, "cache": {"read": 400, "write": 0}}
    answer, late = json.dumps({"role": "assistant", "cost": 0.25, "tokens": tokens}), SINCE * 1000 + 1
    with contextlib.closing(sqlite3.connect(folder / "opencode.db")) as base:
        base.execute("CREATE TABLE session (id TEXT, parent_id TEXT)")
        base.execute("CREATE TABLE message (session_id TEXT, time_created INTEGER, data TEXT)")
        base.executemany("INSERT INTO session VALUES (?, ?)", [("ses_1", None), ("ses_2", "ses_1"), ("ses_3", None)])
        rows = [("ses_1", late, answer), ("ses_2", late, answer), ("ses_3", late, answer), ("ses_1", 5, answer)]
        base.executemany("INSERT INTO message VALUES (?, ?, ?)", [*rows, ("ses_1", late, '{"role": "user"}')])
        base.commit()
    assert spent("opencode", tmp_path, "ses_1") == {
        "inputTokens": 2000, "outputTokens": 100, "cachedTokens": 800, "usd": 0.5,
    }  # fmt: skip
