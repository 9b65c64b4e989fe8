"""Lists the definitions of a project. Imports no command-line parser, so that `list` starts fast."""

from __future__ import annotations

from typing import Any

from handrail.app import App
from handrail.cli.output import DIM, Shell, styled
from handrail.cli.problems import shown_problems
from handrail.cli.results import print_table, tell_untrusted
from handrail.cli.terminal import WaitingLine
from handrail.driven.flows.catalog import FoundFlow
from handrail.driven.flows.plan import FlowPlan
from handrail.guided.workflows.spec import WorkflowSpec
from handrail.settings.folders import shown_path
from handrail.settings.trust import ProgramUse
from handrail.source.diagnostics import Diagnostic
from handrail.source.plain_text import counted
from handrail.view.live.catalog import all_definitions
from handrail.view.rows.catalog import BROKEN, FLOW, OK, PLUGIN, UNUSABLE, WARNED, WORKFLOW, entries_of

SEVERITIES = ("error", "warning")
UNTRUSTED = " (not trusted)"


def list_definitions(app: App, shell: Shell, *, shipped: bool) -> None:
    """List every definition, and those that it shadows or replaces; or the flows that come with Handrail."""
    if shipped:
        return _list_shipped(app, shell)
    with WaitingLine(shell, "reading the definitions"):
        problems = shown_problems(app.problems, shell.cwd)
    if shell.as_json:
        return _list_json(app, shell, problems)
    if lines := _lines(app, shell):
        print_table(shell, [("NAME", "KIND", "PHASES", "FROM", "ABOUT"), *lines])
    replaced = {_replaced(app, flow) for flow in app.flows.flows.values()}
    count = sum(entry.visible and entry.id not in replaced for entry in app.definitions.shipped.entries())
    shell.say(styled(f"{count} more flows come with Handrail: `handrail list --shipped`", DIM))
    for hidden, winner in app.catalog.shadowed():
        where, by = shown_path(hidden.file, shell.cwd), shown_path(winner.file, shell.cwd)
        shell.say(styled(f"shadowed: {where} by {by}", DIM))
    tell_untrusted(app, shell)
    if problems:
        kinds = [(word, sum(problem.severity == word for problem in problems)) for word in ("error", "warning")]
        told = ", ".join(counted(count, word) for word, count in kinds if count)
        shell.talk(f"{told}; `handrail validate` shows {'it' if len(problems) == 1 else 'them'}")
    return None


def _lines(app: App, shell: Shell) -> list[tuple[str, ...]]:
    """The rows of the list: workflows, flows, and then what cannot be used."""
    lines: list[tuple[str, ...]] = []
    definitions, is_trusted = app.definitions, app.trust.holds()
    for spec in sorted(app.catalog.workflows.values(), key=lambda spec: spec.key):
        name, about = (spec.command, "") if spec.is_visible else (spec.key, " (only inside other workflows)")
        mark = "" if is_trusted or not definitions.programs_of_workflow(spec) else UNTRUSTED
        about = f"{spec.name}{about}{mark}"
        lines.append((name, "workflow", str(len(spec.entries)), app.catalog.source_of(spec), about))
    for flow in app.flows.flows.values():
        if flow.plan is not None and not flow.is_shipped:
            mark = "" if is_trusted or not definitions.programs_of_flow(flow) else UNTRUSTED
            about = f"{_about(app, flow, flow.plan)}{mark}"
            lines.append((flow.id, "flow", str(len(flow.plan.phases)), flow.source, about))
    return lines + [(row["name"], row["kind"], "–", row["source"], _wrong(row)) for row in _unusable(app, shell)]


def _list_json(app: App, shell: Shell, problems: list[Diagnostic]) -> None:
    catalog = app.catalog
    shadowed = [
        {"key": found.key, "source": found.source, "file": shown_path(found.file, shell.cwd), "by": winner.file}
        for found, winner in catalog.shadowed()
    ]
    specs = sorted(catalog.workflows.values(), key=lambda spec: spec.key)
    flows = [flow for flow in app.flows.flows.values() if not flow.is_shipped]
    wrong = _unusable(app, shell)
    parts = {
        "workflows": [*(_listed(app, shell, spec) for spec in specs), *_listed_wrong(wrong, WORKFLOW)],
        "flows": [*(_listed_flow(app, shell, flow) for flow in flows), *_listed_wrong(wrong, FLOW)],
        "shadowed": shadowed,
        "problems": [problem.to_json() for problem in problems],
    }
    shell.data({**parts, "trusted": app.trust.holds()})


def _unusable(app: App, shell: Shell) -> list[dict[str, Any]]:
    """The definitions that have errors, and those that only need such a definition."""
    rows = entries_of(all_definitions(app.definitions), lambda path: shown_path(path, shell.cwd))
    return [row for row in rows if row["state"] in UNUSABLE and row["kind"] != PLUGIN]


def _wrong(row: dict[str, Any]) -> str:
    """Why a definition cannot be used: `1 error, 2 warnings`, or `needs nightly.yaml, which has errors`."""
    if row["state"] == BROKEN:
        kinds = [(word, sum(problem["severity"] == word for problem in row["problems"])) for word in SEVERITIES]
        return ", ".join(counted(count, word) for word, count in kinds if count)
    causes = dict.fromkeys(problem["cause"] for problem in row["problems"] if problem["cause"])
    return f"needs {', '.join(causes)}, which has errors" if len(causes) == 1 else "needs definitions with errors"


def _listed_wrong(rows: list[dict[str, Any]], kind: str) -> list[dict[str, object]]:
    """The definitions of a kind that cannot be used. They have the fields of the others, as far as they are known."""
    found = [row for row in rows if row["kind"] == kind]
    if kind == FLOW:
        names = ("also", "description", "source", "file", "state")
        return [
            {"id": row["key"], **{name: row[name] for name in names}, "visible": False, "replaces": None, "runs": []}
            for row in found
        ]
    known = ("key", "name", "source", "file", "phases", "state")
    return [{**{name: row[name] for name in known}, "command": "", "show": "", "runs": []} for row in found]


def _list_shipped(app: App, shell: Shell) -> None:
    """List the shipped flows that run alone. A flow of the project or the user with the same id is used instead."""
    rows = [entry for entry in app.definitions.shipped.entries() if entry.visible]
    own = {id_ for flow in app.flows.flows.values() if not flow.is_shipped for id_ in flow.ids}
    replaced = {row.id for row in rows if row.id in own}
    if shell.as_json:
        found = [
            {"id": row.id, "also": list(row.also), "description": row.description, "replaced": row.id in replaced}
            for row in rows
        ]
        return shell.data({"flows": found})
    lines = []
    for row in rows:
        taken = [name for name in row.also if name in own]
        told = ["replaced by yours"] * (row.id in replaced) + [f"`{name}` is yours" for name in taken]
        lines.append((row.id, ", ".join(row.also), _with_notes(row.description, told)))
    return print_table(shell, [("NAME", "ALSO", "ABOUT"), *lines])


def _about(app: App, flow: FoundFlow, plan: FlowPlan) -> str:
    notes = [*([] if plan.visible else ["only inside other flows"]), *(f"also {name}" for name in flow.ids[1:])]
    return _with_notes(plan.description, notes) + _instead(app, flow)


def _with_notes(text: str, notes: list[str]) -> str:
    return f"{text} ({', '.join(notes)})".lstrip() if notes else text


def _replaced(app: App, flow: FoundFlow) -> str | None:
    """The id of the shipped flow that this flow of the project or the user replaces; None if it replaces none."""
    return None if flow.is_shipped else app.definitions.shipped.named(flow.id)


def _instead(app: App, flow: FoundFlow) -> str:
    return "" if _replaced(app, flow) is None else " (runs instead of the shipped one)"


def _listed_flow(app: App, shell: Shell, flow: FoundFlow) -> dict[str, object]:
    plan = flow.plan
    return {
        "id": flow.id,
        "also": list(flow.ids[1:]),
        "description": plan.description if plan else "",
        "source": flow.source,
        "file": shown_path(flow.file, shell.cwd),
        "visible": plan.visible if plan else False,
        "replaces": _replaced(app, flow),
        "state": _state([problem for problem in app.flows.problems if problem.file == flow.file]),
        "runs": programs_json(shell, app.definitions.programs_of_flow(flow)),
    }


def _listed(app: App, shell: Shell, spec: WorkflowSpec) -> dict[str, object]:
    return {
        "key": spec.key,
        "command": spec.command,
        "name": spec.name,
        "show": spec.show,
        "source": app.catalog.source_of(spec),
        "file": shown_path(spec.file, shell.cwd),
        "phases": len(spec.entries),
        "state": _state(app.catalog.problems_in(spec.file)),
        "runs": programs_json(shell, app.definitions.programs_of_workflow(spec)),
    }


def _state(problems: list[Diagnostic]) -> str:
    """The state of a definition that can be used."""
    return WARNED if any(problem.severity == "warning" for problem in problems) else OK


def programs_json(shell: Shell, programs: list[ProgramUse]) -> list[dict[str, object]]:
    """What a definition would run."""
    return [program.to_json(lambda path: shown_path(path, shell.cwd)) for program in programs]
