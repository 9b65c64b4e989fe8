"""The click group of all commands. The module of a command is imported when the command is called."""

from __future__ import annotations

import gc
import importlib.util
import itertools
import os
from importlib import import_module
from typing import cast

import click
from click.shell_completion import get_completion_class

from handrail import __version__
from handrail.base.errors import UsageError
from handrail.cli import table
from handrail.cli.output import has_terminal, wants_colour
from handrail.cli.table import FORMER_COMMANDS
from handrail.source.plain_text import command_line
from handrail.source.suggestions import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from handrail.project.definitions import Definitions

RUN = "run"
_TEXTS = ("--note", "--reason", "--summary", "--question")


class LazyGroup(click.Group):
    """A click group that takes its commands from the table."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return [name for name in table.COMMANDS if name not in table.SECTIONS[table.HIDDEN]]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        row = table.COMMANDS.get(cmd_name)
        return None if row is None else command_at(row[0])

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        formatter.write(table.help_text(formatter.width + 2))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of a command line. The name of a flow that is no command runs the flow."""
        args = [*table.ALIASES.get(args[0], args[:1]), *args[1:]]
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            flows: list[str] = []
            if args[0] not in FORMER_COMMANDS and not args[0].startswith("-"):
                definitions = named_project(ctx, args[1:])
                if definitions.is_flow(args[0]):
                    return RUN, self.get_command(ctx, RUN), args
                flows = definitions.flow_names()
            hint = FORMER_COMMANDS.get(args[0]) or did_you_mean(args[0], [*table.COMMANDS, *flows])
            from handrail.driven.artifacts.scope import ticket_key

            if ticket_key(args[0]) is not None:
                ticket = command_line(args[0])
                hint = f"`handrail auto {ticket}` works on this ticket, `handrail plan {ticket}` only plans it"
            hint = hint or "`handrail --help` shows the commands, and `handrail list` the flows"
            raise UsageError(f"there is no command and no flow `{args[0]}`", hint) from error


def named_project(ctx: click.Context, args: list[str]) -> Definitions:
    """The definitions of the project that a command line names, before the name of a flow or after it."""
    from handrail.cli.invocation import make_app

    project = ctx.params.get("project")
    words = iter(args)
    for word in itertools.takewhile(lambda word: word != "--", words):
        if word == "--project" or word.startswith("--project="):
            project = word.partition("=")[2] or next(words, None)
    return make_app(project).definitions


def command_at(place: str) -> click.Command:
    """The command at `module:attribute`. A module without a dot is one of `handrail.cli.commands`."""
    module, _, attribute = place.partition(":")
    full = module if "." in module else f"handrail.cli.commands.{module}"
    return cast("click.Command", getattr(import_module(full), attribute))


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    help=table.ABOUT,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": table.WIDEST},
)
@click.option("--project", metavar="DIR", help=table.OPTIONS["--project DIR"])
@click.option("-q", "--quiet", is_flag=True, help=table.OPTIONS["-q, --quiet"])
@click.option("-v", "--verbose", is_flag=True, help=table.OPTIONS["-v, --verbose"])
@click.version_option(__version__, message="handrail %(version)s")
@click.pass_context
def handrail(context: click.Context, project: str | None, quiet: bool, verbose: bool) -> None:
    del project, quiet, verbose
    context.color = wants_colour(os.environ)
    if context.invoked_subcommand is not None:
        return
    if has_terminal(os.environ) and importlib.util.find_spec("textual") is not None:
        context.invoke(command_at(table.COMMANDS["ui"][0]))
    else:
        click.echo(context.get_help())


@click.command("help")
@click.argument("words", nargs=-1, metavar="[COMMAND | all]")
@click.pass_context
def help_(context: click.Context, words: tuple[str, ...]) -> None:
    """Explain a command, or list all of them.

    \b
    handrail help all
    handrail help run
    """
    if words in ((), ("all",)):
        columns = context.max_content_width or table.WIDEST
        click.echo(table.help_text(columns, every=bool(words)))
    else:
        handrail.main([*words, "--help"], prog_name="handrail", standalone_mode=False)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for a shell.

    \b
    handrail completion bash > ~/.local/share/bash-completion/completions/handrail
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(handrail, {}, "handrail", "_HANDRAIL_COMPLETE").source())


def run(argv: list[str]) -> None:
    """Parse a command line and run its command. An error of click becomes a `UsageError`."""
    gc.enable()
    try:
        handrail.main(argv, prog_name="handrail", standalone_mode=False)
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        hint = None if context is None else f"`{context.command_path} --help` shows the usage"
        message = error.format_message().rstrip(".")
        if isinstance(error, click.NoSuchOption):
            takes = [] if context is None else context.command.params
            options = [name for one in takes for name in one.opts]
            message = f"there is no option `{error.option_name}`"
            texts = [name for name in options if name in _TEXTS and error.option_name in _TEXTS]
            hint = f"did you mean `{texts[0]}`?" if texts else did_you_mean(error.option_name, options) or hint
            if context is not None and any(one.name == "task" for one in takes) and len(error.option_name) == 2:
                hint = f"quote the words of the task, or put `--` before them: `{context.command_path} NAME -- WORDS`"
            elif context is not None and context.command.name == "run":
                hint = f"a parameter of the flow is `--param {error.option_name.lstrip('-')}=VALUE`; {hint}"
            hint = table.FORMER_OPTIONS.get(error.option_name) or hint
        elif isinstance(error, click.MissingParameter) and error.param is not None and error.param.name == "run_id":
            hint = "name one, or write `last`; `handrail runs` lists them"
        raise UsageError(message, hint) from error
    except click.Abort as error:
        raise KeyboardInterrupt from error
