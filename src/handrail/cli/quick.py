"""Runs some command lines without click, because importing click takes three times as long as starting Python.

Parses `--help`, nothing at all without a terminal, and simple forms of `status`, `gate` and `runs`, with long options
and single flags. Click handles every other command line and every error, so both ways give the same answer.
"""

from __future__ import annotations

import os

from handrail import SETTINGS_FILE, TOOLS
from handrail.cli.invocation import make_app, project_folder
from handrail.cli.output import Shell, columns, echo, has_terminal
from handrail.cli.reply import list_runs, reply
from handrail.project import Places
from handrail.view.session import verdict_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

COMPLETE = "_HANDRAIL_COMPLETE"
_SHARED = {"-q": False, "--quiet": False, "-v": False, "--verbose": False, "--project": True}
_OWN = {**_SHARED, "--json": False}
Options = dict[str, str]


class Command:
    """A command with its own options (True: it takes a value) and its number of arguments."""

    def __init__(self, run: Callable[[Shell, Options, list[str]], None], arguments: int = 0, **options: bool) -> None:
        self.run = run
        self.arguments = arguments
        self.options = _OWN | {f"--{name}": takes_value for name, takes_value in options.items()}


class Call:
    """A parsed command line."""

    def __init__(self, command: Command, options: Options, arguments: list[str]) -> None:
        self.command = command
        self.options = options
        self.arguments = arguments

    def run(self) -> None:
        is_quiet = "-q" in self.options or "--quiet" in self.options
        shell = Shell(os.getcwd(), as_json="--json" in self.options, quiet=is_quiet)
        self.command.run(shell, self.options, self.arguments)


class Help:
    """The command line asks for help."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.env = env

    def run(self) -> None:
        from handrail.cli.table import help_text

        echo(help_text(columns(self.env)))


def parse(argv: list[str], env: Mapping[str, str]) -> Call | Help | None:
    """What to run; None if click has to parse the command line."""
    if COMPLETE in env:
        return None
    if argv in (["-h"], ["--help"]) or (not argv and not has_terminal(env)):
        return Help(env)
    before = _read(argv, _SHARED, most=1)
    if before is None or not before[1]:
        return None
    (name, *rest) = before[1]
    command = COMMANDS.get(name)
    found = _read(rest, command.options) if command else None
    if command is None or found is None or len(found[1]) != command.arguments:
        return None
    if name == "gate" and found[1][0] not in TOOLS:
        return None  # an agent's own name, or a misspelt one
    if name == "runs" and _names_engine(before[0] | found[0], env):
        return None
    return Call(command, before[0] | found[0], found[1])


def _names_engine(options: Options, env: Mapping[str, str]) -> bool:
    """True if the settings may choose another engine than the embedded one."""
    project = project_folder(options.get("--project"))
    for folder in (Places(env).config, os.path.join(project, ".handrail")):
        try:
            with open(os.path.join(folder, SETTINGS_FILE), "rb") as file:
                if b"engine" in file.read():
                    return True
        except OSError:
            continue
    return False


def _read(words: list[str], known: Mapping[str, bool], most: int | None = None) -> tuple[Options, list[str]] | None:
    """The options and the other words; None if click has to parse them. Reading stops after `most` other words."""
    options: Options = {}
    others: list[str] = []
    left = iter(words)
    for word in left:
        name, equals, value = word.partition("=")
        takes_value = known.get(name)
        if takes_value is None:
            if not word or word.startswith("-"):
                return None
            others.append(word)
            if len(others) == most:
                return options, [*others, *left]
        elif takes_value:
            value = value if equals else next(left, "")
            if not value or value.startswith("-"):
                return None
            options[name] = value
        elif equals:
            return None
        else:
            options[name] = word
    return options, others


def _status(shell: Shell, options: Options, _: list[str]) -> None:
    session = options.get("--session")
    reply(shell, make_app(options.get("--project")).sessions.status(session), session)


def _gate(shell: Shell, options: Options, arguments: list[str]) -> None:
    sessions = make_app(options.get("--project")).sessions
    shell.data(verdict_json(sessions.gate(arguments[0], options.get("--session"))))


def _runs(shell: Shell, options: Options, _: list[str]) -> None:
    from handrail.runs.embedded.summary import summaries

    folder = Places(os.environ).runs(project_folder(options.get("--project")))
    list_runs(shell, summaries(folder))


COMMANDS = {
    "status": Command(_status, session=True),
    "gate": Command(_gate, arguments=1, session=True),
    "runs": Command(_runs),
}
