"""Lists the definitions of a project and their problems. Imports no command-line parser: `list` starts fast."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from handrail.app import App
from handrail.cli.output import BOLD, CYAN, DIM, RED, YELLOW, Shell, echo, styled
from handrail.cli.results import print_table, tell_untrusted
from handrail.cli.terminal import WaitingLine
from handrail.driven.flows.catalog import FoundFlow
from handrail.driven.flows.plan import FlowPlan
from handrail.driven.flows.shipped_flows import SHIPPED_SOURCE
from handrail.settings.folders import shown_path
from handrail.settings.trust import ProgramUse
from handrail.source.diagnostics import Diagnostic, as_github, diagnostic_text, sorted_problems, summary
from handrail.source.plain_text import counted
from handrail.view.live.catalog import all_definitions
from handrail.view.rows.catalog import BROKEN, FLOW, UNUSABLE, WORKFLOW, entries_of
from handrail.view.rows.rows import Row

UNTRUSTED = " (not trusted)"
BUILTIN = "builtin"


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
    shipped_flows = app.definitions.shipped
    replaced_entries = {shipped_flows.find_id(flow.id) for flow in app.flows.flows.values() if not flow.is_shipped}
    count = sum(entry.visible and entry.id not in replaced_entries for entry in shipped_flows.entries())
    shell.say(styled(f"{count} more flows come with Handrail: `handrail list --shipped`", DIM))
    for loser, winner in app.catalog.shadowed():
        loser_file, winner_file = shown_path(loser.file, shell.cwd), shown_path(winner.file, shell.cwd)
        shell.say(styled(f"shadowed: {loser_file} by {winner_file}", DIM))
    tell_untrusted(app, shell)
    if problems:
        counts = _counts(problem.severity for problem in problems)
        shell.talk(f"{counts}; `handrail validate` shows {'it' if len(problems) == 1 else 'them'}")
    return None


def _rows(app: App, shell: Shell, kind: str) -> list[Row]:
    """The definitions of a kind: those that are used, and behind them those that cannot be used."""
    rows = entries_of(all_definitions(app.definitions), lambda path: shown_path(path, shell.cwd))
    rows = [row for row in rows if row["kind"] == kind and (kind, row["source"]) != (FLOW, SHIPPED_SOURCE)]
    usable_rows = [row for row in rows if row["state"] not in UNUSABLE and row["shadowedBy"] is None]
    if kind == WORKFLOW:
        usable_rows.sort(key=lambda row: str(row["key"]))
    return usable_rows + [row for row in rows if row["state"] in UNUSABLE]


def _lines(app: App, shell: Shell) -> list[tuple[str, ...]]:
    """The rows of the list: workflows, flows, and then what cannot be used."""
    lines: list[tuple[str, ...]] = []
    unusable: list[tuple[str, ...]] = []
    definitions, is_trusted = app.definitions, app.trust.holds()
    for row in (*_rows(app, shell, WORKFLOW), *_rows(app, shell, FLOW)):
        if row["state"] in UNUSABLE:
            unusable.append((row["name"], row["kind"], "–", row["source"], _reason(row)))
        elif row["kind"] == WORKFLOW:
            spec = app.catalog.workflows[row["key"]]
            about = spec.name + ("" if spec.is_visible else " (only inside other workflows)")
            needs_trust = row["source"] != BUILTIN and not is_trusted and definitions.programs_of_workflow(spec)
            about += UNTRUSTED if needs_trust else ""
            lines.append((row["command"] or row["key"], WORKFLOW, str(row["phases"]), row["source"], about))
        else:
            flow, plan = _flow(app, row)
            notes = [*([] if plan.visible else ["only inside other flows"]), *(f"also {name}" for name in row["also"])]
            about = _with_notes(plan.description, notes)
            needs_trust = row["source"] != BUILTIN and not is_trusted and definitions.programs_of_flow(flow)
            about += UNTRUSTED if needs_trust else ""
            if definitions.shipped.find_id(flow.id) is not None:
                about += " (runs instead of the shipped one)"
            lines.append((flow.id, FLOW, str(len(plan.phases)), row["source"], about))
    return lines + unusable


def _flow(app: App, row: Row) -> tuple[FoundFlow, FlowPlan]:
    flow = app.flows.flows[row["key"]]
    assert flow.plan is not None
    return flow, flow.plan


def _reason(row: Row) -> str:
    """Why a definition cannot be used: `1 error, 2 warnings`, or `needs nightly.yaml, which has errors`."""
    if row["state"] == BROKEN:
        return _counts(problem["severity"] for problem in row["problems"])
    causes = dict.fromkeys(problem["cause"] for problem in row["problems"] if problem["cause"])
    return f"needs {', '.join(causes)}, which has errors" if len(causes) == 1 else "needs definitions with errors"


def _counts(severities: Iterable[str]) -> str:
    """`1 error, 2 warnings`."""
    numbers = Counter(severities)
    return ", ".join(counted(numbers[word], word) for word in ("error", "warning") if numbers[word])


def _with_notes(text: str, notes: list[str]) -> str:
    return f"{text} ({', '.join(notes)})".lstrip() if notes else text


def _list_json(app: App, shell: Shell, problems: list[Diagnostic]) -> None:
    shell.data({
        "workflows": [_workflow_json(app, shell, row) for row in _rows(app, shell, WORKFLOW)],
        "flows": [_flow_json(app, shell, row) for row in _rows(app, shell, FLOW)],
        "shadowed": [
            {"key": loser.key, "source": loser.source, "file": shown_path(loser.file, shell.cwd), "by": winner.file}
            for loser, winner in app.catalog.shadowed()
        ],
        "problems": [problem.to_json() for problem in problems],
        "trusted": app.trust.holds(),
    })  # fmt: skip


def _workflow_json(app: App, shell: Shell, row: Row) -> Row:
    fields = {name: row[name] for name in ("key", "name", "source", "file", "phases", "state")}
    if row["state"] in UNUSABLE:
        return {**fields, "command": "", "show": "", "runs": []}
    spec = app.catalog.workflows[row["key"]]
    runs = programs_json(shell, app.definitions.programs_of_workflow(spec))
    return {**fields, "command": spec.command, "show": spec.show, "runs": runs}


def _flow_json(app: App, shell: Shell, row: Row) -> Row:
    fields = {"id": row["key"], **{name: row[name] for name in ("also", "description", "source", "file", "state")}}
    if row["state"] in UNUSABLE:
        return {**fields, "visible": False, "replaces": None, "runs": []}
    flow, plan = _flow(app, row)
    fields |= {"description": plan.description, "visible": plan.visible}
    runs = programs_json(shell, app.definitions.programs_of_flow(flow))
    return {**fields, "replaces": app.definitions.shipped.find_id(flow.id), "runs": runs}


def _list_shipped(app: App, shell: Shell) -> None:
    """List the shipped flows that run alone. A flow of the project or the user with the same id is used instead."""
    rows = [entry for entry in app.definitions.shipped.entries() if entry.visible]
    own_ids = {id_ for flow in app.flows.flows.values() if not flow.is_shipped for id_ in flow.ids}
    if shell.as_json:
        entries = ({"id": row.id, "also": list(row.also), "description": row.description} for row in rows)
        return shell.data({"flows": [{**data, "replaced": data["id"] in own_ids} for data in entries]})
    lines = []
    for row in rows:
        notes = ["replaced by yours"] * (row.id in own_ids)
        notes += [f"`{name}` is yours" for name in row.also if name in own_ids]
        lines.append((row.id, ", ".join(row.also), _with_notes(row.description, notes)))
    return print_table(shell, [("NAME", "ALSO", "ABOUT"), *lines])


def programs_json(shell: Shell, programs: list[ProgramUse]) -> list[dict[str, object]]:
    return [program.to_json(lambda path: shown_path(path, shell.cwd)) for program in programs]


def shown_problems(problems: Iterable[Diagnostic], cwd: str) -> list[Diagnostic]:
    """The problems in order, with paths relative to the working directory."""
    return sorted_problems(d._replace(file=shown_path(d.file, cwd)) for d in problems)


def print_problems(problems: list[Diagnostic], style: str) -> None:
    if style == "github":
        for problem in problems:
            echo(as_github(problem))
        return
    for problem in problems:
        head, *rest = diagnostic_text(problem).split("\n")
        mark, colour = f"{problem.severity}[{problem.code}]", {"error": RED, "note": CYAN}.get(problem.severity, YELLOW)
        echo(head.replace(mark, styled(mark, colour, BOLD), 1))
        for line in rest:
            echo(line if "hint:" in line else styled(line, DIM))
        echo()
    echo(summary(problems), err=True)
