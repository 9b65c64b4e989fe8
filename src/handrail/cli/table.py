"""All commands in one table: name, help text, and the module that is imported when the command is called.

The help of `handrail` is made from this table, so it needs no parser and no module of a command. Also knows what to
type in place of a command of AgentWeaver.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class CommandRow:
    """A command: `place` is `module:attribute`. A module without a dot is one of `handrail.cli.commands`."""

    __slots__ = ("about", "name", "place")

    def __init__(self, name: str, about: str, place: str) -> None:
        self.name = name
        self.about = about
        self.place = place


SECTIONS: dict[str, tuple[CommandRow, ...]] = {
    "Begin": (
        CommandRow("demo", "Show a scripted agent in a workflow.", "demo:demo"),
        CommandRow("init", "Create an example workflow, an example flow and settings.", "setup:init"),
        CommandRow("completion", "Print the completion script for a shell.", "handrail.cli.group:completion"),
    ),
    "Definitions": (
        CommandRow("list", "List every definition, and those that it shadows or replaces.", "definitions:list_"),
        CommandRow("validate", "Check all definitions, or only those at PATHS.", "definitions:validate"),
        CommandRow("show", "Show all phases of a workflow or a flow, including nested ones.", "definitions:show"),
        CommandRow("phases", "List the phases of a flow in order.", "definitions:phases"),
        CommandRow("explain", "Explain a code, or list all of them.", "definitions:explain"),
        CommandRow(
            "schema", "Print the JSON Schema of a kind of file, for editors, or write all of them.", "setup:schema"
        ),
        CommandRow("playbook", "Make, check and show the practices of a project.", "playbook:playbook"),
    ),
    "Plugins": (
        CommandRow("plugins", "List the plugins, and what is wrong with them.", "plugins:plugins"),
        CommandRow("plugin", "Make a plugin, or decide whether its code may run.", "plugins:plugin"),
    ),
    "Guided sessions": (
        CommandRow("start", "Start a workflow for a task.", "sessions:start"),
        CommandRow("status", "Show the current phase of a session and its instructions.", "sessions:status"),
        CommandRow("next", "Leave the current phase, if its exit checks hold.", "sessions:next_"),
        CommandRow("loop", "Go back to the first phase of the innermost workflow.", "sessions:loop"),
        CommandRow("cancel", "Cancel a workflow.", "sessions:cancel"),
        CommandRow("reload", "Load the workflow's files again and stay in the same phase.", "sessions:reload"),
        CommandRow("sessions", "List the sessions of this project.", "sessions:sessions"),
    ),
    "Runs": (
        CommandRow("run", "Run a flow to its end, or drive an agent through a workflow.", "runs:run"),
        CommandRow("estimate", "Say how long a run will likely take and what it will cost.", "runs:estimate"),
        CommandRow("runs", "List the runs of this project.", "history:runs"),
        CommandRow("log", "Show what happened in a run or in a guided session.", "history:log"),
        CommandRow("ui", "Show runs and guided sessions in this terminal: what needs you comes first.", "surfaces:ui"),
        CommandRow("web", "Show runs and guided sessions in a browser.", "surfaces:web"),
        CommandRow(
            "view", "Print a project, its definitions, a run or a session as rows, for programs.", "surfaces:view"
        ),
        CommandRow("artifacts", "List the artifacts of a run or of all runs, or print one.", "artifacts:artifacts"),
        CommandRow("scope", "Show how the work in a scope stands, or list all scopes.", "artifacts:scope"),
        CommandRow("resume", "Resume a run that was interrupted, failed or waits.", "runs:resume"),
        CommandRow("continue", "Continue a run that ended, if its flow allows that.", "runs:continue_"),
        CommandRow("restart", "Start a run again with the current definitions.", "runs:restart"),
        CommandRow("worktrees", "List the worktrees of the runs of this project.", "runs:worktrees"),
        CommandRow("worktree", "Merge, keep or remove the worktree of a run.", "runs:worktree"),
        CommandRow("stop", "Stop a run and every process that it started.", "runs:stop"),
        CommandRow("prune", "Remove old runs and ended sessions of this project.", "prune:prune"),
        CommandRow("import", "Take over what AgentWeaver left in a project.", "agentweaver_import:import_"),
        CommandRow("answer", "Answer a question that a run waits for, then resume the run.", "runs:answer"),
    ),
    "Trust": (
        CommandRow("trust", "Trust a project: its checks, flows, settings and agents may run programs.", "trust:trust"),
        CommandRow("distrust", "Take back the trust in a project.", "trust:distrust"),
    ),
    "Agents": (
        CommandRow("install", "Install Handrail into an agent.", "install:install"),
        CommandRow("doctor", "Check that everything is there and in working order.", "doctor:doctor"),
        CommandRow("uninstall", "Remove Handrail from an agent and restore its files.", "install:uninstall"),
        CommandRow(
            "marketplace",
            "Write a plugin and a marketplace to FOLDER.",
            "install:marketplace",
        ),
    ),
    "For agents and scripts": (
        CommandRow("gate", "Print whether a tool call is allowed now, as JSON.", "sessions:gate"),
        CommandRow("context", "Print the text that the agent gets now.", "sessions:context"),
        CommandRow("hook", "Answer one hook message of an agent: JSON in, JSON out.", "install:hook"),
        CommandRow("serve", "Answer the plugin of an agent on stdin and stdout.", "install:serve"),
        CommandRow("mcp", "Serve the tool `workflow_step` over MCP on stdin and stdout.", "install:mcp"),
    ),
}
COMMANDS: dict[str, CommandRow] = {row.name: row for rows in SECTIONS.values() for row in rows}
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
        ["Options:", *two_columns(OPTIONS, width)],
    ]
    name_width = max(map(len, COMMANDS))
    for title, rows in SECTIONS.items():
        parts.append([f"{title}:", *two_columns({row.name.ljust(name_width): row.about for row in rows}, width)])
    return "\n\n".join("\n".join(lines) for lines in parts)


def two_columns(rows: dict[str, str], width: int) -> Iterator[str]:
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


FORMER_COMMANDS = {
    "auto-status": "`handrail scope KEY` shows how the work in a scope stands, and `handrail runs` lists the runs",
    "auto-reset": "`handrail scope reset KEY` archives a scope, so that its flows begin anew",
    "--help-phases": "`handrail phases FLOW` lists the phases of a flow",
}
"""Commands of AgentWeaver that are no flows, and what Handrail has instead."""


def former_command_hint(name: str) -> str | None:
    """A hint for somebody who types a command of AgentWeaver, or the id of a shipped flow. None for anything else."""
    if name in FORMER_COMMANDS:
        return FORMER_COMMANDS[name]
    from handrail.driven.flows.files import ShippedFlows  # reads files, which only a wrong command needs
    from handrail.settings.folders import shipped_flows

    is_flow = ShippedFlows(shipped_flows()).named(name) is not None
    return f"`handrail run {name}` runs this flow, and `handrail show {name}` shows it" if is_flow else None
