"""What `handrail run FLOW` takes: params, agents, limits, approvals; and the help of a flow.

The help of a flow is made from its file: what it takes, does, writes and uses.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from handrail.app import App
from handrail.base.errors import UsageError
from handrail.base.files import Unreadable, read_limited
from handrail.cli.invocation import make_app
from handrail.cli.options import complete_flow, option_group, trust_option
from handrail.cli.output import Shell, echo, terminal_columns
from handrail.cli.table import WIDEST, two_columns, wrapped
from handrail.driven.expressions.tree import Const, in_words
from handrail.driven.flows.catalog import FoundFlow
from handrail.driven.flows.overview import Block, Brief, PhaseBlock, RepeatBlock, WrittenFile, brief, phase_blocks
from handrail.driven.flows.plan import Param, Phase
from handrail.driven.flows.prompts import LANGUAGES
from handrail.driven.forms.form import blocking_severities
from handrail.driven.runs.run_events import Bounded, RunChoice
from handrail.settings.folders import shown_path
from handrail.settings.routes import DEFAULT, find_preset, parse_route
from handrail.settings.settings import GROUPS
from handrail.source.definition_files import MAX_BYTES, decode
from handrail.source.field_checks import plain_data
from handrail.source.json_reader import read_json
from handrail.source.plain_text import command_line, counted, one_line, plain
from handrail.source.suggestions import did_you_mean
from handrail.source.values import Unresolved, typed_value
from handrail.source.yaml_text import read_yaml

_POSITIVE = click.FloatRange(min=0, min_open=True)


def given_params(pairs: tuple[str, ...], file: str | None) -> dict[str, Any]:
    """The parameters from the file, overridden by those from `NAME=VALUE`."""
    params = _params_from_file(file) if file is not None else {}
    for item in pairs:
        name, mark, value = item.partition("=")
        if not mark or not name:
            raise UsageError(f"`{item}` is not `NAME=VALUE`")
        params[name] = typed_value(value)
    return params


def given_routes(pairs: tuple[str, ...]) -> dict[str, str]:
    """The routes from `GROUP=AGENT` and `GROUP=AGENT:MODEL`."""
    routes: dict[str, str] = {}
    for item in pairs:
        group, _, route = item.partition("=")
        if group not in (*GROUPS, DEFAULT):
            hint = did_you_mean(group, (*GROUPS, DEFAULT)) or f"groups: {', '.join((*GROUPS, DEFAULT))}"
            raise UsageError(f"there is no routing group `{group}`", hint)
        try:
            routes[group] = str(parse_route(route))
        except ValueError:
            raise UsageError(f"`{item}` is not `GROUP=AGENT:MODEL`") from None
    return routes


task_options = option_group(
    click.option("--prompt", metavar="TEXT", help="Additional instructions: the param `extraPrompt` of the flow."),
    click.option(
        "--lang",
        "--md-lang",
        type=click.Choice(sorted(LANGUAGES)),
        metavar="CODE",
        help=f"The language in which agents write: {', '.join(sorted(LANGUAGES))}.",
    ),
    click.option(
        "--blocking-severities", metavar="LIST", help="Findings of these severities block, as in `blocker,critical`."
    ),
    click.option("--accept-playbook-draft", is_flag=True, help="Write a new playbook without asking."),
)
route_options = option_group(
    click.option("--agent", help="The agent for every prompt."),
    click.option("--model", help="The model for that agent."),
    click.option(
        "--route", "routes", multiple=True, metavar="GROUP=AGENT[:MODEL]", help="The agent for a routing group."
    ),
    click.option("--preset", metavar="NAME", help="A set of routes, from the settings or a shipped one."),
)
limit_options = option_group(
    click.option("--max-usd", type=_POSITIVE, metavar="N", help="End it when its agents used N dollars."),
    click.option("--max-minutes", type=_POSITIVE, metavar="N", help="End it when it was driven for N minutes."),
    click.option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="End it when its agents used N tokens."),
)
approve_option = click.option(
    "--approve",
    multiple=True,
    metavar="EFFECT",
    help="Do not ask before this effect, such as `git-push`. Several are possible.",
)
answers_option = click.option("--answers", metavar="FILE", help="A file with answers to its forms (JSON or YAML).")
events_option = click.option("--events", is_flag=True, help="Print each event as one line of JSON.")
worktree_options = option_group(
    click.option("--worktree", "in_tree", is_flag=True, help="Work in a git worktree of its own, on a new branch."),
    click.option("--base", metavar="REF", help="What the worktree starts from; by default what is checked out."),
    click.option("--keep", "end", flag_value="keep", help="Keep the worktree, also if there are no changes."),
    click.option("--merge", "end", flag_value="merge", help="Merge the worktree into its base at the end."),
    click.option("--remove", "end", flag_value="remove", help="Remove the worktree at the end, if nothing is lost."),
)
start_options = option_group(
    click.argument("name", shell_complete=complete_flow),
    click.argument("task", nargs=-1),
    click.option("--param", "given", multiple=True, metavar="NAME=VALUE", help="A parameter of the flow."),
    click.option(
        "--params", "file", metavar="FILE", help="A file with parameters (JSON or YAML); `-` is the standard input."
    ),
    answers_option,
    route_options,
    limit_options,
    approve_option,
    task_options,
    worktree_options,
    click.option(
        "--scope", default="", help="The scope of its artifacts, or an issue; by default the issue or the branch."
    ),
    click.option("--from", "start", metavar="PHASE", help="Skip the phases before this one."),
    click.option("--until", metavar="PHASE", help="End after this phase."),
    trust_option,
)
"""What a run is started with."""
drive_options = option_group(answers_option, route_options, limit_options, approve_option, trust_option, events_option)
"""What every command takes that drives a run which has begun."""


ACCEPT_PLAYBOOK = "acceptPlaybookDraft"
"""The param that accepts a playbook in place of a person."""
OPTION_OF = {
    "task": "TASK",
    "taskKey": "--scope",
    "extraPrompt": "--prompt",
    "reviewBlockingSeverities": "--blocking-severities",
    ACCEPT_PLAYBOOK: "--accept-playbook-draft",
}
"""Params that have a place of their own on the command line of `run`."""


def params_of_task(options: Mapping[str, Any]) -> dict[str, Any]:
    """The params that `task_options` set."""
    params: dict[str, Any] = {} if options["prompt"] is None else {"extraPrompt": options["prompt"]}
    if options["blocking_severities"] is not None:
        if not options["blocking_severities"].strip(", \t\n"):
            raise UsageError("`--blocking-severities` names no severity", "name at least one, as in `blocker,critical`")
        try:
            params["reviewBlockingSeverities"] = blocking_severities(options["blocking_severities"], {})
        except Unresolved as error:
            raise UsageError(f"`--blocking-severities`: {error.message}") from error
    return params | ({ACCEPT_PLAYBOOK: True} if options["accept_playbook_draft"] else {})


def given_bounds(options: Mapping[str, Any]) -> Bounded:
    return Bounded(options["max_usd"], options["max_minutes"], options["max_tokens"])


def given_approvals(app: App, options: Mapping[str, Any]) -> tuple[str, ...]:
    """The effects of `--approve`. Raises `UsageError` for one that does not exist."""
    names: tuple[str, ...] = options["approve"]
    effects = app.effects() if names else {}
    for name in names:
        if name not in effects:
            hint = did_you_mean(name, effects) or f"effects: {', '.join(effects)}"
            raise UsageError(f"`--approve`: there is no effect `{name}` that can be approved", hint)
    return names


def preset_routes(app: App, options: Mapping[str, Any]) -> dict[str, str]:
    """The routes of the chosen preset; none if no preset was chosen. Raises `UsageError` for an unknown one."""
    return find_preset(app.runs.presets, options["preset"]) if options["preset"] else {}


def part_of_request(app: App, options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request that say which phases run, and which agents get their steps."""
    return {
        "agent": options["agent"],
        "model": options["model"],
        "start": options["start"],
        "until": options["until"],
        "routes": given_routes(options["routes"]),
        "table": preset_routes(app, options),
        "preset": options["preset"] or "",
    }


def given_choice(app: App, options: Mapping[str, Any]) -> RunChoice:
    """The agents that were chosen with `route_options`. Raises `UsageError` for an unknown preset."""
    preset_routes(app, options)
    return RunChoice(
        options["agent"],
        options["model"],
        given_routes(options["routes"]),
        options["preset"],
        given_bounds(options),
        given_approvals(app, options) if "approve" in options else (),
    )


def _params_from_file(path: str) -> dict[str, Any]:
    try:
        data = read_limited(path, MAX_BYTES) if path != "-" else sys.stdin.buffer.read(MAX_BYTES + 1)
    except Unreadable as error:
        pair = f"`--param {command_line(path)}` sets one parameter" if "=" in path else None
        hint = pair if error.is_missing else "write them to a file, or use `--params -` for the standard input"
        message = f"the parameters cannot be read: `{path}` {error.message}"
        raise UsageError(message, hint) from error
    if len(data) > MAX_BYTES:
        raise UsageError(f"the parameters have more than {MAX_BYTES} bytes")
    source, decode_problems = decode("<stdin>" if path == "-" else path, data)
    is_json = source.file.endswith(".json")  # numbers keep their texts
    tree, read_problems = read_json(source.text, keeps_texts=True) if is_json else read_yaml(source.text)
    problems: list[Any] = [*decode_problems, *read_problems]
    for one in problems:
        raise UsageError(f"{path}:{one.line}:{one.column}: {one.message}", one.hint)
    if tree is None or tree.kind != "mapping":
        raise UsageError(f"{path}:1:1: parameters have to be a mapping of names to values", "write `NAME: VALUE` lines")
    params: dict[str, Any] = plain_data(tree)
    return params


NARROWEST = 50
_ONLY_OF_RUN = {"--unattended", "--detach", "--events", "--dry-run", "--json", "--quiet", "-q", "--verbose", "-v"}


def command_again(words: Sequence[str], name: str, *options: str) -> str:
    """The command `name` with the words that were given and these options, but without those of `run` alone."""
    cut = words.index("--") if "--" in words else len(words)
    given = [word for word in words[:cut] if word not in _ONLY_OF_RUN]
    return command_line("handrail", name, *given, *options, *words[cut:])


class FlowCommand(click.Command):
    """A command whose first argument is a flow. With `--help`, it shows the help of that flow."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.obj = list(args)
        if (options := self._options_of_help(ctx, args)) is not None:
            shared_options = ctx.find_root().params
            project = options.get("project") or shared_options.get("project")
            is_quiet = bool(options.get("quiet") or shared_options.get("quiet"))
            shell = Shell(os.getcwd(), as_json=bool(options.get("as_json")), quiet=is_quiet)
            print_flow_help(make_app(project), shell, options["name"], options)
            ctx.exit()
        return super().parse_args(ctx, args)

    def _options_of_help(self, ctx: click.Context, args: list[str]) -> dict[str, Any] | None:
        """The options and arguments, if they have a name and `--help`. None if click has to answer."""
        try:
            options = self.make_parser(ctx).parse_args(list(args))[0]
        except click.UsageError:
            return None
        option = self.get_help_option(ctx)
        is_asked = option is not None and options.get(str(option.name)) is True
        return options if is_asked and isinstance(options.get("name"), str) else None


def print_flow_help(app: App, shell: Shell, name: str, options: Mapping[str, Any]) -> None:
    """`options` may choose agents: the help says which ones the flow would get."""
    flow = app.definitions.flow_named(name)
    assert flow.plan is not None
    if flow.source == "workflow":
        return _print_workflow(app, shell, flow)
    summary = brief(flow.plan, app.flows.plan_named)
    chosen = {"agent": None, "model": None, "preset": None, **options, "routes": options.get("routes") or ()}
    preset_routes(app, chosen)
    choice = RunChoice(chosen["agent"], chosen["model"], given_routes(chosen["routes"]), chosen["preset"])
    routes = {group: app.runs.route_of(flow.plan, group, choice) for group in summary.groups}
    if shell.as_json:
        return shell.data(_help_json(shell, flow, summary, routes))
    width = max(NARROWEST, min(terminal_columns(os.environ), WIDEST) - 2)
    source = "builtin" if flow.is_shipped else shown_path(flow.file, shell.cwd)
    echo("\n\n".join("\n".join(part) for part in _help_parts(summary, routes, source, width) if part))
    return None


def _print_workflow(app: App, shell: Shell, flow: FoundFlow) -> None:
    """A workflow that an agent is driven through has a task and its phases."""
    spec = app.catalog.find(flow.id.removeprefix("workflow:"))
    stops = [stop.name for stop in app.catalog.plan(spec).stops]
    usage = f"handrail run {spec.command} TASK... [OPTIONS]"
    about = f"Drives an agent through the workflow {spec.name}."
    if shell.as_json:
        return shell.data({"id": flow.id, "usage": usage, "description": spec.name, "phases": stops})
    lines = [f"Usage: {usage}", "", f"  {one_line(about)}", "", "Phases:", *(f"  {one_line(name)}" for name in stops)]
    return shell.say("\n".join(lines))


def _help_parts(summary: Brief, routes: dict[str, str | None], source: str, width: int) -> Iterator[list[str]]:
    plan = summary.plan
    yield [f"Usage: {line}" if number == 0 else f"       {line}" for number, line in enumerate(_usages(summary))]
    yield [f"  {line}" for line in wrapped(one_line(plan.description), width - 2)] if plan.description else []
    also = [f"Also: {', '.join(plan.also)}"] if plan.also else []
    yield [*also, f"From: {plain(source)}"]
    if plan.params:
        places = {name: f", {place}" for name, place in OPTION_OF.items()}
        rows = {plain(param.name) + places.get(param.name, ""): about_param(param) for param in plan.params}
        yield ["Parameters (`--param NAME=VALUE`):", *two_columns(rows, width)]
    yield ["Phases:", *(line for block in summary.blocks for line in _phase_lines(block, width, "  "))]
    if summary.writes:
        yield ["Writes:", *(line.rstrip() for line in two_columns(_grouped_writes(summary.writes), width))]
    agents = {group: route or "no agent is chosen: `--agent NAME`" for group, route in routes.items()}
    if agents or summary.agents:
        named_agents = dict.fromkeys(summary.agents, "named by the flow")
        yield ["Agents, by routing group (`--route GROUP=AGENT`):", *two_columns({**agents, **named_agents}, width)]
    if summary.asks:
        asks = wrapped(plain(", ".join(summary.asks)), width - 2)
        yield ["Asks (`--answers FILE`):", *(f"  {line}" for line in asks)]
    if plan.env:
        yield ["Variables:", *(f"  {name}" for name in plan.env)]
    yield ["Examples:", *(f"  {plain(line)}" for line in examples(summary))]
    show = command_line("handrail", "show", plan.id)
    yield wrapped(plain(f"`handrail run --help` shows the options, and `{show}` the whole flow."), width)


def _usages(summary: Brief) -> list[str]:
    task = " [TASK...]" if summary.takes_task else ""
    names = [param.name for param in summary.plan.params or () if param.required and param.name != "task"]
    params = "".join(f" --param {name}=…" for name in names)
    return [f"{call} {plain(summary.plan.id)}{task}{plain(params)} [OPTIONS]" for call in ("handrail run", "handrail")]


def examples(summary: Brief) -> list[str]:
    """Commands that run a flow: those of its file, else one that is made from its params."""
    call = command_line("handrail", "run", summary.plan.id)
    if summary.plan.examples:
        return [f"{call} {one_line(arguments)}".rstrip() for arguments in summary.plan.examples]
    return [_usages(summary)[0].removesuffix(" [OPTIONS]").replace("[TASK...]", "TASK")]


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
    if isinstance(block, PhaseBlock):
        line = plain(f"{indent}{block.name}: {phase_words(block.phase)}")
        names = plain(f"{indent}{block.name}: {', '.join(step.id for step in block.phase.steps)}")
        yield next((one for one in (line, names) if len(one) <= width), f"{names[: width - 1]}…")
        return
    head = f"up to {counted(block.count, 'round')}" if isinstance(block, RepeatBlock) else "in parallel"
    yield f"{indent}{head}:"
    for inner in block.blocks:
        yield from _phase_lines(inner, width, f"{indent}  ")


def phase_words(phase: Phase) -> str:
    """The steps of a phase in one line: `fetch (runs jira-fetch), write (llm-prompt)`."""
    words = []
    for step in phase.steps:
        action = step.node if step.flow is None else "runs a flow"
        words.append(f"{step.id} ({f'runs {step.flow.value}' if isinstance(step.flow, Const) else action})")
    return ", ".join(words)


def _grouped_writes(writes: Sequence[WrittenFile]) -> dict[str, str]:
    """Paths and their schemas. A Markdown file and its JSON file are one row."""
    rows: dict[str, str] = {}
    schemas = {_stem(one.path): one.schema for one in writes if one.path.endswith(".json")}
    documents = {_stem(one.path) for one in writes if one.path.endswith(".md")}
    for one in writes:
        stem = _stem(one.path)
        if one.path.endswith(".md") and stem in schemas:
            rows[plain(f"{stem}.md, .json")] = schemas[stem] or ""
        elif not one.path.endswith(".json") or stem not in documents:
            rows[plain(one.path)] = one.schema or ""
    return rows


def _stem(path: str) -> str:
    return os.path.splitext(path.replace("/.artifacts/", "/"))[0]


def _help_json(shell: Shell, flow: FoundFlow, summary: Brief, routes: dict[str, str | None]) -> dict[str, Any]:
    plan = summary.plan
    return {
        "id": flow.id,
        "also": list(plan.also),
        "usage": _usages(summary)[0],
        "description": plan.description,
        "source": flow.source,
        "file": shown_path(flow.file, shell.cwd),
        "params": [param.to_json() for param in plan.params or ()],
        "phases": [
            {"id": one.name, "steps": [step.id for step in one.phase.steps]} for one in phase_blocks(summary.blocks)
        ],
        "writes": [vars(one) for one in summary.writes],
        "routes": [{"group": group, "agent": route} for group, route in routes.items()],
        "agents": list(summary.agents),
        "asks": list(summary.asks),
        "env": list(plan.env),
        "examples": examples(summary),
    }
