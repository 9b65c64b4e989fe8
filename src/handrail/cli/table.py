"""All commands in one table: name, help text, and the module that is imported when the command is called.

The help of `handrail` is made from this table, so it needs no parser and no module of a command. Pure.
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
        Row("demo", "Show a scripted agent in a workflow.", "demo:demo"),
        Row("init", "Create an example workflow, an example flow and settings.", "project:init"),
        Row("completion", "Print the completion script for a shell.", "group:completion"),
    ),
    "Definitions": (
        Row("list", "List every definition, and those that it shadows or replaces.", "definitions:list_"),
        Row("validate", "Check all definitions, or only those at PATHS.", "definitions:validate"),
        Row("show", "Show all phases of a workflow or a flow, including nested ones.", "definitions:show"),
        Row("phases", "List the phases of a flow in order.", "definitions:phases"),
        Row("explain", "Explain a code, or list all of them.", "definitions:explain"),
        Row("schema", "Print the JSON Schema of a kind of file, for editors, or write all of them.", "schema:schema"),
        Row("playbook", "Make, check and show the practices of a project.", "playbook:playbook"),
    ),
    "Plugins": (
        Row("plugins", "List the plugins, and what is wrong with them.", "plugins:plugins"),
        Row("plugin", "Make a plugin, or decide whether its code may run.", "plugins:plugin"),
    ),
    "Guided sessions": (
        Row("start", "Start a workflow for a task.", "sessions:start"),
        Row("status", "Show the current phase of a session and its instructions.", "sessions:status"),
        Row("next", "Leave the current phase, if its exit checks hold.", "sessions:next_"),
        Row("loop", "Go back to the first phase of the innermost workflow.", "sessions:loop"),
        Row("cancel", "Cancel a workflow.", "sessions:cancel"),
        Row("reload", "Load the workflow's files again and stay in the same phase.", "sessions:reload"),
        Row("sessions", "List the sessions of this project.", "sessions:sessions"),
    ),
    "Runs": (
        Row("run", "Run a flow to its end, or drive an agent through a workflow.", "runs:run"),
        Row("estimate", "Say how long a run will likely take and what it will cost.", "estimate:estimate"),
        Row("runs", "List the runs of this project.", "history:runs"),
        Row("log", "Show what happened in a run or in a guided session.", "history:log"),
        Row("ui", "Show runs and guided sessions in this terminal: what needs you comes first.", "ui:ui"),
        Row("web", "Show runs and guided sessions in a browser.", "web:web"),
        Row("view", "Print a project, its definitions, a run or a session as rows, for programs.", "view:view"),
        Row("artifacts", "List the artifacts of a run or of all runs, or print one.", "artifacts:artifacts"),
        Row("scope", "Show how the work in a scope stands, or list all scopes.", "scope:scope"),
        Row("resume", "Resume a run that was interrupted, failed or waits.", "runs:resume"),
        Row("continue", "Continue a run that ended, if its flow allows that.", "runs:continue_"),
        Row("restart", "Start a run again with the current definitions.", "runs:restart"),
        Row("worktrees", "List the worktrees of the runs of this project.", "worktrees:worktrees"),
        Row("worktree", "Merge, keep or remove the worktree of a run.", "worktrees:worktree"),
        Row("stop", "Stop a run and every process that it started.", "runs:stop"),
        Row("prune", "Remove old runs and ended sessions of this project.", "housekeeping:prune"),
        Row("import", "Take over what AgentWeaver left in a project.", "transfer:import_"),
        Row("answer", "Answer a question that a run waits for, then resume the run.", "runs:answer"),
    ),
    "Trust": (
        Row("trust", "Trust a project: its checks, flows, settings and agents may run programs.", "trust:trust"),
        Row("distrust", "Take back the trust in a project.", "trust:distrust"),
    ),
    "Agents": (
        Row("install", "Install Handrail into an agent.", "install:install"),
        Row("doctor", "Check that everything is there and in working order.", "doctor:doctor"),
        Row("uninstall", "Remove Handrail from an agent and restore its files.", "install:uninstall"),
        Row(
            "marketplace",
            "Write a plugin and a marketplace to FOLDER.",
            "install:marketplace",
        ),
    ),
    "For agents and scripts": (
        Row("gate", "Print whether a tool call is allowed now, as JSON.", "sessions:gate"),
        Row("context", "Print the text that the agent gets now.", "sessions:context"),
        Row("hook", "Answer one hook message of an agent: JSON in, JSON out.", "install:hook"),
        Row("serve", "Answer the plugin of an agent on stdin and stdout.", "install:serve"),
        Row("mcp", "Serve the tool `workflow_step` over MCP on stdin and stdout.", "install:mcp"),
    ),
}
COMMANDS: dict[str, Row] = {row.name: row for rows in SECTIONS.values() for row in rows}
OPTIONS: dict[str, str] = {
    "--project DIR": "The project's folder; by default the nearest project folder upwards.",
    "-q, --quiet": "Print only the result.",
    "-v, --verbose": "Print the traceback if Handrail has a bug.",
    "--version": "Show the version and exit.",
    "-h, --help": "Show this message and exit.",
}
ABOUT = "Keeps coding agents to a process: one phase at a time, only allowed tools, checked exits."
EXAMPLES = """\
  handrail                                 see what runs and what needs you, and launch something
  handrail demo                            see it work in a minute, without an agent and without a key
  handrail list                            list what can be started here
  handrail start plan-build-review TASK    start a workflow
  handrail plan TASK                       run a flow; the same as `handrail run plan TASK`"""
WIDEST = 100


def help_text(columns: int) -> str:
    """The help of `handrail`, for a terminal with this many columns."""
    width = max(50, min(columns, WIDEST) - 2)
    parts = [
        ["Usage: handrail [OPTIONS] [COMMAND] [ARGS]..."],
        [f"  {line}" for line in wrapped(ABOUT, width - 2)],
        [EXAMPLES],
        ["Options:", *listed(OPTIONS, width)],
    ]
    name_width = max(map(len, COMMANDS))
    for title, rows in SECTIONS.items():
        parts.append([f"{title}:", *listed({row.name.ljust(name_width): row.about for row in rows}, width)])
    return "\n\n".join("\n".join(lines) for lines in parts)


def listed(rows: dict[str, str], width: int) -> Iterator[str]:
    """Two columns. Text that does not fit into the second continues below it."""
    first = max(map(len, rows)) + 2
    for name, about in rows.items():
        head, *rest = wrapped(about, width - first - 2)
        yield f"  {name.ljust(first)}{head}"
        for line in rest:
            yield f"  {' ' * first}{line}"


def wrapped(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".lstrip()
    return lines
