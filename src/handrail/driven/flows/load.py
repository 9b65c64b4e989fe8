"""Turns the text of a flow file into a plan and reports every problem in it. It reads no flow files itself.

Some rules need the whole flow: unique ids, valid references, no unreachable steps.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, cast

from handrail.base.errors import HandrailError
from handrail.base.files import real_inside
from handrail.driven.artifacts.agentweaver_params import CONTINUES_BY_KIND
from handrail.driven.artifacts.schemas import (
    artifact_table,
    find_schema,
    plugin_schema_ids,
    project_schema_ids,
    schema_ids,
)
from handrail.driven.expressions.parser import SourcePlace
from handrail.driven.flows.keys import FLOW, PARAM
from handrail.driven.flows.load_state import FlowResources, LoadState
from handrail.driven.flows.phases import PhasesReader
from handrail.driven.flows.plan import FlowPlan, Param, round_numbers
from handrail.driven.flows.prompts import PromptFile
from handrail.driven.flows.references import Layout, constant_truth, is_conditional, wrong_reference
from handrail.driven.flows.results import kind_error
from handrail.driven.flows.steps import read_timeout
from handrail.extensions.declarations import check_declarations, node_declarations
from handrail.extensions.registry import Registry
from handrail.source.definition_files import Source
from handrail.source.diagnostics import Diagnostic, is_usable
from handrail.source.field_checks import plain_data
from handrail.source.fields import MappingReader, found, quoted
from handrail.source.json_reader import read_json
from handrail.source.tree import TreeNode, ValueKind
from handrail.source.values import same, shown
from handrail.source.yaml_text import read_yaml

_OF_ROUNDS = ("ref-phase", "ref-repeat", "ref-maybe-skipped")
"""Problems of a reference that a repeat causes if its rounds are not known: their phases and names are missing."""


def check_whole_flow(flow: LoadState) -> Iterator[Diagnostic]:
    """Problems that are visible only when all phases are unrolled. Each is reported once, not once per round.

    If a repeat could not be unrolled, only problems that do not depend on it are reported.
    """
    is_whole = not flow.is_partial and not flow.is_cut_short
    yield from _phase_ids(flow)
    if is_whole:
        yield from _unreachable(flow)
    layout = Layout(flow.phases)
    reported: set[tuple[str, SourcePlace]] = set()
    for slot in flow.slots:
        for use in slot.references:
            wrong = wrong_reference(flow, layout, slot, use)
            if wrong is None or (not is_whole and wrong.code in _OF_ROUNDS):
                continue
            if (wrong.code, use.place) not in reported:
                reported.add((wrong.code, use.place))
                hint = (flow.suggestions.near(wrong.name, wrong.known) if wrong.known else None) or wrong.hint
                yield flow.source.problem(wrong.code, use.place, wrong.message, hint, wrong.severity)


def _phase_ids(flow: LoadState) -> Iterator[Diagnostic]:
    first_places: dict[str, TreeNode] = {}
    reported: set[SourcePlace] = set()
    for phase, node in zip(flow.phases, flow.places, strict=True):
        if not phase.id or (flow.is_partial and "${" in phase.id):  # the round of a wrong repeat has no number
            continue
        id_ = node.value["id"]
        if phase.id in first_places and id_.place not in reported:
            reported.add(id_.place)
            line, names = first_places[phase.id].line, round_numbers(phase)
            missing = [name for name in names if f"${{{name}}}" not in id_.value] if line == id_.line else []
            hint = f"the first one is on line {line}; give each phase its own id"
            if missing:
                hint = f"every round uses the same id; add the number of the round: `{id_.value}-${{{missing[-1]}}}`"
            yield flow.source.problem("phase-id-twice", id_.place, f"phase id `{phase.id}` is used twice", hint)
        first_places.setdefault(phase.id, id_)


def _unreachable(flow: LoadState) -> Iterator[Diagnostic]:
    """Warn about the first step or phase after a step that always ends the flow."""
    reported: set[SourcePlace] = set()
    for number, phase in enumerate(flow.phases):
        always = [step.stop_if is not None and constant_truth(step.stop_if) is True for step in phase.steps]
        ends = next((n for n, step in enumerate(phase.steps) if always[n] and not is_conditional(step)), None)
        if ends is None:
            continue
        is_certain = not is_conditional(phase) and not phase.guards and phase.lane is None
        steps = [item for item in flow.places[number].value["steps"].value if item.kind == "mapping"]
        what, following = "step", steps[ends + 1 :] if phase.parallel.limit == 1 else []
        if not following and is_certain:
            what, following = "phase", flow.places[number + 1 :]
        if following and following[0].place not in reported:
            reported.add(following[0].place)
            place = following[0].value.get("id", following[0])
            message = f"this {what} is never reached: `{phase.steps[ends].id}` before it always ends the flow"
            hint = "remove it, or give `stopFlowIf` a condition"
            yield flow.source.problem("unreachable", place.place, message, hint, "warning")
        if is_certain:
            return


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*(?<!\.json)(?<!\.yaml)(?<!\.yml)")


def load_flow(source: Source, id_: str, known: FlowResources) -> tuple[FlowPlan | None, list[Diagnostic]]:
    """The plan of a flow file and its problems. The plan is None if there are errors."""
    plan, job = read_flow(source, id_, known)
    return plan, list(job.problems)


def is_foreign(file: str) -> bool:
    """True if a file was written for AgentWeaver."""
    return ".agentweaver" in file.split("/")


def read_flow(source: Source, id_: str, known: FlowResources) -> tuple[FlowPlan | None, LoadState]:
    """The same, with everything that was read on the way."""
    if is_foreign(source.file):
        source = Source(source.file, source.text, is_foreign=True)
    tree, troubles = read_json(source.text) if source.file.endswith(".json") else read_yaml(source.text)
    job = LoadState(source, known)
    for t in troubles:
        job.report(source.problem(t.code, t.place, t.message, t.hint))
    if tree is None or tree.kind != "mapping":
        if not troubles:
            what = "nothing" if tree is None else found(tree)
            place = (1, 1, 1) if tree is None else tree.place
            message, hint = f"a flow has to be a mapping, found {what}", "begin with keys: `phases: ...`"
            job.report(source.problem("not-mapping", place, message, hint))
        return None, job
    plan = _flow(job, MappingReader(source, tree, FLOW, job.report), id_)
    for problem in check_whole_flow(job):
        job.report(problem)
    return (plan if is_usable(job.problems) else None), job


def _flow(job: LoadState, reader: MappingReader, id_: str) -> FlowPlan:
    kind, version = reader.child("kind"), reader.integer("version")
    if kind is not None and not kind.value.strip():
        reader.on(kind, "blank-text", "`kind` is blank", "name the family of this flow, or remove `kind`")
    if version is not None and version < 1:
        reader.on(reader.node.value["version"], "bad-value", f"`version` has to be 1 or more, found `{version}`")
    constants, phases = reader.child("constants"), reader.child("phases")
    params, env, again = _params(reader), _env(reader), reader.text("continue")
    family = kind.value if kind is not None else id_
    has_form = job.source.is_foreign or reader.child("form") is not None
    job.also = _other_ids(reader, id_)
    job.params = None if params is None or has_form else tuple(param.name for param in params)
    job.constants = plain_data(constants) if constants is not None else {}
    job.env = tuple(env)
    if phases is not None:
        PhasesReader(job).flow(phases)
    return FlowPlan(
        id=id_,
        file=job.source.file,
        kind=family,
        version=version or 1,
        description=reader.text("description") or "",
        visible=reader.text("catalogVisibility") != "hidden",
        constants=dict(job.constants),
        params=params,
        phases=tuple(job.phases),
        timeout=read_timeout(reader),
        overrides=reader.flag("overrides", False),
        nested=tuple(dict.fromkeys(use.name for use in job.nested)),
        env=job.env,
        again=again or (CONTINUES_BY_KIND.get(family) if has_form else None),
        groups=tuple(job.groups),
        needs=_needs(job, env),
        reads=_reads(job) if params is None and not has_form else (),
        is_foreign=has_form,
        also=tuple(name for name, _ in job.also),
        examples=reader.texts("examples") or (),
    )


def _needs(job: LoadState, env: Mapping[str, TreeNode]) -> tuple[tuple[str, int, int], ...]:
    """The declared variables that some place reads in any case: no condition and no default value guards it."""
    names = {name for name, _ in _certain_names(job, ["context", "env"])}
    return tuple((name, node.line, node.column) for name, node in env.items() if name in names)


def _reads(job: LoadState) -> tuple[tuple[str, int, int], ...]:
    """The params that some place reads in any case, each at its first place. After `stopFlowIf`, none is certain."""
    ends = [number for number, phase in enumerate(job.phases) for step in phase.steps if step.stop_if is not None]
    places = dict(reversed(list(_certain_names(job, ["params"], min(ends, default=None)))))
    return tuple((name, *place) for name, place in sorted(places.items(), key=lambda pair: pair[1]))


def _certain_names(job: LoadState, scope: list[str], last: int | None = None) -> Iterator[tuple[str, tuple[int, int]]]:
    """The names of a scope that are read in any case, up to the phase with the number `last`, each with its place."""
    for slot in job.slots:
        if not slot.is_shielded and not slot.enclosure.guards and (last is None or slot.phase <= last):
            for names, use in ((use.ref.names, use) for use in slot.references if not use.is_shielded):
                if names[: len(scope)] == scope and len(names) > len(scope):
                    yield names[len(scope)], use.place[:2]


def _names(reader: MappingReader, key: str, pattern: re.Pattern[str], wrong: str, *hints: str) -> Iterator[TreeNode]:
    """The valid items of a list of names. `hints` are for an item that is no text, and for one that is no such name."""
    node = reader.child(key)
    for item in node.value if node is not None else ():
        if item.kind != "text":
            reader.on(item, "wrong-type", f"an item of `{key}` has to be text, found {found(item)}", hints[0])
        elif not pattern.fullmatch(item.value):
            reader.on(item, "bad-value", f"{quoted(item)} {wrong}", hints[1])
        else:
            yield item


def _env(reader: MappingReader) -> dict[str, TreeNode]:
    """The environment variables that steps may read, each with its last place."""
    hints = ("write the names of environment variables: `env: [HOME]`", "use letters, digits and `_`: `env: [HOME]`")
    items = _names(reader, "env", _VARIABLE, "is not a name of an environment variable", *hints)
    return {item.value: item for item in items}


def _other_ids(reader: MappingReader, own_id: str) -> list[tuple[str, SourcePlace]]:
    """The other ids of the flow, with their places. AgentWeaver has none, so those of its files do not count."""
    if reader.source.is_foreign and reader.child("also") is not None:
        line, column = reader.node.keys["also"]
        hint = "AgentWeaver's files have no other ids; move the flow to `.handrail/flows`"
        reader.at((line, column, 4), "unknown-key", "`also` is not read here", hint, "warning")
        return []
    hints = (
        "write ids of flows: `also: [team/ship]`",
        "write names with letters, digits, `_` and `-`, and `/` between them",
    )
    pattern = re.compile(f"(?!{re.escape(own_id)}$)(?:{_ID.pattern})")
    items = _names(reader, "also", pattern, f"cannot be another id of the flow `{own_id}`", *hints)
    return [(item.value, item.place) for item in items]


def _params(reader: MappingReader) -> tuple[Param, ...] | None:
    """Declared parameters: `NAME: default`, or `NAME: {required: true, about: ...}`. Null is no value."""
    node = reader.child("params")
    if node is None:
        return None
    params = []
    for name, child in node.value.items():
        if child.kind != "mapping":
            if child.kind == "null":  # it may be meant as required, or as optional
                message = f"`{name}` has no value unless one is given"
                hint = f"write `{name}: {{required: true}}` if the flow needs it, else `{name}: {{default: null}}`"
                reader.at(reader.source.key_place(name, node.keys[name]), "param-null", message, hint, "warning")
            params.append(Param(name, False, plain_data(child), ""))
            continue
        param_reader = MappingReader(reader.source, child, PARAM, reader.report)
        default = child.value.get("default")
        value = plain_data(default) if default is not None else None
        choices = _choices(param_reader, default)
        about, kind = param_reader.text("about") or "", cast("ValueKind | None", param_reader.text("type"))
        param = Param(name, param_reader.flag("required", False), value, about, choices, kind)
        for known in (default, *(child.value["choices"].value if choices else ())):
            if known is not None and (wanted := kind_error(param, plain_data(known))) is not None:
                param_reader.on(known, "wrong-type", f"`{name}` has to be {wanted}, found {found(known)}")
        params.append(param)
    return tuple(params)


def _choices(reader: MappingReader, default: TreeNode | None) -> tuple[Any, ...]:
    """The values that a param may have; none if it may have any. Its default has to be one of them, or null."""
    node = reader.child("choices")
    if node is None:
        return ()
    choices = tuple(map(plain_data, node.value))
    if not choices:
        reader.on(node, "bad-value", "`choices` is empty", "list the values that the param may have")
    elif (
        default is not None
        and default.kind != "null"
        and not any(same(plain_data(default), choice) for choice in choices)
    ):
        hint = f"write one of {', '.join(map(shown, choices))}"
        reader.on(default, "bad-value", f"the default {quoted(default)} is not in `choices`", hint)
    return choices


def flow_resources(
    registry: Registry, project: str | None = None, prompts: Mapping[str, PromptFile] | None = None
) -> FlowResources:
    """What flows may use. With a project, this includes its schemas and where it is."""
    table, folders = artifact_table(), registry.schema_folders()
    own_ids = plugin_schema_ids(folders) | (frozenset() if project is None else project_schema_ids(project))

    @cache
    def schema_problem(id_: str) -> str | None:
        if project is None or id_ not in own_ids:
            return None
        try:
            find_schema(id_, project, folders)
        except HandrailError as error:
            return error.message
        return None

    def is_elsewhere(path: str) -> bool:  # a relative path may become a link while the flow runs
        return project is not None and os.path.isabs(path) and real_inside(project, path) is None

    return FlowResources(
        nodes=node_declarations(registry),
        checks=check_declarations(registry),
        prompts=prompts or {},
        artifact_kinds=frozenset(table.kinds),
        artifact_lists=frozenset(table.lists),
        schemas=schema_ids() | own_ids,
        schema_problem=schema_problem,
        unusable=registry.unusable,
        agent_hint=lambda name: None if registry.has_executor(name) else registry.executor_hint(name),
        is_elsewhere=is_elsewhere,
    )
