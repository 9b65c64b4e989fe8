"""Maps Copilot CLI's tools to Handrail's names, and recognises `/workflow` and `/cancel-workflow`.

Reads what a call runs, reads and writes. This runs at every tool call, so it imports little, and only from the standard
library. Some names are those of pi's tools, because workflows for pi-workflows use them. In a terminal, Copilot CLI
replaces a command by the text of its skill before it calls a hook; without a terminal, the hook gets what was typed.
`TOOLS` was measured with version 1.0.102; workflows are checked against it, hooks do not use it.
"""

from __future__ import annotations

from handrail import STEP_TOOL
from handrail.agents.requests import SUBAGENT_NAMES, absolute, joined_aliases, other_names, patched_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from handrail.extensions.contracts.messages import CallArguments

SERVER = "handrail-copilot"
"""The name of our MCP server. Other agents' lists of servers are loaded, too, and theirs is called `handrail`."""
OWN_STEP = f"{SERVER}-{STEP_TOOL}"
ASKED_STEP = f"{SERVER}/{STEP_TOOL}"
"""The names of our tool: when it is called, and when the person is asked for permission."""
HARMLESS = (
    "ask_user",
    "exit_plan_mode",
    "fetch_copilot_cli_documentation",
    "list_agents",
    "list_bash",
    "list_powershell",
    "read_agent",
    "read_bash",
    "read_powershell",
    "sql",
    "stop_bash",
    "stop_powershell",
    "task_complete",
    "tool_search",
)
"""Tools that change nothing outside of the conversation. `sql` is a list of tasks that belongs to the conversation."""

_NAMES: dict[str, tuple[str, ...]] = {
    "apply_patch": ("edit", "write"),
    "bash": ("bash",),
    "create": ("write",),
    "edit": ("edit",),
    "glob": ("search", "find"),
    "grep": ("search", "grep"),
    "powershell": ("bash",),
    "skill": ("skill", "bash"),  # a skill may tell the agent to run its scripts
    "str_replace_editor": ("edit", "write"),
    "task": SUBAGENT_NAMES,
    "view": ("read",),
    "web_fetch": ("fetch",),
    "web_search": ("fetch",),
    "write_agent": SUBAGENT_NAMES,
    "write_bash": ("bash",),
    "write_powershell": ("bash",),
    OWN_STEP: (STEP_TOOL,),
}
_RUNS = {"bash": "command", "powershell": "command", "write_bash": "input", "write_powershell": "input"}
_WRITES = ("create", "edit", "str_replace_editor")
_READS = ("view", "grep", "glob")


def arguments(tool: str, given: Mapping[str, Any], cwd: str) -> CallArguments:
    """What a call runs, reads and writes. A patch is in an argument of any name."""
    runs = given.get(_RUNS[tool]) if tool in _RUNS else None
    paths = _paths(given, cwd)
    if tool == "apply_patch":
        paths = tuple(absolute(path, cwd) for text in given.values() for path in patched_files(text))
    return {
        "runs": str(runs) if runs is not None else None,
        "reads": paths if tool in _READS else (),
        "writes": paths if tool in _WRITES or tool == "apply_patch" else (),
    }


def _paths(given: Mapping[str, Any], cwd: str) -> tuple[str, ...]:
    """The paths of a call: one in `path`, or one or several in `paths`."""
    several = given.get("paths")
    found = [given.get("path"), *(several if isinstance(several, list) else [several])]
    return tuple(absolute(path, cwd) for path in found if isinstance(path, str) and path)


def aliases(tool: str) -> tuple[str, ...]:
    """The other names of a tool. A workflow may use any of them."""
    return other_names(tool, _NAMES[tool]) if tool in _NAMES else foreign_aliases(tool)


def foreign_aliases(tool: str) -> tuple[str, ...]:
    """The other names of `SERVER-TOOL`, a tool of a foreign MCP server. Both parts may contain hyphens."""
    return joined_aliases(tool, "-") if ":" not in tool else ()


HANDRAIL = "[Handrail] "
"""How Handrail's own prompts begin: Copilot CLI makes a prompt of the answer that sends an agent on."""
_BEGIN, _END = "<handrail-arguments>", "</handrail-arguments>"
_PLACE = "$ARGUMENTS"


def typed_command(prompt: str) -> tuple[Literal["start", "cancel"], str] | None:
    """(command, arguments) if the prompt is a command of Handrail, else None."""
    first, rest = (*prompt.split(None, 1), "", "")[:2]
    if not prompt.startswith(first or " "):
        return None
    if first == "/workflow":
        return "start", rest
    if first == "/cancel-workflow":
        return "cancel", rest
    begin, end = prompt.find(_BEGIN), prompt.rfind(_END)
    if not 0 <= begin < end:
        return None
    given = prompt[begin + len(_BEGIN) : end].strip()
    given = "" if given == _PLACE else given
    if '<skill-context name="workflow">' in prompt[:begin]:
        return "start", given
    return ("cancel", given) if '<skill-context name="cancel-workflow">' in prompt[:begin] else None


def command_skills() -> dict[str, str]:
    """Path below the folder of Copilot CLI → content."""
    return {"skills/workflow/SKILL.md": WORKFLOW_SKILL, "skills/cancel-workflow/SKILL.md": CANCEL_SKILL}


WORKFLOW_SKILL = f"""\
---
name: workflow
description: Start a Handrail workflow. Without a name, list the workflows.
argument-hint: NAME TASK
user-invocable: true
disable-model-invocation: true
---

The person typed the command that starts a workflow, with these arguments:

{_BEGIN}{_PLACE}{_END}

If Handrail added the first phase and its instructions below, start with that phase. When it is finished, call the tool
`workflow_step` with action "next" and a short summary. Its result shows the next phase. Continue until the workflow is
done.

If there is no such phase below, no workflow began, because you were at work when the command was typed. Tell the person
to type it again after you have stopped, and go on with what you were doing.
"""

CANCEL_SKILL = f"""\
---
name: cancel-workflow
description: Cancel the Handrail workflow of this conversation.
user-invocable: true
disable-model-invocation: true
---

The person typed the command that cancels the workflow while you were at work, so it was not carried out yet.
{_BEGIN}{_PLACE}{_END}
Stop now, and tell the person to type the command again.
"""


TOOLS = (
    "apply_patch", "ask_user", "bash", "create", "edit", "exit_plan_mode", "fetch_copilot_cli_documentation", "glob",
    "grep", "list_agents", "list_bash", "read_agent", "read_bash", "session_store_sql", "skill", "sql", "stop_bash",
    "store_memory", "task", "task_complete", "tool_search", "view", "web_fetch", "web_search", "write_agent",
)  # fmt: skip
FORMER_TOOLS = (
    "list_powershell", "powershell", "read_powershell", "stop_powershell", "str_replace_editor", "write_bash",
    "write_powershell",
)  # fmt: skip
"""Tools of other versions and systems. A list may name them, but they are not there."""
