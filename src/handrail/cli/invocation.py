"""A command line: the project that it means, and the simple command lines that run without click.

Importing click takes three times as long as starting Python, so this module imports little. It parses `--help`, an
empty command line without a terminal, and simple forms of `status`, `sessions`, `list`, `gate` and `runs`, with long
options and single flags. Click handles every other command line and every error, so both ways give the same answer.
"""

from __future__ import annotations

import os

from handrail import SETTINGS_FILE, TOOLS
from handrail.base.errors import UsageError
from handrail.cli.output import Shell, echo, has_terminal, terminal_columns
from handrail.cli.results import list_runs, list_sessions, print_session, tell_moved
from handrail.settings.folders import UserFolders, find_root, owning_project
from handrail.settings.trust import TRUST_VARIABLE
from handrail.view.text.session import verdict_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from handrail.app import App


def project_folder(name: str | None) -> tuple[str, str]:
    """The project, and the folder that `--project` names; by default the nearest project folder upwards.

    They differ in a worktree: the project is that of its run.
    """
    if name is not None and not os.path.isdir(name):
        raise UsageError(f"`{name}` is not a folder", "give the path of the project's folder")
    folder = os.path.realpath(name or find_root(os.getcwd()))
    return owning_project(UserFolders(os.environ), folder), folder


def make_app(project: str | None) -> App:
    from handrail.app import App

    home, folder = project_folder(project)
    return App(home, os.environ, folder=folder if folder != home else None)


COMPLETE = "_HANDRAIL_COMPLETE"
_SHARED_OPTIONS = {"-q": False, "--quiet": False, "-v": False, "--verbose": False, "--project": True}
_COMMAND_OPTIONS = {**_SHARED_OPTIONS, "--json": False}
Options = dict[str, str]


def parse(argv: list[str], env: Mapping[str, str]) -> Callable[[], object] | None:
    """What to run; None if click has to parse the command line."""
    if COMPLETE in env:
        return None
    if argv in (["-h"], ["--help"]) or (not argv and not has_terminal(env)):
        from handrail.cli.table import help_text

        return lambda: echo(help_text(terminal_columns(env)))
    shared = _split_options(argv, _SHARED_OPTIONS, most_words=1)
    if shared is None or not shared[1]:
        return None
    (name, *rest) = shared[1]
    call, count, own_options = FAST_COMMANDS.get(name, (None, 0, {}))
    command_line = _split_options(rest, _COMMAND_OPTIONS | own_options) if call else None
    if call is None or command_line is None or len(command_line[1]) != count:
        return None
    options, arguments = shared[0] | command_line[0], command_line[1]
    if name == "list" and TRUST_VARIABLE in env:
        return None  # whether this is the word of an agent has to be found out
    if name == "gate" and arguments[0] not in TOOLS:
        return None  # an agent's own name, or a misspelt one
    if name == "runs" and _names_engine(options, env):
        return None
    shell = Shell(os.getcwd(), as_json="--json" in options, quiet="-q" in options or "--quiet" in options)
    return lambda: call(shell, options, arguments)


def _names_engine(options: Options, env: Mapping[str, str]) -> bool:
    """True if the settings may choose another engine than the embedded one."""
    project = project_folder(options.get("--project"))[0]
    for folder in (UserFolders(env).config, os.path.join(project, ".handrail")):
        try:
            with open(os.path.join(folder, SETTINGS_FILE), "rb") as file:
                text = file.read()
                if b"engine" in text or b"\\" in text:  # an escape may stand for any letter of the key
                    return True
        except OSError:
            continue
    return False


def _split_options(
    words: list[str], takes_values: Mapping[str, bool], most_words: int | None = None
) -> tuple[Options, list[str]] | None:
    """The options and the other words; None if click has to parse them. Reading stops after `most_words` others."""
    options: Options = {}
    arguments: list[str] = []
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if (takes_value := takes_values.get(name)) is None:
            if not word or word.startswith("-"):
                return None
            arguments.append(word)
            if len(arguments) == most_words:
                return options, [*arguments, *rest]
        elif takes_value:
            value = value if equals else next(rest, "")
            if not value or value.startswith("-"):
                return None
            options[name] = value
        elif equals:
            return None
        else:
            options[name] = word
    return options, arguments


def _status(shell: Shell, options: Options, _: list[str]) -> None:
    session = options.get("--session")
    print_session(shell, make_app(options.get("--project")).sessions.status(session), session)


def _sessions(shell: Shell, options: Options, _: list[str]) -> None:
    list_sessions(make_app(options.get("--project")), shell, active="--active" in options)


def _list(shell: Shell, options: Options, _: list[str]) -> None:
    from handrail.cli.definition_list import list_definitions

    list_definitions(make_app(options.get("--project")), shell, shipped="--shipped" in options)


def _gate(shell: Shell, options: Options, arguments: list[str]) -> None:
    sessions = make_app(options.get("--project")).sessions
    shell.data(verdict_json(sessions.gate(arguments[0], options.get("--session"))))


def _runs(shell: Shell, options: Options, _: list[str]) -> None:
    from handrail.driven.engines.embedded.run_list import summaries

    project = project_folder(options.get("--project"))[0]
    folder = UserFolders(os.environ).runs(project)
    list_runs(shell, runs := summaries(folder))
    if not runs:
        tell_moved(shell, folder, project)


FAST_COMMANDS: dict[str, tuple[Callable[[Shell, Options, list[str]], None], int, dict[str, bool]]] = {
    "status": (_status, 0, {"--session": True}),
    "sessions": (_sessions, 0, {"--active": False}),
    "list": (_list, 0, {"--shipped": False}),
    "gate": (_gate, 1, {"--session": True}),
    "runs": (_runs, 0, {}),
}
"""Each with the number of its arguments and its own options (True: it takes a value)."""
