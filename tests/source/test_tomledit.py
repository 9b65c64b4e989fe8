"""Entries of ours in a TOML file of another program: added and removed, and nothing else changes."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from handrail.source import text_edits
from handrail.source.text_edits import NotToml

NOTE = "added by us"
TABLES: dict[tuple[str, ...], dict[str, Any]] = {
    ("servers", "ours"): {"command": "c", "env": {"A": 'b "c"'}, "args": ["x", 1, True]},
    ("a", "/b c:0"): {"h": "ü"},
}
TEXTS = [
    "",
    "# mine\n",
    'model = "x"\n\n[features]\na = true\n\n[tui] # theirs\nb = 1\n',
    "features.x = true\n[q]\nz = [\n  1,\n  [2],\n]\n",
    'text = """\n[servers.other]\n"""\n\n\n[servers.other]\nx = 1\n',
    "[[list]]\na = 1\n[[list]]\na = 2\n",
]


def added(text: str) -> str:
    return text_edits.add_tables(text_edits.add_key(text, "features", "tty", False, NOTE), TABLES, NOTE)


@pytest.mark.parametrize("text", TEXTS)
def test_entries_are_added_and_removed_again(text: str) -> None:
    full = added(text)
    found = tomllib.loads(full)
    assert found["servers"]["ours"] == TABLES["servers", "ours"]
    assert found["a"]["/b c:0"] == {"h": "ü"}
    assert found["features"]["tty"] is False
    assert text_edits.remove_noted(full, NOTE) == text


def test_a_text_without_a_last_line_break_gets_one() -> None:
    assert text_edits.remove_noted(added("m = 1"), NOTE) == "m = 1\n"


@pytest.mark.parametrize("text", TEXTS)
def test_what_others_write_meanwhile_stays(text: str) -> None:
    """Other programs put their tables at the end, between ours, or below one of ours."""
    full = added(text).replace(
        '[a."/b c:0"]', '[servers.ours.tools.x]\nmode = "y"\n\n# a comment of theirs\n[a.theirs]\nk = 1\n\n[a."/b c:0"]'
    )
    left = tomllib.loads(text_edits.remove_noted(full + "\n[last]\nz = 2\n", NOTE))
    assert left == {**tomllib.loads(text), "a": {"theirs": {"k": 1}}, "last": {"z": 2}}
    assert "# a comment of theirs" in text_edits.remove_noted(full, NOTE)


def test_a_table_that_we_added_for_a_key_stays_if_others_use_it() -> None:
    full = added("").replace("tty = false", "tty = false", 1)
    mixed = full.replace("[features]  # for a key added by us\n", "[features]  # for a key added by us\nmine = 1\n")
    assert tomllib.loads(text_edits.remove_noted(mixed, NOTE)) == {"features": {"mine": 1}}


def test_a_key_that_is_there_is_left_alone() -> None:
    text = "[features]\ntty = true\n"
    assert text_edits.add_key(text, "features", "tty", False, NOTE) == text


def test_entries_with_another_note_stay() -> None:
    both = text_edits.add_tables(added(""), {("b",): {"k": 1}}, "added by us --project")
    assert tomllib.loads(text_edits.remove_noted(both, NOTE)) == {"b": {"k": 1}}
    assert text_edits.remove_noted(both, "added by us --project") == added("")


@pytest.mark.parametrize(
    "text",
    ["[servers.ours]\nx = 1\n", "servers = {}\n", "servers = 1\n", "not toml", "[servers]\nours = {x = 1}\n"],
)
def test_a_file_into_which_our_entries_do_not_fit_is_refused(text: str) -> None:
    with pytest.raises(NotToml):
        text_edits.add_tables(text, TABLES, NOTE)


def test_a_table_in_one_line_takes_no_further_key() -> None:
    with pytest.raises(NotToml):
        text_edits.add_key("features = {a = true}\n", "features", "tty", False, NOTE)
