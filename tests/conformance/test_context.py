"""The context text for an agent at a position: its facts and their order."""

from __future__ import annotations

from typing import Any

from conformance import corpus, differences, reference
from handrail.guided.sessions import words
from handrail.guided.sessions.machine import State
from handrail.guided.workflows import rules
from handrail.guided.workflows.plan import Plan, locate
from handrail.guided.workflows.spec import compile_plan
from handrail.source.templates import render

MARKERS = {
    "header": "[Workflow path: ",
    "task": "**Task:** ",
    "taskId": "**Task ID:** ",
    "currentPhase": "**Current Phase:** ",
    "progress": "**Progress:** ",
    "allSteps": "**All Steps:**",
    "whatToDo": "**What to do now:**",
    "phaseProfiles": "**Profiles for this phase:** ",
    "allProfiles": "**All profiles:** ",
}
DEFAULT = "<default>"


@corpus.every("context")
def test_the_context_has_the_same_facts_as_in_pi_workflows(case: corpus.Case) -> None:
    specs, _ = rules.resolve(reference.found_in(case["definitions"]))
    path = [(key, index) for key, index in case["path"] or ()]
    expected = differences.expected(case)
    if not path or not reference.exists(specs, path):
        assert expected is None or "seedQuirk" in case
        return
    plan = compile_plan(specs, path[0][0])
    at = locate(plan, path)
    assert at is not None
    state = State("active", at, case["stepCount"], task=case["task"], task_id=case["taskId"])
    text = words.context_text(plan, state)
    assert text.count(f"\n{words.IF_BLOCKED}\n") == 1, "pi-workflows has no action `blocked`"
    facts = read(text.replace(f"{words.IF_BLOCKED}\n", ""), plan, at)
    right = corrected(case, expected, specs, reference.enter(specs, path))
    for name in ("roleLine", "reminder"):
        if right[name] == DEFAULT:
            assert facts.pop(name)
    assert facts == {name: right[name] for name in facts}


def read(text: str, plan: Plan, at: int) -> dict[str, Any]:
    """The facts of the context text that the cases name."""
    lines = text.split("\n")
    starts = {
        section: next(number for number, line in enumerate(lines) if line.startswith(mark))
        for section, mark in MARKERS.items()
        if f"\n{mark}" in f"\n{text}"
    }
    order = sorted(starts, key=lambda section: starts[section])
    order[1:1] = ["role"]
    until = starts.get("phaseProfiles", len(lines) - 1)
    stop = plan.stops[at]
    return {
        "header": lines[starts["header"]],
        "roleLine": "\n".join(lines[starts["header"] + 2 : starts["task"] - 1]),
        "taskLine": lines[starts["task"]],
        "currentLine": lines[starts["currentPhase"]],
        "progressLine": lines[starts["progress"]],
        "allSteps": lines[starts["allSteps"] + 1 : starts["whatToDo"] - 1],
        "instructions": "\n".join(lines[starts["whatToDo"] + 1 : until - 1]).split("~"),
        "profiles": [value(lines[starts[name]]) for name in ("phaseProfiles", "allProfiles") if name in starts],
        "reminder": lines[-1],
        "sectionOrder": [*order, "advanceReminder"],
        "breadcrumb": [(level.key, level.name) for level in stop.levels] + [(stop.name, stop.emoji)],
    }


def value(line: str) -> str:
    return line.partition(":** ")[2]


def corrected(
    case: corpus.Case, original: dict[str, Any], specs: reference.Specs, path: reference.Path
) -> dict[str, Any]:
    """The facts of pi-workflows, with errors about nested positions and unfilled placeholders corrected."""
    values = reference.values(specs, path, case["task"], case["taskId"], case["stepCount"])
    is_nested, is_entered = len(path) > 1, len(path) == len(case["path"])
    right = {**original, "breadcrumb": _breadcrumb(original), **_profiles(original)}
    wrong = set()
    if is_nested or "seedQuirk" in case:
        wrong = {"previousPhaseName", "nextPhaseName", "breadcrumbPath"}
        scope = "in current scope" if is_nested else "phases"
        right["progressLine"] = f"**Progress:** Step {case['stepCount']} ({reference.place(specs, path[-1])} {scope})"
        right["allSteps"] = reference.step_list(specs, path)
    if not is_entered:
        here = reference.phase(specs, path)
        right["header"] = f"[Workflow path: {values['breadcrumbPath']} ▸ {here.emoji} {here.name}]"
        right["breadcrumb"] = [*((key, specs[key].name) for key, _ in path), (here.name, here.emoji)]
    right["instructions"] = [
        values[name] if name in wrong or text == "{" + name + "}" else text
        for name, text in zip(case["instructionFieldOrder"], original["instructions"], strict=True)
    ]
    texts = specs[path[0][0]].texts
    for name, field in (("roleLine", "roleInstruction"), ("reminder", "advanceReminder")):
        if field in texts and (wrong or reference.leaves_open(original[name])):
            right[name] = render(texts[field], values)
    return {**right, **differences.documented(case)}


def _breadcrumb(original: dict[str, Any]) -> list[tuple[str, str]]:
    levels = original["breadcrumb"]
    return [
        *((level["workflowKey"], level["name"]) for level in levels),
        (levels[-1]["phaseName"], levels[-1]["emoji"]),
    ]


def _profiles(original: dict[str, Any]) -> dict[str, Any]:
    """Both lines are left out if no phase names a profile."""
    here, every = value(original["phaseProfilesLine"]), value(original["allProfilesLine"])
    order = [name for name in original["sectionOrder"] if every or not name.endswith("Profiles")]
    return {"profiles": [here, every] if every else [], "sectionOrder": order}
