"""Commands about definitions: list them, check them, show them, explain the codes of their problems."""

from __future__ import annotations

import os
from collections.abc import Mapping

import click
from click.shell_completion import CompletionItem

from handrail.app import App
from handrail.base.dataclasses import replace
from handrail.base.errors import NotFound, UsageError
from handrail.cli.definition_list import list_definitions, print_problems, programs_json, shown_problems
from handrail.cli.options import command, complete_flow, complete_key, installable
from handrail.cli.output import DIM, Shell, styled
from handrail.cli.results import print_table, tell_untrusted
from handrail.cli.table import WIDEST, former_command_hint, two_columns
from handrail.cli.terminal import WaitingLine
from handrail.driven.flows.catalog import FoundFlow
from handrail.driven.flows.plan import flow_to_json
from handrail.extensions.contracts import Check, Node
from handrail.extensions.declarations import check_declarations, node_declarations
from handrail.guided.workflows.plan import PLACEHOLDERS, plan_to_json
from handrail.guided.workflows.spec import WorkflowSpec
from handrail.settings.folders import shown_path
from handrail.source.codes import endings, problem_kinds
from handrail.source.diagnostics import is_usable
from handrail.source.fields import field_words, json_schema
from handrail.source.suggestions import did_you_mean
from handrail.view.text.diagrams import flow_mermaid, flow_picture, flow_tree, workflow_mermaid, workflow_tree

MARKS = WORKFLOW_MARK, FLOW_MARK, NODE_MARK, CHECK_MARK = ("workflow:", "flow:", "node:", "check:")


@click.command(name="list")
@click.option("--shipped", is_flag=True, help="List the flows that come with Handrail.")
@click.option("--nodes", is_flag=True, help="List the nodes of steps, and the kinds of checks.")
@command
def list_(app: App, shell: Shell, shipped: bool, nodes: bool) -> None:
    """List every definition, and those that it shadows or replaces. `--json` has their files.

    A flow of yours with the id of a shipped flow runs instead of it. A definition with errors is listed too, and so is
    one that uses it.
    """
    return _list_parts(app, shell) if nodes else list_definitions(app, shell, shipped=shipped)


def _parts(app: App) -> dict[str, Mapping[str, Node] | Mapping[str, Check]]:
    """The nodes and the kinds of checks, by the mark of each."""
    return {NODE_MARK: node_declarations(app.registry), CHECK_MARK: check_declarations(app.registry)}


def _list_parts(app: App, shell: Shell) -> None:
    """List what steps and checks can do."""
    rows = [(name, mark[:-1], part.about) for mark, parts in _parts(app).items() for name, part in parts.items()]
    if shell.as_json:
        return shell.data({"parts": [dict(zip(("name", "kind", "about"), row, strict=True)) for row in rows]})
    print_table(shell, [("NAME", "KIND", "ABOUT"), *rows])
    return shell.say(styled("`handrail show command` shows the params of one", DIM))


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
        report = app.validate([os.path.abspath(path) for path in paths], agents)
    every = shown_problems(report.problems, shell.cwd)
    problems = [problem for problem in every if problem.severity != "note"]
    notes = [problem for problem in every if problem.severity == "note"]
    fails = bool(every) if strict else not is_usable(every)
    if shell.as_json:
        parts = {"problems": [one.to_json() for one in problems], "notes": [one.to_json() for one in notes]}
        counts = {**report.counts, "projects": len(report.projects)}
        shell.data({"ok": not fails, **parts, "checked": counts, "trusted": app.trust.holds()})
    else:
        if every or style == "github":
            print_problems([*problems, *notes], style)
        else:
            shell.say(f"no problems in {report}")
        tell_untrusted(app, shell)
    if fails:
        raise SystemExit(2)


def complete_name(context: click.Context, param: click.Parameter, begin: str) -> list[CompletionItem]:
    return [*complete_key(context, param, begin), *complete_flow(context, param, begin)]


@click.command()
@click.argument("name", shell_complete=complete_name)
@click.option("--mermaid", "style", flag_value="mermaid", help="Print a Mermaid diagram.")
@click.option("--svg", "style", flag_value="svg", help="Print a picture of a flow as SVG.")
@click.option("--phases", "style", flag_value="phases", help="List only the phases of a flow, and their steps.")
@command
def show(app: App, shell: Shell, name: str, style: str | None) -> None:
    """Show all phases of a workflow or a flow, including nested ones, or the params of a node or a check.

    If several have the same name, `flow:NAME` shows the flow, `workflow:NAME` the workflow, `node:NAME` the node and
    `check:NAME` the check. The phases that `--phases` lists are for `handrail run NAME --from PHASE --until PHASE`.
    """
    if style == "phases":
        return _list_phases(app, shell, name)
    mark, bare = next(((mark, name.removeprefix(mark)) for mark in MARKS if name.startswith(mark)), ("", name))
    keys = {spec.command for spec in app.catalog.visible()} | {definition.key for definition in app.catalog.found}
    is_workflow = mark == WORKFLOW_MARK or (not mark and bare in keys)  # also one with errors
    is_part = mark in (NODE_MARK, CHECK_MARK)
    flow = None if is_workflow or is_part else app.definitions.with_shipped(bare).named(bare)
    if mark == FLOW_MARK or flow is not None:
        return _show_flow(app, shell, app.flows.find(bare), style)
    for of_kind in () if is_workflow else (parts for one, parts in _parts(app).items() if mark in ("", one)):
        if bare in of_kind:
            return _show_part(shell, bare, of_kind[bare])
    if is_part:
        raise NotFound(f"there is no {mark[:-1]} `{bare}`", "`handrail list --nodes` lists all nodes and checks")
    plan = app.catalog.plan(_workflow(app, bare))
    if not mark and app.definitions.is_flow(bare):
        shell.talk(f"there is also a flow `{name}`: `handrail show {FLOW_MARK}{name}`")
    programs = app.definitions.programs_of_workflow(_workflow(app, bare))
    if shell.as_json:
        return shell.data({**plan_to_json(plan), "trusted": app.trust.holds(), "runs": programs_json(shell, programs)})
    tell_untrusted(app, shell, programs)
    if style == "svg":
        raise UsageError("only a flow has a picture", f"`handrail show {bare} --mermaid` prints a diagram")
    return click.echo(workflow_mermaid(plan) if style else workflow_tree(plan))


def _show_part(shell: Shell, name: str, part: Node | Check) -> None:
    """What a step with this node, or a check of this kind, takes and gives."""
    node, kind = (part, "node") if isinstance(part, Node) else (None, "check")
    if shell.as_json:
        more = {"outputs": dict(node.outputs), "prompt": node.prompt, "interrupted": node.rerun} if node else {}
        about = {"kind": kind, "name": name, "about": part.about, "params": json_schema(part.shape)}
        return shell.data({**about, **more})
    params = {field.name: field_words(field) for field in part.params}
    tables = {"Params:": params, "Outputs:": dict(node.outputs) if node else {}}
    lines = [line for head, rows in tables.items() if rows for line in (head, *two_columns(rows, WIDEST))]
    facts = [f"Prompt: {node.prompt}. Interrupted: {node.rerun}."] if node else []
    return shell.say("\n".join([f"{name} ({kind})", f"  {part.about}", *lines, *facts]))


def _list_phases(app: App, shell: Shell, name: str) -> None:
    plan = app.definitions.flow_named(name.removeprefix(FLOW_MARK)).plan
    assert plan is not None
    rows = [(phase.id, [step.id for step in phase.steps]) for phase in plan.phases]
    if shell.as_json:
        return shell.data({"phases": [{"id": id_, "steps": steps} for id_, steps in rows]})
    return print_table(shell, [("PHASE", "STEPS"), *((id_, ", ".join(steps)) for id_, steps in rows)])


def _workflow(app: App, name: str) -> WorkflowSpec:
    try:
        return app.catalog.find(name)
    except NotFound:
        if any(name in flow.ids for flow in app.flows.found):
            app.flows.find(name)
        names = {spec.command for spec in app.catalog.visible()} | app.catalog.workflows.keys() | app.flows.flows.keys()
        hint = did_you_mean(name, sorted(names)) or "`handrail list` shows what there is"
        raise NotFound(f"there is no workflow and no flow `{name}`", hint) from None


def _show_flow(app: App, shell: Shell, flow: FoundFlow, style: str | None) -> None:
    assert flow.plan is not None
    plan = replace(flow.plan, file=shown_path(flow.file, shell.cwd))
    programs = app.definitions.programs_of_flow(flow)
    if shell.as_json:
        trust = {"trusted": app.trust.holds(), "runs": programs_json(shell, programs)}
        return shell.data({**flow_to_json(plan, app.flows.plan_named), **trust})
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
        hint = former_command_hint(code) or did_you_mean(code, [*problem_kinds(), *endings()])
        raise NotFound(f"there is no code `{code}`", hint or "`handrail explain` lists them")
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
        head = f"{ending.code} (the end of a {' or a '.join(ending.of)})"
        parts.append(f"{head}\n\n{ending.meaning}\n\nSolution: {ending.cure}")
    return shell.say("\n\n".join(parts))


def _list_codes(shell: Shell) -> None:
    if shell.as_json:
        return shell.data({"codes": sorted(problem_kinds()), "endings": sorted(endings())})
    rows: list[tuple[str, str, str]]
    rows = [(rule.code, rule.severity, rule.meaning) for rule in problem_kinds().values()]
    rows += [(ending.code, "end", ending.meaning) for ending in endings().values()]
    return shell.say("\n".join(f"{code:<24} {kind:<8} {meaning}" for code, kind, meaning in rows))
