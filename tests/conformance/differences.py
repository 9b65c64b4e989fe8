"""Where Handrail answers otherwise than the first seed, on purpose: what it does instead, and why.

`TABLE` is about single cases, `RULES` about every case that they fit, also ones that nobody here has seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from conformance.corpus import Case


class Difference(NamedTuple):
    """One case. `expect` replaces those parts of its expectation, and is what the product is held to."""

    ours: str
    why: str
    expect: Mapping[str, Any]


class Rule(NamedTuple):
    """A difference that an adapter computes from the case itself."""

    suites: tuple[str, ...]
    ours: str
    why: str


RULES: dict[str, Rule] = {}

MISTYPED = "a field of the wrong kind is an error, told with its place; the workflow is left out"
MISTYPED_WHY = "a setting that is passed over in silence is a setting that somebody relies on (P-11)"

TABLE: dict[str, Difference] = {
    "load-006": Difference(
        "workflows in nested folders are found, by the name of their folder",
        "the seed's own manual puts shared workflows there",
        {"keys": ["inner", "outer"], "warnings": []},
    ),
    "load-024": Difference(MISTYPED, MISTYPED_WHY, {"keys": [], "warnings": [{"kind": "definition-invalid"}]}),
    "load-026": Difference(MISTYPED, MISTYPED_WHY, {"keys": [], "warnings": [{"kind": "definition-invalid"}]}),
    "load-027": Difference(MISTYPED, MISTYPED_WHY, {"keys": [], "warnings": [{"kind": "definition-invalid"}]}),
    "load-069": Difference(
        "an absolute path is refused as one",
        "a definition has to mean the same on every machine, and one check decides for the reader too (P-2)",
        {"keys": [], "warnings": [{"kind": "path-escape", "workflow": "w"}]},
    ),
    "load-072": Difference(
        "a `workflow.yaml` that is a link out of its root is refused like a phase file",
        "what may be read is decided for every file (P-2)",
        {"keys": [], "warnings": [{"kind": "path-escape", "workflow": "w"}]},
    ),
    "load-111": Difference(
        "a longer rule closes the front matter and belongs to it as a whole",
        "nobody writes dashes to start the instructions with two of them",
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
}


def expected(case: Case) -> Any:
    """What the product is held to: the seed's answer, with the better one in its place where there is one."""
    answer = case["expect"]
    better = TABLE[case["id"]].expect if case["id"] in TABLE else preferred(case)
    return {**answer, **better} if better else answer


def preferred(case: Case) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (case["expect"] or {}).get("preferred") or {}
    return found


def is_open(case: Case) -> bool:
    """The seed is known to be wrong here and nobody has said what is right."""
    return "seedQuirk" in case and case["id"] not in TABLE and not preferred(case)
