"""Commands about trust: a person's word that a project may run programs, and plugins, whose code asks for its own."""

from __future__ import annotations

import os
from typing import Any

import click

from handrail.app import App
from handrail.base.errors import NotFound, RefusedError, UsageError
from handrail.cli.definition_list import print_problems, programs_json, shown_problems
from handrail.cli.forms import can_ask
from handrail.cli.options import ListGroup, command
from handrail.cli.output import Shell, date_and_time, echo
from handrail.cli.results import print_table, program_lines
from handrail.cli.terminal import WaitingLine
from handrail.extensions.plugins.manifest import ID, RESERVED, Plugin, skeleton_files
from handrail.extensions.plugins.search import JAVASCRIPT, plugin_folders
from handrail.extensions.plugins.trusted_code import PluginUntrusted, TrustedCode, difference
from handrail.settings.folders import find_root, owning_project, shown_path
from handrail.settings.trust import RUNS_NOTHING
from handrail.source.diagnostics import Diagnostic
from handrail.source.plain_text import command_line, counted, plain
from handrail.source.suggestions import did_you_mean


@click.command()
@click.argument("folder", required=False, metavar="[DIR]", type=click.Path(exists=False))
@click.option("--below", is_flag=True, help="Trust every project in this folder, also those that come later.")
@click.option("--show", is_flag=True, help="Only say whether the project is trusted, and what it would run.")
@click.option(
    "--remove",
    is_flag=True,
    help="Take the trust back. The project runs nothing until a person trusts it. Agents may, too.",
)
@command
def trust(app: App, shell: Shell, folder: str | None, below: bool, **options: bool) -> None:
    """Trust a project: its checks, flows, settings and agents may run programs.

    A project that nobody has trusted runs nothing. Trust is recorded in Handrail's state folder, outside of the
    project. It holds for the folder, whatever its files say later; plugins are asked for again when they change.

    \b
    handrail trust --show
    handrail trust
    handrail trust --remove
    """
    if options["remove"]:
        if below or options["show"]:
            raise UsageError("`--remove` works alone", "name the folder, and no other option")
        return _remove_trust(app, shell, folder)
    if folder is not None and not os.path.isdir(folder):
        raise UsageError(f"`{folder}` is not a folder", "give the path of the project's folder")
    target = app if folder is None else app.at(_project(app, folder, is_exact=below))
    if options["show"]:
        return _say_trust(target, shell)
    app.refuse_agents("trust")
    target.trust.grant(target.clock(), below=below)
    if shell.as_json:
        return shell.data(_trust_json(target, shell))
    shell.say(f"trusted: {plain(target.project)}" + (", and every project below it" if below else ""))
    return shell.talk(f"`{command_line('handrail', 'trust', '--remove', target.project)}` takes it back")


def _remove_trust(app: App, shell: Shell, folder: str | None) -> None:
    exact = None if folder is None else os.path.realpath(folder)
    is_known = any(one.path == exact for one in app.trust.store.all())  # also if the folder does not exist any more
    target = app if folder is None else app.at(_project(app, folder, is_exact=is_known))
    was_trusted = target.trust.store.revoke(target.project)
    record = target.trust.record
    if shell.as_json:
        return shell.data({"project": target.project, "revoked": was_trusted, **_record_json(target)})
    shell.say(
        f"not trusted any more: {plain(target.project)}" if was_trusted else f"was not trusted: {plain(target.project)}"
    )
    if record is not None:
        shell.insist(
            f"warning: it is still trusted, because every project below `{plain(record.path)}` is; "
            f"`{command_line('handrail', 'trust', '--remove', record.path)}` takes that back"
        )
    return None


def _project(app: App, folder: str, *, is_exact: bool) -> str:
    """The project of a folder, or the folder itself."""
    return os.path.realpath(folder) if is_exact else owning_project(app.places, find_root(folder))


def _record_json(app: App) -> dict[str, Any]:
    record = app.trust.record
    data = None if record is None else {"path": record.path, "at": record.at, "below": record.below}
    return {"trusted": record is not None, "record": data}


def _trust_json(app: App, shell: Shell) -> dict[str, Any]:
    runs = programs_json(shell, app.definitions.programs_of_project(app.settings))
    return {"project": app.project, **_record_json(app), "runs": runs}


def _say_trust(app: App, shell: Shell) -> None:
    if shell.as_json:
        return shell.data(_trust_json(app, shell))
    programs, record = app.definitions.programs_of_project(app.settings), app.trust.record
    if record is None:
        shell.say(f"not trusted: {plain(app.project)}")
    else:
        source = "" if record.path == app.project else f", by the record of `{plain(record.path)}`"
        shell.say(f"trusted: {plain(app.project)}, since {date_and_time(record.at)}{source}")
    if not programs:
        return shell.say(RUNS_NOTHING)
    shell.say(f"it {'runs' if record else 'would run'} {counted(len(programs), 'thing')}:")
    for line in program_lines(programs, shell.cwd):
        shell.say(f"  {line}")
    return None


@click.group(cls=ListGroup)
def plugins() -> None:
    """List the plugins; make one, or decide whether its code may run."""


@plugins.command("list")
@command
def list_plugins(app: App, shell: Shell) -> None:
    """List the plugins, and what is wrong with them.

    Code that is trusted is tried in a process of its own, so that everything that is wrong with it is shown. Code that
    is not trusted is not run.
    """
    all_plugins = app.definitions.plugins
    rows_with_problems: list[tuple[Plugin, list[Diagnostic]]] = []
    with WaitingLine(shell, "reading the plugins") as line:
        for one in all_plugins.found:
            line.say(f"trying the plugin `{one.id}`")
            rows_with_problems.append((one, shown_problems(all_plugins.problems(one, again=True), shell.cwd)))
    if shell.as_json:
        return shell.data({"plugins": [_plugin_json(app, one, problems) for one, problems in rows_with_problems]})
    if not rows_with_problems:
        return shell.say("there are no plugins; `handrail plugins new ID` makes one")
    rows = [_plugin_row(app, one, bool(problems)) for one, problems in rows_with_problems]
    print_table(shell, [("ID", "VERSION", "SOURCE", "CODE", "PROVIDES"), *rows])
    every = [problem for _, problems in rows_with_problems for problem in problems]
    return print_problems(every, "text") if every else None


def _plugin_json(app: App, plugin: Plugin, problems: list[Diagnostic]) -> dict[str, Any]:
    return {
        "id": plugin.id,
        "version": plugin.manifest.version if plugin.manifest is not None else None,
        "source": plugin.place.source,
        "folder": plugin.place.folder,
        "trusted": app.definitions.plugins.is_trusted(plugin),
        "provides": _provides(app, plugin),
        "problems": [problem.to_json() for problem in problems],
    }


def _provides(app: App, plugin: Plugin) -> dict[str, list[str]]:
    if plugin.manifest is None:
        return {}
    definitions = {
        "flows": [flow.id for flow in app.flows.found if flow.source == plugin.id],
        "workflows": [workflow.key for workflow in app.catalog.found if workflow.source == plugin.id],
        "prompts": [name for name in app.definitions.resources.prompts if name.startswith(f"{plugin.id}/")],
        "schemas": sorted(name for name in app.definitions.resources.schemas if name.startswith(f"{plugin.id}/")),
    }
    return {**plugin.manifest.provides(), **{kind: names for kind, names in definitions.items() if names}}


def _plugin_row(app: App, plugin: Plugin, has_problems: bool) -> tuple[str, ...]:
    if plugin.manifest is None:
        state = "cannot run" if plugin.place.source == JAVASCRIPT else "disabled"
        return plugin.id, "", plugin.place.source, state, ""
    code = app.definitions.plugins.code(plugin)
    state = "none" if not code.rows else "trusted" if code.refusal is None else "not trusted"
    if state == "trusted" and code.error() is not None:
        state = "disabled"
    numbers = ", ".join(counted(len(names), kind.removesuffix("s")) for kind, names in _provides(app, plugin).items())
    return plugin.id, plugin.manifest.version, plugin.place.source, state, numbers + " !" * has_problems


@plugins.command()
@click.argument("id_", metavar="ID")
@click.option("--user", is_flag=True, help="Make it in your own folder, for all projects.")
@command
def new(app: App, shell: Shell, id_: str, user: bool) -> None:
    """Make a small working plugin: a node, a check, a flow that uses them, and a test. Overwrites nothing.

    \b
    handrail plugins new acme
    """
    if not ID.fullmatch(id_) or id_ in RESERVED:
        hint = "begin with a lower-case letter, then letters, digits and `-`, such as `acme`"
        raise UsageError(f"`{id_}` cannot be the id of a plugin", hint)
    app.refuse_agents("plugins new")
    folder = os.path.join(plugin_folders(app.project, app.places)["user" if user else "project"], id_)
    if os.path.lexists(folder):
        raise RefusedError(f"`{folder}` exists", "choose another id, or remove the folder")
    paths = []
    for name, text in skeleton_files(id_).items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
        paths.append(shown_path(path, app.project))
        shell.say(f"created: {paths[-1]}")
    if shell.as_json:
        return shell.data({"id": id_, "created": paths})
    place = shown_path(folder, shell.cwd)
    return shell.talk(f"next: `handrail plugins trust {id_}`, `handrail run {id_}/hello`, `pytest {place}`")


@plugins.command("trust")
@click.argument("id_", metavar="ID")
@click.option("--show", is_flag=True, help="Only show what would be trusted.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@command
def trust_plugin(app: App, shell: Shell, id_: str, show: bool, yes: bool) -> None:
    """Trust the code of a plugin as it is now. If a file changes, you are asked again.

    The files are listed. If you trusted the plugin before, only the difference is shown.
    """
    if not show:
        app.refuse_agents("plugins trust")
    plugin_ = _folder_plugin(app, id_)
    code = app.definitions.plugins.code(plugin_)
    content, store = code.content, TrustedCode(app.places.state)
    if content is None:
        raise code.refusal or RefusedError(f"the files of the plugin `{id_}` cannot be read")
    old_content = store.find(plugin_.place.folder)
    lines = sorted(content.files) if old_content is None else list(difference(old_content, content))
    is_trusted = old_content is not None and not lines
    if not shell.as_json:
        echo(
            f"{id_}: {'files' if old_content is None else 'changed since you trusted it'}, {plugin_.place.folder}",
            err=True,
        )
        for line in lines:
            shell.say(plain(line))
    if not show and not is_trusted:
        if not yes and not can_ask():
            hint = f"look at it with `handrail plugins trust {id_} --show`, then add `--yes`"
            raise PluginUntrusted(f"there is no terminal to ask whether you trust the plugin `{id_}`", hint)
        if not yes and not click.confirm(f"Trust this code of `{id_}`?", default=False, err=True):
            raise RefusedError(f"the plugin `{id_}` is not trusted")
        store.grant(plugin_.place.folder, content, app.clock())
        is_trusted = True
    if shell.as_json:
        key = "files" if old_content is None else "changes"
        return shell.data({"id": id_, "folder": plugin_.place.folder, "trusted": is_trusted, key: lines})
    if not show and plugin_.place.source == "project" and not store.project_is_trusted(app.project):
        shell.talk("the project itself is not trusted yet: `handrail trust`")
    return shell.talk(f"the plugin `{id_}` is {'' if is_trusted else 'not '}trusted")


@plugins.command("distrust")
@click.argument("id_", metavar="ID")
@command
def distrust_plugin(app: App, shell: Shell, id_: str) -> None:
    """Take back the trust in the code of a plugin."""
    app.refuse_agents("plugins distrust")
    plugin_ = _folder_plugin(app, id_)
    was_trusted = TrustedCode(app.places.state).revoke(plugin_.place.folder)
    if shell.as_json:
        return shell.data({"id": id_, "folder": plugin_.place.folder, "wasTrusted": was_trusted})
    return shell.say(f"the plugin `{id_}` is no longer trusted" if was_trusted else f"`{id_}` was not trusted")


def _folder_plugin(app: App, id_: str) -> Plugin:
    """The plugin in a folder with this id. Raises an error if there is none, or if it needs no trust."""
    plugin_ = app.definitions.plugins.used.get(id_)
    if plugin_ is None:
        broken_plugin = next((one for one in app.definitions.plugins.found if one.id == id_), None)
        if broken_plugin is not None:
            problem = broken_plugin.problems[0]
            raise RefusedError(f"the plugin `{id_}` cannot be used: {problem.message}", problem.hint)
        ids = list(app.definitions.plugins.used)
        raise NotFound(f"there is no plugin `{id_}`", did_you_mean(id_, ids) or "`handrail plugins` lists them")
    if plugin_.place.source == "package":
        hint = f"uninstall the package `{plugin_.place.package}` if you do not trust it"
        raise RefusedError(f"the plugin `{id_}` is an installed package, which you trusted when you installed it", hint)
    return plugin_
