"""`handrail artifacts`: lists what runs made, and prints one artifact."""

from __future__ import annotations

import base64
import sys
from typing import Any

import click
from click.shell_completion import CompletionItem

from handrail.app import App
from handrail.artifacts.kept import Kept, named, pick
from handrail.artifacts.shelf import Published
from handrail.cli.common import command, complete_run, completing_app
from handrail.cli.output import Shell, date_and_time, echo, echo_bytes
from handrail.cli.reply import print_table
from handrail.errors import HandrailError, NotFound, UsageError
from handrail.source.plain import command_line, plain_lines


def complete_artifact(context: click.Context, _param: click.Parameter, begin: str) -> list[CompletionItem]:
    app = completing_app(context)
    try:
        made = _of_run(app, str(context.params.get("run")))[1] if app else []
    except HandrailError:
        return []
    return [CompletionItem(path) for path in {one["path"] for one in made} if path.startswith(begin)]


@click.command()
@click.argument("run", required=False, shell_complete=complete_run)
@click.argument("artifact", required=False, shell_complete=complete_artifact)
@command
def artifacts(app: App, shell: Shell, run: str | None, artifact: str | None) -> None:
    """List the artifacts of a run or of all runs, or print one.

    Without RUN, all artifacts of the project are listed, the newest first, also those of runs that `prune` removed.
    With ARTIFACT (its path, its key, KEY@vN or its whole id), print its content as it was published.

    \b
    handrail artifacts last NOTES.md
    """
    if run is None:
        return _list_all(shell, app.runs.kept)
    run_id, made = _of_run(app, run)
    if artifact is not None:
        return _print_content(shell, app.runs.kept, run_id, _picked(app.runs.kept, run_id, made, artifact))
    if shell.as_json:
        return shell.data({"run": run_id, "artifacts": made})
    if not made:
        return shell.say("this run published no artifacts")
    return print_table(shell, [("PATH", "MADE", "STEP", "ARTIFACT", "SHA256"), *map(_row, made)])


def _of_run(app: App, name: str) -> tuple[str, list[dict[str, Any]]]:
    """The id of a run and its artifacts. If the run was removed, they are those that are kept."""
    id_ = app.runs.named(name)
    if id_ not in app.runs.ids():
        removed = app.runs.kept.run_named(name)
        if removed is not None:
            return removed, [record.to_json() for record in app.runs.kept.records(removed)]
        one = named(app.runs.kept.records(), name) if name not in ("", "last") else None
        if one is not None:
            hint = f"it is an artifact; `{command_line('handrail', 'artifacts', one.run, name)}` prints it"
            raise NotFound(f"there is no run `{name}` in this project", hint)
    return id_, app.runs.load(id_).state.artifacts


def _picked(kept: Kept, run: str, made: list[dict[str, Any]], name: str) -> Published:
    """One artifact of the run. What only an earlier attempt made is found last."""
    current = [Published.from_json(one) for one in made]
    earlier = [record for record in kept.records(run) if record not in current]
    if not current and not earlier:
        raise NotFound("this run published no artifacts", "`handrail artifacts` lists those of all runs")
    return pick([*earlier, *current], name)


def _list_all(shell: Shell, kept: Kept) -> None:
    found = [record.to_json() for record in reversed(kept.records())]
    for error in kept.damaged:
        shell.insist(f"warning: {error.message}")
    if shell.as_json:
        return shell.data({"artifacts": found})
    if not found:
        return shell.say("no run of this project published an artifact; `makes` of a step publishes files")
    rows = [(one["run"], *_row(one)) for one in found]
    return print_table(shell, [("RUN", "PATH", "MADE", "STEP", "ARTIFACT", "SHA256"), *rows])


def _row(artifact: dict[str, Any]) -> tuple[str, ...]:
    created = artifact.get("created")
    made = date_and_time(created) if isinstance(created, int | float) else ""
    return artifact["path"], made, str(artifact.get("step") or ""), artifact["id"], artifact["sha256"][:12]


def _print_content(shell: Shell, kept: Kept, run: str, record: Published) -> None:
    """Print the content: byte by byte, but without control characters if it goes to a terminal."""
    content = kept.content(record)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = None
    if shell.as_json:
        held = {"text": text} if text is not None else {"base64": base64.b64encode(content).decode()}
        return shell.data({"run": run, "artifact": record.to_json(), **held})
    if not sys.stdout.isatty():
        return echo_bytes(content)
    if text is None:
        hint = f"write it to a file: `handrail artifacts {run} {record.path} > FILE`"
        raise UsageError(f"`{record.path}` is not text, so it is not printed to a terminal", hint)
    echo(plain_lines(text.removesuffix("\n")))
    return None
