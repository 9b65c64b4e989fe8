"""`handrail run FLOW --help`: what a flow takes, does, writes and uses, made from its file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import click

from handrail.app import App
from handrail.cli.invocation import make_app
from handrail.cli.output import Shell, columns, echo
from handrail.cli.params import OPTION_OF
from handrail.cli.table import WIDEST, listed, wrapped
from handrail.expressions.tree import Const
from handrail.expressions.words import in_words
from handrail.flows.blocks import Block, Rounds, Single, singles
from handrail.flows.brief import Brief, Written, brief
from handrail.flows.found import FoundFlow
from handrail.flows.plan import FlowPlan, Param, Phase
from handrail.project import shown_path
from handrail.source.plain import command_line, counted, one_line, plain

NARROWEST = 50


class CommandOfFlow(click.Command):
    """A command whose first argument is a flow. With `--help`, it shows the help of that flow."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if (named := self._asked_for(ctx, args)) is not None:
            shared = ctx.find_root().params
            project = named.get("project") or shared.get("project")
            is_quiet = bool(named.get("quiet") or shared.get("quiet"))
            shell = Shell(os.getcwd(), as_json=bool(named.get("as_json")), quiet=is_quiet)
            print_help(make_app(project), shell, named["name"])
            ctx.exit()
        return super().parse_args(ctx, args)

    def _asked_for(self, ctx: click.Context, args: list[str]) -> dict[str, Any] | None:
        """The options and arguments, if they have a name and `--help`. None if click has to answer."""
        try:
            found = self.make_parser(ctx).parse_args(list(args))[0]
        except click.UsageError:
            return None
        option = self.get_help_option(ctx)
        is_asked = option is not None and found.get(str(option.name)) is True
        return found if is_asked and isinstance(found.get("name"), str) else None


def print_help(app: App, shell: Shell, name: str) -> None:
    flow = app.flow_named(name)
    assert flow.plan is not None
    if flow.source == "workflow":
        return _print_workflow(app, shell, flow)
    told = brief(flow.plan, lambda other: _plan_named(app, other))
    routes = {group: app.runs.route_of(flow.plan, group) for group in told.groups}
    if shell.as_json:
        return shell.data(_as_json(shell, flow, told, routes))
    width = max(NARROWEST, min(columns(os.environ), WIDEST) - 2)
    where = "builtin" if flow.is_shipped else shown_path(flow.file, shell.cwd)
    echo("\n\n".join("\n".join(part) for part in _parts(told, routes, where, width) if part))
    return None


def _plan_named(app: App, name: str) -> FlowPlan | None:
    found = app.flows.named(name)
    return None if found is None else found.plan


def _print_workflow(app: App, shell: Shell, flow: FoundFlow) -> None:
    """A workflow that an agent is driven through has a task and its phases."""
    spec = app.catalog.find(flow.id.removeprefix("workflow:"))
    stops = [stop.name for stop in app.catalog.plan(spec).stops]
    usage, about = (
        f"handrail run {spec.command} TASK... [OPTIONS]",
        f"Drives an agent through the workflow {spec.name}.",
    )
    if shell.as_json:
        return shell.data({"id": flow.id, "usage": usage, "description": spec.name, "phases": stops})
    lines = [f"Usage: {usage}", "", f"  {one_line(about)}", "", "Phases:", *(f"  {one_line(name)}" for name in stops)]
    return shell.say("\n".join(lines))


def _parts(told: Brief, routes: dict[str, str | None], where: str, width: int) -> Iterator[list[str]]:
    plan = told.plan
    yield [f"Usage: {line}" if number == 0 else f"       {line}" for number, line in enumerate(_usages(told))]
    yield [f"  {line}" for line in wrapped(one_line(plan.description), width - 2)] if plan.description else []
    also = [f"Also: {', '.join(plan.also)}"] if plan.also else []
    yield [*also, f"From: {plain(where)}"]
    if plan.params:
        rows = {name_of_param(param): about_param(param) for param in plan.params}
        yield ["Parameters (`--param NAME=VALUE`):", *listed(rows, width)]
    yield ["Phases:", *(line for block in told.blocks for line in _phase_lines(block, width, "  "))]
    if told.writes:
        yield ["Writes:", *(line.rstrip() for line in listed(_grouped(told.writes), width))]
    agents = {group: route or "no agent is chosen: `--agent NAME`" for group, route in routes.items()}
    if agents or told.agents:
        named = dict.fromkeys(told.agents, "named by the flow")
        yield ["Agents, by routing group (`--route GROUP=AGENT`):", *listed({**agents, **named}, width)]
    if told.asks:
        yield ["Asks (`--answers FILE`):", *(f"  {line}" for line in wrapped(plain(", ".join(told.asks)), width - 2))]
    if plan.env:
        yield ["Variables:", *(f"  {name}" for name in plan.env)]
    yield ["Examples:", *(f"  {plain(line)}" for line in examples(told))]
    show = command_line("handrail", "show", plan.id)
    yield wrapped(plain(f"`handrail run --help` shows the options, and `{show}` the whole flow."), width)


def _usages(told: Brief) -> list[str]:
    task = " [TASK...]" if told.takes_task else ""
    needed = "".join(
        f" --param {param.name}=…" for param in told.plan.params or () if param.required and param.name != "task"
    )
    return [f"{call} {plain(told.plan.id)}{task}{plain(needed)} [OPTIONS]" for call in ("handrail run", "handrail")]


def examples(told: Brief) -> list[str]:
    """Commands that run a flow: those of its file, else one that is made from its params."""
    call = command_line("handrail", "run", told.plan.id)
    if told.plan.examples:
        return [f"{call} {one_line(rest)}".rstrip() for rest in told.plan.examples]
    return [_usages(told)[0].removesuffix(" [OPTIONS]").replace("[TASK...]", "TASK")]


def name_of_param(param: Param) -> str:
    """The name of a param, and its place on the command line if it has one."""
    name = plain(param.name)
    return f"{name}, {OPTION_OF[param.name]}" if param.name in OPTION_OF else name


def about_param(param: Param) -> str:
    """What a param means, and which values it may have, in one line."""
    facts = [one_line(param.about)] if param.about else []
    if param.choices:
        facts.append(f"one of {', '.join(one_line(in_words(Const(choice))) for choice in param.choices)}")
    if param.required:
        facts.append("required")
    elif param.default is not None:
        facts.append(f"default: {one_line(in_words(Const(param.default)))}")
    return "; ".join(facts) or "any value"


def _phase_lines(block: Block, width: int, indent: str) -> Iterator[str]:
    if isinstance(block, Single):
        line = plain(f"{indent}{block.name}: {phase_words(block.phase)}")
        names = plain(f"{indent}{block.name}: {', '.join(step.id for step in block.phase.steps)}")
        yield next((one for one in (line, names) if len(one) <= width), f"{names[: width - 1]}…")
        return
    head = f"up to {counted(block.count, 'round')}" if isinstance(block, Rounds) else "in parallel"
    yield f"{indent}{head}:"
    for inner in block.blocks:
        yield from _phase_lines(inner, width, f"{indent}  ")


def phase_words(phase: Phase) -> str:
    """The steps of a phase in one line: `fetch (runs jira-fetch), write (llm-prompt)`."""
    words = []
    for step in phase.steps:
        is_known = isinstance(step.flow, Const)
        what = f"runs {step.flow.value}" if isinstance(step.flow, Const) else step.node
        words.append(f"{step.id} ({what if is_known or step.flow is None else 'runs a flow'})")
    return ", ".join(words)


def _grouped(writes: Sequence[Written]) -> dict[str, str]:
    """Paths and their schemas. A Markdown file and its JSON file are one row."""
    rows: dict[str, str] = {}
    stems = {_stem(one.path): one for one in writes if one.path.endswith(".json")}
    for one in writes:
        stem = _stem(one.path)
        if one.path.endswith(".md") and stem in stems:
            rows[plain(f"{stem}.md, .json")] = stems[stem].schema or ""
        elif not (one.path.endswith(".json") and f"{stem}.md" in {_stem(two.path) + two.path[-3:] for two in writes}):
            rows[plain(one.path)] = one.schema or ""
    return rows


def _stem(path: str) -> str:
    return os.path.splitext(path.replace("/.artifacts/", "/"))[0]


def _as_json(shell: Shell, flow: FoundFlow, told: Brief, routes: dict[str, str | None]) -> dict[str, Any]:
    plan = told.plan
    return {
        "id": flow.id,
        "also": list(plan.also),
        "usage": _usages(told)[0],
        "description": plan.description,
        "source": flow.source,
        "file": shown_path(flow.file, shell.cwd),
        "params": [{**vars(param), "choices": list(param.choices)} for param in plan.params or ()],
        "phases": [{"id": one.name, "steps": [step.id for step in one.phase.steps]} for one in singles(told.blocks)],
        "writes": [vars(one) for one in told.writes],
        "routes": [{"group": group, "agent": route} for group, route in routes.items()],
        "agents": list(told.agents),
        "asks": list(told.asks),
        "env": list(plan.env),
        "examples": examples(told),
    }
