"""Parameters, agents and bounds from the command line, and parameters from a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from handrail import registry
from handrail.app import App
from handrail.errors import UsageError
from handrail.expressions.parse import plain_value
from handrail.flows.language import LANGUAGES
from handrail.forms.severities import blocking_severities
from handrail.runs.bounds import Bounded
from handrail.runs.routing import Choice
from handrail.settings import DEFAULT, GROUPS, parse_route
from handrail.settings.presets import find_preset
from handrail.source.files import MAX_BYTES, Source, decode
from handrail.source.jsontree import read_json
from handrail.source.simpleyaml import read_yaml
from handrail.source.suggest import did_you_mean
from handrail.source.values import Unresolved
from handrail.source.written import typed
from handrail.source.yamltree import Node, Trouble
from handrail.state.regular import Unreadable, read_regular

_MORE = click.FloatRange(min=0, min_open=True)
F = TypeVar("F", bound=Callable[..., Any])


def given_params(pairs: tuple[str, ...], file: str | None) -> dict[str, Any]:
    """The parameters from the file, overridden by those from `NAME=VALUE`."""
    params = _from_file(file) if file is not None else {}
    for item in pairs:
        name, mark, value = item.partition("=")
        if not mark or not name:
            raise UsageError(f"`{item}` is not `NAME=VALUE`")
        params[name] = typed(value)
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


def task_options(function: F) -> F:
    """The options that tell the agents of a run more about its task."""
    for option in (
        click.option("--accept-playbook-draft", is_flag=True, help="Write a new playbook without asking."),
        click.option(
            "--blocking-severities",
            metavar="LIST",
            help="Findings of these severities block, as in `blocker,critical`.",
        ),
        click.option(
            "--lang",
            "--md-lang",
            type=click.Choice(sorted(LANGUAGES)),
            metavar="CODE",
            help=f"The language in which agents write: {', '.join(sorted(LANGUAGES))}.",
        ),
        click.option("--prompt", metavar="TEXT", help="Additional instructions: the param `extraPrompt` of the flow."),
    ):
        function = option(function)
    return function


ACCEPTED = "acceptPlaybookDraft"
"""The param that accepts a playbook in place of a person."""
OPTION_OF = {
    "task": "TASK",
    "taskKey": "--scope",
    "extraPrompt": "--prompt",
    "reviewBlockingSeverities": "--blocking-severities",
    ACCEPTED: "--accept-playbook-draft",
}
"""Params that have a place of their own on the command line of `run`."""


def params_of_task(options: Mapping[str, Any]) -> dict[str, Any]:
    """The params that `task_options` set."""
    found: dict[str, Any] = {} if options["prompt"] is None else {"extraPrompt": options["prompt"]}
    if options["blocking_severities"] is not None:
        if not options["blocking_severities"].strip(", \t\n"):
            raise UsageError("`--blocking-severities` names no severity", "name at least one, as in `blocker,critical`")
        try:
            found["reviewBlockingSeverities"] = blocking_severities(options["blocking_severities"], {})
        except Unresolved as error:
            raise UsageError(f"`--blocking-severities`: {error.message}") from error
    return found | ({ACCEPTED: True} if options["accept_playbook_draft"] else {})


def route_options(function: F) -> F:
    """The options that choose the agents of a run."""
    for option in (
        click.option("--preset", metavar="NAME", help="A set of routes, from the settings or a shipped one."),
        click.option(
            "--route", "routes", multiple=True, metavar="GROUP=AGENT[:MODEL]", help="The agent for a routing group."
        ),
        click.option("--model", help="The model for that agent."),
        click.option("--agent", help="The agent for every prompt."),
    ):
        function = option(function)
    return function


def limit_options(function: F) -> F:
    """The options that bound what a run may use."""
    for option in (
        click.option(
            "--max-tokens", type=click.IntRange(min=1), metavar="N", help="End it when its agents used N tokens."
        ),
        click.option("--max-minutes", type=_MORE, metavar="N", help="End it when it was driven for N minutes."),
        click.option("--max-usd", type=_MORE, metavar="N", help="End it when its agents used N dollars."),
    ):
        function = option(function)
    return function


def given_bounds(options: Mapping[str, Any]) -> Bounded:
    return Bounded(options["max_usd"], options["max_minutes"], options["max_tokens"])


def approve_option(function: F) -> F:
    """The option that approves effects for the whole run."""
    return click.option(
        "--approve",
        multiple=True,
        metavar="EFFECT",
        help="Do not ask before this effect, such as `git-push`. Several are possible.",
    )(function)


def given_approvals(options: Mapping[str, Any]) -> tuple[str, ...]:
    """The effects of `--approve`. Raises `UsageError` for one that does not exist."""
    given: tuple[str, ...] = options["approve"]
    known = registry.effects() if given else {}
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known) or f"effects: {', '.join(known)}"
            raise UsageError(f"`--approve`: there is no effect `{name}` that can be approved", hint)
    return given


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


def given_choice(app: App, options: Mapping[str, Any]) -> Choice:
    """The agents that were chosen with `route_options`. Raises `UsageError` for an unknown preset."""
    preset_routes(app, options)
    return Choice(
        options["agent"],
        options["model"],
        given_routes(options["routes"]),
        options["preset"],
        given_bounds(options),
        given_approvals(options) if "approve" in options else (),
    )


def _from_file(path: str) -> dict[str, Any]:
    try:
        data = read_regular(path, MAX_BYTES) if path != "-" else sys.stdin.buffer.read(MAX_BYTES + 1)
    except Unreadable as error:
        hint = (
            None if error.is_missing else "write the parameters to a file, or use `--params -` for the standard input"
        )
        raise UsageError(f"the parameters cannot be read: `{path}` {error.message}", hint) from error
    if len(data) > MAX_BYTES:
        raise UsageError(f"the parameters have more than {MAX_BYTES} bytes")
    source, problems = decode("<stdin>" if path == "-" else path, data)
    if problems:
        raise UsageError(f"{path}:{problems[0].line}:{problems[0].column}: {problems[0].message}", problems[0].hint)
    tree, troubles = _read_tree(source)
    if troubles:
        first = troubles[0]
        raise UsageError(f"{path}:{first.line}:{first.column}: {first.message}", first.hint)
    if tree is None or tree.kind != "mapping":
        raise UsageError(f"{path}:1:1: parameters have to be a mapping of names to values", "write `NAME: VALUE` lines")
    params: dict[str, Any] = plain_value(tree)
    return params


def _read_tree(source: Source) -> tuple[Node | None, list[Trouble]]:
    """The tree of a parameters file: JSON if its name says so, else YAML. Numbers keep their texts."""
    is_json = source.file.endswith(".json")
    return read_json(source.text, keeps_texts=True) if is_json else read_yaml(source.text)
