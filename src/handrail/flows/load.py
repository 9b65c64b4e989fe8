"""Turns the text of a flow file into a plan and reports every problem in it.

It reads no files itself. There is a plan only if the text has no errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from handrail.expressions.parse import Place, Used, place_of, plain_value
from handrail.flows.foreign import CONTINUES
from handrail.flows.plan import FlowPlan, Param
from handrail.flows.reading import Declared, Known, Reading
from handrail.flows.rules import check
from handrail.flows.spec import FLOW, PARAM
from handrail.flows.steps import read_timeout
from handrail.flows.unfold import Unfold
from handrail.source.diagnostics import Diagnostic, is_usable
from handrail.source.fields import Reader, found, quoted
from handrail.source.files import Source
from handrail.source.jsontree import read_json
from handrail.source.simpleyaml import read_yaml
from handrail.source.values import same, shown
from handrail.source.yamltree import Node

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*(?<!\.json)(?<!\.yaml)(?<!\.yml)")


def load_flow(source: Source, id_: str, known: Known) -> tuple[FlowPlan | None, list[Diagnostic]]:
    """The plan of a flow file and its problems. The plan is None if there are errors."""
    plan, job = read_flow(source, id_, known)
    return plan, job.problems


def is_foreign(file: str) -> bool:
    """True if a file was written for AgentWeaver."""
    return ".agentweaver" in file.split("/")


def read_flow(source: Source, id_: str, known: Known) -> tuple[FlowPlan | None, Reading]:
    """The same, with everything that was read on the way."""
    if is_foreign(source.file):
        source = Source(source.file, source.text, is_foreign=True)
    tree, troubles = read_json(source.text) if source.file.endswith(".json") else read_yaml(source.text)
    job = Reading(source, known)
    for t in troubles:
        job.report(source.problem(t.code, (t.line, t.column, t.width), t.message, t.hint))
    if tree is None or tree.kind != "mapping":
        if not troubles:
            what = "nothing" if tree is None else found(tree)
            place = (1, 1, 1) if tree is None else place_of(tree)
            message, hint = f"a flow has to be a mapping, found {what}", "begin with keys: `phases: ...`"
            job.report(source.problem("not-mapping", place, message, hint))
        return None, job
    plan = _flow(job, Reader(source, tree, FLOW, job.report), id_)
    for problem in check(job):
        job.report(problem)
    return (plan if is_usable(job.found) else None), job


def _flow(job: Reading, reader: Reader, id_: str) -> FlowPlan:
    kind, version = reader.child("kind"), reader.integer("version")
    if kind is not None and not kind.value.strip():
        reader.on(kind, "blank-text", "`kind` is blank", "name the family of this flow, or remove `kind`")
    if version is not None and version < 1:
        reader.on(reader.node.value["version"], "bad-value", f"`version` has to be 1 or more, found `{version}`")
    visibility, constants, phases = reader.child("catalogVisibility"), reader.child("constants"), reader.child("phases")
    params, env, again = _params(reader), _env(reader), reader.child("continue")
    family = kind.value if kind is not None else id_
    has_form = job.source.is_foreign or reader.child("form") is not None
    names = None if params is None or has_form else tuple(param.name for param in params)
    job.also = list(_also(reader, id_))
    job.declared = Declared(names, plain_value(constants) if constants is not None else {}, env)
    if phases is not None:
        Unfold(job).flow(phases)
    return FlowPlan(
        id=id_,
        file=job.source.file,
        kind=family,
        version=version or 1,
        description=reader.text("description") or "",
        visible=visibility is None or visibility.value == "visible",
        constants=dict(job.declared.constants),
        params=params,
        phases=tuple(job.phases),
        timeout=read_timeout(reader),
        overrides=reader.flag("overrides", False),
        nested=tuple(dict.fromkeys(use.name for use in job.nested)),
        env=env,
        again=again.value if again is not None else CONTINUES.get(family) if has_form else None,
        groups=tuple(job.groups),
        needs=_needs(job, reader, env),
        reads=_reads(job) if params is None and not has_form else (),
        is_foreign=has_form,
        also=tuple(name for name, _ in job.also),
        examples=reader.texts("examples") or (),
    )


def _needs(job: Reading, reader: Reader, env: tuple[str, ...]) -> tuple[tuple[str, int, int], ...]:
    """The declared variables that some place reads in any case: no condition and no default value guards it."""
    sure = {use.ref.names[2] for use in _sure(job) if use.ref.names[:2] == ["context", "env"] and use.ref.names[2:]}
    items = reader.node.value["env"].value if env else ()
    places = {item.value: (item.line, item.column) for item in items if item.kind == "text"}
    return tuple((name, *places[name]) for name in env if name in sure)


def _reads(job: Reading) -> tuple[tuple[str, int, int], ...]:
    """The params that some place reads in any case, each at its first place. After `stopFlowIf`, none is certain."""
    ends = [number for number, phase in enumerate(job.phases) for step in phase.steps if step.stop_if is not None]
    uses = [use for use in _sure(job, min(ends, default=None)) if use.ref.names[:1] == ["params"] and use.ref.names[1:]]
    found_ = {use.ref.names[1]: use.place[:2] for use in reversed(uses)}
    return tuple((name, *place) for name, place in sorted(found_.items(), key=lambda pair: pair[1]))


def _sure(job: Reading, last: int | None = None) -> Iterator[Used]:
    """The references that are evaluated in any case, up to the phase with the number `last`."""
    for slot in job.slots:
        if not slot.is_shielded and not slot.around.guards and (last is None or slot.phase <= last):
            yield from (use for use in slot.used if not use.is_shielded)


def _env(reader: Reader) -> tuple[str, ...]:
    """The environment variables that steps may read."""
    node = reader.child("env")
    names: dict[str, None] = {}
    for item in node.value if node is not None else ():
        if item.kind != "text":
            message = f"an item of `env` has to be text, found {found(item)}"
            reader.on(item, "wrong-type", message, "write the names of environment variables: `env: [HOME]`")
        elif not _VARIABLE.fullmatch(item.value):
            message = f"{quoted(item)} is not a name of an environment variable"
            reader.on(item, "bad-value", message, "use letters, digits and `_`: `env: [HOME]`")
        else:
            names[item.value] = None
    return tuple(names)


def _also(reader: Reader, own: str) -> Iterator[tuple[str, Place]]:
    """The other ids of the flow, with their places. AgentWeaver has none, so those of its files do not count."""
    node = reader.child("also")
    if node is not None and reader.source.is_foreign:
        line, column = reader.node.keys["also"]
        hint = "AgentWeaver's files have no other ids; move the flow to `.handrail/flows`"
        reader.at((line, column, 4), "unknown-key", "`also` is not read here", hint, "warning")
        return
    for item in node.value if node is not None else ():
        if item.kind != "text":
            message = f"an item of `also` has to be text, found {found(item)}"
            reader.on(item, "wrong-type", message, "write ids of flows: `also: [team/ship]`")
        elif not _ID.fullmatch(item.value) or item.value == own:
            message = f"{quoted(item)} cannot be another id of the flow `{own}`"
            reader.on(item, "bad-value", message, "write names with letters, digits, `_` and `-`, and `/` between them")
        else:
            yield item.value, place_of(item)


def _params(reader: Reader) -> tuple[Param, ...] | None:
    """Declared parameters: `NAME: default`, or `NAME: {required: true, about: ...}`. Null is no value."""
    node = reader.child("params")
    if node is None:
        return None
    params = []
    for name, child in node.value.items():
        if child.kind != "mapping":
            if child.kind == "null":
                _warn_null(reader, name, node.keys[name])
            params.append(Param(name, False, plain_value(child), ""))
            continue
        declared = Reader(reader.source, child, PARAM, reader.report)
        default = child.value.get("default")
        value = plain_value(default) if default is not None else None
        choices = _choices(declared, default)
        params.append(Param(name, declared.flag("required", False), value, declared.text("about") or "", choices))
    return tuple(params)


def _choices(declared: Reader, default: Node | None) -> tuple[Any, ...]:
    """The values that a param may have; none if it may have any. Its default has to be one of them, or null."""
    node = declared.child("choices")
    if node is None:
        return ()
    choices = tuple(map(plain_value, node.value))
    if not choices:
        declared.on(node, "bad-value", "`choices` is empty", "list the values that the param may have")
    elif default is not None and default.kind != "null" and not any(same(plain_value(default), one) for one in choices):
        hint = f"write one of {', '.join(map(shown, choices))}"
        declared.on(default, "bad-value", f"the default {quoted(default)} is not in `choices`", hint)
    return choices


def _warn_null(reader: Reader, name: str, place: tuple[int, int]) -> None:
    """`NAME:` alone may be meant as required, or as optional. The file should say which."""
    message = f"`{name}` has no value unless one is given"
    hint = f"write `{name}: {{required: true}}` if the flow needs it, else `{name}: {{default: null}}`"
    at = (*place, reader.key_width(name, *place))
    reader.at(at, "param-null", message, hint, "warning")
