"""Reads the `expect` of a step: checks of a declared kind, in long or short form. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from handrail.contracts import Check
from handrail.expressions.parse import Expressions, key_place, place_of
from handrail.flows.outputs import look_up
from handrail.flows.plan import Expectation
from handrail.flows.reading import Reading
from handrail.flows.settle import read_values, settled
from handrail.flows.spec import EXPECTATION
from handrail.source.fields import Reader, found, meant_key, quoted, unknown_key
from handrail.source.given import check_fields
from handrail.source.kinds import KIND, Chosen, choose, meant_kind, several_kinds_message, short_forms
from handrail.source.kinds import shorts as short_names
from handrail.source.suggest import did_you_mean
from handrail.source.yamltree import Node

COMMON = tuple(field.name for field in EXPECTATION)


def read_expectations(flow: Reading, node: Node, expressions: Expressions) -> tuple[Expectation, ...]:
    checks = {name: check for name, check in flow.known.checks.items() if "expect" in check.places}
    return tuple(_read(flow, item, chosen, expressions) for item, chosen in _chosen(flow, node, checks))


def _chosen(flow: Reading, node: Node, checks: Mapping[str, Check]) -> Iterator[tuple[Node, Chosen]]:
    """The valid items of the list: mappings of a known kind with all required keys. Reports the others."""
    for item in node.value:
        chosen = _kind(flow, item, checks)
        if chosen is None:
            continue
        missing = [field.name for field in chosen.shape.fields if field.required and field.name not in item.value]
        if missing:
            beside = KIND if chosen.short is None else chosen.kind
            place = item.value[beside]
            hint = f"add `{missing[0]}:` beside `{beside}`"
            flow.problem(place, "missing-key", f"`{chosen.kind}` needs `{missing[0]}`", hint)
            continue
        if checks[chosen.kind].takes_any:
            flow.unusable(chosen.kind, item)
        else:
            _unknown_keys(flow, item, chosen)
        yield item, chosen


def _kind(flow: Reading, item: Node, checks: Mapping[str, Check]) -> Chosen | None:
    known = "known: " + ", ".join(checks)
    if item.kind != "mapping":
        flow.problem(item, "wrong-type", f"an expectation has to be a mapping, found {found(item)}", known)
        return None
    kind, shorts = item.value.get(KIND), short_forms(item, checks)
    if kind is None and len(shorts) == 1:
        return choose(shorts[0], checks[shorts[0]], is_short=True)
    if kind is None and shorts:
        hint = "write each one as a separate list item"
        flow.problem(item.value[shorts[1]], "expectation-unknown", several_kinds_message(shorts), hint)
    elif kind is None:
        if not _misspelt_kind(flow, item, checks):
            flow.problem(item, "missing-key", "an expectation needs `kind`", known)
    elif kind.kind != "text":
        flow.problem(kind, "wrong-type", f"`kind` has to be text, found {found(kind)}", known)
    elif kind.value not in checks:
        hint = did_you_mean(kind.value, checks) or known
        flow.problem(kind, "expectation-unknown", f"there is no expectation {quoted(kind)}", hint)
    else:
        return choose(kind.value, checks[kind.value], is_short=False)
    return None


def _misspelt_kind(flow: Reading, item: Node, checks: Mapping[str, Check]) -> bool:
    """Report the key that should be `kind` or a short form. False if no key resembles one or means one."""
    names = [KIND, *short_names(checks)]
    for name, place in item.keys.items():
        if meant_key(flow.source, name, names) is not None:
            flow.report(unknown_key(flow.source, key_place(flow.source, name, place), name, names))
            return True
    for name in item.keys:
        meant = meant_kind(name, checks)
        if meant is not None:
            at, message = key_place(flow.source, name, item.keys[name]), f"there is no expectation `{name}`"
            flow.report(flow.source.problem("expectation-unknown", at, message, f"did you mean `{meant}`?"))
            return True
    return False


def _unknown_keys(flow: Reading, item: Node, chosen: Chosen) -> None:
    known = ((KIND,) if chosen.short is None else ()) + (*chosen.shape.by_name, *COMMON)
    for name, place in item.keys.items():
        if name not in known:
            flow.report(unknown_key(flow.source, key_place(flow.source, name, place), name, known))


def _read(flow: Reading, item: Node, chosen: Chosen, expressions: Expressions) -> Expectation:
    members: dict[str, Node] = item.value
    message, when = members.get("message"), members.get("when")
    text = expressions.fill(message.value) if message is not None and message.kind == "text" else ""
    if message is not None and message.kind != "text":
        wrong = f"`message` has to be text, found {found(message)}"
        flow.problem(message, "wrong-type", wrong, "write the text that people see if the check fails")
    given = {name: child for name, child in members.items() if name in chosen.shape.by_name}
    values = read_values(given, chosen.shape, expressions)
    if flow.is_first(item):
        node = settled(item._replace(value=given, keys={}), chosen.shape)
        check_fields(Reader(flow.source, node, chosen.shape, flow.report), look_up(flow))
    params = {chosen.declared_name(name): value for name, value in values.items()}
    condition = expressions.condition(when) if when is not None else None
    return Expectation(chosen.kind, condition, params, text, place_of(item)[0])
