"""Every command in one table: its name, what it is for, and the module that is imported when it is called.

The help of `handrail` itself is drawn from here, so it needs no command's module and no parser. Pure.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class Row:
    """A command: `place` is `module:attribute` below `handrail.cli`."""

    __slots__ = ("about", "name", "place")

    def __init__(self, name: str, about: str, place: str) -> None:
        self.name = name
        self.about = about
        self.place = place


SECTIONS: dict[str, tuple[Row, ...]] = {
    "Begin": (
        Row("demo", "Walk a workflow with the scripted agent: no key, no network.", "demo:demo"),
        Row("init", "Make a small working project here: a workflow, a flow, settings.", "project:init"),
        Row("completion", "Print the completion script of a shell.", "group:completion"),
    ),
    "Definitions": (
        Row("list", "List every definition, where it was found and what shadows what.", "definitions:list_"),
        Row("validate", "Check all definitions, or only those at PATHS.", "definitions:validate"),
        Row("show", "Show what a workflow or a flow unfolds to.", "definitions:show"),
        Row("explain", "Explain a problem code, or list them all.", "definitions:explain"),
        Row("schema", "Print the JSON Schema of a definition file, for editors.", "definitions:schema"),
    ),
    "Guided sessions": (
        Row("start", "Begin a workflow for a task.", "sessions:start"),
        Row("status", "Show where a session stands and what is to be done.", "sessions:status"),
        Row("next", "Leave the current phase, if its exit checks hold.", "sessions:next_"),
        Row("loop", "Start the innermost workflow over.", "sessions:loop"),
        Row("cancel", "Give up a workflow.", "sessions:cancel"),
        Row("reload", "Go on with the workflow's files as they are now.", "sessions:reload"),
        Row("sessions", "List the sessions of this project.", "sessions:sessions"),
    ),
    "Runs": (
        Row("run", "Run a flow to its end, or drive an agent through a workflow.", "runs:run"),
        Row("runs", "List the runs of this project.", "history:runs"),
        Row("log", "Show everything that happened in a run.", "history:log"),
        Row("artifacts", "List what a run made.", "history:artifacts"),
        Row("resume", "Go on with a run that was cut off, failed or waits.", "runs:resume"),
        Row("continue", "Go once more through a run that ended, as its flow says it may.", "runs:continue_"),
        Row("restart", "Begin a run anew with its definitions as they are now.", "runs:restart"),
        Row("stop", "End a run and everything it started.", "runs:stop"),
        Row("answer", "Answer the form that a run waits for, and go on with the run.", "runs:answer"),
    ),
    "Agents": (
        Row("install", "Put Handrail into an agent.", "install:install"),
        Row("uninstall", "Take Handrail out of an agent again, without a trace.", "install:uninstall"),
        Row(
            "marketplace",
            "Write a plugin and a marketplace to FOLDER that others can point their agent at.",
            "install:marketplace",
        ),
    ),
    "For agents and scripts": (
        Row("gate", "Say whether a tool call is allowed now.", "sessions:gate"),
        Row("context", "Print the text that an agent is given now.", "sessions:context"),
        Row("hook", "Answer one hook message of an agent: JSON in, JSON out.", "install:hook"),
        Row("mcp", "Serve the tool `workflow_step` over MCP on stdin and stdout.", "install:mcp"),
    ),
}
COMMANDS: dict[str, Row] = {row.name: row for rows in SECTIONS.values() for row in rows}
OPTIONS: dict[str, str] = {
    "--project DIR": "The project's folder; without it, the nearest marked folder upwards.",
    "-q, --quiet": "Print only what was asked for.",
    "-v, --verbose": "Show where a bug of ours happened.",
    "--version": "Show the version and exit.",
    "-h, --help": "Show this message and exit.",
}
ABOUT = "Holds coding agents to a process: one phase at a time, tools gated, exits proven."
EXAMPLES = """\
  handrail demo                            see it work, in a minute, with no agent and no key
  handrail list                            what can be started here
  handrail start plan-build-review TASK    begin"""
WIDEST = 100


def help_text(columns: int) -> str:
    """The help of `handrail`, for a terminal that is so wide."""
    width = max(50, min(columns, WIDEST) - 2)
    parts = [
        ["Usage: handrail [OPTIONS] [COMMAND] [ARGS]..."],
        [f"  {line}" for line in _wrapped(ABOUT, width - 2)],
        [EXAMPLES],
        ["Options:", *_listed(OPTIONS, width)],
    ]
    name_width = max(map(len, COMMANDS))
    for title, rows in SECTIONS.items():
        parts.append([f"{title}:", *_listed({row.name.ljust(name_width): row.about for row in rows}, width)])
    return "\n\n".join("\n".join(lines) for lines in parts)


def _listed(rows: dict[str, str], width: int) -> Iterator[str]:
    """Two columns; what does not fit into the second goes on below it."""
    first = max(map(len, rows)) + 2
    for name, about in rows.items():
        head, *rest = _wrapped(about, width - first - 2)
        yield f"  {name.ljust(first)}{head}"
        for line in rest:
            yield f"  {' ' * first}{line}"


def _wrapped(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".lstrip()
    return lines
