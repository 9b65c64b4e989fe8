"""Which name a task gives to the scope of its run."""

from __future__ import annotations

import pytest

from handrail.driven.artifacts.scope import ticket_key

TICKETS = {
    "abc-1": "ABC-1",
    "https://jira.example.com/browse/ABC-1": "ABC-1",
    "octo/tea#12": "tea-12",
    "https://github.com/octo/tea/issues/12": "tea-12",
    "https://github.com/octo/tea/pull/12/files": "tea-12",
    "https://gitlab.com/group/sub/tea/-/issues/12": "tea-12",
    "https://gitlab.com/group/tea/-/work_items/12": "tea-12",
    "https://gitlab.com/group/tea/-/merge_requests/12#note_3": "tea-12",
}
WORDS = ("Sort the list", "Fix octo/tea#12 soon", "make test", "https://github.com/octo/tea", "http://[/issues/1", "")


@pytest.mark.parametrize("task", TICKETS)
def test_a_ticket_has_a_short_name(task: str) -> None:
    assert ticket_key(f" {task} ") == TICKETS[task]


@pytest.mark.parametrize("task", WORDS)
def test_words_name_no_ticket(task: str) -> None:
    assert ticket_key(task) is None
