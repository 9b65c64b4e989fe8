"""The commands `/workflow` and `/cancel-workflow` of Copilot CLI: the skills behind them, and how a hook sees them.

In a terminal, Copilot CLI replaces such a command by the text of the skill before it calls a hook. Without a terminal,
the hook gets what was typed. Standard library only.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

HANDRAIL = "[Handrail] "
"""How Handrail's own prompts begin: Copilot CLI makes a prompt of the answer that sends an agent on."""
_BEGIN, _END = "<handrail-arguments>", "</handrail-arguments>"
_PLACE = "$ARGUMENTS"


def typed(prompt: str) -> tuple[Literal["start", "cancel"], str] | None:
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


def skills() -> dict[str, str]:
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
