"""`handrail artifacts` and `handrail scope`: what runs made, and how the work on a task stands.

`scope` says which results are stale; it also archives and restores a scope.
"""

from __future__ import annotations

import base64
import sys
from typing import TYPE_CHECKING, Any

import click

from handrail.app import App
from handrail.base.errors import NotFound, UsageError
from handrail.cli.options import command, complete_run, completing
from handrail.cli.output import BOLD, Shell, date_and_time, echo, echo_bytes, styled
from handrail.cli.results import print_table
from handrail.cli.terminal import WaitingLine
from handrail.driven.artifacts.names import parse_reference
from handrail.driven.artifacts.scope import issue_key
from handrail.driven.artifacts.shelf import ArtifactVersion, Shelves, artifact_named, pick_artifact
from handrail.driven.runs.summary import moment
from handrail.settings.folders import shown_path
from handrail.source.plain_text import command_line, counted, plain, plain_lines

if TYPE_CHECKING:
    from handrail.project.scope_stages import StageStanding
    from handrail.project.scopes import ScopeView


@completing
def complete_artifact(app: App, context: click.Context) -> list[tuple[str, str | None]]:
    return [(path, None) for path in {one["path"] for one in _artifacts_of_run(app, str(context.params.get("run")))[1]}]


@click.command()
@click.argument("run", required=False, shell_complete=complete_run)
@click.argument("artifact", required=False, shell_complete=complete_artifact)
@command
def artifacts(app: App, shell: Shell, run: str | None, artifact: str | None) -> None:
    """List the artifacts of a run or of all runs, or print one.

    Without RUN, all artifacts of the project are listed, the newest first, also those of runs that `prune` removed.
    With ARTIFACT (its path or its key), print its content as it was published. KEY@latest, KEY@vN and a whole id mean
    a version of the scope, whichever run published it, and need no RUN.

    \b
    handrail artifacts last NOTES.md
    handrail artifacts plan.md@v1
    """
    if run is None:
        return _list_all(shell, app.runs.shelves)
    if artifact is None and parse_reference(run) is not None:
        record = artifact_named(app.runs.shelves.records(), run)
        if record is None:
            raise NotFound(f"there is no artifact `{run}`", "`handrail artifacts` lists all artifacts")
        return _print_content(shell, app.runs.shelves, record.run, record)
    run_id, records = _artifacts_of_run(app, run)
    if artifact is not None:
        current = [ArtifactVersion.from_json(one) for one in records]
        # those of earlier attempts
        earlier = [record for record in app.runs.shelves.records(run_id) if record not in current]
        if not current and not earlier:
            raise NotFound("this run published no artifacts", "`handrail artifacts` lists those of all runs")
        if parse_reference(artifact) is not None:  # versions are counted in a scope, across its runs
            scopes = {record.scope for record in (*current, *earlier)}
            earlier = [record for record in app.runs.shelves.records() if record.scope in scopes]
            current = []
        return _print_content(shell, app.runs.shelves, run_id, pick_artifact([*earlier, *current], artifact))
    if shell.as_json:
        return shell.data({"run": run_id, "artifacts": records})
    if not records:
        return shell.say("this run published no artifacts")
    return print_table(shell, [("PATH", "MADE", "STEP", "ARTIFACT", "SHA256"), *map(_artifact_row, records)])


def _artifacts_of_run(app: App, name: str) -> tuple[str, list[dict[str, Any]]]:
    """The id of a run and its artifacts. If the run was removed, they are those that are kept."""
    id_ = app.runs.named(name)
    if id_ not in app.runs.engine.ids():
        if (removed_id := app.runs.shelves.run_named(name)) is not None:
            return removed_id, [record.to_json() for record in app.runs.shelves.records(removed_id)]
        one = artifact_named(app.runs.shelves.records(), name) if name not in ("", "last") else None
        if one is not None:
            hint = f"it is an artifact; `{command_line('handrail', 'artifacts', one.run, name)}` prints it"
            raise NotFound(f"there is no run `{name}` in this project", hint)
    return id_, app.runs.load(id_).state.artifacts


def _list_all(shell: Shell, shelves: Shelves) -> None:
    rows_json = [record.to_json() for record in reversed(shelves.records())]
    for error in shelves.errors:
        shell.insist(f"warning: {error.message}")
    if shell.as_json:
        return shell.data({"artifacts": rows_json})
    if not rows_json:
        return shell.say("no run of this project published an artifact; `makes` of a step publishes files")
    rows = [(one["run"], *_artifact_row(one)) for one in rows_json]
    return print_table(shell, [("RUN", "PATH", "MADE", "STEP", "ARTIFACT", "SHA256"), *rows])


def _artifact_row(artifact: dict[str, Any]) -> tuple[str, ...]:
    made_at = artifact.get("created")
    time_text = date_and_time(made_at) if isinstance(made_at, int | float) else ""
    return artifact["path"], time_text, str(artifact.get("step") or ""), artifact["id"], artifact["sha256"][:12]


def _print_content(shell: Shell, shelves: Shelves, run: str, record: ArtifactVersion) -> None:
    """Print the content: byte by byte, but without control characters if it goes to a terminal."""
    content = shelves.content(record)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = None
    if shell.as_json:
        body = {"text": text} if text is not None else {"base64": base64.b64encode(content).decode()}
        return shell.data({"run": run, "artifact": record.to_json(), **body})
    if not sys.stdout.isatty():
        return echo_bytes(content)
    if text is None:
        hint = f"write it to a file: `handrail artifacts {run} {record.path} > FILE`"
        raise UsageError(f"`{record.path}` is not text, so it is not printed to a terminal", hint)
    echo(plain_lines(text.removesuffix("\n")))
    return None


RESET = "reset"
_STATE_SIGNS = {"made": "✓", "stale": "!", "incomplete": "!", "invalid": "✗", "missing": "○"}


complete_scope = completing(lambda app, _: ((key, None) for key in app.scopes.keys()))  # noqa: SIM118 - a method


@click.command()
@click.argument("words", nargs=-1, metavar="[KEY | reset KEY]", shell_complete=complete_scope)
@click.option("--yes", is_flag=True, help="With reset: do it. Without this, only print what would be archived.")
@click.option("--restore", "attempt", metavar="NNNN", help="With reset: put this archive back into the empty scope.")
@command
def scope(app: App, shell: Shell, words: tuple[str, ...], yes: bool, attempt: str | None) -> None:
    """Show how the work in a scope stands, or list all scopes.

    A scope is the folder of one task: an issue, or a branch. With KEY, print each stage (task, plan, review and so on):
    whether it exists, who made it, and whether it is stale because an input changed later. KEY may also be an issue,
    or the beginning of a key.

    `reset` moves everything of the scope into an archive, so that its flows begin anew. The runs and their published
    artifacts are kept.

    \b
    handrail scope ABC-1
    handrail scope reset ABC-1 --yes
    handrail scope reset ABC-1 --restore 0001 --yes
    """
    if words[:1] == (RESET,):
        return _reset_scope(app, shell, words[1:], yes, attempt)
    if yes or attempt is not None:
        hint = f"`{command_line('handrail', 'scope', 'reset', *words[:1], '--yes')}`"
        raise UsageError("`--yes` and `--restore` need `reset`", hint)
    if len(words) > 1:
        raise UsageError("name one scope", f"`{command_line('handrail', 'scope', words[0])}`")
    with WaitingLine(shell, "reading the scopes"):
        views = [app.scopes.view(key) for key in ([app.scopes.find(words[0])] if words else app.scopes.keys())]
    for error in app.scopes.runs.shelves.errors:
        shell.insist(f"warning: {error.message}")
    return _show_scope(shell, views[0]) if words else _list_scopes(shell, views)


def _list_scopes(shell: Shell, views: list[ScopeView]) -> None:
    if shell.as_json:
        return shell.data({"scopes": [_scope_json(view) for view in views]})
    if not views:
        return shell.say("no scopes in this project; `handrail run plan ISSUE` makes one")
    rows: list[tuple[str, ...]] = [("SCOPE", "LAST CHANGE", "RUNS", "STAGES")]
    for view in views:
        times = [one.evidence.time for one in view.standings if one.evidence.pieces]
        present = [one for one in view.standings if one.state != "missing"]
        stages = [one.stage.title + (f" ({one.state})" if one.state != "made" else "") for one in present]
        words = ", ".join(stages) or "empty" + (f", {counted(len(view.archives), 'archive')}" if view.archives else "")
        last_change = date_and_time(max(times)) if times else ""
        rows.append((_scope_title(view), last_change, str(len(view.runs) or ""), words))
    print_table(shell, rows)
    return _say_not_imported(shell, [path for view in views for path in view.not_imported])


def _scope_title(view: ScopeView) -> str:
    return f"{view.key} (this branch)" if view.is_current else view.key


def _show_scope(shell: Shell, view: ScopeView) -> None:
    if shell.as_json:
        return shell.data(_scope_json(view))
    shell.say(styled(plain(_scope_title(view)), BOLD))
    head = ("STAGE", "STATE", "N", "MADE", "BY", "MAKE IT WITH", "DETAILS")
    print_table(shell, [head, *(_stage_row(view, one) for one in view.standings)])
    if view.others:
        shell.say(f"{counted(view.others, 'other artifact')}; `handrail artifacts` lists them")
    open_ = [run.summary for run in view.runs if run.summary.status in ("running", "waiting")]
    for run in open_:
        word = "interrupted" if run.is_interrupted else run.status
        shell.say(plain(f"run {run.id} of {run.flow} is {word}; `handrail runs {run.id}` shows it"))
    _say_not_imported(shell, view.not_imported)
    if view.archives:
        shell.say(f"{counted(len(view.archives), 'archive')}; the newest is {shown_path(view.archives[-1], shell.cwd)}")
    return None


def _say_not_imported(shell: Shell, files: list[str]) -> None:
    if files:
        message = f"AgentWeaver saved {counted(len(files), 'file')} that Handrail has not imported"
        shell.say(f"{message}; `handrail import agentweaver` does it, and says how to go on")


def _stage_row(view: ScopeView, one: StageStanding) -> tuple[str, ...]:
    newest, number = one.newest, str(one.evidence.iteration or "")
    state = f"{_STATE_SIGNS[one.state]} {one.state}"
    time_text = date_and_time(newest.time) if newest is not None else ""
    maker = (newest.run, newest.flow and f"({newest.flow})") if newest is not None else ()
    maker_text, command_ = " ".join(filter(None, maker)), _make_command(view, one)
    return one.stage.title, state, number, time_text, maker_text, command_, "; ".join(_stage_details(one))


def _stage_details(one: StageStanding) -> list[str]:
    evidence = one.evidence
    edited_paths = ", ".join(piece.path for piece in evidence.pieces if piece.is_edited)
    details = (
        evidence.problem,
        f"missing: {', '.join(evidence.absent)}" if evidence.absent and evidence.pieces else "",
        evidence.detail,
        *(f"{reason.because} (by {reason.basis})" for reason in one.stale[:1]),
        counted(len(one.stale) - 1, "more reason") if len(one.stale) > 1 else "",
        f"edited after it was published: {edited_paths}" if edited_paths else "",
    )
    return [detail for detail in details if detail]


def _make_command(view: ScopeView, one: StageStanding) -> str:
    """The command that makes a stage. A flow that fetches the task is given the issue until the task is understood."""
    first_standing, task = view.standings[:2]
    is_given = one.stage.flow == first_standing.stage.flow and (one is first_standing or task.state == "missing")
    issue = issue_key(view.key.partition("@")[0]) if is_given else None
    return command_line("handrail", "run", one.stage.flow, *([issue] if issue else []), "--scope", view.key)


def _scope_json(view: ScopeView) -> dict[str, Any]:
    return {
        "scope": view.key,
        "current": view.is_current,
        "folders": view.folders,
        "stages": [_stage_json(view, one) for one in view.standings],
        "runs": [run.summary.to_json() for run in view.runs],
        "notImported": view.not_imported,
        "otherArtifacts": view.others,
        "archives": view.archives,
    }


def _stage_json(view: ScopeView, one: StageStanding) -> dict[str, Any]:
    newest, evidence = one.newest, one.evidence
    time_text = moment(newest.time) if newest is not None else None
    return {
        "id": one.stage.id,
        "title": one.stage.title,
        "state": one.state,
        "iteration": evidence.iteration,
        "made": time_text,
        **{name: getattr(newest, name, None) for name in ("basis", "run", "flow")},
        "files": [piece.path for piece in evidence.pieces if piece.path],
        "missing": list(evidence.absent) if evidence.pieces else [],
        "problem": evidence.problem,
        "detail": evidence.detail,
        **evidence.facts,
        "stale": [{"because": reason.because, "basis": reason.basis} for reason in one.stale],
        "edited": [piece.path for piece in evidence.pieces if piece.is_edited],
        "make": _make_command(view, one),
    }


def _reset_scope(app: App, shell: Shell, words: tuple[str, ...], yes: bool, attempt: str | None) -> None:
    if len(words) != 1:
        raise UsageError("name one scope to reset", "`handrail scope` lists the scopes")
    if yes:
        app.refuse_agents("scope reset")
    key = app.scopes.find(words[0])
    if attempt is not None:
        return _restore_scope(app, shell, key, attempt, yes)
    reset = app.scopes.reset(key) if yes else app.scopes.plan_reset(key)
    if shell.as_json:
        open_runs = [run.summary.id for run in reset.waiting]
        archives = [dict(zip(("folder", "archive", "files", "bytes"), one, strict=True)) for one in reset.archives]
        return shell.data({"scope": key, "dryRun": not yes, "archives": archives, "openRuns": open_runs})
    for folder, path, files, size in reset.archives:
        verb = "archived" if yes else "would archive"
        description = f"{counted(files, 'file')} ({size} bytes) of {shown_path(folder, shell.cwd)}"
        shell.say(plain(f"{verb}: {description} in {shown_path(path, shell.cwd)}"))
    for run in reset.waiting:
        shell.say(plain(f"run {run.summary.id} has not ended; after a reset, do not resume it: start a new run"))
    if not reset.archives:
        return shell.say("the scope is empty; nothing to archive")
    if yes:
        number = reset.archives[0][1].rpartition("-")[2]
        return shell.say(f"`{command_line('handrail', 'scope', RESET, key, '--restore', number, '--yes')}` undoes it")
    return shell.say("add `--yes` to do it")


def _restore_scope(app: App, shell: Shell, key: str, attempt: str, yes: bool) -> None:
    if not yes:
        folders = app.scopes.having(key, attempt)
        if shell.as_json:
            return shell.data({"scope": key, "dryRun": True, "folders": folders})
        names = ", ".join(shown_path(folder, shell.cwd) for folder in folders)
        return shell.say(f"would restore archive {plain(attempt)} of {plain(names)}; add `--yes` to do it")
    paths = app.scopes.restore(key, attempt)
    if shell.as_json:
        return shell.data({"scope": key, "dryRun": False, "restored": paths})
    for path in paths:
        shell.say(plain(f"restored: {shown_path(path, shell.cwd)}; the archive is kept"))
    return None
