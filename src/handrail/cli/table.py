"""All commands in one table: name, help text, and the module that is imported when the command is called.

The help of `handrail` is made from this table, so it needs no parser and no module of a command. Also knows former
names of commands, and what to type in place of a command of AgentWeaver.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


Row = tuple[str, str]
"""The place of a command, `module:attribute`, and what it does. A module without a dot is one of `commands`."""
HIDDEN = "For the stubs in agents"
"""The section that no help lists."""
SECTIONS: dict[str, dict[str, Row]] = {
    "Begin": {
        "demo": ("demo:demo", "Show a scripted agent in a workflow."),
        "init": ("setup:init", "Create an example workflow, an example flow and settings."),
        "completion": ("handrail.cli.group:completion", "Print the completion script for a shell."),
        "help": ("handrail.cli.group:help_", "Explain a command, or list all of them."),
    },
    "Definitions": {
        "list": ("definitions:list_", "List every definition, and those that it shadows or replaces."),
        "validate": ("definitions:validate", "Check all definitions, or only those at PATHS."),
        "show": (
            "definitions:show",
            "Show all phases of a workflow or a flow, including nested ones, or the params of a node or a check.",
        ),
        "explain": ("definitions:explain", "Explain a code, or list all of them."),
        "schema": ("setup:schema", "Print the JSON Schema of a kind of file, for editors, or write all of them."),
        "playbook": ("playbook:playbook", "Make, check and show the practices of a project."),
    },
    "Guided sessions": {
        "start": ("sessions:start", "Start a workflow for a task."),
        "status": ("sessions:status", "Show the current phase of a session and its instructions."),
        "next": ("sessions:next_", "Leave the current phase, if its exit checks hold."),
        "loop": ("sessions:loop", "Go back to the first phase of the innermost workflow."),
        "cancel": ("sessions:cancel", "Cancel a workflow."),
        "blocked": ("sessions:blocked", "Say that the agent cannot go on: the session waits for a person."),
        "unblock": ("sessions:unblock", "Let a session go on that waits for a person."),
        "goto": ("sessions:goto", "Move a session to any phase."),
        "reload": ("sessions:reload", "Load the workflow's files again and stay in the same phase."),
        "sessions": ("sessions:sessions", "List the sessions of this project."),
    },
    "Runs": {
        "run": ("runs:run", "Run a flow to its end, or drive an agent through a workflow."),
        "ready": ("runs:ready", "Say what would stop a run that nobody watches, before it starts."),
        "runs": ("history:runs", "List the runs of this project."),
        "log": ("history:log", "Show what happened in a run or in a guided session."),
        "artifacts": ("artifacts:artifacts", "List the artifacts of a run or of all runs, or print one."),
        "scope": ("artifacts:scope", "Show how the work in a scope stands, or list all scopes."),
        "answer": ("runs:answer", "Answer a question that a run waits for, then resume the run."),
        "resume": ("runs:resume", "Resume a run that was interrupted, failed or waits."),
        "continue": ("runs:continue_", "Continue a run that ended, if its flow allows that."),
        "restart": ("runs:restart", "Start a run again with the current definitions."),
        "worktrees": ("runs:worktrees", "List the worktrees of runs; merge, keep or remove one."),
        "stop": ("runs:stop", "Stop a run and every process that it started."),
        "prune": ("history:prune", "Remove old runs and ended sessions of this project."),
        "adopt": ("history:adopt", "Take over the runs and artifacts of a project that was moved or renamed."),
        "import": ("setup:import_", "Take over what AgentWeaver left in a project."),
    },
    "Terminal and browser": {
        "ui": ("surfaces:ui", "Show runs and guided sessions in this terminal: what needs you comes first."),
        "web": ("surfaces:web", "Show runs and guided sessions in a browser."),
    },
    "Agents": {
        "install": ("install:install", "Install Handrail into an agent."),
        "doctor": ("doctor:doctor", "Check that everything is there and in working order."),
        "uninstall": ("install:uninstall", "Remove Handrail from an agent and restore its files."),
    },
    "Trust and plugins": {
        "trust": ("trust:trust", "Trust a project: its checks, flows, settings and agents may run programs."),
        "plugins": ("trust:plugins", "List the plugins; make one, or decide whether its code may run."),
    },
    "For scripts": {
        "gate": ("sessions:gate", "Print whether a tool call is allowed now, as JSON."),
        "context": ("sessions:context", "Print the text that the agent gets now."),
        "view": ("surfaces:view", "Print a project, its definitions, a run or a session as rows, for programs."),
    },
    HIDDEN: {
        "hook": ("install:hook", "Answer one hook message of an agent: JSON in, JSON out."),
        "serve": ("install:serve", "Answer the plugin of an agent on stdin and stdout."),
        "mcp": ("install:mcp", "Serve the tool `workflow_step` over MCP on stdin and stdout."),
    },
}
COMMANDS: dict[str, Row] = {name: row for rows in SECTIONS.values() for name, row in rows.items()}
MAIN = (
    *("init", "list", "validate", "start", "status", "next", "cancel", "run", "runs", "log", "answer", "resume"),
    *("ui", "web", "install", "doctor", "trust"),
)
"""The commands of the first view of the help."""
ALIASES = {
    "phases": ("show", "--phases"),
    "estimate": ("run", "--dry-run"),
    "plugin": ("plugins",),
    "worktree": ("worktrees",),
    "distrust": ("trust", "--remove"),
    "marketplace": ("install", "--marketplace"),
}
"""Other names of commands, and what they stand for."""
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


def help_text(columns: int, *, every: bool = False) -> str:
    """The help of `handrail`, for a terminal with this many columns: the main commands, or every command."""
    width = max(50, min(columns, WIDEST) - 2)
    parts = [
        ["Usage: handrail [OPTIONS] [COMMAND] [ARGS]..."],
        [f"  {line}" for line in wrapped(ABOUT, width - 2)],
        [EXAMPLES],
        ["Options:", *two_columns(OPTIONS, width)],
    ]
    name_width = max(map(len, COMMANDS))
    for title, section in SECTIONS.items():
        if names := [name for name in section if title != HIDDEN and (every or name in MAIN)]:
            rows = {name.ljust(name_width): section[name][1] for name in names}
            parts.append([f"{title}:", *two_columns(rows, width)])
    if not every:
        parts.append([f"`handrail help all` lists {len(COMMANDS) - len(SECTIONS[HIDDEN]) - len(MAIN)} more commands."])
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
    "--help-phases": "`handrail show FLOW --phases` lists the phases of a flow",
}
"""Commands of AgentWeaver that are no flows, and what Handrail has instead."""
FORMER_OPTIONS = {
    "--resume": "`handrail resume last` resumes the newest run, `handrail resume RUN` another one",
    "--continue": "`handrail continue last` continues the newest run, `handrail continue RUN` another one",
    "--restart": "`handrail restart last` starts the newest run again, `handrail restart RUN` another one",
    "--help-phases": FORMER_COMMANDS["--help-phases"],
    "--force": "leave it out: `handrail doctor` says what is missing, and a run begins without it",
    "--listen-all": "`handrail web --host 0.0.0.0` does the same; it needs a password, and TLS or a proxy",
}
"""Options of AgentWeaver, and what Handrail has instead."""


def former_command_hint(name: str) -> str | None:
    """A hint for somebody who types a command of AgentWeaver, or the id of a shipped flow. None for anything else."""
    if name in FORMER_COMMANDS:
        return FORMER_COMMANDS[name]
    from handrail.driven.flows.shipped_flows import ShippedFlows  # reads files, which only a wrong command needs
    from handrail.settings.folders import shipped_flows

    is_flow = ShippedFlows(shipped_flows()).find_id(name) is not None
    return f"`handrail run {name}` runs this flow, and `handrail show {name}` shows it" if is_flow else None
