"""One flow, six real agents: they write an artifact, report usage, resume a conversation and leak no secret."""

from __future__ import annotations

import pytest

from real.measured import FOREIGN, HEAD, NAMES, OWN, PAGE, line, measured

LAST_ONLY = "acp:opencode"
"""It reports the tokens of the last request of a turn only."""


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_does_what_the_table_in_the_docs_says(name: str) -> None:
    """One test: to measure an agent takes long."""
    row = measured(name)
    run = row.run
    assert run["status"] == "completed"
    assert [artifact["path"] for artifact in run["artifacts"]] == ["proof.md"]
    first = run["phases"][0]["steps"][0]
    assert first["value"]["executor"] == name
    assert first["value"]["output"].startswith("Written, with")
    usage = first["usage"]
    tokens = usage["inputTokens"], usage["outputTokens"]
    assert tokens in ((None, None), (1200, 10) if name == LAST_ONLY else (3300, 80)), (
        "an unknown number is null, never 0"
    )
    assert row.resumed == "yes"
    assert row.stopped == "nothing left"
    assert row.files == [], "files with a secret"
    assert FOREIGN not in row.seen
    assert OWN in row.seen
    assert OWN not in first["value"]["output"]
    assert "[hidden]" in first["value"]["output"]
    assert line(row) in PAGE.read_text(encoding="utf-8").splitlines(), "run `make agents-table`"


def test_the_table_in_the_docs_has_these_agents_and_no_other() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.startswith(HEAD)
    assert [row.split("|")[1].strip() for row in text.removeprefix(HEAD).splitlines()] == NAMES
