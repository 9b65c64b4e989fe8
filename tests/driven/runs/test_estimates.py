"""Estimates from past runs: what counts, how wide the interval is, and that it holds what it states."""

from __future__ import annotations

import asyncio
import random
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from driven.runs.recorded import Recorder, constant
from handrail.driven.runs.estimate import (
    MEASURES,
    Estimate,
    Spread,
    estimate_from,
    past_runs,
    round_groups,
    spread,
)
from handrail.driven.runs.request import LoadedRun, plan_named
from handrail.driven.runs.restart import restart
from handrail.driven.runs.run_events import RunChoice
from support import Project

RUNS = 20
LOOP = """\
phases:
  - id: plan
    steps: [{id: ask, node: llm-prompt, prompt: Plan it.}]
  - repeat: {var: n, max: 3, until: "${steps.round.check.outputs.exists}"}
    phases:
      - id: round-${n}
        steps:
          - {id: work, node: llm-prompt, prompt: Work on it.}
          - {id: check, node: file-check, params: {path: "done-${n}"}}
  - id: end
    steps: [{id: pause, node: wait, params: {seconds: 0}}]
"""
PLAIN = """\
phases:
  - {id: a, steps: [{id: x, node: wait, params: {seconds: 0}}]}
  - {id: b, steps: [{id: x, node: wait, params: {seconds: 0}}]}
"""
FAILING = """\
phases:
  - {id: a, steps: [{id: x, node: wait, params: {seconds: 0}}]}
  - {id: b, steps: [{id: x, node: command, params: {argv: [test, -e, good]}}]}
"""
PAID = """\
phases:
  - {id: a, steps: [{id: x, node: llm-prompt, prompt: Plan it.}]}
  - {id: b, steps: [{id: x, node: command, params: {argv: [test, -e, good]}}]}
"""


def script(first: tuple[int, int, float], second: tuple[int, int, float]) -> str:
    plays = [f"{{inputTokens: {i}, outputTokens: {o}, usd: {usd}}}" for i, o, usd in (first, second)]
    return "".join(
        f"- match: {match}\n  play: [{{usage: {usage}}}]\n"
        for match, usage in zip(("Plan it", "Work on it"), plays, strict=True)
    )


@pytest.fixture
def recorder(project: Project, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    project.write(".handrail/flows/loop.yaml", LOOP)
    project.write(".handrail/flows/plain.yaml", PLAIN)
    project.write("script.yaml", "prompts:\n" + script((10, 1, 0.1), (20, 2, 0.2)))
    return Recorder(project.folder)


def record_varied(project: Project, recorder: Recorder, chance: random.Random) -> None:
    """One run of `loop` with its own rounds, usage and times."""
    rounds = chance.randint(1, 3)
    for number in (1, 2, 3):
        (project.folder / f"done-{number}").unlink(missing_ok=True)
    project.write(f"done-{rounds}", "")
    usages = [
        (chance.randint(100, 9000), chance.randint(10, 900), round(chance.lognormvariate(-2, 1), 4)) for _ in "ab"
    ]
    project.write("script.yaml", "prompts:\n" + script(*usages))
    times = {path: chance.lognormvariate(3, 1) for path in ("plan/ask", "end/pause")}
    ended = recorder.run("loop", lambda path: times.get(path) or chance.lognormvariate(4, 0.8), agent="scripted")
    assert ended.state.status == "completed"


def intervals(found: Estimate) -> list[dict[str, Spread | None]]:
    every = [found.whole, *(row.likely for row in found.rows)]
    return [{name: getattr(likely, name) for name in MEASURES} for likely in every]


@pytest.mark.whole
def test_estimates_hold_what_they_state_on_twenty_recorded_runs(project: Project, recorder: Recorder) -> None:
    chance = random.Random(13)
    for _ in range(RUNS):
        record_varied(project, recorder, chance)
    app = recorder.fresh()
    flow = app.definitions.flow_named("loop")
    assert flow.plan is not None
    estimate = partial(estimate_from, "loop", round_groups(flow.plan.phases), partial(plan_named, {flow.id: flow.plan}))
    past = list(past_runs(app.runs, "loop"))
    assert len(past) == RUNS
    inside: dict[tuple[int, str], list[bool]] = {}
    stated: set[float] = set()
    for left_out in range(RUNS):
        found = estimate(past[left_out][1], [*past[:left_out], *past[left_out + 1 :]])
        real = estimate(past[left_out][1], [past[left_out]])
        for part, (likely, one) in enumerate(zip(intervals(found), intervals(real), strict=True)):
            for name in MEASURES:
                spread_, value = likely[name], one[name]
                assert spread_ is not None
                assert value is not None
                assert spread_.count == RUNS - 1
                stated.add(spread_.share)
                inside.setdefault((part, name), []).append(spread_.low <= value.usual <= spread_.high)
    assert stated == {0.8}
    assert len(inside) == 4 * len(MEASURES)
    assert {key: sum(held) / RUNS for key, held in inside.items() if sum(held) / RUNS < 0.8} == {}
    whole = estimate(past[0][1], past).whole
    assert whole.usd is not None
    assert whole.usd.low < whole.usd.usual < whole.usd.high


@pytest.mark.parametrize("count", [*range(1, 31), 99])
def test_the_share_is_that_of_the_places_that_a_new_value_can_take(count: int) -> None:
    found = spread([float(value) for value in range(count)])
    assert found is not None
    places = [value - 0.5 for value in range(count + 1)]
    held = sum(found.low <= place <= found.high for place in places)
    assert found.share == held / (count + 1)
    assert found.share >= 0.8 or count < 9


def test_more_runs_state_more_and_few_runs_say_so() -> None:
    shares = [found.share for count in range(1, 10) if (found := spread([1.0] * count)) is not None]
    assert shares[0] == 0
    assert shares[-1] == 0.8
    assert all(less < more for less, more in pairwise(shares))
    assert spread([]) is None


def estimated(project: Project, name: str, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = project.json("run", name, "--dry-run", *words)["estimate"]
    return found


def test_without_a_past_everything_is_unknown(project: Project, recorder: Recorder) -> None:
    found = estimated(project, "plain")
    assert (found["runs"], found["seconds"], found["tokens"], found["usd"]) == (0, None, None, None)
    assert [row["seconds"] for row in found["phases"]] == [None, None]
    said = project.run("run", "plain", "--dry-run")
    assert "WHOLE" not in said.out.upper()
    assert "no past run of `plain` in this project is like this one" in said.err


def test_phases_and_the_whole_are_estimated(project: Project, recorder: Recorder) -> None:
    for minutes in (2, 3, 5):
        recorder.run("plain", constant({"a/x": 60.0, "b/x": 60.0 * minutes}))
    found = estimated(project, "plain")
    assert found["runs"] == 3
    assert found["seconds"] == {"low": 180.0, "usual": 240.0, "high": 360.0, "share": 0.5, "count": 3}
    assert [row["seconds"]["usual"] for row in found["phases"]] == [60.0, 180.0]
    assert (found["tokens"]["high"], found["usd"]["high"]) == (0, 0)
    part = estimated(project, "plain", "--from", "b")
    assert ([row["id"] for row in part["phases"]], part["seconds"]["high"]) == (["b"], 300.0)


def test_what_was_done_of_an_interrupted_run_counts_for_its_phases(project: Project, recorder: Recorder) -> None:
    project.write(".handrail/flows/plain.yaml", FAILING)
    recorder.run("plain", constant({"a/x": 7.0, "b/x": 9.0}))
    found = estimated(project, "plain")
    assert found["seconds"] is None
    assert [row["seconds"] and row["seconds"]["usual"] for row in found["phases"]] == [7.0, None]


def test_a_resumed_run_counts_without_the_time_in_which_nobody_drove_it(project: Project, recorder: Recorder) -> None:
    project.write(".handrail/flows/plain.yaml", FAILING)
    failed = recorder.run("plain", constant({"a/x": 7.0, "b/x": 9.0}))
    project.write("good", "")
    recorder.now += 3600
    recorder.drive(failed, "resume", constant({"b/x": 4.0}))
    found = estimated(project, "plain")
    assert found["seconds"]["usual"] == 20.0
    assert [row["seconds"]["usual"] for row in found["phases"]] == [7.0, 13.0]


def test_the_time_that_a_person_needs_does_not_count(project: Project, recorder: Recorder) -> None:
    form = "{formId: f, title: Go?, fields: [{id: note, type: text, label: Note, required: true}]}"
    project.write(
        ".handrail/flows/ask.yaml", f"phases: [{{id: a, steps: [{{id: x, node: user-input, params: {form}}}]}}]\n"
    )
    waiting = recorder.run("ask", constant({"a/x": 5.0}))
    assert waiting.state.status == "waiting"
    recorder.now += 3600
    asyncio.run(recorder.app.runs.answer(waiting, "q1", {"note": "yes"}))
    recorder.drive(recorder.app.runs.load(waiting.id), "resume", constant({}))
    assert estimated(project, "ask")["seconds"]["usual"] == 5.0


@pytest.mark.whole
def test_rounds_of_a_loop_are_one_part_and_add_up(project: Project, recorder: Recorder) -> None:
    project.write("done-2", "")
    recorder.run("loop", constant({"round-1/work": 3.0, "round-2/work": 4.0}), agent="scripted")
    found = estimated(project, "loop", "--agent", "scripted")
    part = {row["id"]: row for row in found["phases"]}["round-1"]
    assert part["phases"] == ["round-1", "round-2", "round-3"]
    assert (part["seconds"]["usual"], part["tokens"]["usual"], part["usd"]["usual"]) == (7.0, 44, 0.4)
    assert (found["tokens"]["usual"], found["usd"]["usual"]) == (55, 0.5)


@pytest.mark.whole
def test_runs_with_other_agents_do_not_count(project: Project, recorder: Recorder) -> None:
    project.write("done-1", "")
    recorder.run("loop", constant({"plan/ask": 3.0, "end/pause": 2.0}), agent="scripted", model="small")
    other = estimated(project, "loop", "--agent", "scripted", "--model", "large")
    assert (other["runs"], other["others"], other["usd"]) == (0, 1, None)
    assert {row["id"]: row["seconds"] and row["seconds"]["usual"] for row in other["phases"]} == {
        "plan": None, "round-1": None, "end": 2.0,
    }  # fmt: skip
    assert estimated(project, "loop", "--agent", "scripted", "--model", "small")["runs"] == 1


@pytest.mark.whole
def test_an_agent_that_does_not_report_its_cost_leaves_it_unknown(project: Project, recorder: Recorder) -> None:
    project.write("done-1", "")
    project.write("script.yaml", "[{usage: {inputTokens: 5, outputTokens: 1, usd: null}}]\n")
    recorder.run("loop", constant({}), agent="scripted")
    found = estimated(project, "loop", "--agent", "scripted")
    assert (found["runs"], found["tokens"]["usual"], found["usd"]) == (1, 12, None)


def test_runs_of_an_older_definition_count_where_the_phase_still_exists(project: Project, recorder: Recorder) -> None:
    recorder.run("plain", constant({"a/x": 7.0, "b/x": 9.0}))
    project.write(
        ".handrail/flows/plain.yaml", PLAIN + "  - {id: c, steps: [{id: x, node: wait, params: {seconds: 0}}]}\n"
    )
    found = estimated(project, "plain")
    assert found["seconds"] is None
    assert [row["seconds"] and row["seconds"]["usual"] for row in found["phases"]] == [7.0, 9.0, None]
    assert estimated(project, "plain", "--until", "b")["seconds"]["usual"] == 16.0


def test_phases_that_were_not_run_as_usual_do_not_count(project: Project, recorder: Recorder) -> None:
    recorder.run("plain", constant({"a/x": 7.0, "b/x": 9.0}), start="b")
    assert [row["seconds"] and row["seconds"]["usual"] for row in estimated(project, "plain")["phases"]] == [None, 9.0]


@pytest.mark.whole
def test_damaged_runs_and_runs_of_other_flows_are_left_out(project: Project, recorder: Recorder) -> None:
    good = recorder.run("plain", constant({"a/x": 7.0}))
    bad = recorder.run("plain", constant({"a/x": 70.0}))
    (journal,) = (project.home / "state" / "runs").glob(f"*/{bad.id}/1/journal")
    journal.write_bytes(b"not a journal\n" * 5)
    project.write("done-1", "")
    recorder.run("loop", constant({}), agent="scripted")
    found = estimated(project, "plain")
    assert (found["runs"], found["seconds"]["usual"]) == (1, 7.0), good.id


def test_a_run_says_at_its_start_what_it_will_likely_take(project: Project, recorder: Recorder) -> None:
    assert "estimate: unknown; no past run of `plain`" in project.run("run", "plain", "--dry-run").err
    for seconds in (90.0, 100.0, 130.0, 290.0):
        recorder.run("plain", constant({"a/x": seconds}))
    said = project.run("run", "plain", "--max-minutes", "2")
    assert "estimate: 1.5–4.9 min, usually 1.9 (6 of 10 runs stay within this; 4 past runs)" in said.err
    assert "warning: 2 of 4 past runs used more than 2 minutes (`--max-minutes`)" in said.err
    assert "estimate" not in project.run("run", "plain", "--quiet").err
    assert "estimate" not in project.run("run", "plain", "--json").err


def test_a_short_run_without_agents_is_estimated_only_if_somebody_asks(project: Project, recorder: Recorder) -> None:
    recorder.run("plain", constant({"a/x": 2.0}))
    for argv in (("run", "plain", "--dry-run"), ("estimate", "plain")):
        said = project.run(*argv)
        assert "estimate: past runs took 2.0 s (1 run), no agent works\n" in said.err
        assert "COST" not in said.out
    recorder.run("plain", constant({"a/x": 4.0}))
    assert "past runs took 2.0–4.0 s, usually 3.0 (2 runs)" in project.run("estimate", "plain").err
    assert "estimate" not in project.run("run", "plain").err


def test_a_dry_run_has_the_estimate(project: Project, recorder: Recorder) -> None:
    recorder.run("plain", constant({"a/x": 100.0}))
    assert project.json("run", "plain", "--dry-run")["estimate"]["seconds"]["usual"] == 100.0
    assert (
        "estimate: 1.7 min (unknown how much that varies: 1 past run)" in project.run("run", "plain", "--dry-run").err
    )


@pytest.mark.whole
def test_a_bound_that_past_runs_went_over_is_named_with_its_place(project: Project, recorder: Recorder) -> None:
    project.write("done-1", "")
    recorder.run("loop", constant({}), agent="scripted")
    project.write(".handrail/settings.yaml", "agent: scripted\nlimits:\n  usd: 0.2\n")
    (told,) = estimated(project, "loop")["warnings"]
    assert told.startswith("1 of 1 past run used more than $0.2 (`limits.usd`, .handrail/settings.yaml:3)")
    assert estimated(project, "loop", "--max-usd", "3")["warnings"] == []


def test_what_a_run_took_in_all_its_attempts_counts(project: Project, recorder: Recorder) -> None:
    project.write(".handrail/flows/plain.yaml", FAILING)
    failed = recorder.run("plain", constant({"a/x": 7.0, "b/x": 9.0}))
    project.write("good", "")
    app = recorder.fresh()
    attempt = asyncio.run(restart(app.runs, app.flows, app.definitions.flow_named, failed, "b"))
    recorder.drive(attempt.run, "restart", constant({"b/x": 4.0}))
    found = estimated(project, "plain")
    assert [row["seconds"]["usual"] for row in found["phases"]] == [7.0, 13.0]
    assert found["seconds"]["usual"] == 20.0


def test_a_run_that_is_restarted_after_its_end_is_another_run(project: Project, recorder: Recorder) -> None:
    whole = recorder.run("plain", constant({"a/x": 7.0, "b/x": 9.0}))
    app = recorder.fresh()
    attempt = asyncio.run(restart(app.runs, app.flows, app.definitions.flow_named, whole, "b"))
    recorder.drive(attempt.run, "restart", constant({"b/x": 4.0}))
    found = estimated(project, "plain")
    assert [row["seconds"]["count"] for row in found["phases"]] == [1, 2]
    assert found["seconds"] == {"low": 16.0, "usual": 16.0, "high": 16.0, "share": 0.0, "count": 1}


def restarted(
    project: Project, recorder: Recorder, run: LoadedRun, start: str, choice: RunChoice | None = None
) -> None:
    app = recorder.fresh()
    attempt = asyncio.run(restart(app.runs, app.flows, app.definitions.flow_named, run, start, choice))
    recorder.drive(attempt.run, "restart", constant({}))


def test_what_a_restart_keeps_is_counted_once(project: Project, recorder: Recorder) -> None:
    project.write(".handrail/flows/paid.yaml", PAID)
    failed = recorder.run("paid", constant({}), agent="scripted")
    project.write("good", "")
    restarted(project, recorder, failed, "b")
    found = estimated(project, "paid", "--agent", "scripted")
    assert (found["runs"], found["tokens"]["usual"], found["usd"]["usual"]) == (1, 11, 0.1)


def test_a_run_whose_attempts_had_other_agents_does_not_count(project: Project, recorder: Recorder) -> None:
    project.write(".handrail/flows/paid.yaml", PAID)
    failed = recorder.run("paid", constant({}), agent="scripted")
    project.write("good", "")
    restarted(project, recorder, failed, "a", RunChoice(model="new"))
    found = estimated(project, "paid", "--agent", "scripted", "--model", "new")
    assert (found["runs"], found["others"]) == (0, 1)


def test_rounds_that_were_kept_from_a_run_that_had_ended_are_missing_in_the_next_one(
    project: Project, recorder: Recorder
) -> None:
    project.write("done-2", "")
    whole = recorder.run("loop", constant({}), agent="scripted")
    restarted(project, recorder, whole, "round-2")
    found = estimated(project, "loop", "--agent", "scripted")
    assert [row["tokens"]["count"] for row in found["phases"]] == [1, 1, 2]
