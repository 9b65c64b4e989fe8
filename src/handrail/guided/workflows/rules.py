"""Rules beyond the shape of a single file: names, references, cycles. Pure.

Rules return all problems and raise nothing. `resolve` removes broken workflows until all others are valid.
"""

from __future__ import annotations

import functools

from handrail.guided.workflows.plan import PLACEHOLDERS
from handrail.guided.workflows.spec import FoundWorkflow, Reference, WorkflowSpec
from handrail.source.diagnostics import Diagnostic, file_problem
from handrail.source.suggestions import did_you_mean, nearest
from handrail.source.templates import placeholders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    Linked = Mapping[str, FoundWorkflow] | Mapping[str, WorkflowSpec]


_COMMAND = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def is_command_name(text: str) -> bool:
    return bool(text) and _COMMAND.issuperset(text)


def as_command_name(text: str) -> str:
    """The nearest valid command name; empty if no character of the text is allowed."""
    return "-".join("".join(c if c in _COMMAND else " " for c in text).split()).strip("-")


def misspelt_placeholders(template: str) -> list[tuple[str, str]]:
    """Unknown placeholders that are similar to a known one: (name, hint)."""
    if "{" not in template:
        return []
    wrong: list[tuple[str, str]] = []
    for name, _ in placeholders(template):
        if name not in PLACEHOLDERS and len(name) > 3 and (suggestion := _similar(name)):
            wrong.append((name, f"did you mean `{{{suggestion}}}`?"))
    return wrong


_MEANT = {"task": "description", "taskname": "description", "phase": "phaseName", "workflow": "workflowName"}
"""Names that people write for a placeholder, where the most similar one is another."""


@functools.lru_cache(maxsize=1024)
def _similar(name: str) -> str | None:
    return _MEANT.get(name) or next(iter(nearest(name, PLACEHOLDERS)), None)


def resolve(workflows: Sequence[FoundWorkflow]) -> tuple[dict[str, WorkflowSpec], list[Diagnostic]]:
    """(for each key the first workflow without a cycle or a dangling reference, the problems of the others).

    Removing a workflow may break others, so this repeats until nothing changes.
    """
    files = {entry.key: entry.file for entry in reversed(workflows)}
    usable_entries: dict[str, list[FoundWorkflow]] = {key: [] for key in files}
    for entry in workflows:
        usable_entries[entry.key] += [entry] if entry.spec is not None else []
    problems = list(_problems_of_broken(workflows, files))
    while True:
        chosen_entries = {key: entries[0] for key, entries in usable_entries.items() if entries}
        problems_of: dict[str, list[Diagnostic]] = {}
        for cycle in cycles(chosen_entries):
            for key in cycle:
                entry, is_new = chosen_entries[key], key not in problems_of
                absent = [ref for ref in entry.references if ref.key not in files] if is_new else []
                own_problems = problems_of.setdefault(key, [])
                own_problems.extend(_in_cycle(entry, cycle))
                own_problems.extend(_dangling(entry, ref, files) for ref in absent)
        problems_of = problems_of or _all_dangling(chosen_entries, files)
        if not problems_of:
            return {key: entry.spec for key, entry in chosen_entries.items() if entry.spec is not None}, problems
        for key, own_problems in problems_of.items():
            usable_entries[key].pop(0)
            problems.extend(own_problems)


def _problems_of_broken(entries: Sequence[FoundWorkflow], files: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Dangling references and cycles of workflows with other errors, so that all are reported together."""
    broken_entries = [entry for entry in entries if entry.spec is None]
    for entry in broken_entries:
        yield from (_dangling(entry, ref, files) for ref in entry.references if ref.key not in files)
    first_entries = {entry.key: entry for entry in reversed(entries)} if broken_entries else {}
    for cycle in cycles(first_entries):
        if any(first_entries[key].spec is None for key in cycle):
            for key in cycle:
                yield from _in_cycle(first_entries[key], cycle)


def _all_dangling(entries: Mapping[str, FoundWorkflow], files: Mapping[str, str]) -> dict[str, list[Diagnostic]]:
    """Workflows with a reference to a missing workflow, directly or through other workflows."""
    users: dict[str, list[str]] = {}
    for entry in entries.values():
        for ref in entry.references:
            users.setdefault(ref.key, []).append(entry.key)
    unusable_keys: set[str] = set()
    waiting = [key for key in users if key not in entries]
    while waiting:
        new_keys = set(users.get(waiting.pop(), ())) - unusable_keys
        unusable_keys |= new_keys
        waiting += new_keys
    return {
        key: [
            _dangling(entries[key], ref, files)
            for ref in entries[key].references
            if ref.key not in entries or ref.key in unusable_keys
        ]
        for key in unusable_keys
    }


def cycles(specs: Linked) -> Iterator[list[str]]:
    """The cycles that a depth-first walk finds, each as the list of its keys."""
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


def nesting_depths(specs: Mapping[str, WorkflowSpec]) -> dict[str, int]:
    """The nesting depth of each workflow; 1 if it has no subworkflows. There must be no cycles."""
    levels: dict[str, int] = {}
    waiting = list(specs)
    while waiting:
        key = waiting[-1]
        targets = list(_targets(specs, key))
        unknown = [] if key in levels else [target for target in targets if target not in levels]
        waiting.extend(unknown)
        if not unknown:
            levels[waiting.pop()] = 1 + max((levels[target] for target in targets), default=0)
    return levels


def _targets(specs: Linked, key: str) -> Iterator[str]:
    return iter(dict.fromkeys(ref.key for ref in specs[key].references if ref.key in specs))


def _at(file: str, ref: Reference, code: str, message: str, hint: str | None) -> Diagnostic:
    return Diagnostic(code, "error", file, ref.line, ref.column, message, hint, ref.excerpt, ref.width)


def _in_cycle(user: FoundWorkflow, cycle: list[str]) -> list[Diagnostic]:
    place = cycle.index(user.key)
    keys = [*cycle[place:], *cycle[:place], user.key]
    message = f"workflows run each other in a circle: {' → '.join(keys)}"
    hint = "remove one of the references; none of these workflows can be used"
    if len(cycle) == 1:
        message, hint = f"workflow `{user.key}` runs itself", "remove this reference; the workflow could never end"
    return [_at(user.file, r, "subworkflow-cycle", message, hint) for r in user.references if r.key == keys[1]][:1]


def _dangling(user: FoundWorkflow, ref: Reference, files: Mapping[str, str]) -> Diagnostic:
    """The problem of a reference to a missing workflow, or a note if the workflow is there, but has errors."""
    if ref.key in files:
        message = f"subworkflow `{ref.key}` has errors, so `{user.key}` cannot be used"
        note = _at(user.file, ref, "nested-broken", message, f"fix `{ref.key}` first")
        return note._replace(severity="note", cause=files[ref.key])
    other_keys = sorted(key for key in files if key != user.key)
    hint = did_you_mean(ref.key, other_keys) or "`handrail list` shows what there is"
    return _at(user.file, ref, "subworkflow-missing", f"there is no workflow `{ref.key}`", hint)


def duplicate_commands(specs: Iterable[WorkflowSpec], built_in: Collection[str] = ()) -> Iterator[Diagnostic]:
    """Warnings for workflows with the same command name: the first one is started.

    `built_in` are the files that Handrail ships. The warning is never located there, because people cannot edit them.
    """
    owners: dict[str, WorkflowSpec] = {}
    pairs = [(owners.setdefault(spec.command, spec), spec) for spec in specs if spec.is_visible]
    for owner, spec in pairs:
        if owner is spec:
            continue
        if spec.file in built_in and owner.file not in built_in:
            at, which, whose = owner, "the built-in one", "this one"
            message = f"command `{spec.command}` also starts the built-in workflow `{spec.key}`; this one wins"
        else:
            at, which, whose = spec, "this one", "one of them"
            message = f"command `{spec.command}` already starts `{owner.key}`"
        can = f"can be started as `{spec.key}`" if spec.key not in owners else "cannot be started"
        hint = f"give {whose} another `commandName`; until then, {which} {can}"
        yield file_problem("command-twice", at.file, message, hint, severity="warning")
