"""The command `handrail`: groups, help, and the one place where errors become exit codes."""

from __future__ import annotations

import io
import json
import os
import platform
import sys
import traceback

import click
from click.shell_completion import get_completion_class

from handrail import __version__
from handrail.cli import definitions, demo, project, runs, sessions
from handrail.cli import history as runlists
from handrail.cli import install as agents
from handrail.cli.output import print_error, wants_colour
from handrail.errors import HandrailError, UsageError
from handrail.project import Places
from handrail.source.suggest import did_you_mean
from handrail.state.files import make_private

SECTIONS: dict[str, list[click.Command]] = {
    "Begin": [demo.demo, project.init],
    "Definitions": [
        definitions.list_,
        definitions.validate,
        definitions.show,
        definitions.explain,
        definitions.schema,
    ],
    "Guided sessions": [
        sessions.start,
        sessions.status,
        sessions.next_,
        sessions.loop,
        sessions.cancel,
        sessions.reload,
        sessions.sessions,
    ],
    "Runs": [
        runs.run,
        runlists.runs,
        runlists.log,
        runlists.artifacts,
        runs.resume,
        runs.continue_,
        runs.restart,
        runs.stop,
        runs.answer,
    ],
    "Agents": [agents.install, agents.uninstall, agents.marketplace],
    "For agents and scripts": [sessions.gate, sessions.context, agents.hook, agents.mcp],
}


class Sections(click.Group):
    """A group whose help shows the commands by what they are for."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        width = max(len(name) for name in self.commands)
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                rows = [(command.name or "", command.get_short_help_str(90)) for command in commands]
                formatter.write_dl([(name.ljust(width), about) for name, about in rows])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            hint = did_you_mean(args[0], self.commands) or "`handrail --help` shows the commands"
            raise UsageError(f"there is no command `{args[0]}`", hint) from error


@click.group(
    cls=Sections,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("--project", metavar="DIR", help="The project's folder; else the nearest one upwards that is marked.")
@click.option("-q", "--quiet", is_flag=True, help="Print only what was asked for.")
@click.option("-v", "--verbose", is_flag=True, help="Show where a bug of ours happened.")
@click.version_option(__version__, message="handrail %(version)s")
@click.pass_context
def handrail(context: click.Context, project: str | None, quiet: bool, verbose: bool) -> None:
    """Holds coding agents to a process: one phase at a time, tools gated, exits proven.

    \b
    handrail demo                            see it work, in a minute, with no agent and no key
    handrail list                            what can be started here
    handrail start plan-build-review TASK    begin
    """
    del project, quiet, verbose
    context.color = wants_colour(os.environ)
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    handrail completion bash > ~/.local/share/bash-completion/completions/handrail
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(handrail, {}, "handrail", "_HANDRAIL_COMPLETE").source())


SECTIONS["Begin"].append(completion)
for _commands in SECTIONS.values():
    for _command in _commands:
        handrail.add_command(_command)


def main(argv: list[str]) -> int:
    """Run a command line and say how it ended."""
    as_json = "--json" in argv
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        handrail.main(argv, prog_name="handrail", standalone_mode=False)
    except HandrailError as error:
        print_error(error, as_json=as_json)
        return error.exit_code
    except click.ClickException as error:
        return _usage(error, as_json=as_json)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return 130
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        what = f"`{error.filename}`: {error.strerror}" if error.filename else str(error)
        print_error(HandrailError(f"the system refused: {what}"), as_json=as_json)
        return 1
    except Exception as error:  # noqa: BLE001 - the outermost edge: a bug becomes a report, not a traceback
        if as_json:
            click.echo(
                json.dumps({"error": {"code": "bug", "message": f"{type(error).__name__}: {error}", "hint": None}})
            )
        return _report(error, argv)
    return 0


def _usage(error: click.ClickException, *, as_json: bool) -> int:
    wrapped = HandrailError(error.format_message().rstrip("."), _usage_hint(error))
    wrapped.code = "usage"
    print_error(wrapped, as_json=as_json)
    return 2


def _usage_hint(error: click.ClickException) -> str | None:
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"`{error.ctx.command_path} --help` shows how it is used"
    return None


def _report(error: Exception, argv: list[str]) -> int:
    """Write what a maintainer needs to a file and say where it is."""
    text = "\n".join(
        [
            f"handrail {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}",
            f"command: {argv[:1]}",
            "",
            "".join(traceback.format_exception(error)),
        ]
    )
    folder = os.path.join(Places(os.environ).state, "reports")
    path = os.path.join(folder, f"bug-{os.getpid()}.txt")
    click.echo(f"error: this is a bug in Handrail: {type(error).__name__}: {error}", err=True)
    try:
        make_private(folder)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        click.echo(f"hint: the report `{path}` has the details; please send it", err=True)
    except (OSError, HandrailError):
        click.echo(text, err=True)
    if "-v" in argv or "--verbose" in argv:
        click.echo(text, err=True)
    return 70
