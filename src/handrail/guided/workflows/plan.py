"""A compiled workflow: one flat tuple of stops without nesting, with all that a session needs.

It is stored beside the journal when a session starts, so a running session never reads the definitions again. The
placeholders that the texts of a workflow may use are defined here. Pure; standard library only.
"""

from __future__ import annotations

from handrail import STEP_TOOL
from handrail.base.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

START = "(start)"
DONE = "DONE"
NONE = "(none)"

PLACEHOLDERS: dict[str, str] = {
    "workflowName": "name of the workflow that was started",
    "workflowKey": "its key: the name of its folder",
    "description": "the task",
    "taskDescription": "the task; the same as `{description}`",
    "taskId": "id of this run of the workflow",
    "phaseId": "id of the current phase",
    "phaseName": "name of the current phase",
    "phaseEmoji": "emoji of the current phase",
    "phaseInstructions": "instructions of the current phase, resolved",
    "phaseCount": "number of phases; a subworkflow counts as one, as in `[1/3]`",
    "previousPhaseName": f"what came before in this workflow, `{START}` at its beginning",
    "nextPhaseName": f"what comes next, `{DONE}` at the end",
    "firstPhaseId": "id of the first phase",
    "firstPhaseName": "name of the first phase",
    "firstPhaseEmoji": "emoji of the first phase",
    "firstPhaseProfiles": "profiles of the first phase",
    "availableProfiles": "profiles of the current phase",
    "blockedToolsList": f"tools that the current phase denies, `{NONE}` if it denies none",
    "allowedTools": "what the current phase allows, in words",
    "toolRules": "what the current phase allows and denies, in one sentence",
    "toolName": f"`{STEP_TOOL}`; in `blockReasonTemplate`, the tool that was denied",
    "breadcrumbPath": "names of the workflows around the current phase",
    "globalStepCount": "number of moves so far",
}


PLAN_FORMAT = 1


class Level(Record):
    """The place of a stop in one workflow of its breadcrumb: `position` (from 0) of `total` entries."""

    key: str
    name: str
    position: int
    total: int


class ExitCheck(Record):
    """A check that has to hold before the stop can be left.

    `subject` is what it is about, such as `make test`; `words` is what has to be true of that, such as "exits with 0".
    `name` is the author's name for the check, else the subject. Plans that 0.1.0 wrote lack the last two fields.
    """

    kind: str
    params: dict[str, Any]
    name: str
    words: str = ""
    subject: str = ""

    @property
    def about(self) -> str:
        """The name, if the author gave one, and the subject: "the tests: `make test`". Of many lines, the first."""
        first_line, *more_lines = (self.subject or self.name).splitlines() or [""]
        text = f"`{first_line} …`" if more_lines else f"`{first_line}`"
        return f"{self.name}: {text}" if self.subject and self.name != self.subject else text

    @property
    def claim(self) -> str:
        """What has to hold: "the tests: `make test` exits with 0"."""
        return f"{self.about} {self.words}" if self.words else f"{self.kind}: {self.about}"


class Stop(Record):
    """One leaf phase, with its breadcrumb and the names before and after it. `require` is `hard` or empty.

    `guidance` are names for the phase of the project's playbook; empty if the stop gets no practices of it.
    """

    id: str
    name: str
    emoji: str
    instructions: str
    levels: tuple[Level, ...]
    scope_first: int
    scope_loopable: bool
    previous: str
    next: str
    deny: tuple[str, ...] | None
    allow: tuple[str, ...] | None
    profiles: tuple[str, ...]
    checks: tuple[ExitCheck, ...]
    require: str = ""
    guidance: tuple[str, ...] = ()

    @property
    def number(self) -> str:
        """`3.1`: the first phase of the subworkflow that is the third entry."""
        return ".".join(str(level.position + 1) for level in self.levels)

    @property
    def path(self) -> list[tuple[str, int]]:
        return [(level.key, level.position) for level in self.levels]

    @property
    def breadcrumb(self) -> str:
        return " > ".join(level.name for level in self.levels)


class Plan(Record):
    """A whole workflow, ready for a session. `orchestrates` and `cancel` are as in `WorkflowSpec`; plans of older
    versions do not have them.
    """

    key: str
    name: str
    command: str
    initial_message: str
    texts: dict[str, str]
    session_name_length: int
    stops: tuple[Stop, ...]
    orchestrates: bool = False
    cancel: str = ""

    @property
    def profiles(self) -> list[str]:
        """All profiles of all stops, without duplicates, in order of appearance."""
        return list(dict.fromkeys(profile for stop in self.stops for profile in stop.profiles))


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """The plan as JSON data. Equal plans give equal data."""
    data = plan._asdict()
    data["stops"] = [_stop_to_json(stop) for stop in plan.stops]
    return {"format": PLAN_FORMAT, **data}


def _stop_to_json(stop: Stop) -> dict[str, Any]:
    data = stop._asdict()
    data["levels"] = [list(level) for level in stop.levels]
    data["checks"] = [list(check) for check in stop.checks]
    for name in ("require", "guidance"):
        if not data[name]:
            del data[name]
    return data


def plan_from_json(data: dict[str, Any]) -> Plan:
    """The plan that `plan_to_json` wrote. Raises `ValueError` for any other data."""
    try:
        if data["format"] != PLAN_FORMAT:
            raise ValueError(f"plan format {data['format']} is not {PLAN_FORMAT}")
        fields = {name: data[name] for name in Plan._fields if name in data}
        fields["stops"] = tuple(_stop_from_json(stop) for stop in data["stops"])
        return Plan(**fields)
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a plan: {error}") from error


def _stop_from_json(data: dict[str, Any]) -> Stop:
    fields = data | {
        "levels": tuple([Level(*level) for level in data["levels"]]),
        "deny": None if data["deny"] is None else tuple(data["deny"]),
        "allow": None if data["allow"] is None else tuple(data["allow"]),
        "profiles": tuple(data["profiles"]),
        "checks": tuple([ExitCheck(*check) for check in data["checks"]]),
        "guidance": tuple(data.get("guidance", ())),
    }
    return Stop(**fields)


def locate(plan: Plan, path: Sequence[tuple[str, int]]) -> int | None:
    """The index of the stop at this stack of (workflow key, index); None if there is none.

    A stack that ends at a subworkflow means its first stop. pi-workflows leaves such a stack after it restarts a
    workflow that begins with a subworkflow.
    """
    places = (at for at, stop in enumerate(plan.stops) if stop.path[: len(path)] == list(path))
    return next(places, None)


def relocate(old: Plan, at: int, new: Plan) -> int | str:
    """The index in `new` of the stop `at` of `old`, matched by phase id; or a text that says why there is none."""
    old_stop = old.stops[at]
    twins = [i for i, stop in enumerate(old.stops) if _identity(stop) == _identity(old_stop)]
    matches = [i for i, stop in enumerate(new.stops) if _identity(stop) == _identity(old_stop)]
    if not matches:
        return f"phase `{old_stop.id}` is no longer in {' > '.join(level.key for level in old_stop.levels)}"
    if len(matches) == len(twins):
        return matches[twins.index(at)]
    return f"phase `{old_stop.id}` is now in {len(matches)} places; before, it was in {len(twins)}"


def _identity(stop: Stop) -> tuple[tuple[str, ...], str]:
    return tuple(level.key for level in stop.levels), stop.id


class PhaseItem(Record):
    """A phase in an outline. `position` is its place among its neighbours, `at` its place in the plan, both from 0."""

    position: int
    at: int
    stop: Stop


class SubworkflowItem(Record):
    """A subworkflow with what is in it. `at` is the place of its first phase in the plan."""

    position: int
    at: int
    key: str
    name: str
    items: tuple[OutlineItem, ...]


OutlineItem = PhaseItem | SubworkflowItem


def outline(plan: Plan) -> tuple[OutlineItem, ...]:
    """All phases and subworkflows of a workflow, in order."""
    return _items(plan.stops, range(len(plan.stops)), 0)


def _items(stops: Sequence[Stop], places: Sequence[int], depth: int) -> tuple[OutlineItem, ...]:
    """The items at this depth of the breadcrumb."""
    groups: dict[int, list[int]] = {}
    for at in places:
        groups.setdefault(stops[at].levels[depth].position, []).append(at)
    items: list[OutlineItem] = []
    for position, members in groups.items():
        stop = stops[members[0]]
        if len(stop.levels) == depth + 1:
            items.append(PhaseItem(position, members[0], stop))
        else:
            level = stop.levels[depth + 1]
            nested_items = _items(stops, members, depth + 1)
            items.append(SubworkflowItem(position, members[0], level.key, level.name, nested_items))
    return tuple(items)
