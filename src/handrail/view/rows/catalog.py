"""All definitions of a project as rows, with their problems, and each one as a tree for a graph. Pure.

A row has the state of its definition. `broken`: its own files have errors; `needs-broken`: only what it uses has;
`warned`: it can be used, and something about it is doubtful; `untrusted`: a plugin whose code nobody has trusted
yet. An item of a graph has `kind`: `phase`, `repeat`, `parallel`, `step` or `workflow`; `items` are inside of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from handrail.base.dataclasses import dataclass
from handrail.driven.expressions.tree import in_words
from handrail.driven.flows.catalog import FlowCatalog, FoundFlow
from handrail.driven.flows.overview import Block, ParallelBlock, PhaseBlock, RepeatBlock, blocks_of
from handrail.driven.flows.plan import FlowFinder, FlowPlan, Step, child_of
from handrail.driven.flows.shipped_flows import SHIPPED_SOURCE, ShippedFlow
from handrail.guided.workflows.catalog import Catalog
from handrail.guided.workflows.plan import OutlineItem, PhaseItem, Plan, outline
from handrail.source.diagnostics import Diagnostic
from handrail.source.output_text import clean
from handrail.view.rows.rows import SHORT, Row, Rows

ENTRIES = "entries"
FLOW, WORKFLOW, PLUGIN = KINDS = ("flow", "workflow", "plugin")
OK, WARNED, BROKEN, NEEDS_BROKEN, UNTRUSTED = ("ok", "warned", "broken", "needs-broken", "untrusted")
UNUSABLE = (BROKEN, NEEDS_BROKEN)
ShortPath = Callable[[str], str]
"""A path as people see it: relative to the project."""


@dataclass(frozen=True)
class FoundPlugin:
    """A plugin as a row shows it. `is_asked`: its code needs the trust of a person and does not have it."""

    id: str
    source: str
    file: str
    description: str
    is_asked: bool
    problems: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True)
class AllDefinitions:
    """All definitions that were found. `shipped` are the flows of Handrail, which are read only if they are used."""

    workflows: Catalog
    flows: FlowCatalog
    shipped: tuple[ShippedFlow, ...] = ()
    plugins: tuple[FoundPlugin, ...] = ()
    shipped_files: Mapping[str, str] | None = None


class CatalogTopic:
    """The rows of all definitions. Its numbers count by themselves, so the epoch names the process that counts."""

    def __init__(self, epoch: str) -> None:
        self.rows = Rows(epoch)

    def update(self, definitions: AllDefinitions, short_path: ShortPath, head: Mapping[str, Any]) -> None:
        """Take the definitions as they are now."""
        entries = entries_of(definitions, short_path)
        states = Counter(row["state"] for row in entries)
        facts = {
            **head,
            "definitions": sum(row["kind"] != PLUGIN for row in entries),
            "broken": states[BROKEN] + states[NEEDS_BROKEN],
            "warned": states[WARNED],
            "untrusted": states[UNTRUSTED],
        }
        self.rows.replace(ENTRIES, entries, facts)


def entries_of(definitions: AllDefinitions, short_path: ShortPath) -> list[Row]:
    """A row per definition, in the order of precedence: workflows, flows, shipped flows, plugins."""

    def clean_path(file: str) -> str:
        return clean(short_path(file))

    rows = [*_workflows(definitions.workflows), *_flows(definitions)]
    rows += [_plugin(plugin) for plugin in definitions.plugins]
    counts: Counter[str] = Counter()
    for order, row in enumerate(rows):
        row["id"] = f"{row['kind']}:{row['key']}"
        counts[row["id"]] += 1
        if counts[row["id"]] > 1:  # another one has the same key and is nearer
            row["id"] += f"@{counts[row['id']]}"
        row["order"] = order
        row["problems"] = [problem_json(problem, clean_path) for problem in row["problems"]]
    by_file = {(row["kind"], row["file"]): row for row in rows}
    for row in rows:  # ids in place of files: the definition that is used instead, and those that it hides
        winner = by_file.get((row["kind"], row["shadowedBy"]))
        row["shadowedBy"] = None if winner is None else winner["id"]
        if winner is not None:
            winner["shadows"] = [*winner["shadows"], row["id"]]
    return [{**row, "file": clean_path(row["file"])} for row in rows]


def problem_json(problem: Diagnostic, short_path: ShortPath) -> dict[str, Any]:
    """A problem as the command line prints it, with what is needed to draw a caret below its place."""
    data = problem._replace(file=short_path(problem.file)).to_json()
    excerpt = None if problem.excerpt is None else clean(problem.excerpt)
    return {**data, "excerpt": excerpt, "width": problem.width, "cause": problem.cause and short_path(problem.cause)}


def _workflows(catalog: Catalog) -> Iterator[Row]:
    for workflow in catalog.found:
        spec, problems = workflow.spec, catalog.problems_in(workflow.file)
        winner = catalog.workflows.get(workflow.key)
        is_hidden = spec is not None and winner is not None and winner is not spec
        yield {
            **_EMPTY,
            "kind": WORKFLOW,
            "key": workflow.key,
            "name": clean(spec.name if spec is not None else workflow.key)[:SHORT],
            "command": spec.command if spec is not None and spec.is_visible else None,
            "source": workflow.source,
            "file": workflow.file,
            "visible": spec is not None and spec.is_visible,
            "phases": None if spec is None else len(spec.entries),
            "uses": [ref.key for ref in workflow.references],
            "state": _state(problems, is_usable=spec is not None and winner is not None),
            "problems": problems,
            "shadowedBy": winner.file if is_hidden and winner is not None else None,
        }


def _flows(definitions: AllDefinitions) -> Iterator[Row]:
    catalog = definitions.flows
    own_flows = [flow for flow in catalog.found if not flow.is_shipped]
    for flow in own_flows:
        problems = [problem for problem in catalog.problems if problem.file == flow.file]
        winner = catalog.flows.get(flow.id)
        is_hidden = flow.plan is not None and winner is not None and winner is not flow
        facts = _facts(flow.plan) if flow.plan is not None else {"also": list(flow.ids[1:])}
        yield {
            **_EMPTY,
            **facts,
            "kind": FLOW,
            "key": flow.id,
            "name": clean(flow.id)[:SHORT],
            "command": flow.id if flow.plan is not None and flow.plan.visible else None,
            "source": flow.source,
            "file": flow.file,
            "uses": list(dict.fromkeys(use.name for use in flow.nested)),
            "state": _state(problems, is_usable=winner is flow or is_hidden),
            "problems": problems,
            "shadowedBy": winner.file if is_hidden and winner is not None else None,
        }
    yield from _shipped_flows(definitions, own_flows)


def _shipped_flows(definitions: AllDefinitions, own_flows: list[FoundFlow]) -> Iterator[Row]:
    """The flows of Handrail. What is not at the top of their files is known only of those that were read."""
    plans = {flow.id: flow.plan for flow in definitions.flows.found if flow.is_shipped}
    files = definitions.shipped_files or {}
    winners = {id_: flow.file for flow in reversed(own_flows) if flow.plan is not None for id_ in flow.ids}
    for entry in definitions.shipped:
        plan = plans.get(entry.id)
        facts = _facts(plan) if plan is not None else {"also": list(entry.also)}
        yield {
            **_EMPTY,
            **facts,
            "kind": FLOW,
            "key": entry.id,
            "name": entry.id,
            "command": entry.id if entry.visible else None,
            "description": clean(entry.description)[:SHORT],
            "source": SHIPPED_SOURCE,
            "file": files.get(entry.id, ""),
            "visible": entry.visible,
            "state": OK,
            "shadowedBy": winners.get(entry.id),
        }


def _facts(plan: FlowPlan) -> dict[str, Any]:
    """What the text of a flow says about it. `groups` are the routing groups of its steps."""
    groups = {step.routing_group for step in plan.steps if step.routing_group}
    shapes = {phase.shape or phase.id for phase in plan.phases}
    return {
        "also": list(plan.also),
        "description": clean(plan.description)[:SHORT],
        "visible": plan.visible,
        "phases": len(shapes),
        "params": None if plan.params is None else [param.to_json() for param in plan.params],
        "groups": sorted(groups),
        "continue": plan.again,
    }


def _plugin(plugin: FoundPlugin) -> Row:
    state = UNTRUSTED if plugin.is_asked else _state(plugin.problems, is_usable=True)
    return {
        **_EMPTY,
        "kind": PLUGIN,
        "key": plugin.id,
        "name": plugin.id,
        "description": clean(plugin.description)[:SHORT],
        "source": plugin.source,
        "file": plugin.file,
        "state": state,
        "problems": list(plugin.problems),
    }


def _state(problems: Iterable[Diagnostic], *, is_usable: bool) -> str:
    severities = {problem.severity for problem in problems}
    if "error" in severities:
        return BROKEN
    if not is_usable:
        return NEEDS_BROKEN
    return WARNED if "warning" in severities else OK


_EMPTY: dict[str, Any] = {
    **dict.fromkeys(("command", "phases", "params", "continue", "shadowedBy")),
    **{name: [] for name in ("also", "groups", "uses", "shadows", "problems")},
    "description": "",
    "visible": False,
}


GraphItem = dict[str, Any]


def flow_items(plan: FlowPlan, find: FlowFinder) -> list[GraphItem]:
    """The phases of a flow as its file has them: the rounds of a repeat are one item."""
    return [_block(block, find) for block in blocks_of(plan)]


def _block(block: Block, find: FlowFinder) -> GraphItem:
    match block:
        case PhaseBlock():
            phase = block.phase
            steps = [_step(step, find) for step in phase.steps]
            condition = None if phase.when is None else clean(in_words(phase.when))
            return {
                "kind": "phase",
                "id": phase.id,
                "name": clean(phase.shape or phase.id),
                "when": condition,
                "parallel": phase.parallel.limit if phase.parallel.limit > 1 else None,
                "items": steps,
            }
        case RepeatBlock():
            inner = [_block(one, find) for one in block.blocks]
            name = next((item["name"] for item in inner if "name" in item), "repeat")
            return {"kind": "repeat", "name": name, "rounds": block.count, "again": block.again, "items": inner}
        case ParallelBlock():
            inner = [_block(one, find) for one in block.blocks]
            return {"kind": "parallel", "limit": block.parallel.limit, "items": inner}


def _step(step: Step, find: FlowFinder) -> GraphItem:
    child = child_of(step, find)
    return {
        "kind": "step",
        "id": step.id,
        "name": clean(step.id),
        "node": step.node,
        "group": step.routing_group,
        "when": None if step.when is None else clean(in_words(step.when)),
        "stops": None if step.stop_if is None else clean(in_words(step.stop_if)),
        "tries": step.retry.attempts,
        "flow": None if child is None else child.id,
        "line": step.line or None,
    }


def workflow_items(plan: Plan) -> list[GraphItem]:
    """The phases of a workflow, each below the subworkflow that it is in."""
    return [_workflow_item(item) for item in outline(plan)]


def _workflow_item(item: OutlineItem) -> GraphItem:
    if isinstance(item, PhaseItem):
        stop = item.stop
        return {
            "kind": "phase",
            "id": stop.id,
            "name": clean(stop.name),
            "emoji": stop.emoji,
            "gate": {"deny": stop.deny, "allow": stop.allow},
            "exit": [clean(check.claim) for check in stop.checks],
            "items": [],
        }
    is_loopable = any(inner.stop.scope_loopable for inner in item.items if isinstance(inner, PhaseItem))
    items = [_workflow_item(inner) for inner in item.items]
    return {"kind": "workflow", "key": item.key, "name": clean(item.name), "loopable": is_loopable, "items": items}
