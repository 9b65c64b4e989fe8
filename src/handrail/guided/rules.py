"""What workflows have to obey beyond the shape of their own files: names, references, cycles. Pure.

A rule never raises and never stops at the first problem. What is broken is left out until the rest is whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from handrail.diagnostics import Diagnostic
from handrail.guided.prompts import VARIABLES
from handrail.guided.spec import Reference, WorkflowSpec
from handrail.suggest import did_you_mean, nearest
from handrail.templates import placeholders

_COMMAND = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def is_command_name(text: str) -> bool:
    return bool(text) and _COMMAND.issuperset(text)


def misspelt(template: str) -> list[tuple[str, str]]:
    """Placeholders that nobody knows but that are near to a known one: (name, hint)."""
    if "{" not in template:
        return []
    wrong: list[tuple[str, str]] = []
    for name, _ in placeholders(template):
        if name not in VARIABLES and len(name) > 3 and (found := nearest(name, VARIABLES)):
            wrong.append((name, f"did you mean `{{{found[0]}}}`?"))
    return wrong


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
        if not broken:
            for spec in chosen.values():
                if missing := [_dangling(spec, ref, every) for ref in spec.references if ref.key not in chosen]:
                    broken[spec.key] = missing
        if not broken:
            return chosen, problems
        for key, found in broken.items():
            left[key].pop(0)
            problems.extend(found)


def cycles(specs: Mapping[str, WorkflowSpec]) -> Iterator[list[str]]:
    """Every back edge of a depth-first walk, as the keys it closes, in the order of the walk."""
    finished: set[str] = set()
    for start in sorted(specs):
        if start in finished:
            continue
        path, walks = [start], [_targets(specs, start)]
        while path:
            target = next(walks[-1], None)
            if target is None:
                finished.add(path.pop())
                walks.pop()
            elif target in path:
                yield path[path.index(target) :]
            elif target not in finished:
                path.append(target)
                walks.append(_targets(specs, target))


def _targets(specs: Mapping[str, WorkflowSpec], key: str) -> Iterator[str]:
    return iter(dict.fromkeys(ref.key for ref in specs[key].references if ref.key in specs))


def _at(spec: WorkflowSpec, ref: Reference, code: str, message: str, hint: str | None) -> Diagnostic:
    return Diagnostic(code, "error", spec.file, ref.line, ref.column, message, hint, ref.excerpt, ref.width)


def _in_cycle(spec: WorkflowSpec, cycle: list[str]) -> list[Diagnostic]:
    place = cycle.index(spec.key)
    turned = [*cycle[place:], *cycle[:place], spec.key]
    message = f"workflows run each other in a circle: {' → '.join(turned)}"
    hint = "take one of the references out; none of these workflows can be used"
    return [_at(spec, r, "subworkflow-cycle", message, hint) for r in spec.references if r.key == turned[1]][:1]


def _dangling(spec: WorkflowSpec, ref: Reference, every: list[str]) -> Diagnostic:
    if ref.key in every:
        message = f"subworkflow `{ref.key}` has errors itself, so `{spec.key}` cannot be used"
        return _at(spec, ref, "subworkflow-missing", message, f"mend `{ref.key}` first")
    hint = did_you_mean(ref.key, every) or "`handrail list` shows what there is"
    return _at(spec, ref, "subworkflow-missing", f"there is no workflow `{ref.key}`", hint)


def duplicate_commands(specs: Iterable[WorkflowSpec]) -> Iterator[Diagnostic]:
    """Two workflows that are started by one name: the first is the one that starts."""
    first: dict[str, WorkflowSpec] = {}
    for spec in specs:
        if not spec.is_visible:
            continue
        owner = first.setdefault(spec.command, spec)
        if owner is not spec:
            message = f"command `{spec.command}` already starts `{owner.key}` ({owner.file})"
            hint = f"give one of them another `commandName`; this one can be started as `{spec.key}`"
            yield Diagnostic("command-twice", "warning", spec.file, 1, 1, message, hint)
