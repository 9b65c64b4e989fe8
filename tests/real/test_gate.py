"""Which tool calls are allowed and which are denied: with every kind of list, in every mode, in subagents."""

from __future__ import annotations

import pytest

from real.claude import FREE, Claude, new_id
from real.guests.guest import Phase
from real.model import Model, Turn, tool_results
from real.turns import bash, call, deeds, notes, step, write

ALL = ["Edit", "Write", "Bash", "mcp__notes__add"]
LISTS = {
    "handrail's names": ("blacklist: [edit, write, bash, 'mcp:notes/add']", ALL),
    "the host's names": ("blacklist: [Edit, Write, Bash, mcp__notes__add]", ALL),
    "one host's name": ("blacklist: [Edit]", ["Edit"]),
    "a list written for pi": ("whitelist: [read, grep, find, ls, bash]", ["Edit", "Write", "mcp__notes__add"]),
    "an mcp tool alone": ("whitelist: [read, 'mcp:notes/add']", ["Edit", "Write", "Bash"]),
    "no list": ("", []),
}
OPEN = ("--allowedTools", "Read,Write,Edit,Bash,mcp__notes__add")
SKIP = ("--dangerously-skip-permissions",)
AGENT = {"description": "do it", "prompt": "Do it.", "subagent_type": "general-purpose", "run_in_background": False}


def guarded(claude: Claude, tools: str) -> None:
    """Two phases: one with this list, one without a list."""
    claude.workflow("w", Phase("look", f"tools: {{{tools}}}" if tools else ""), Phase("build"))


def reason(tool: str) -> str:
    return f"{tool} is not allowed in the phase Look of W."


def denied(claude: Claude, model: Model, *, subagent: bool = False) -> list[str]:
    """The tools that were denied with our reason."""
    results = tool_results(model.received(subagent=subagent)[-1])
    return [tool for tool in ALL if any(reason(tool) in result for result in results)]


@pytest.mark.parametrize("name", LISTS)
def test_a_list_denies_exactly_its_tools(claude: Claude, model: Model, name: str) -> None:
    tools, forbidden = LISTS[name]
    guarded(claude, tools)
    attempts = deeds(claude)
    model.script(*[turn for deed in attempts.values() for turn in deed.turns], Turn("1"), Turn("2"), Turn("3"))
    claude.run("/workflow w tea", *OPEN, *notes(claude))
    assert denied(claude, model) == forbidden
    assert [tool for tool, deed in attempts.items() if not deed.is_done] == forbidden


def test_a_denied_call_runs_in_a_phase_that_allows_it(claude: Claude, model: Model) -> None:
    guarded(claude, LISTS["handrail's names"][0])
    attempts = deeds(claude)
    again = [turn for deed in attempts.values() for turn in deed.turns]
    model.script(*again, step("next"), *again, step("next"), Turn("Done."))
    ran = claude.run("/workflow w tea", *OPEN, *notes(claude))
    assert ran.result == "Done."
    assert denied(claude, model) == ALL
    assert all(deed.is_done for deed in attempts.values())


def test_the_gate_works_if_all_permissions_are_skipped(claude: Claude, model: Model) -> None:
    guarded(claude, LISTS["handrail's names"][0])
    attempts = deeds(claude)
    model.script(*[turn for deed in attempts.values() for turn in deed.turns])
    claude.run("/workflow w tea", *SKIP, *notes(claude))
    assert denied(claude, model) == ALL
    assert not any(deed.is_done for deed in attempts.values())


@pytest.mark.parametrize("mode", [OPEN, SKIP], ids=["permitted", "skipped"])
def test_the_gate_works_in_a_subagent(claude: Claude, model: Model, mode: tuple[str, ...]) -> None:
    guarded(claude, LISTS["handrail's names"][0])
    attempts = deeds(claude)
    model.script(call("Agent", **AGENT))
    model.script_subagents(*[turn for deed in attempts.values() for turn in deed.turns], Turn("I could not."))
    claude.run("/workflow w tea", *mode, *notes(claude))
    assert denied(claude, model, subagent=True) == ALL
    assert not any(deed.is_done for deed in attempts.values())


def test_the_gate_works_in_a_background_subagent(claude: Claude, model: Model) -> None:
    guarded(claude, "blacklist: [write]")
    model.script(call("Agent", **{**AGENT, "run_in_background": True}), Turn("I wait."), step("next"), step("next"))
    model.script_subagents(write(claude), Turn("I could not."))
    claude.run("/workflow w tea", *OPEN)
    assert denied(claude, model, subagent=True) == ["Write"]
    assert not (claude.project / "written.txt").exists()
    assert "W is not done yet" not in model.last_texts(), "there is no reminder while the subagent works"


def test_a_subagent_is_told_the_phase_and_runs_what_it_allows(claude: Claude, model: Model) -> None:
    guarded(claude, "blacklist: [write]")
    model.script(call("Agent", **AGENT))
    model.script_subagents(bash("echo ran > bash.txt"), Turn("I did."))
    claude.run("/workflow w tea", *OPEN)
    assert "Only the main conversation moves the workflow." in str(model.received(subagent=True)[0]["messages"])
    assert (claude.project / "bash.txt").read_text() == "ran\n"


def test_a_subagent_may_read_the_status_but_not_move(claude: Claude, model: Model) -> None:
    guarded(claude, "blacklist: [write]")
    conversation = new_id()
    model.script(call("Agent", **AGENT))
    model.script_subagents(*[step(action) for action in ("status", "next", "loop", "cancel", "cancel")], Turn("Done."))
    claude.run("/workflow w tea", *OPEN, "--session-id", conversation)
    status, *moves = tool_results(model.received(subagent=True)[-1])
    assert "**Phase:** • Look [1/2]" in status
    assert len(moves) == 4
    assert all("Only the main conversation moves the workflow." in result for result in moves)
    assert (claude.at(conversation), claude.status(conversation)["steps"]) == ("look", 0)


def test_a_tool_that_is_loaded_on_demand_can_be_allowed_by_a_list(claude: Claude, model: Model) -> None:
    """Claude Code hides most MCP tools until the model searches for them. Searching runs nothing."""
    guarded(claude, LISTS["an mcp tool alone"][0])
    search = call("ToolSearch", query="select:mcp__notes__add", max_results=1)
    model.script(search, *deeds(claude)["mcp__notes__add"].turns)
    claude.run("/workflow w tea", *OPEN, *notes(claude, listed=False))
    found, added = tool_results(model.received()[-1])[:2]
    assert "not allowed" not in found
    assert (claude.project / "added.txt").read_text() == "a note\n", added


def test_a_denied_shell_is_denied_under_every_name(claude: Claude, model: Model) -> None:
    guarded(claude, "blacklist: [bash]")
    search = call("ToolSearch", query="select:Monitor", max_results=1)
    monitor = {"command": "echo ran > bash.txt", "description": "watch", "timeout_ms": 5000, "persistent": False}
    model.script(search, call("Monitor", **monitor))
    claude.run("/workflow w tea", *SKIP)
    assert reason("Monitor") in tool_results(model.received()[-1])[-1]
    assert not (claude.project / "bash.txt").exists()


def test_a_move_and_a_call_in_one_message_are_decided_in_order(claude: Claude, model: Model) -> None:
    guarded(claude, "blacklist: [write]")
    both = Turn("both", tools=(*write(claude, "a").tools, *step("next").tools, *write(claude, "b").tools))
    model.script(both, step("next"), Turn("Done."))
    claude.run("/workflow w tea", *FREE)
    assert not (claude.project / "a").exists()
    assert (claude.project / "b").exists()
