"""Commands about definitions: list them, check them, show them, explain the codes of their problems."""

from __future__ import annotations

import os
from typing import Any

import click
from click.shell_completion import CompletionItem

from handrail.app import App
from handrail.base.dataclasses import replace
from handrail.base.errors import NotFound, UsageError
from handrail.cli.options import command, complete_flow, complete_key, installable, mark_untrusted, tell_untrusted
from handrail.cli.output import DIM, Shell, styled
from handrail.cli.problems import print_problems, shown_problems
from handrail.cli.results import print_table
from handrail.cli.table import former_command_hint
from handrail.cli.terminal import WaitingLine
from handrail.driven.flows.catalog import FoundFlow
from handrail.driven.flows.plan import FlowPlan, flow_to_json
from handrail.guided.workflows.plan import PLACEHOLDERS, plan_to_json
from handrail.guided.workflows.spec import WorkflowSpec
from handrail.settings.folders import shown_path
from handrail.settings.trust import ProgramUse
from handrail.source.codes import endings, problem_kinds
from handrail.source.diagnostics import Diagnostic, is_usable
from handrail.source.plain_text import counted
from handrail.source.suggestions import did_you_mean
from handrail.view.live.catalog import all_definitions
from handrail.view.rows.catalog import BROKEN, FLOW, OK, PLUGIN, UNUSABLE, WARNED, WORKFLOW, entries_of
from handrail.view.text.diagrams import flow_mermaid, flow_picture, flow_tree, workflow_mermaid, workflow_tree

SEVERITIES = ("error", "warning")
MARKS = WORKFLOW_MARK, FLOW_MARK = ("workflow:", "flow:")


@click.command(name="list")
@click.option("--shipped", is_flag=True, help="List the flows that come with Handrail.")
@command
def list_(app: App, shell: Shell, shipped: bool) -> None:
    """List every definition, and those that it shadows or replaces. `--json` has their files.

    A flow of yours with the id of a shipped flow runs instead of it. A definition with errors is listed too, and so is
    one that uses it.
    """
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
    mark, programs = mark_untrusted(app), app.definitions.programs_of_flow
    for spec in sorted(app.catalog.workflows.values(), key=lambda spec: spec.key):
        name, about = (spec.command, "") if spec.is_visible else (spec.key, " (only inside other workflows)")
        about = f"{spec.name}{about}{mark(app.definitions.programs_of_workflow, spec)}"
        lines.append((name, "workflow", str(len(spec.entries)), app.catalog.source_of(spec), about))
    plans = ((flow, flow.plan) for flow in app.flows.flows.values() if not flow.is_shipped)
    lines += [
        (flow.id, "flow", str(len(plan.phases)), flow.source, f"{_about(app, flow, plan)}{mark(programs, flow)}")
        for flow, plan in plans
        if plan is not None
    ]
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
        "runs": _runs(shell, app.definitions.programs_of_flow(flow)),
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
        "runs": _runs(shell, app.definitions.programs_of_workflow(spec)),
    }


def _state(problems: list[Diagnostic]) -> str:
    """The state of a definition that can be used."""
    return WARNED if any(problem.severity == "warning" for problem in problems) else OK


def _runs(shell: Shell, programs: list[ProgramUse]) -> list[dict[str, object]]:
    """What a definition would run."""
    return [program.to_json(lambda path: shown_path(path, shell.cwd)) for program in programs]


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(exists=False))
@click.option("--format", "style", type=click.Choice(["text", "github"]), default="text", help="How to print problems.")
@click.option("--strict", is_flag=True, help="Fail if there are warnings, too.")
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="AGENT",
    help="Check the names of tools for this agent; by default for those that Handrail is installed into, or for all.",
)
@command
def validate(app: App, shell: Shell, paths: tuple[str, ...], style: str, strict: bool, agents: tuple[str, ...]) -> None:
    """Check all definitions, or only those at PATHS.

    A path is a workflow folder or a file in one, a flow file, a settings file, a schema file, or a folder: then
    everything below it is checked, also nested projects, and workflows and folders `flows` that are in no project.
    Links, hidden folders and installed packages are left out.
    """
    for path in paths:
        if not os.path.exists(path):
            raise UsageError(f"`{path}` does not exist")
    for agent in agents:
        installable(app, agent)
    with WaitingLine(shell, "checking the definitions"):
        checked = app.validate([os.path.abspath(path) for path in paths], agents)
    every = shown_problems(checked.problems, shell.cwd)
    found = [problem for problem in every if problem.severity != "note"]
    notes = [problem for problem in every if problem.severity == "note"]
    fails = bool(every) if strict else not is_usable(every)
    if shell.as_json:
        parts = {"problems": [one.to_json() for one in found], "notes": [one.to_json() for one in notes]}
        counts = {**checked.counts, "projects": len(checked.projects)}
        shell.data({"ok": not fails, **parts, "checked": counts, "trusted": app.trust.holds()})
    else:
        _print(shell, [*found, *notes], style, f"no problems in {checked}")
        tell_untrusted(app, shell)
    if fails:
        raise SystemExit(2)


def _print(shell: Shell, found: list[Diagnostic], style: str, fine: str) -> None:
    if found or style == "github":
        print_problems(found, style)
    else:
        shell.say(fine)


def complete_name(context: click.Context, param: click.Parameter, begin: str) -> list[CompletionItem]:
    return [*complete_key(context, param, begin), *complete_flow(context, param, begin)]


@click.command()
@click.argument("name", shell_complete=complete_name)
@click.option("--mermaid", "style", flag_value="mermaid", help="Print a Mermaid diagram.")
@click.option("--svg", "style", flag_value="svg", help="Print a picture of a flow as SVG.")
@command
def show(app: App, shell: Shell, name: str, style: str | None) -> None:
    """Show all phases of a workflow or a flow, including nested ones.

    If both have the same name, `flow:NAME` shows the flow, and `workflow:NAME` the workflow.
    """
    mark, bare = next(((mark, name.removeprefix(mark)) for mark in MARKS if name.startswith(mark)), ("", name))
    is_workflow = mark == WORKFLOW_MARK or (not mark and _is_workflow(app, bare))
    flow = None if is_workflow else app.definitions.with_shipped(bare).named(bare)
    if mark == FLOW_MARK or flow is not None:
        return _show_flow(app, shell, app.flows.find(bare), style)
    plan = app.catalog.plan(_workflow(app, bare))
    if not mark and app.definitions.is_flow(bare):
        shell.talk(f"there is also a flow `{name}`: `handrail show {FLOW_MARK}{name}`")
    programs = app.definitions.programs_of_workflow(_workflow(app, bare))
    if shell.as_json:
        return shell.data({**plan_to_json(plan), "trusted": app.trust.holds(), "runs": _runs(shell, programs)})
    tell_untrusted(app, shell, programs)
    if style == "svg":
        raise UsageError("only a flow has a picture", f"`handrail show {bare} --mermaid` prints a diagram")
    return click.echo(workflow_mermaid(plan) if style else workflow_tree(plan))


@click.command()
@click.argument("name", shell_complete=complete_flow)
@command
def phases(app: App, shell: Shell, name: str) -> None:
    """List the phases of a flow in order.

    Their names are for `handrail run NAME --from PHASE --until PHASE`.
    """
    plan = app.flow_named(name.removeprefix(FLOW_MARK)).plan
    assert plan is not None
    rows = [(phase.id, [step.id for step in phase.steps]) for phase in plan.phases]
    if shell.as_json:
        return shell.data({"phases": [{"id": id_, "steps": steps} for id_, steps in rows]})
    return print_table(shell, [("PHASE", "STEPS"), *((id_, ", ".join(steps)) for id_, steps in rows)])


def _is_workflow(app: App, name: str) -> bool:
    """True if there is a workflow with this name, even one with errors."""
    commands = [spec.command for spec in app.catalog.visible()]
    return name in commands or any(found.key == name for found in app.catalog.found)


def _workflow(app: App, name: str) -> WorkflowSpec:
    try:
        return app.catalog.find(name)
    except NotFound:
        if any(name in found.ids for found in app.flows.found):
            app.flows.find(name)
        names = {spec.command for spec in app.catalog.visible()} | app.catalog.workflows.keys() | app.flows.flows.keys()
        hint = did_you_mean(name, sorted(names)) or "`handrail list` shows what there is"
        raise NotFound(f"there is no workflow and no flow `{name}`", hint) from None


def _show_flow(app: App, shell: Shell, flow: FoundFlow, style: str | None) -> None:
    assert flow.plan is not None
    plan = replace(flow.plan, file=shown_path(flow.file, shell.cwd))
    programs = app.definitions.programs_of_flow(flow)
    if shell.as_json:
        return shell.data(
            {**flow_to_json(plan, app.flows.plan_named), "trusted": app.trust.holds(), "runs": _runs(shell, programs)}
        )
    tell_untrusted(app, shell, programs)
    if style == "svg":
        return click.echo(flow_picture(plan), nl=False)
    return click.echo(flow_mermaid(plan) if style else flow_tree(plan, app.flows.plan_named))


@click.command()
@click.argument("code", required=False)
@command
def explain(shell: Shell, app: App, code: str | None) -> None:
    """Explain a code, or list all of them.

    A code is that of a problem in a file, or that of the end of a step, a run, a session or a command.
    """
    del app
    if code is None:
        return _list_codes(shell)
    rule, ending = problem_kinds().get(code), endings().get(code)
    if rule is None and ending is None:
        hint = (
            former_command_hint(code)
            or did_you_mean(code, [*problem_kinds(), *endings()])
            or "`handrail explain` lists them"
        )
        raise NotFound(f"there is no code `{code}`", hint)
    if shell.as_json:
        of_end = {} if ending is None else {"ending": {**vars(ending), "of": list(ending.of)}}
        return shell.data({"code": code, **({} if rule is None else vars(rule)), **of_end})
    parts = []
    if rule is not None:
        example = "\n".join("    " + line for line in rule.example.split("\n"))
        head = f"{rule.code} ({rule.severity})"
        parts.append(f"{head}\n\n{rule.meaning}\n\nExample:\n\n{example}\n\nSolution: {rule.cure}")
    if code == "placeholder":
        parts.append("\n".join(f"  {{{name}}}: {about}" for name, about in PLACEHOLDERS.items()))
    if ending is not None:
        parts.append(
            f"{ending.code} (the end of a {' or a '.join(ending.of)})\n\n{ending.meaning}\n\nSolution: {ending.cure}"
        )
    return shell.say("\n\n".join(parts))


def _list_codes(shell: Shell) -> None:
    if shell.as_json:
        return shell.data({"codes": sorted(problem_kinds()), "endings": sorted(endings())})
    for rule in problem_kinds().values():
        shell.say(f"{rule.code:<24} {rule.severity:<8} {rule.meaning}")
    for ending in endings().values():
        shell.say(f"{ending.code:<24} {'end':<8} {ending.meaning}")
    return None
