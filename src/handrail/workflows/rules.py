"""What workflows have to obey beyond the shape of their own files: names, references, cycles. Pure.

A rule never raises and never stops at the first problem. What is broken is left out until the rest is whole.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping

from handrail.source.diagnostics import Diagnostic, of_file
from handrail.source.suggest import did_you_mean, nearest
from handrail.source.templates import placeholders
from handrail.workflows.placeholders import VARIABLES
from handrail.workflows.spec import Reference, WorkflowSpec

_COMMAND = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def is_command_name(text: str) -> bool:
    return bool(text) and _COMMAND.issuperset(text)


def as_command_name(text: str) -> str:
    """The nearest name that a command may have; empty where nothing of the text can be kept."""
    return "-".join("".join(c if c in _COMMAND else " " for c in text).split()).strip("-")


def misspelt(template: str) -> list[tuple[str, str]]:
    """Placeholders that nobody knows but that are near to a known one: (name, hint)."""
    if "{" not in template:
        return []
    wrong: list[tuple[str, str]] = []
    for name, _ in placeholders(template):
        if name not in VARIABLES and len(name) > 3 and (meant := _meant(name)):
            wrong.append((name, f"did you mean `{{{meant}}}`?"))
    return wrong


@functools.lru_cache(maxsize=1024)
def _meant(name: str) -> str | None:
    return next(iter(nearest(name, VARIABLES)), None)


def resolve(candidates: Mapping[str, Iterable[WorkflowSpec]]) -> tuple[dict[str, WorkflowSpec], list[Diagnostic]]:
    """For each key the first candidate that is whole: no cycle through it, no reference that leads nowhere.

    Leaving one out may break others, so this goes on until nothing changes.
    """
    left = {key: list(specs) for key, specs in candidates.items()}
    every = sorted(left)
    problems: list[Diagnostic] = []
    while True:
        chosen = {key: specs[0] for key, specs in left.items() if specs}
        broken: dict[str, list[Diagnostic]] = {}
        for cycle in cycles(chosen):
            for key in cycle:
                broken.setdefault(key, []).extend(_in_cycle(chosen[key], cycle))
        broken = broken or _all_dangling(chosen, every)
        if not broken:
            return chosen, problems
        for key, found in broken.items():
            left[key].pop(0)
            problems.extend(found)


def _all_dangling(chosen: Mapping[str, WorkflowSpec], every: list[str]) -> dict[str, list[Diagnostic]]:
    """Everything that leads nowhere, also by way of others that do."""
    users: dict[str, list[WorkflowSpec]] = {}
    for spec in chosen.values():
        for ref in spec.references:
            users.setdefault(ref.key, []).append(spec)
    broken: dict[str, list[Diagnostic]] = {}
    waiting = [key for key in users if key not in chosen]
    while waiting:
        for spec in users.get(waiting.pop(), ()):
            if spec.key not in broken:
                broken[spec.key] = []
                waiting.append(spec.key)
    for key, found in broken.items():
        spec = chosen[key]
        absent = [ref for ref in spec.references if ref.key not in chosen or ref.key in broken]
        found.extend(dangling((spec.key, spec.file), ref, every) for ref in absent)
    return broken


def cycles(specs: Mapping[str, WorkflowSpec]) -> Iterator[list[str]]:
    """Every back edge of a depth-first walk, as the keys it closes, in the order of the walk."""
    finished: set[str] = set()
    for start in sorted(specs):
        if start in finished:
            continue
        path, walks = {start: 0}, [_targets(specs, start)]
        while path:
            target = next(walks[-1], None)
            if target is None:
                finished.add(path.popitem()[0])
                walks.pop()
            elif target in path:
                yield list(path)[path[target] :]
            elif target not in finished:
                path[target] = len(path)
                walks.append(_targets(specs, target))


def nesting(specs: Mapping[str, WorkflowSpec]) -> dict[str, int]:
    """How many levels of workflows each one has, itself counted. There must be no cycles."""
    levels: dict[str, int] = {}
    waiting = list(specs)
    while waiting:
        key = waiting[-1]
        below = list(_targets(specs, key))
        unknown = [] if key in levels else [target for target in below if target not in levels]
        waiting.extend(unknown)
        if not unknown:
            levels[waiting.pop()] = 1 + max((levels[target] for target in below), default=0)
    return levels


def _targets(specs: Mapping[str, WorkflowSpec], key: str) -> Iterator[str]:
    return iter(dict.fromkeys(ref.key for ref in specs[key].references if ref.key in specs))


def _at(file: str, ref: Reference, code: str, message: str, hint: str | None) -> Diagnostic:
    return Diagnostic(
        code=code,
        severity="error",
        file=file,
        line=ref.line,
        column=ref.column,
        message=message,
        hint=hint,
        excerpt=ref.excerpt,
        width=ref.width,
    )


def _in_cycle(spec: WorkflowSpec, cycle: list[str]) -> list[Diagnostic]:
    place = cycle.index(spec.key)
    turned = [*cycle[place:], *cycle[:place], spec.key]
    message = f"workflows run each other in a circle: {' → '.join(turned)}"
    hint = "take one of the references out; none of these workflows can be used"
    if len(cycle) == 1:
        message, hint = f"workflow `{spec.key}` runs itself", "take this reference out; the workflow could never end"
    return [_at(spec.file, r, "subworkflow-cycle", message, hint) for r in spec.references if r.key == turned[1]][:1]


def dangling(user: tuple[str, str], ref: Reference, every: list[str]) -> Diagnostic:
    """What is wrong with a reference of the workflow with this key and file that leads to nothing usable."""
    own, file = user
    if ref.key in every:
        message = f"subworkflow `{ref.key}` has errors itself, so `{own}` cannot be used"
        return _at(file, ref, "subworkflow-missing", message, f"mend `{ref.key}` first")
    others = [key for key in every if key != own]
    hint = did_you_mean(ref.key, others) or "`handrail list` shows what there is"
    return _at(file, ref, "subworkflow-missing", f"there is no workflow `{ref.key}`", hint)


def duplicate_commands(specs: Iterable[WorkflowSpec], built_in: Collection[str] = ()) -> Iterator[Diagnostic]:
    """Two workflows that are started by one name: the first is the one that starts.

    The problem is told where it can be mended: never in a file of ours, which `built_in` names.
    """
    first: dict[str, WorkflowSpec] = {}
    pairs = [(first.setdefault(spec.command, spec), spec) for spec in specs if spec.is_visible]
    for owner, spec in pairs:
        if owner is spec:
            continue
        if spec.file in built_in and owner.file not in built_in:
            at, which, whose = owner, "the built-in one", "this one"
            message = f"command `{spec.command}` also starts the built-in workflow `{spec.key}`; this one wins"
        else:
            at, which, whose = spec, "this one", "one of them"
            message = f"command `{spec.command}` already starts `{owner.key}`"
        can = f"can be started as `{spec.key}`" if spec.key not in first else "cannot be started"
        hint = f"give {whose} another `commandName`; until then, {which} {can}"
        yield of_file("command-twice", at.file, message, hint, severity="warning")
