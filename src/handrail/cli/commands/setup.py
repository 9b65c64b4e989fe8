"""Commands that set up a project: `init` and `schema` write files, `import` takes over what AgentWeaver left."""

from __future__ import annotations

import os

import click

from handrail.agents.calls.install import installer_for
from handrail.app import App
from handrail.base.dataclasses import replace
from handrail.base.errors import NotFound, RefusedError, UsageError
from handrail.base.files import real_inside
from handrail.cli.commands.install import apply_changes
from handrail.cli.options import command, installable
from handrail.cli.output import Shell
from handrail.cli.results import print_table
from handrail.cli.terminal import WaitingLine
from handrail.project.agentweaver_files import FOLDER
from handrail.project.agentweaver_import import RESULT_WORDS, AgentWeaverImport, ImportItem, ImportResult, result_counts
from handrail.project.editor_schemas import FOLDER as SCHEMA_FOLDER
from handrail.project.editor_schemas import GITIGNORE, KINDS, editor_schema, schema_files, write_schemas
from handrail.settings.folders import shown_path
from handrail.source.plain_text import counted, plain


@click.command()
@click.option("--agent", metavar="AGENT", help="Also install Handrail into this agent, for this project only.")
@command
def init(app: App, shell: Shell, agent: str | None) -> None:
    """Create an example workflow, an example flow and settings. Overwrites no file.

    The schemas in `.handrail/editor` are for editors. Git ignores them: they can be written again at any time.

    With --agent, the agent also gets the skill that helps it to write a workflow for this project.
    """
    installer = None
    if agent and not installer_for(app, installable(app, agent), for_project=False).known():  # not for all projects
        installer = installer_for(app, agent, for_project=True)
    changes = installer.plan_install() if installer else []
    is_new = not _has_own_files(app.project)
    paths = _create_files(app, shell)
    if is_new and not app.is_leashed and not app.trust.holds():
        app.trust.grant(app.clock())
        shell.talk(f"trusted: {app.project} (`handrail trust --remove` takes it back)")
    report = None
    if installer:
        report = apply_changes(shell, installer, changes, warnings=app.names_unknown_to([installer.agent]))
    if shell.as_json:
        return shell.data({"created": paths, "trusted": app.trust.holds()} | ({"install": report} if agent else {}))
    shell.talk("next: `handrail show hello`, then `handrail start hello say hello`, or `handrail run greet`")
    if agent and not installer:
        shell.talk(f"{agent}: Handrail is installed for all your projects, so it was not installed for this one")
    if agent:
        shell.talk(f"{agent}: restart it in this project, then ask it: Write a Handrail workflow for this project")
    return None


def _has_own_files(project: str) -> bool:
    """True if the project brought definitions, settings or plugins along: then a person has to look at them first."""
    folders = (".handrail", os.path.join(".pi", "workflows"), ".agentweaver")
    paths = [os.path.join(project, folder) for folder in folders]
    empty = [path for path in paths if os.path.isdir(path) and not os.path.islink(path) and not os.listdir(path)]
    return any(os.path.lexists(path) and path not in empty for path in paths)


def _create_files(app: App, shell: Shell) -> list[str]:
    """Create the files that do not exist yet. Returns their paths."""
    from importlib import resources

    new_paths: list[str] = []
    folder = os.path.join(app.project, ".handrail")
    if os.path.realpath(folder) != folder:
        raise RefusedError("`.handrail` is a link to another place", "remove the link, then run `handrail init` again")
    texts = {os.path.join("editor", name): text for name, text in schema_files(app.registry)}
    with resources.as_file(resources.files("handrail") / "builtin" / "init") as template:
        paths = [path for path in template.rglob("*") if path.is_file()]
        texts |= {str(path.relative_to(template)): path.read_text(encoding="utf-8") for path in paths}
    for name, text in sorted(texts.items()):
        path = os.path.join(folder, name)
        if real_inside(folder, name) is None:
            raise RefusedError(f"`{path}` leads out of the project", "remove the link, then run `handrail init` again")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        try:
            with open(path, "x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            if not name.startswith("editor"):
                shell.talk(f"kept:    {os.path.join('.handrail', name)}")
            continue
        new_paths.append(os.path.join(".handrail", name))
        if not name.startswith("editor"):
            shell.say(f"created: {os.path.join('.handrail', name)}")
        elif name.endswith(GITIGNORE):
            shell.say(f"created: {SCHEMA_FOLDER} (schemas for editors; git ignores them)")
    return new_paths


@click.command()
@click.argument("kind", type=click.Choice(list(KINDS)), required=False)
@click.option(
    "--write",
    "folder",
    metavar="[DIR]",
    is_flag=False,
    flag_value="",
    help=f"Write the schemas of all kinds of files to DIR; by default to `{SCHEMA_FOLDER}` of the project.",
)
@command
def schema(app: App, shell: Shell, kind: str | None, folder: str | None) -> None:
    """Print the JSON Schema of a kind of file, for editors, or write all of them.

    Editors with yaml-language-server find a schema by a comment in the file. `handrail init` writes these comments. The
    schemas are not stored in git: write them in each clone, and again after an update of Handrail.
    """
    if folder is not None:
        if kind is not None:
            raise UsageError("`--write` writes the schemas of all kinds", f"remove `{kind}`")
        target = os.path.abspath(folder or os.path.join(app.project, SCHEMA_FOLDER))
        is_new_by_path = write_schemas(app.project, target, app.registry)
        files = {shown_path(path, shell.cwd): is_new for path, is_new in is_new_by_path.items()}
        for path, is_new in files.items():
            shell.say(f"{'written: ' if is_new else 'unchanged:'} {path}")
        if shell.as_json:
            new_paths = [path for path, is_new in files.items() if is_new]
            shell.data({"written": new_paths, "unchanged": [path for path in files if path not in new_paths]})
        return None
    if kind is None:
        raise UsageError("a kind of file is missing", f"write one of {', '.join(KINDS)}, or `--write`")
    return shell.data(editor_schema(kind, app.registry))


@click.command("import")
@click.argument("tool", type=click.Choice(["agentweaver"]))
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(file_okay=False))
@click.option("--dry-run", is_flag=True, help="Only report what would be taken over.")
@command
def import_(app: App, shell: Shell, tool: str, folder: str | None, dry_run: bool) -> None:
    """Take over what AgentWeaver left in a project.

    It looks in this project, or in DIR, and in your home folder. Artifacts with a manifest become published artifacts;
    named presets and the routes of flows go into your settings. Everything else is reported: what works as it is, and
    what is left, and why. For an unfinished run, the command that goes on with it is shown. No file of AgentWeaver is
    changed, and a second import takes nothing twice.

    \b
    handrail import agentweaver --dry-run
    """
    del tool
    if not dry_run:
        app.refuse_agents("import")
    if folder is not None:
        app = app.at(_project_in(folder))
    with WaitingLine(shell, f"reading what AgentWeaver left in {shown_path(app.project, shell.cwd)}"):
        items = AgentWeaverImport(
            project=app.project,
            places=app.places,
            kept=app.runs.shelves,
            secrets=app.secrets,
            flow_named=app.definitions.flow_named,
            catalog=app.flows,
            agents=app.registry.executors(),
            is_dry=dry_run,
        ).take_over()
    if shell.as_json:
        report = {"items": [item.to_json() for item in items], "counts": result_counts(items)}
        return shell.data({"project": app.project, "dryRun": dry_run, **report})
    rows = [
        (one.kind, _word(one.result, dry_run), one.name, shown_path(one.path, shell.cwd), one.note)
        for one in _join_artifacts(items)
    ]
    print_table(shell, [("WHAT", "RESULT", "NAME", "WHERE", "NOTE"), *rows])
    for item in items:
        if item.kind == "run" and item.command:
            shell.say(plain(f"{item.name} in {item.scope}: {item.command}"))
    counts = result_counts(items).items()
    words = ", ".join(f"{count} {_word(result, dry_run, count)}" for result, count in counts if count)
    return shell.say(f"{words}; nothing of AgentWeaver was changed")


def _project_in(folder: str) -> str:
    """The project that a person names: its folder, or the folder of AgentWeaver in it."""
    path = os.path.realpath(folder)
    if os.path.basename(path) == FOLDER:
        path = os.path.dirname(path)
    if not os.path.isdir(os.path.join(path, FOLDER)):
        raise NotFound(f"there is no folder `{FOLDER}` in `{folder}`", "name the folder of the project")
    return path


def _word(result: ImportResult, dry_run: bool, count: int = 1) -> str:
    if result == "works" and count > 1:
        return "work as they are"
    return "would be taken over" if dry_run and result == "taken" else RESULT_WORDS[result]


def _join_artifacts(items: list[ImportItem]) -> list[ImportItem]:
    """The items for people: the artifacts of a scope that were taken over are one line."""
    groups: dict[tuple[str | None, str] | int, list[ImportItem]] = {}
    for number, item in enumerate(items):
        is_many = item.kind == "artifact" and item.result in ("taken", "already")
        groups.setdefault((item.scope, item.result) if is_many else number, []).append(item)
    lines: list[ImportItem] = []
    for item, *others in groups.values():
        name, note = f"{counted(1 + len(others), 'artifact')} of {item.scope}", "`handrail artifacts` lists them"
        path = os.path.commonpath([item.path, *(one.path for one in others)])
        lines.append(replace(item, name=name, path=path, note=note) if others else item)
    return lines
