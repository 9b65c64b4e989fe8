"""Computes the right answers in a second way: a stack machine over definitions, without the defects of pi-workflows.

Handrail compiles nesting away; this module walks it. It is used where pi-workflows is wrong (nested progress, loops,
placeholders), so that it also works for cases in another folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.guided.workflows.plan import PLACEHOLDERS
from handrail.guided.workflows.spec import FoundWorkflow, PhaseSpec, Reference, WorkflowSpec
from handrail.source.templates import placeholders, render

Specs = Mapping[str, WorkflowSpec]
Path = list[tuple[str, int]]


def enter(specs: Specs, path: Path) -> Path:
    """The path down to the first phase of the last entry of the stack."""
    key, index = path[-1]
    entry = specs[key].entries[index]
    return enter(specs, [*path, (entry.key, 0)]) if isinstance(entry, Reference) else path


def phase(specs: Specs, path: Path) -> PhaseSpec:
    key, index = path[-1]
    entry = specs[key].entries[index]
    assert isinstance(entry, PhaseSpec)
    return entry


def following(specs: Specs, path: Path) -> Path | None:
    """The next entry, after leaving every finished scope. It is not entered yet."""
    while path:
        key, index = path[-1]
        if index + 1 < len(specs[key].entries):
            return [*path[:-1], (key, index + 1)]
        path = path[:-1]
    return None


def advance(specs: Specs, path: Path) -> Path | None:
    found = following(specs, path)
    return None if found is None else enter(specs, found)


def restart(specs: Specs, path: Path) -> Path:
    """The first phase of the innermost scope."""
    return enter(specs, [*path[:-1], (path[-1][0], 0)])


def every_phase(specs: Specs, key: str) -> list[Path]:
    paths: list[Path] = []
    at: Path | None = enter(specs, [(key, 0)])
    while at is not None:
        paths.append(at)
        at = advance(specs, at)
    return paths


def exists(specs: Specs, path: Path) -> bool:
    """True if this is a position of these definitions, entered or not."""
    return path[0][0] in specs and any(step[: len(path)] == path for step in every_phase(specs, path[0][0]))


def name_at(specs: Specs, path: Path) -> str:
    key, index = path[-1]
    entry = specs[key].entries[index]
    return specs[entry.key].name if isinstance(entry, Reference) else entry.name


def breadcrumb(specs: Specs, path: Path) -> str:
    return " > ".join(specs[key].name for key, _ in path)


def status_line(specs: Specs, path: Path) -> str:
    shown = [f"{name_at(specs, path[: depth + 1])} [{place(specs, path[depth])}]" for depth in range(len(path))]
    return " > ".join([specs[path[0][0]].name, *shown[:-1], f"{phase(specs, path).emoji} {shown[-1]}"])


def place(specs: Specs, segment: tuple[str, int]) -> str:
    return f"{segment[1] + 1}/{len(specs[segment[0]].entries)}"


def step_list(specs: Specs, path: Path) -> list[str]:
    shown = [(step, phase(specs, step)) for step in every_phase(specs, path[0][0])]
    return [
        f"{'▶' if step == path else ' '} {number}. {found.emoji} {found.name}"
        for number, (step, found) in enumerate(shown, 1)
    ]


def values(specs: Specs, path: Path, task: str, task_id: str, steps: int) -> dict[str, str]:
    """The value of every placeholder in a message at this position."""
    here, top = phase(specs, path), specs[path[0][0]]
    first = phase(specs, enter(specs, [(top.key, 0)]))
    coming = following(specs, path)
    key, index = path[-1]
    known = {
        "workflowName": top.name,
        "workflowKey": top.key,
        "description": task,
        "taskDescription": task,
        "taskId": task_id,
        "phaseId": here.id,
        "phaseName": here.name,
        "phaseEmoji": here.emoji,
        "phaseCount": str(len(every_phase(specs, top.key))),
        "previousPhaseName": name_at(specs, [*path[:-1], (key, index - 1)]) if index else "(start)",
        "nextPhaseName": "DONE" if coming is None else name_at(specs, coming),
        "firstPhaseId": first.id,
        "firstPhaseName": first.name,
        "firstPhaseEmoji": first.emoji,
        "firstPhaseProfiles": ", ".join(first.profiles) or "(none)",
        "availableProfiles": ", ".join(here.profiles) or "(none)",
        "blockedToolsList": ", ".join(here.deny or ()) or "(none)",
        "allowedTools": allowed_tools(here),
        "toolName": "workflow_step",
        "breadcrumbPath": breadcrumb(specs, path),
        "globalStepCount": str(steps),
    }
    return {**known, "phaseInstructions": render(here.instructions, known)}


def leaves_open(text: str) -> bool:
    """True if a text that pi-workflows rendered still contains a placeholder that Handrail fills."""
    return any(name in PLACEHOLDERS for name, _ in placeholders(text))


def allowed_tools(here: PhaseSpec) -> str:
    if here.allow is not None:
        return ", ".join(here.allow)
    return "all except: " + ", ".join(here.deny) if here.deny else "all"


def is_blocked(specs: Specs, path: Path, tool: str) -> bool:
    here = phase(specs, path)
    listed = tool in (here.deny or ()) or (here.allow is not None and tool not in here.allow)
    return listed and tool != "workflow_step"


def found_in(definitions: Mapping[str, Any]) -> list[FoundWorkflow]:
    """The definitions of a case, even if no files could define them."""
    specs = [_spec(key, data) for key, data in definitions.items()]
    return [FoundWorkflow("project", "", spec.key, spec.file, spec, spec.references) for spec in specs]


def _spec(key: str, data: Mapping[str, Any]) -> WorkflowSpec:
    texts = {name: text for name, text in data.items() if name.endswith(("Instruction", "Reminder", "Template"))}
    entries = tuple(
        Reference(entry["subworkflow"], 1, 1, 1, None) if "subworkflow" in entry else _phase(entry)
        for entry in data["phases"]
    )
    return WorkflowSpec(
        key=key,
        file=f"{key}/workflow.yaml",
        name=data["name"],
        command=data.get("commandName", ""),
        show=data.get("show", "user"),
        loopable=data.get("loopable", True),
        initial_message=data.get("initialMessage", ""),
        entries=entries,
        texts=texts,
        session_name_length=data.get("sessionNameMaxLength", 50),
    )


def _phase(data: Mapping[str, Any]) -> PhaseSpec:
    tools = data.get("tools") or {}
    deny, allow = (None if tools.get(name) is None else tuple(tools[name]) for name in ("blacklist", "whitelist"))
    profiles = tuple(data.get("availableProfiles") or ())
    return PhaseSpec(
        id=data["id"],
        name=data["name"],
        emoji=data["emoji"],
        instructions=data["instructions"],
        deny=deny,
        allow=allow,
        profiles=profiles,
        exit=(),
        file="",
    )
