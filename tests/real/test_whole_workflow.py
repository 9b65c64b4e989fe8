"""A workflow from its start to its end, as the model and the person see it."""

from __future__ import annotations

import pytest

from handrail.guided.workflows.plan import PLACEHOLDERS
from real.claude import FREE, Claude, new_id
from real.guests.guest import Phase, mark
from real.model import Model, Turn, texts, tool_results
from real.turns import step, write

PLACEHOLDERS = {name: f"{{{name}}}" for name in PLACEHOLDERS if name != "phaseInstructions"}
EVERY = " ".join(f"{name}={sign}" for name, sign in PLACEHOLDERS.items())
PHASES = (("release", "plan"), ("review", "analyse"), ("review", "judge"), ("release", "ship"))


def nested(claude: Claude) -> None:
    claude.workflow("release", Phase("plan", text=EVERY), "@review", Phase("ship", text=EVERY))
    checked = Phase("judge", "exit:\n  - file: report.txt", text=EVERY)
    claude.workflow("review", Phase("analyse", text=EVERY), checked, head="show: workflows\n")


def test_a_nested_workflow_with_a_check_and_a_loop_reaches_its_end(claude: Claude, model: Model) -> None:
    nested(claude)
    model.script(
        step("next", "planned"),
        step("next", "analysed"),
        step("next", "too early"),
        write(claude, "report.txt"),
        step("loop"),
        step("next", "analysed again"),
        step("next", "judged"),
        step("next", "shipped"),
        Turn("All done."),
    )
    conversation = new_id()
    ran = claude.run("/workflow release the login", *FREE, "--session-id", conversation)
    assert (ran.code, ran.result) == (0, "All done.")
    assert claude.at(conversation) == "done"
    assert not claude.link(conversation).exists()
    results = tool_results(model.received()[-1])
    assert results[0].startswith("✓ Entered subworkflow 'Review': Plan → • Analyse")
    assert results[2].startswith("✗ Judge cannot be left yet: the exit check does not hold.")
    assert results[4].startswith("🔄 Starting 'Review' over at: • Analyse")
    assert results[-1].startswith("✓ Finished: Ship → DONE")
    said = model.last_texts()
    counts = [said.count(mark(*phase)) for phase in PHASES]
    assert counts == [1, 2, 2, 1], "only the loop repeats the instructions of a phase"
    assert [sign for sign in PLACEHOLDERS.values() if sign in said] == []


def test_each_phase_is_shown_once_across_stops_and_prompts(claude: Claude, model: Model) -> None:
    nested(claude)
    claude.write("report.txt", "x\n")
    conversation = new_id()
    ask = (*FREE, "--session-id", conversation)
    model.script(Turn("a stop"), step("next"), Turn("a stop"), write(claude, "a"), Turn("1"), Turn("2"), Turn("3"))
    claude.run("/workflow release the login", *ask)
    assert claude.at(conversation) == "analyse"
    for _ in range(2):
        model.script(step("next"), write(claude, "b"), *[Turn(f"stop {n}") for n in range(9)])
        claude.run("go on", *FREE, "--resume", conversation)
    assert claude.at(conversation) == "ship"
    model.script(step("next"), Turn("Done."))
    assert claude.run("finish", *FREE, "--resume", conversation).result == "Done."
    said = model.last_texts()
    assert [said.count(mark(*phase)) for phase in PHASES] == [1, 1, 1, 1]
    assert [sign for sign in PLACEHOLDERS.values() if sign in said] == []


@pytest.mark.parametrize("sign", ["x", "ü", "🫖"])
def test_instructions_that_are_too_long_for_the_host_are_cut_and_status_shows_them(
    claude: Claude, model: Model, sign: str
) -> None:
    """Claude Code writes a longer text to a file and shows the model only its name."""
    claude.workflow("w", Phase("long", text=sign * 12_000 + "END"))
    model.script(step("status"), step("next"), Turn("Done."))
    claude.run("/workflow w tea")
    first = texts(model.received()[0])
    assert "persisted-output" not in first
    assert first.count(sign) > 4_000
    assert 'Call workflow_step with action "status" for the whole text' in first
    assert sign * 12_000 + "END" in tool_results(model.received()[-1])[0]


def test_the_person_is_told_once_that_it_is_done(claude: Claude, model: Model) -> None:
    claude.workflow("w", Phase("only"), head="completionMessage: FINISHED {description}\n")
    conversation = new_id()
    model.script(step("next"), Turn("Done."))
    first = claude.run("/workflow w tea", "--session-id", conversation)
    model.script(Turn("Yes?"))
    later = claude.run("hello", "--resume", conversation)
    told = [e for e in first.events if e.get("subtype") == "informational" and "FINISHED tea" in str(e)]
    assert len(told) == 1
    assert (later.result, later.hooks("Stop")[-1]["stdout"]) == ("Yes?", "")


def test_without_a_workflow_the_model_gets_nothing_from_us(claude: Claude, model: Model) -> None:
    model.script(write(claude, "a"), Turn("Done."))
    claude.run("write a", *FREE)
    said = model.last_texts()
    assert (claude.project / "a").exists()
    assert "hook additional context" not in said
    assert "not allowed in the phase" not in said
