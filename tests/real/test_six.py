"""One flow, six real agents: they write an artifact, report usage, resume a conversation and leak no secret."""

from __future__ import annotations

import pytest

from real.measured import FOREIGN, NAMES, OWN, PAGE, measured, page

pytestmark = pytest.mark.xdist_group("six")  # each agent is measured once for all of these tests
LAST_ONLY = "acp:opencode"
"""It reports the tokens of the last request of a turn only."""
every = pytest.mark.parametrize("name", NAMES)


@every
def test_a_prompt_writes_an_artifact_and_its_usage_is_recorded(name: str) -> None:
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


@pytest.mark.rarely("opencode")
@every
def test_a_conversation_is_resumed_in_a_later_step(name: str) -> None:
    assert measured(name).resumed == "yes"


@every
def test_no_file_contains_a_secret_and_agents_see_only_what_they_need(name: str) -> None:
    row = measured(name)
    assert row.files == []
    assert FOREIGN not in row.seen
    assert OWN in row.seen
    value = row.run["phases"][0]["steps"][0]["value"]
    assert OWN not in value["output"]
    assert "[hidden]" in value["output"]


@every
def test_stop_kills_the_agent_and_a_tool_that_ignores_signals(name: str) -> None:
    assert measured(name).stopped == "nothing left"


def test_the_table_in_the_docs_is_what_was_measured() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make agents-table`"
