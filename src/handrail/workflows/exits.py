"""Reads the `exit` key of a phase: checks of a declared kind, in long or short form."""

from __future__ import annotations

from collections.abc import Mapping

from handrail import contracts, registry
from handrail.source.diagnostics import Diagnostic, has_errors
from handrail.source.fields import Field, Reader, found, quoted, shape
from handrail.source.given import check_fields, value_of
from handrail.source.kinds import (
    KIND,
    Chosen,
    choose,
    example,
    meant_kind,
    several_kinds_message,
    short_forms,
    shorts,
    union,
)
from handrail.source.suggest import did_you_mean
from handrail.source.yamltree import Node
from handrail.workflows.keys import EXIT
from handrail.workflows.plan import ExitCheck

Checks = Mapping[str, contracts.Check]


def exit_checks() -> dict[str, contracts.Check]:
    """The kinds of checks that are allowed in `exit`."""
    return {name: check for name, check in registry.checks().items() if "exit" in check.places}


def read_exit(phase: Reader) -> tuple[tuple[ExitCheck, ...], tuple[int, ...]]:
    """The exit checks of a phase, and their lines. The kinds are imported only if the phase has any."""
    if "exit" not in phase.node.value:
        return (), ()
    checks = exit_checks()
    examples = " or ".join(f"`- {example(name, checks[name])}`" for name in shorts(checks))
    node = phase.child("exit", f"write {examples} below `exit:`")
    if node is None:
        return (), ()
    items: list[Node] = [node] if node.kind == "mapping" else node.value
    found_: list[ExitCheck] = []
    lines: list[int] = []
    for item in items:
        if item.kind != "mapping":
            message = f"an exit check has to be a mapping, found {found(item)}"
            phase.on(item, "wrong-type", message, f"write {examples}")
            continue
        chosen = _chosen(phase, item, checks)
        check = _check(phase, item, chosen, checks[chosen.kind]) if chosen is not None else None
        if check is not None:
            found_.append(check)
            lines.append(item.line)
    return tuple(found_), tuple(lines)


def _chosen(phase: Reader, item: Node, checks: Checks) -> Chosen | None:
    kind, names = item.value.get(KIND), short_forms(item, checks)
    if kind is not None:
        if kind.kind == "text" and kind.value in checks:
            return choose(kind.value, checks[kind.value], is_short=False)
        hint = (did_you_mean(kind.value, checks) if kind.kind == "text" else None) or f"known: {', '.join(checks)}"
        if kind.kind == "text" and kind.value in registry.checks():
            hint = f"`{kind.value}` is only for `expect` of a step in a flow; known here: {', '.join(checks)}"
        phase.on(kind, "exit-check", f"there is no exit check {quoted(kind)}", hint)
        return None
    if len(names) == 1:
        return choose(names[0], checks[names[0]], is_short=True)
    if names:
        last = max(names, key=lambda name: item.keys[name])
        place = (*item.keys[last], phase.key_width(last, *item.keys[last]))
        phase.at(place, "exit-check", several_kinds_message(names), "write each as its own list item")
        return None
    _report_no_kind(phase, item, checks)
    return None


def _report_no_kind(phase: Reader, item: Node, checks: Checks) -> None:
    """Report a check without a kind, at the key that was probably meant as one, and problems of its other keys."""
    problems: list[Diagnostic] = []
    reader = Reader(phase.source, item, union("exit", "", checks, EXIT), problems.append)
    strange = [name for name in item.keys if meant_kind(name, checks)]
    strange += [name for name in item.keys if name not in reader.shape.by_name]
    known = " or ".join(f"`{example(name, checks[name])}`" for name in shorts(checks))
    if strange and not reader.misspelt & checks.keys():
        place = (*item.keys[strange[0]], phase.key_width(strange[0], *item.keys[strange[0]]))
        meant = meant_kind(strange[0], checks)
        problems = [problem for problem in problems if (problem.line, problem.column) != place[:2]]
        hint = f"did you mean `{meant}`?" if meant else f"write {known}"
        phase.at(place, "exit-check", f"there is no exit check `{strange[0]}`", hint)
    elif not strange:
        wanted = " or ".join(f"`{name}`" for name in shorts(checks))
        phase.at((item.line, item.column, 1), "exit-check", f"an exit check needs {wanted}", f"add {known}")
    rest = item._replace(value={name: node for name, node in item.value.items() if name not in strange})
    check_fields(Reader(phase.source, rest._replace(keys={}), reader.shape, problems.append))
    for problem in problems:
        phase.report(problem)


def _unusable(phase: Reader, item: Node, kind: str, declared: contracts.Check) -> ExitCheck:
    """A check of a plugin that cannot be used now. The workflow is known all the same; it cannot be started."""
    error = registry.unusable(kind)
    if error is not None:
        written = KIND if KIND in item.value else kind
        place = (*item.keys[written], phase.key_width(written, *item.keys[written]))
        phase.at(place, "plugin-unusable", f"`{kind}` cannot be used: {error.message}", error.hint, "warning")
    return ExitCheck(kind, {}, kind, declared.words, kind)


def _check(phase: Reader, item: Node, chosen: Chosen, declared: contracts.Check) -> ExitCheck | None:
    if declared.takes_any:
        return _unusable(phase, item, chosen.kind, declared)
    problems: list[Diagnostic] = []
    kind = () if chosen.short else (Field(KIND, ("text",), "what is verified"),)
    fields = shape("exit", "", *kind, *chosen.shape.fields, *EXIT)
    reader = Reader(phase.source, item, fields, problems.append)
    given = item.value.keys() | reader.misspelt
    missing = [field for field in chosen.shape.fields if field.required and field.name not in given]
    for field in missing:
        reader.on(item.value[KIND], "missing-key", f"`{chosen.kind}` needs `{field.name}`", f"add `{field.name}:`")
    check_fields(reader)
    for problem in problems:
        phase.report(problem)
    if has_errors(problems):
        return None
    nodes = chosen.params(item)
    params = {
        own.name: value_of(own, nodes[own.name]) if own.name in nodes else own.default
        for own in declared.params
        if own.name in nodes or own.default is not None
    }
    name: Node | None = item.value.get("name")
    subject = declared.subject(params)
    return ExitCheck(chosen.kind, params, name.value if name is not None else subject, declared.words, subject)
