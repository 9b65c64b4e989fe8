"""Maps Codex's tools to Handrail's names, and reads what a call runs, reads and writes.

This runs at every tool call, so it imports little, not even `re`. Codex has few tools: it reads and searches with the
shell, and writes with patches, which it also takes from the shell. So the names of a shell call depend on its command:
one that surely only reads is also called `read`. That test is strict on purpose: a command that is not understood does
not count. Some names are those of pi's tools, because workflows for pi-workflows use them. `TOOLS` was measured with
version 0.166.0; workflows are checked against it, hooks do not use it.
"""

from __future__ import annotations

from handrail import STEP_TOOL
from handrail.agents.requests import SUBAGENT_NAMES, absolute, mcp_aliases, patched_files, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from handrail.extensions.contracts.messages import CallArguments

AGENT_SHELL = "CODEX_THREAD_ID"
"""Codex sets this variable in the shell of the agent, and not for hooks."""
OWN_STEP = f"mcp__handrail__{STEP_TOOL}"
HARMLESS = ("get_goal", "list_agents", "request_user_input", "request_user_input_async", "sleep", "update_plan", "wait")
"""Tools that change nothing: they ask the person, wait, or note what the agent plans."""
PATCH = ("apply_patch", "edit", "write")
_SHELL = ("bash", "exec_command", "shell", "write_stdin")
_NAMESPACES = ("collaboration", "clock", "functions", "multi_agent_v1", "multi_agent_v2")
"""Codex writes the namespace of a tool before its name, without a separator: `collaborationspawn_agent`."""
_NAMES: dict[str, tuple[str, ...]] = {
    "Bash": _SHELL,
    "exec_command": ("bash", "Bash"),
    "write_stdin": ("bash", "Bash"),
    "shell": ("bash", "Bash"),
    "apply_patch": PATCH[1:],
    "followup_task": SUBAGENT_NAMES,
    "interrupt_agent": SUBAGENT_NAMES,
    "list_mcp_resource_templates": ("search",),
    "list_mcp_resources": ("search",),
    "read_mcp_resource": ("read",),
    "resume_agent": SUBAGENT_NAMES,
    "send_input": SUBAGENT_NAMES,
    "send_message": SUBAGENT_NAMES,
    "spawn_agent": SUBAGENT_NAMES,
    "spawn_agents_on_csv": SUBAGENT_NAMES,
    "view_image": ("read",),
    "wait_agent": SUBAGENT_NAMES,
    "web_search": ("fetch",),
}


def bare_name(tool: str) -> str:
    """The name of a tool without its namespace."""
    for prefix in _NAMESPACES:
        rest = tool[len(prefix) :]
        if tool.startswith(prefix) and (rest in _NAMES or rest in HARMLESS):
            return rest
    return tool


def aliases(tool: str) -> tuple[str, ...]:
    """The other names of a tool. A workflow may use any of them."""
    if tool == OWN_STEP:
        return (STEP_TOOL,)
    if tool.startswith("mcp__"):
        return mcp_aliases(tool)
    name = bare_name(tool)
    known = _NAMES.get(name, ())
    return known if name == tool else (name, *known)


def call_aliases(tool: str, given: Mapping[str, Any]) -> tuple[str, ...]:
    """The other names of a call. A shell command that surely only reads is also called `read` and `search`."""
    names = aliases(tool)
    return (*names, "read", "search") if tool == "Bash" and only_reads(_command(given)) else names


def other_tools(tool: str, given: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """The names of other tools whose work a call does: a shell command can apply a patch."""
    return (PATCH,) if tool == "Bash" and _has_patch(_command(given)) else ()


def arguments(tool: str, given: Mapping[str, Any], cwd: str) -> CallArguments:
    """What a call runs, reads and writes."""
    command, runs = _command(given), tool in ("Bash", *_NAMES["exec_command"], "exec_command", "shell")
    return {
        "runs": command if runs and command else None,
        "reads": paths(given.get("path"), cwd) if tool == "view_image" else (),
        "writes": _patched_paths(command, cwd) if tool == "apply_patch" or (runs and _has_patch(command)) else (),
    }


def _command(given: Mapping[str, Any]) -> str:
    for name in ("command", "cmd", "input"):
        if isinstance(given.get(name), str):
            return str(given[name])
    return ""


def _has_patch(command: str) -> bool:
    """True if a shell command applies a patch, or may do so."""
    if "patch" not in command.lower():
        return False
    if "*** Begin Patch" in command:
        return True
    for sign in ";|&()<>\"'\n\t`$":
        command = command.replace(sign, " ")
    return any(word.rpartition("/")[2] in ("apply_patch", "applypatch") for word in command.split(" "))


def _patched_paths(text: str, cwd: str) -> tuple[str, ...]:
    """The files that a patch names. A shell command may change to another folder before it applies the patch."""
    words = text.partition("*** Begin Patch")[0].replace(";", " ; ").replace("&&", " && ").split()
    folders = [cwd]
    for at, word in enumerate(words[:-1]):
        if word == "cd":
            folders.append(absolute(words[at + 1].strip("'\""), cwd))
    return tuple(dict.fromkeys(absolute(name, folder) for name in patched_files(text) for folder in folders))


_READERS = frozenset((
    "basename", "cat", "cd", "cmp", "column", "comm", "cut", "diff", "dirname", "du", "echo", "egrep", "false",
    "fgrep", "fold", "grep", "head", "hexdump", "jq", "ls", "md5sum", "nl", "od", "paste", "printf", "pwd",
    "readlink", "realpath", "rev", "seq", "sha1sum", "sha256sum", "stat", "strings", "tac", "tail", "test", "tr",
    "true", "wc", "which", "[",
))  # fmt: skip
"""Programs that write nothing and start no other program, whatever their options are."""
_READERS_UNLESS = {
    "fd": ("-x", "-X", "--exec", "--exec-batch"),
    "file": ("-C", "--compile"),
    "find": ("-delete", "-exec", "-execdir", "-fls", "-fprint", "-fprint0", "-fprintf", "-ok", "-okdir"),
    "rg": ("--pre", "--hostname-bin", "-z", "--search-zip"),
    "sort": ("-o", "--output", "--compress-program", "-T", "--temporary-directory"),
    "tree": ("-o",),
    "uniq": (),
}
"""Programs that only read unless they get one of these options."""
_GIT = frozenset(("blame", "cat-file", "diff", "log", "ls-files", "ls-tree", "rev-list", "rev-parse", "show", "status"))
_GIT_UNLESS = ("-c", "-o", "-O", "--ext-diff", "--textconv", "--output", "--exec-path", "--config-env", "--git-dir")
_REFUSED = "`$<>(){}!\\\r\0"
"""Signs with which a command could do something else, outside of single quotes."""


def only_reads(line: str) -> bool:
    """True if every command of the line is known to only read. Redirections and expansions do not count as known."""
    commands = _commands(line)
    return bool(commands) and all(map(_reads, commands))


def _reads(words: list[str]) -> bool:
    program, *rest = words
    if program in _READERS:
        return True
    if program in _READERS_UNLESS:
        operands = [word for word in rest if not word.startswith("-")]
        if program == "uniq" and len(operands) > 1:  # the second is a file that it writes
            return False
        return not any(_is_option(word, _READERS_UNLESS[program]) for word in rest)
    if program == "git":
        return bool(rest) and rest[0] in _GIT and not any(_is_option(word, _GIT_UNLESS) for word in rest)
    return program == "sed" and _is_plain_sed(rest)


def _is_option(word: str, options: tuple[str, ...]) -> bool:
    """True if a word may be one of these options: also with a value, abbreviated, or among other letters."""
    name = word.partition("=")[0]
    for option in options:
        if name == option or (name.startswith("--") and len(name) > 2 and option.startswith(name)):
            return True
        if len(option) == 2 and word.startswith("-") and not word.startswith("--") and option[1] in word:
            return True
    return False


def _is_plain_sed(words: list[str]) -> bool:
    """True for `sed -n 'LINES'p FILES`: other scripts can write files and run commands."""
    if len(words) < 2 or words[0] != "-n" or any(word.startswith("-") for word in words[1:]):
        return False
    lines, last = words[1][:-1], words[1][-1:]
    return last == "p" and all(char in "0123456789,$ " for char in lines)


def _commands(line: str) -> list[list[str]]:
    """The words of each command in a line; an empty list if the line has a sign that is not understood."""
    commands: list[list[str]] = [[]]
    word, has_word, quote = "", False, ""
    for char in line:
        if quote == "'" and char != "'":
            word += char
        elif quote and char == quote:
            quote = ""
        elif char in _REFUSED:
            return []
        elif quote:
            word += char
        elif char in "'\"":
            quote, has_word = char, True
        elif char in " \t;|&\n":
            if has_word:
                commands[-1].append(word)
            word, has_word = "", False
            if char not in " \t" and commands[-1]:
                commands.append([])
        else:
            word, has_word = word + char, True
    if quote:
        return []
    if has_word:
        commands[-1].append(word)
    return [words for words in commands if words]


TOOLS = (
    "Bash", "apply_patch", "create_goal", "exec_command", "followup_task", "get_goal", "interrupt_agent", "list_agents",
    "list_mcp_resource_templates", "list_mcp_resources", "read_mcp_resource", "request_user_input",
    "request_user_input_async", "send_message", "sleep", "spawn_agent", "update_goal", "view_image", "wait",
    "wait_agent", "write_stdin",
)  # fmt: skip
FORMER_TOOLS = ("resume_agent", "send_input", "shell", "spawn_agents_on_csv", "update_plan", "web_search")
"""Tools of other versions, and one that runs in the model's service, where no hook sees it."""
