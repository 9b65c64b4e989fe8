"""Intended differences from pi-workflows: what Handrail does instead, and why.

`TABLE` is about single cases. `RULES` are about all cases that match them, also in another folder of cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from conformance.corpus import Case


class Difference(NamedTuple):
    """One case. `expect` replaces these parts of its expectation; None means "no state"."""

    ours: str
    why: str
    expect: Mapping[str, Any] | None


class Rule(NamedTuple):
    """A difference that an adapter computes from the case itself."""

    suites: str
    ours: str
    why: str


RULES: tuple[Rule, ...] = (
    Rule(
        "context, transitions",
        "progress, previous and next are those of the innermost workflow; next leaves a finished one; the "
        "current step is marked by its index",
        "pi-workflows mixes the inner index with the outer workflow and finds steps by id (P-5)",
    ),
    Rule(
        "context, transitions",
        "every placeholder has its value in every message, also inside inserted instructions",
        "a name that works in one text and not in another is a trap (P-9)",
    ),
    Rule(
        "context, transitions, gating",
        "a stack that ends at a subworkflow means that subworkflow's first phase, entered",
        "a position is a phase; because of half-entered ones, pi-workflows shows a phase twice (P-4)",
    ),
    Rule(
        "context",
        "the two lines about profiles are left out if no phase names a profile",
        "the context contains only text that carries information",
    ),
    Rule(
        "gating",
        "at a position that the definitions do not have, every tool but `workflow_step` is denied",
        "a gate that cannot decide must not open (P-8)",
    ),
    Rule(
        "loading",
        "all problems are reported, also those that pi-workflows reports; kinds that it does not know are not compared",
        "one run of the checker should be enough (P-11)",
    ),
    Rule(
        "loading",
        "a field of the wrong kind is an error and the workflow is left out; for `availableProfiles` it is a warning",
        "a restriction that is silently ignored does not restrict (P-11)",
    ),
    Rule(
        "loading",
        "workflows in nested folders are found; a byte-order mark before the front matter is not content; a broken "
        "project workflow does not hide the healthy one of the user; a workflow that runs a broken one is left out too",
        "the manual of pi-workflows promises the first and the last (P-1); the others are accidents",
    ),
    Rule(
        "loading, transitions",
        "a command name is looked up among the visible workflows, the nearest tier first",
        "a hidden workflow cannot be started, so it must not take a name (P-6 is the same accident)",
    ),
    Rule(
        "transitions",
        "the plan is pinned: removing or editing files does not change an active session",
        "an index into edited files is another phase, or none (P-8)",
    ),
    Rule(
        "transitions",
        "a cancel has to be confirmed by the very next command; questions in between do not count",
        "a forgotten request must not cancel days later (P-3)",
    ),
    Rule(
        "transitions",
        "a person who cancels knows it and is not told again when the agent stops",
        "pi-workflows shows nothing in either case (P-14)",
    ),
    Rule(
        "transitions",
        "there are no timers: the message for the agent is the answer to its stop, and the countdown is modelled "
        "in `host.py`; a session that has moved or ended gets no message, nor one after three stops without a move",
        "waiting is the task of the host, and pi-workflows cannot be interrupted (P-7)",
    ),
    Rule(
        "transitions",
        "titles are cut at a number of characters, not of UTF-16 units",
        "half of a character is not text (P-15)",
    ),
    Rule(
        "transitions",
        "the host reads `/workflow NAME TASK`, so usage texts are not compared",
        "every user interface asks for a task in its own way",
    ),
    Rule("reconstruct", "an index has to be a whole number, 0 or more", "pi-workflows crashes on others later (P-8)"),
)

_INVALID = [{"kind": "definition-invalid"}]
_MISTYPED = Difference(
    "a field of the wrong kind is an error, and the workflow is left out",
    "somebody relies on a setting that is silently ignored (P-11)",
    {"keys": [], "warnings": _INVALID},
)
_CLOSED = Difference(
    "the call is denied, with a reason and what to do instead",
    "a gate that cannot decide must not open (P-8)",
    {"blocked": True},
)
_KEPT = Difference(
    "the workflow stays active; `cancel` asks again",
    "the confirmation was for the previous command (P-3)",
    {"end": {"active": True, "cancelled": False, "path": [("flow", 1)], "steps": 1}},
)

TABLE: dict[str, Difference] = {
    "ctx-006": Difference(
        "step 2 of 5, after `Name s1`",
        "that is what the inner workflow has (P-5)",
        {"progressLine": "**Progress:** Step 3 (2/5 in current scope)"},
    ),
    "ctx-011": Difference(
        "the second use of the subworkflow is marked",
        "the session is there, not at the first use (P-5)",
        {
            "progressLine": "**Progress:** Step 5 (2/2 in current scope)",
            "allSteps": [
                "  1. E-s1 Name s1",
                "  2. E-s2 Name s2",
                "  3. E-m Name m",
                "  4. E-s1 Name s1",
                "▶ 5. E-s2 Name s2",
            ],
        },
    ),
    "gate-026": _CLOSED,
    "gate-027": _CLOSED,
    "load-006": Difference(
        "workflows in nested folders are found, by the name of their folder",
        "the manual of pi-workflows puts shared workflows there",
        {"keys": ["inner", "outer"], "warnings": []},
    ),
    "load-024": _MISTYPED,
    "load-026": _MISTYPED,
    "load-027": _MISTYPED,
    "load-069": Difference(
        "an absolute path is rejected",
        "a definition has to mean the same on every machine, and the reader uses the same check (P-2)",
        {"keys": [], "warnings": [{"kind": "path-escape", "workflow": "w"}]},
    ),
    "load-072": Difference(
        "a `workflow.yaml` that is a link out of its root is rejected like a phase file",
        "the same check applies to every file (P-2)",
        {"keys": [], "warnings": [{"kind": "path-escape", "workflow": "w"}]},
    ),
    "load-111": Difference(
        "a longer rule closes the front matter and belongs to it as a whole",
        "nobody means the instructions to start with two dashes",
        {
            "workflows": {
                "y": {
                    "name": "Y",
                    "commandName": "y",
                    "initialMessage": "Kick off {workflowName}",
                    "show": "user",
                    "loopable": True,
                    "phases": [{"id": "a", "name": "A", "emoji": "x", "instructions": "body"}],
                }
            }
        },
    ),
    "rec-016": Difference("no state", "there is no phase before the first (P-8)", None),
    "tr-020": Difference(
        "the loop goes to `L1`, entered; the next move to `M2`",
        "a phase is done once per round (P-4)",
        {"end": {"active": False, "path": [("top", 1)], "steps": 5}},
    ),
    "tr-024": _KEPT,
    "tr-026": _KEPT,
    "tr-039": Difference(
        "there is no message after the cancel",
        "a cancelled session needs no reminder (P-7)",
        {"end": {"cancelled": True, "said": "begin P1"}},
    ),
    "tr-050": Difference(
        "the session continues with the plan of its start",
        "changed files apply to new sessions only (P-8)",
        {"end": {"cancelled": True, "path": [("flow", 2)], "steps": 2}},
    ),
    "tr-053": Difference(
        "the session stays in `P2`",
        "nobody moved it (P-8)",
        {"end": {"line": "FLOW > • P2 [2/3]", "path": [("flow", 1)]}},
    ),
    "tr-054": Difference(
        "the session can be finished",
        "its plan still has the phase (P-8)",
        {"end": {"active": False, "cancelled": False, "path": [("flow", 2)], "steps": 3}},
    ),
    "tr-055": Difference(
        "`a` cannot be started: it runs a broken workflow, and the error says so",
        "better than a session that cannot continue (P-1)",
        {"end": {"task": None, "line": None}},
    ),
    "tr-068": Difference(
        "inserted instructions are resolved, and every placeholder works",
        "the agent should not have to guess (P-9)",
        {"end": {"said": "Fancy|A|•|Body mentions Fancy.|do it|f|do it|DONE"}},
    ),
}


def documented(case: Case) -> Mapping[str, Any]:
    """What the table expects for this case."""
    row = TABLE.get(case["id"])
    return row.expect or {} if row else {}


def preferred(case: Case) -> Mapping[str, Any]:
    """The answer that the case itself prefers to the answer of pi-workflows."""
    answer = case["expect"]
    found: Mapping[str, Any] = answer.get("preferred", {}) if isinstance(answer, dict) else {}
    return found


def expected(case: Case) -> Any:
    """The expected answer: the preferred one if there is one, else the answer of pi-workflows."""
    row = TABLE.get(case["id"])
    if row and row.expect is None:
        return None
    better = {**preferred(case), **documented(case)}
    return {**case["expect"], **better} if better else case["expect"]


def is_open(case: Case) -> bool:
    """True if pi-workflows is known to be wrong and no right answer is defined."""
    return "seedQuirk" in case and case["id"] not in TABLE and not preferred(case)
