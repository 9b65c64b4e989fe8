"""What agents and programs print: numbered lines, without secrets, limited, and never damaged by a kill."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from handrail.driven.engines.embedded import activity
from handrail.driven.engines.embedded.activity import Activity, ProgramOutput, call_words, read_activity
from handrail.driven.runs import run_events
from handrail.extensions.contracts import AgentSaid
from handrail.settings.secrets import Secrets
from handrail.view.text.log import line_of

SECRET = "s3cr3t-value-0123456789"
SECRETS = Secrets({"DEPLOY_TOKEN": SECRET})


def writer(folder: Path, secrets: Secrets = SECRETS) -> Activity:
    return Activity(str(folder), lambda: 5.0, secrets)


def lines(folder: Path, since: Any = None) -> list[tuple[int, str, str]]:
    return [(line["n"], line["kind"], line["text"]) for line in read_activity(str(folder / "activity"), since)[0]]


def test_output_is_split_into_lines_and_masked_also_if_it_comes_in_pieces(tmp_path: Path) -> None:
    told = writer(tmp_path)
    output = ProgramOutput(told, "a/b")
    text = f"first\nthe token is {SECRET}!\nlast".encode()
    for at in range(0, len(text), 7):
        output(text[at : at + 7])
    output.end()
    told.close()
    assert lines(tmp_path) == [(1, "out", "first"), (2, "out", "the token is [hidden]!"), (3, "out", "last")]


def test_a_piece_that_is_no_line_yet_is_a_sign_of_life(tmp_path: Path) -> None:
    told = writer(tmp_path)
    output = ProgramOutput(told, "a/b")
    output(b"first\n")
    told.flush()
    os.utime(tmp_path / "activity", (5.0, 5.0))
    output(b"..")
    assert (tmp_path / "activity").stat().st_mtime > 5.0
    told.close()


def test_only_the_last_lines_are_read_if_no_more_are_wanted(tmp_path: Path) -> None:
    told = writer(tmp_path)
    for number in range(5):
        told.add("a/b", "out", f"row {number}")
    told.close()
    every, end = read_activity(str(tmp_path / "activity"), None)
    assert read_activity(str(tmp_path / "activity"), None, 2) == (every[-2:], end)
    assert read_activity(str(tmp_path / "activity"), None, 9) == (every, end)


def test_an_agent_is_heard_and_its_acts_come_as_events(tmp_path: Path) -> None:
    told = writer(tmp_path)
    told.hear("a/b", AgentSaid("text", {"text": "I begin.\n\nThen I end."}))
    told.hear("a/b", AgentSaid("result", {"output": "\n".join(f"row {number}" for number in range(50))}))
    told.take(run_events.AgentActed("a/b", "denied", "bash: git push"))
    told.take(run_events.StepFailed("a/b", "exit", "it ended with 1"))
    told.close()
    found = lines(tmp_path)
    assert found[:2] == [(1, "text", "I begin."), (2, "text", "Then I end.")]
    assert found[2:22] == [(number + 3, "out", f"row {number}") for number in range(30, 50)]
    assert found[22:] == [(53, "denied", "bash: git push"), (54, "failed", "it ended with 1")]


def test_what_comes_too_fast_is_counted_and_not_written(tmp_path: Path) -> None:
    told = writer(tmp_path)
    ProgramOutput(told, "a/b")(b"".join(b"%d\n" % number for number in range(100_000)))
    told.close()
    found = lines(tmp_path)
    assert len(found) == activity.AT_ONCE
    assert found[-1] == (100_000, "out", "99999")


def test_a_line_has_at_most_four_kilobytes_and_the_file_eight_megabytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "MOST_BYTES", 40_000)
    told = writer(tmp_path)
    for number in range(60):
        told.add("a/b", "out", f"{number} " + "\x1b€" * 10_000)
        told.flush()
    told.close()
    data = (tmp_path / "activity").read_bytes()
    assert len(data) <= 40_000
    assert max(map(len, data.splitlines())) < activity.LONGEST_LINE
    found = lines(tmp_path)
    assert found[-1][0] == 60
    assert [number for number, _, _ in found] == list(range(found[0][0], 61))
    assert found[0][0] > 1


def test_a_reader_continues_where_it_was_also_after_the_older_half_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "MOST_BYTES", 2_000)
    told, mark = writer(tmp_path), None
    seen: list[int] = []
    for number in range(1, 101):
        told.add("a/b", "out", str(number))
        told.flush()
        if not number % 5:
            found, mark = read_activity(str(tmp_path / "activity"), mark)
            seen += [line["n"] for line in found if line["n"] > max(seen, default=0)]
    assert seen == list(range(1, 101))
    assert read_activity(str(tmp_path / "activity"), mark) == ([], mark)
    told.close()


def test_a_kill_at_any_byte_loses_at_most_the_last_line(tmp_path: Path) -> None:
    told = writer(tmp_path)
    for text in ("one", "two", "three"):
        told.add("a/b", "out", text)
    told.close()
    data = (tmp_path / "activity").read_bytes()
    ends = [at + 1 for at, byte in enumerate(data) if byte == 10]
    for size in range(len(data) + 1):
        (tmp_path / "activity").write_bytes(data[:size])
        whole = sum(end <= size for end in ends)
        assert [number for number, _, _ in lines(tmp_path)] == list(range(1, whole + 1))
        again = writer(tmp_path)
        again.add("a/b", "out", "after")
        again.close()
        assert lines(tmp_path)[whole:] == [(whole + 1, "out", "after")]


def test_if_it_cannot_be_written_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "activity").mkdir()
    told = writer(tmp_path)
    told.add("a/b", "out", "lost")
    told.close()
    assert read_activity(str(tmp_path / "activity"), None)[0] == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"path": "src/cart.py", "old": "a", "new": "b"}, "tool src/cart.py"),
        ({"command": "make \\\n  test"}, "tool make \\ test"),
        ({"command": ["git", "push"], "timeout": 9}, "tool git push"),
        ({"pattern": "slug", "path": "src"}, "tool slug"),
        ({"items": [1], "path": ""}, 'tool {"items": [1], "path": ""}'),
        ({}, "tool"),
    ],
)
def test_a_call_of_a_tool_is_told_by_the_argument_that_says_most(given: dict[str, object], words: str) -> None:
    assert call_words("tool", given) == words


def test_a_command_of_an_agent_keeps_its_spaces() -> None:
    command = "grep  -n 'a   b' src\n  && make"
    assert call_words("bash", {"command": command}) == "bash grep  -n 'a   b' src && make"
    acted = run_events.AgentActed("a/b", "tool", call_words("bash", {"command": command}))
    assert line_of(acted).text == "bash grep  -n 'a   b' src && make"


def test_lines_that_are_not_written_are_not_encoded(tmp_path: Path) -> None:
    told, encoded = writer(tmp_path), 0

    def count(frame: FrameType, event: str, _arg: object) -> None:
        nonlocal encoded
        encoded += event == "call" and frame.f_code.co_name in ("encode_line", "mask")

    output = ProgramOutput(told, "a/b")
    sys.setprofile(count)
    try:
        for _ in range(100):
            output(b"{}\n" * 5_000)
        told.close()
    finally:
        sys.setprofile(None)
    assert 0 < encoded <= 2 * activity.AT_ONCE
    assert lines(tmp_path)[-1] == (500_000, "out", "{}")
