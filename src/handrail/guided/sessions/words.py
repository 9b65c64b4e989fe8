"""The texts that an agent or a person reads in guided mode, made from a plan and a state. Pure.

The default texts are defined here, and placeholders are resolved here. A workflow may replace most of the defaults.
Standard library only.
"""

from __future__ import annotations

from handrail import STEP_TOOL
from handrail.guided.workflows.plan import DONE, NONE
from handrail.source.plain_text import caller_words
from handrail.source.templates import placeholders, render

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from handrail.extensions.contracts.messages import CardTexts, GateRules
    from handrail.guided.sessions.machine import CheckResult, State
    from handrail.guided.workflows.plan import ExitCheck, Plan, Stop
    from handrail.guided.workflows.spec import WorkflowSpec

MAX_LISTED = 40

DEFAULTS: dict[str, str] = {
    "sessionNamePrefix": "Workflow: ",
    "roleInstruction": (
        "This session follows the workflow {workflowName}, one phase at a time. Do what the current phase asks. "
        "Do not start work that belongs to a later phase. Handrail denies tools that the phase does not allow."
    ),
    "advanceReminder": (
        'When this phase is finished, call {toolName} with action "next" and a short summary of what you did. '
        "Do not end your turn before the workflow is done."
    ),
    "blockReasonTemplate": (
        "{toolName} is not allowed in the phase {phaseName} of {workflowName}. In this phase, {toolRules}. "
        f'Do what this phase asks. When it is finished, call {STEP_TOOL} with action "next".'
    ),
    "notDoneReminder": (
        "{workflowName} is not done yet: you are in the phase {phaseEmoji} {phaseName}, next is {nextPhaseName}. "
        'Continue with what this phase asks. When it is finished, call {toolName} with action "next". '
        'Action "status" shows the instructions again.'
    ),
}
ORCHESTRATOR: dict[str, str] = {
    "roleInstruction": (
        "You coordinate the workflow {workflowName}, one phase at a time, and change no files yourself. Give the work "
        "of the current phase to subagents, tell them all that they need, and judge what they report. Do not start "
        "work that belongs to a later phase. Handrail denies tools that the phase does not allow."
    ),
    "advanceReminder": (
        'When this phase is finished, call {toolName} with action "next" and a short summary of what was done. If this '
        'part of the workflow has to be repeated, call it with action "loop". Do not end your turn before the workflow '
        "is done."
    ),
    "notDoneReminder": (
        "{workflowName} is not done yet: you are in the phase {phaseEmoji} {phaseName}, next is {nextPhaseName}. "
        'Continue with what this phase asks. When it is finished, call {toolName} with action "next", or with "loop" '
        'if this part of the workflow has to be repeated. Action "status" shows the instructions again.'
    ),
}
"""Defaults that differ for files of pi-workflows. Their authors rely on them: the agent delegates and does not edit."""
_CHANGERS = frozenset(("edit", "write", "multiedit", "notebookedit", "apply_patch"))
_SHELL = "bash"
_DONE_MESSAGE = "{workflowName} is done.\nTask: {taskDescription}\nPhases: {phaseCount}, steps: {globalStepCount}"
IF_BLOCKED = (
    f'If you cannot go on honestly, call {STEP_TOOL} with action "blocked" and the reason: a person will answer, and '
    "until then you may stop."
)


def allowed_tools(stop: Stop) -> str:
    if stop.allow is not None:
        return ", ".join(stop.allow)
    return f"all except: {', '.join(stop.deny)}" if stop.deny else "all"


def tool_rules(stop: Stop) -> str:
    """What a phase allows and denies, so that an agent does not look for a way around it; empty without lists.

    A list that denies both `edit` and `write` means that no files are changed, also not with a tool that it allows.
    """
    if stop.allow is not None:
        if not stop.allow:
            return f"no tool is allowed but {STEP_TOOL}"
        rule, names = f"only these tools are allowed: {', '.join(stop.allow)}", {name.lower() for name in stop.allow}
        has_way_around = _SHELL in names and names.isdisjoint(_CHANGERS)
        return f"{rule}; change no files, also not through the shell" if has_way_around else rule
    if not stop.deny:
        return ""
    tools, names = ", ".join(stop.deny), {name.lower() for name in stop.deny}
    if not {"edit", "write"} <= names:
        quoted = ", ".join(f"`{name}`" for name in stop.deny)
        return f"{quoted} {'is' if len(stop.deny) == 1 else 'are'} denied"
    shell = "" if _SHELL in names else "; do not write through the shell either"
    return f"change no files by any means ({tools} are denied{shell})"


def variables(plan: Plan, state: State) -> dict[str, str]:
    """Every placeholder and its value at the current stop."""
    stop, first = plan.stops[state.at], plan.stops[0]
    values = {
        "workflowName": plan.name,
        "workflowKey": plan.key,
        "description": state.task,
        "taskDescription": state.task,
        "taskId": state.task_id,
        "phaseId": stop.id,
        "phaseName": stop.name,
        "phaseEmoji": stop.emoji,
        "phaseCount": str(first.levels[0].total),
        "previousPhaseName": stop.previous,
        "nextPhaseName": stop.next,
        "firstPhaseId": first.id,
        "firstPhaseName": first.name,
        "firstPhaseEmoji": first.emoji,
        "firstPhaseProfiles": ", ".join(first.profiles) or NONE,
        "availableProfiles": ", ".join(stop.profiles) or NONE,
        "blockedToolsList": ", ".join(stop.deny or ()) or NONE,
        "allowedTools": allowed_tools(stop),
        "toolRules": tool_rules(stop) or "all tools are allowed",
        "toolName": STEP_TOOL,
        "breadcrumbPath": stop.breadcrumb,
        "globalStepCount": str(state.steps),
    }
    values["phaseInstructions"] = render(stop.instructions, values)
    return values


def message_template(plan: Plan | WorkflowSpec, name: str) -> str:
    """A message template: the one of the workflow if it has one, else the default."""
    defaults = {**DEFAULTS, **ORCHESTRATOR} if plan.orchestrates else DEFAULTS
    return plan.texts.get(name, defaults.get(name, ""))


def initial_message(plan: Plan, state: State) -> str:
    return render(plan.initial_message, variables(plan, state))


def session_title(plan: Plan | WorkflowSpec, task: str) -> str:
    """The title of the host's session: the prefix and the task, cut to the length that the workflow sets."""
    short = task if len(task) <= plan.session_name_length else task[: plan.session_name_length] + "…"
    return message_template(plan, "sessionNamePrefix") + short


def status_line(plan: Plan, state: State) -> str | None:
    """`Release > Review [2/3] > 🔍 Static Analysis [1/2]`; None if no workflow is active."""
    return f"{plan.name} > {place_text(plan, state.at)}" if state.is_active else None


def place_text(plan: Plan, at: int) -> str:
    """A stop inside its workflow: `Review [2/3] > 🔍 Static Analysis [1/2]`."""
    stop = plan.stops[at]
    names = [level.name for level in stop.levels[1:]] + [f"{stop.emoji} {stop.name}"]
    parts = [f"{name} [{level.position + 1}/{level.total}]" for name, level in zip(names, stop.levels, strict=True)]
    return " > ".join(parts)


def step_list(plan: Plan, at: int) -> list[str]:
    """The phases in order, with a mark at the current one. A long plan is cut to the phases around it.

    As in pi-workflows, all phases are numbered in one row, also those of subworkflows.
    """
    first = max(0, min(at - MAX_LISTED // 2, len(plan.stops) - MAX_LISTED))
    last = min(len(plan.stops), first + MAX_LISTED)
    stops = enumerate(plan.stops[first:last], first)
    lines = [f"{'▶ ' if i == at else '  '}{i + 1}. {stop.emoji} {stop.name}" for i, stop in stops]
    before, after = first, len(plan.stops) - last
    return [*([f"  … {before} before"] if before else []), *lines, *([f"  … {after} after"] if after else [])]


def card_texts(plan: Plan, state: State) -> CardTexts:
    """All that a card says about the current stop. The placeholders are resolved once."""
    values = variables(plan, state)
    is_active, stop, line = state.is_active, plan.stops[state.at], status_line(plan, state)
    template = message_template(plan, "blockReasonTemplate")
    used_values = {name: values[name] for name, _ in placeholders(template) if name in values}
    gate: GateRules = {"deny": stop.deny, "allow": stop.allow, "template": template, "values": used_values}
    brief = (
        f"[{line}] You work for a conversation that follows this workflow. "
        f"In this phase, {values['toolRules']}. Only the main conversation moves the workflow."
    )
    return {
        "gate": gate if is_active else None,
        "statusLine": line,
        "title": session_title(plan, state.task),
        "context": context_text(plan, state, values) if is_active else None,
        "brief": brief if is_active else None,
        "reminder": reminder(plan, state, values) if is_active else None,
        "farewell": None if state.told else farewell(plan, state),
        "asked": waiting_text(state),
    }


def context_text(plan: Plan, state: State, values: Mapping[str, str] | None = None) -> str:
    """The context text: where the agent is, what to do now, how to continue. `values` are those of the placeholders."""
    stop, values = plan.stops[state.at], values or variables(plan, state)
    level = stop.levels[-1]
    scope = "phases" if len(stop.levels) == 1 else "in current scope"
    profiles: list[str] = []
    if plan.profiles:
        available, every = values["availableProfiles"], ", ".join(plan.profiles)
        profiles = [f"**Profiles for this phase:** {available}", f"**All profiles:** {every}", ""]
    lines = [
        f"[Workflow path: {stop.breadcrumb} ▸ {stop.emoji} {stop.name}]",
        "",
        render(message_template(plan, "roleInstruction"), values),
        "",
        f"**Task:** {state.task}",
        f"**Task ID:** {state.task_id}",
        f"**Current Phase:** {stop.emoji} {stop.name}",
        f"**Progress:** Step {state.steps} ({level.position + 1}/{level.total} {scope})",
        *_tools(stop),
        "",
        "**All Steps:**",
        *step_list(plan, state.at),
        "",
        *_summaries(state),
        "**What to do now:**",
        values["phaseInstructions"],
        "",
        *_guidance(state),
        *_checks(stop),
        *profiles,
        *_news_of_person(state),
        IF_BLOCKED,
        render(message_template(plan, "advanceReminder"), values),
    ]
    return "\n".join(lines)


def _news_of_person(state: State) -> list[str]:
    """What a person told the agent, and what a person is asked."""
    asked = f"**Waiting for a person:** {blocked_words(state.reason, state.question)}"
    return [*([f"**{state.note}**", ""] if state.note else []), *([asked, ""] if state.question else [])]


def question_form(state: State) -> dict[str, Any] | None:
    """What a session asks a person, as a form; None if it asks nothing. Each question has its own id."""
    if not state.question:
        return None
    if state.asks_to_cancel:
        yes = {"id": "cancel", "type": "boolean", "label": "Cancel the workflow", "default": False}
        note = {"id": "note", "type": "text", "label": "A note for the agent, if it has to go on", "default": ""}
        return {"formId": f"cancel-{state.exchanges}", "title": asked_text(state), "fields": [yes, note]}
    answer = {"id": "answer", "type": "text", "label": "Answer", "multiline": True, "required": True}
    return {"formId": f"blocked-{state.exchanges}", "title": asked_text(state), "fields": [answer]}


def asked_text(state: State) -> str:
    """What a person is asked; empty if nothing."""
    if state.asks_to_cancel:
        return f"The agent asks to cancel the workflow: {state.reason or 'it gave no reason'}"
    return f"The agent cannot go on: {blocked_words(state.reason, state.question)}" if state.question else ""


def blocked_words(reason: str, question: str) -> str:
    """Why an agent cannot go on, and what it asks: two sentences, however the reason ends."""
    mark = "" if reason.endswith(("?", "!", "…")) else "."
    return f"{reason.rstrip(' .')}{mark} It asks: {question}" if question else reason


def waiting_text(state: State) -> str:
    """What the person is told when the agent stops because it asked them something; else empty."""
    how = "Yes: `handrail cancel --yes`. No: " if state.asks_to_cancel else "To answer: "
    return f"{asked_text(state)} {how}write to the agent, or `handrail unblock --note TEXT`." if state.question else ""


def blocked_text(state: State) -> str:
    """The result of `blocked`, and of a `cancel` that a person has to confirm."""
    what = "whether to cancel the workflow" if state.asks_to_cancel else f"this: {state.question}"
    meanwhile = "The workflow stays active, and so do the rules of this phase."
    return f"A person is asked {what} {meanwhile} End your turn now; you are told the answer when there is one."


def _summaries(state: State) -> list[str]:
    if not state.summaries:
        return []
    return ["**Done so far:**", *[f"- {phase}: {summary}" for phase, summary in state.summaries], ""]


def _tools(stop: Stop) -> list[str]:
    rules = tool_rules(stop)
    return [f"**Tools:** In this phase, {rules}."] if rules else []


def _checks(stop: Stop) -> list[str]:
    if not stop.checks:
        return []
    lines = [f"- {check.claim}" for check in stop.checks]
    return ["**Handrail checks this itself before the phase is left:**", *lines, ""]


def _guidance(state: State) -> list[str]:
    """The practices of the project that were chosen when the phase was entered."""
    return ["**Practices of this project:**", "", state.guidance, ""] if state.guidance else []


def reminder(plan: Plan, state: State, values: Mapping[str, str] | None = None) -> str:
    """The text for an agent that stops before the workflow is done. Later reminders are short, and all differ."""
    if state.reminders > 1 and "notDoneReminder" not in plan.texts:
        name = plan.stops[state.at].name
        count = str(state.sent_on)
        if state.reminders != state.sent_on:
            count = f"{state.reminders} in this phase, {count} in all"
        return f'Still in {name} (reminder {count}). Continue, or call {STEP_TOOL} with action "next".'
    text = render(message_template(plan, "notDoneReminder"), values or variables(plan, state))
    return text if state.sent_on < 2 else f"{text}\n\n(Reminder {state.sent_on}.)"


def farewell(plan: Plan, state: State) -> str | None:
    """The text for the person, shown once when the workflow has ended; None while it has not."""
    if state.status not in ("done", "cancelled"):
        return None
    if state.status == "done":
        return render(plan.texts.get("completionMessage", _DONE_MESSAGE), variables(plan, state))
    who, why = caller_words(state.ended_by), state.reason
    cancelled = f"{plan.name} was cancelled{f' by {who}' if who else ''} in the phase {plan.stops[state.at].name}"
    return f"{cancelled}{f': {why}' if why else '.'}\nTask: {state.task}"


def instructions(plan: Plan, state: State) -> str:
    """The instructions of the current phase, the rules for its tools, its practices, and the list of its checks."""
    stop = plan.stops[state.at]
    tools = [*_tools(stop), ""] if tool_rules(stop) else []
    lines = [variables(plan, state)["phaseInstructions"], "", *tools, *_guidance(state), *_checks(stop)]
    return "\n".join(lines).rstrip()


def moved_text(plan: Plan, before: State, after: State) -> str:
    """The result of `next`: the move, the phases before and after, and the instructions."""
    origin = plan.stops[before.at]
    if after.status == "done":
        return f"✓ Finished: {origin.name} → {DONE}\n\n{farewell(plan, after)}"
    stop = plan.stops[after.at]
    next_name = plan.stops[after.at + 1].name if after.at + 1 < len(plan.stops) else DONE
    move = f"✓ {_verb(origin, stop)}: {origin.name} → {stop.emoji} {stop.name}"
    place = f"Previous: {origin.name} | Current: {stop.emoji} {stop.name} | Next: {next_name}"
    return f"{move}\n{place}\n\n{instructions(plan, after)}"


def _verb(origin: Stop, stop: Stop) -> str:
    old_keys, new_keys = [level.key for level in origin.levels], [level.key for level in stop.levels]
    if old_keys == new_keys and origin.scope_first == stop.scope_first:
        return "Advanced"
    if len(new_keys) >= len(old_keys):
        return f"Entered subworkflow '{stop.levels[-1].name}'"
    return f"Back in {stop.breadcrumb}"


def looped_text(plan: Plan, before: State, after: State) -> str:
    stop, scope = plan.stops[after.at], plan.stops[before.at].levels[-1]
    head = f"🔄 Starting '{scope.name}' over at: {stop.emoji} {stop.name}"
    return f"{head}\n\n{instructions(plan, after)}"


def status_text(plan: Plan, state: State, started: str) -> str:
    """The result of `status`. `started` is the start time as text."""
    if not state.is_active:
        return farewell(plan, state) or "No workflow is active in this session."
    stop = plan.stops[state.at]
    level = stop.levels[-1]
    step_text = f" (step {state.steps})" if len(stop.levels) > 1 else ""
    lines = [
        f"**Workflow:** {plan.name} ({plan.key})",
        f"**Task ID:** {state.task_id}",
        f"**Task:** {state.task}",
        *([f"**Path:** {stop.breadcrumb}"] if len(stop.levels) > 1 else []),
        f"**Phase:** {stop.emoji} {stop.name} [{level.position + 1}/{level.total}]{step_text}",
        f"**Started:** {started}",
        *([f"**Exit checks ran in:** {state.folder}"] if state.folder else []),
        *[f"**Refused:** an agent tried `{command}`; only a person may run it" for command in state.refused],
        "",
        *_summaries(state),
        *_news_of_person(state),
        "**What to do now:**",
        instructions(plan, state),
    ]
    return "\n".join(lines)


def cancel_asked_text(state: State) -> str:
    return (
        f'Cancel the workflow for "{state.task}"? Nothing is cancelled yet. '
        'To confirm, repeat the action "cancel" as your very next action. Any other action keeps the workflow.'
    )


def checks_failed_text(results: tuple[CheckResult, ...], stop: Stop, state: State) -> str:
    """The result of `next` if an exit check fails. `state` is the one after it."""
    folder = [f"They ran in `{state.folder}`."] if state.folder else []
    last = 'Fix this, then repeat the action "next".'
    return "\n".join([*check_lines(results, stop), *folder, *_same_again(state), last])


def _same_again(state: State) -> list[str]:
    """Tells an agent that its work did not change how the exit checks fail."""
    if not state.is_going_in_circles:
        return []
    fact = f"This is the same failure as before, {state.same_failures} times in a row: what you changed did not help."
    advice = "Do not try the same again. Find the cause first: read the whole output, and question your assumptions."
    return [f'{fact} {advice} If you cannot fix it, use action "blocked": say what you tried and what is in the way.']


def check_lines(results: tuple[CheckResult, ...], stop: Stop) -> list[str]:
    """Which exit checks of a stop hold and which do not, for agents and people."""
    lines = [f"✗ {stop.name} cannot be left yet: {_failure_count(results)}."]
    for check, result in zip(stop.checks, results, strict=True):
        lines.append(f"{'✓' if result.held else '✗'} {_check_line(check, result)}")
        if not result.held and "\n" in result.detail:
            lines.extend("    " + line for line in result.detail.splitlines()[1:])
    return lines


def _failure_count(results: tuple[CheckResult, ...]) -> str:
    failures, number = sum(not result.held for result in results), len(results)
    if number == 1:
        return "the exit check does not hold"
    return f"{failures} of {number} exit checks {'does' if failures == 1 else 'do'} not hold"


def checks_in_one_line(results: tuple[CheckResult, ...], stop: Stop, *, held: bool) -> str:
    """The checks that hold, or those that failed: "`make test` ended with exit code 2"."""
    pairs = zip(stop.checks, results, strict=True)
    return "; ".join(_check_line(check, result) for check, result in pairs if bool(result.held) is held)


def _check_line(check: ExitCheck, result: CheckResult) -> str:
    """A check that holds: its claim. One that does not: what was found instead, where "it" is the subject."""
    detail = result.detail.partition("\n")[0]
    if result.held or not detail:
        return check.claim
    return f"{check.about} {detail[3:]}" if detail.startswith("it ") else f"{check.about}: {detail}"
