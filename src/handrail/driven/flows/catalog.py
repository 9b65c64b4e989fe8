"""All flows that were found, with their names and problems. A broken flow does not hide other flows.

A flow is named by its id, its other ids or the name of its file. Flows that run each other in a circle or too deep are
problems.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from posixpath import basename, splitext

from handrail.base.dataclasses import dataclass, field, replace
from handrail.base.errors import DefinitionError, NotFound
from handrail.base.files import Unreadable, read_limited
from handrail.driven.expressions.parser import SourcePlace
from handrail.driven.flows.keys import MAX_DEPTH
from handrail.driven.flows.load import is_foreign, read_flow
from handrail.driven.flows.load_state import FlowResources, NestedFlow, Suggestions
from handrail.driven.flows.plan import FlowPlan, with_nested, with_nested_names
from handrail.driven.flows.prompts import PromptFile
from handrail.driven.flows.references import NestedReference, nested_references, wrong_nested_reference
from handrail.driven.flows.results import computes_nested_flow
from handrail.driven.flows.shipped_flows import SHIPPED_PREFIX, SHIPPED_SOURCE, ShippedFlows
from handrail.settings.folders import name_prefix
from handrail.settings.secrets import literal_secret
from handrail.source.definition_files import MAX_BYTES, Root, Source, UnopenedFile, decode
from handrail.source.diagnostics import Diagnostic, Severity, blame, file_problem, is_usable, sorted_problems
from handrail.source.plain_text import command_line, some
from handrail.source.suggestions import nearest

ENDINGS = (".json", ".yaml", ".yml")
MAX_FLOWS = 5_000
MAX_FOLDERS = 20_000


@dataclass(frozen=True, kw_only=True)
class FoundFlow:
    """A flow file and its plan. `plan` is None if the file has errors.

    `names` are the ids that stand for names of nested flows in its text, because another flow has such a name, too.
    `also` are its other ids, each with its place in the file.
    """

    source: str
    id: str
    file: str
    plan: FlowPlan | None
    text: str
    nested: tuple[NestedFlow, ...] = ()
    inside: tuple[NestedReference, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    also: tuple[tuple[str, SourcePlace], ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        return self.id, *(name for name, _ in self.also)

    @property
    def is_shipped(self) -> bool:
        return self.source == SHIPPED_SOURCE

    def with_names(self, names: Mapping[str, str]) -> FoundFlow:
        if self.plan is None or not names:
            return self
        nested = tuple(replace(use, name=names.get(use.name, use.name)) for use in self.nested)
        inside = tuple(reference._replace(flow=names.get(reference.flow, reference.flow)) for reference in self.inside)
        return replace(self, plan=with_nested_names(self.plan, names), nested=nested, inside=inside, names=names)


def flow_names(flow: FoundFlow) -> tuple[str, ...]:
    """The names of a flow: its ids, and their last parts with and without extension; any may be called `NAME.json`."""
    if flow.id.startswith(SHIPPED_PREFIX) or name_prefix(flow.source):
        return (flow.id,)
    bare = [basename(id_) for id_ in flow.ids]
    endings = (splitext(flow.file)[1], ".json")
    return (*flow.ids, *bare, *(f"{name}{ending}" for ending in endings for name in (*bare, *flow.ids[1:])))


def flow_by_name(name: str, candidates: list[FoundFlow]) -> FoundFlow | None:
    """The flow that a name means: the one with this id, else one with this other id, else the only one.

    Any other flow wins over a shipped one.
    """
    own = [flow for flow in candidates if not flow.is_shipped] or candidates
    by_id = [flow for flow in own if flow.id == name] or [flow for flow in own if name in flow.ids]
    return by_id[0] if by_id else own[0] if len(own) == 1 else None


def taken_id_warnings(usable: Iterable[FoundFlow]) -> Iterator[Diagnostic]:
    """Warnings for other ids that another flow has, too. Those of shipped flows may be taken by any flow."""
    flows = [flow for flow in usable if not flow.is_shipped]
    owners = {flow.id: flow for flow in flows}
    for flow in flows:
        for name, place in flow.also:
            owner = owners.setdefault(name, flow)
            if owner is not flow:
                message = f"`{name}` already means the flow `{owner.id}`"
                hint = "write another id, or remove this one; it has no effect"
                yield Source(flow.file, flow.text).problem("flow-also-taken", place, message, hint, "warning")


def nesting_problems(runs: Mapping[str, Mapping[str, NestedFlow]]) -> Iterator[tuple[str, str, str, str, str]]:
    """Flows that run each other in a circle or too deep: (flow, nested flow, code, message, hint)."""
    order, levels = TopologicalSorter(runs), dict[str, int]()
    with suppress(CycleError):  # then only the flows that do not lead into a circle become ready
        order.prepare()
    while ready := order.get_ready():
        levels |= {id_: max((levels[target] + 1 for target in runs[id_]), default=0) for id_ in ready}
        order.done(*ready)
    for id_ in (name for name in runs if name not in levels):
        if (circle := _circle(runs, id_)) is not None:
            message = f"flows run each other in a circle: {' → '.join(circle)}"
            hint = "remove one of the references; none of these flows can be used"
            yield id_, circle[1], "flow-cycle", message, hint
    for id_, level in levels.items():
        if level == MAX_DEPTH + 1:
            target = next(target for target in runs[id_] if levels[target] == MAX_DEPTH)
            message = f"flows run flows more than {MAX_DEPTH} levels deep from here"
            yield id_, target, "flow-depth", message, "let one flow run several others in sequence instead"


def _circle(runs: Mapping[str, Mapping[str, NestedFlow]], start: str) -> list[str] | None:
    """The shortest path from a flow back to itself. None if there is none."""
    previous = dict.fromkeys(runs[start], start)
    waiting = list(previous)
    for id_ in waiting:
        if start in previous:
            break
        new = [target for target in runs[id_] if target not in previous]
        previous |= dict.fromkeys(new, id_)
        waiting += new
    if start not in previous:
        return None
    path = [start, previous[start]]
    while path[-1] != start:
        path.append(previous[path[-1]])
    return path[::-1]


@dataclass(frozen=True)
class FlowCatalog:
    """The flows that can run (`flows`, by id), all flows that were found, all problems, and the prompts.

    `workflow_problems` returns the problems of the workflows that flows may run.
    """

    flows: dict[str, FoundFlow]
    found: tuple[FoundFlow, ...]
    problems: tuple[Diagnostic, ...]
    workflow_problems: Callable[[], Iterable[Diagnostic]] = tuple
    prompts: Mapping[str, PromptFile] = field(default_factory=dict)

    def named(self, name: str) -> FoundFlow | None:
        """The flow with this id or this other id, or the only one whose file has this name. None if there is none."""
        return flow_by_name(name, [flow for flow in self.flows.values() if name in flow_names(flow)])

    def plan_named(self, name: str) -> FlowPlan | None:
        """The plan of the flow that `named` returns. None if there is none, or if it has errors."""
        flow = self.named(name)
        return None if flow is None else flow.plan

    def find(self, name: str) -> FoundFlow:
        if (flow := self.named(name)) is not None:
            return flow
        file = next((other.file for other in self.found if name in other.ids), None)
        if file is not None:
            hint = f"run `{command_line('handrail', 'validate', file)}`"
            why, errors = blame(file, (*self.problems, *self.workflow_problems()))
            raise DefinitionError(f"flow `{name}` cannot be used: {why}", hint, errors)
        close = nearest(name, self.flows, most=3)
        hint = f"did you mean {', '.join(f'`{n}`' for n in close)}?" if close else "`handrail list` shows all flows"
        raise NotFound(f"there is no flow `{name}`", hint)

    def warnings_of(self, flow: FoundFlow) -> list[Diagnostic]:
        """The warnings in the files of a flow and of all flows that it runs."""
        plans = [] if flow.plan is None else with_nested(flow.plan, self.plan_named)
        files = {flow.file, *(plan.file for plan in plans)}
        return [problem for problem in self.problems if problem.severity == "warning" and problem.file in files]


def flow_files(path: str, problems: list[Diagnostic]) -> list[str]:
    """All flow files below a folder, sorted by path. Links to folders are not followed."""

    def unreadable(error: OSError) -> None:
        message = f"the folder cannot be listed: {error.strerror or type(error).__name__}"
        hint = "change its permissions, or move it elsewhere"
        problems.append(file_problem("folder-unreadable", str(error.filename), message, hint))

    files: list[str] = []
    for count, (folder, folders, names) in enumerate(os.walk(path, onerror=unreadable) if os.path.isdir(path) else ()):
        if count == MAX_FOLDERS or len(files) > MAX_FLOWS:
            message = f"there are more than {MAX_FLOWS} flows or {MAX_FOLDERS} folders here; the others are ignored"
            problems.append(file_problem("too-many-folders", path, message, "keep only flows here"))
            return sorted(files)[:MAX_FLOWS]
        for link in (os.path.join(folder, name) for name in folders):
            if os.path.islink(link):
                message = f"`{os.path.basename(link)}` is a link to a folder and is not followed"
                hint = "copy or move the folder here"
                problems.append(file_problem("folder-link", link, message, hint, severity="warning"))
            elif link.endswith(ENDINGS):
                message = f"`{os.path.basename(link)}` is a folder, so it is no flow"
                problems.append(file_problem("flow-folder", link, message, "rename the folder", severity="warning"))
        files += [os.path.join(folder, name) for name in names if name.endswith(ENDINGS)]
    return sorted(files)


def is_flow_file(path: str) -> bool:
    """True if a path that a person names is a flow file."""
    return path.endswith(ENDINGS) and os.path.basename(path) != "workflow.yaml" and os.path.isfile(path)


def read_flows(
    roots: Iterable[tuple[str, str]],
    known: FlowResources,
    shipped: ShippedFlows | None = None,
    wanted: str | None = None,
) -> FlowCatalog:
    """All flows below the roots. If two have the same id, the first root wins; the first needs `overrides: true`.

    Of the shipped flows, only those are read that another flow runs, or that have the wanted name.
    """
    problems: list[Diagnostic] = []
    flows: list[FoundFlow] = []
    for source, path in roots:
        root = Root(path)
        for file in flow_files(path, problems):
            flows += _read_file(source, root, file, known, problems)
    if shipped is not None:
        flows += _read_shipped(shipped, flows, wanted, known, problems)
    usable: dict[str, FoundFlow] = {}
    for flow in (flow for flow in flows if flow.plan is not None):
        first = usable.setdefault(flow.id, flow)
        if first is not flow and first.plan is not None and not first.plan.overrides:
            other = f"`{os.path.basename(flow.file)}` ({flow.source})"
            if first.source == flow.source:
                other = f"`{os.path.relpath(flow.file, os.path.commonpath([first.file, flow.file]))}`"
            message = f"there are two flows `{flow.id}`; the other is {other}"
            hint = "rename one of them, or write `overrides: true` here; until then, only this one is used"
            problems.append(file_problem("flow-id-twice", first.file, message, hint))
    problems.extend(taken_id_warnings(usable.values()))
    catalog = FlowCatalog(usable, tuple(flows), (), known.workflow_problems, known.prompts)
    broken = _broken_flows(catalog, problems)
    without_broken = {id_: flow for id_, flow in usable.items() if id_ not in broken}
    return replace(catalog, flows=without_broken, problems=tuple(sorted_problems(problems)))


def _read_file(
    source: str, root: Root, file: str, known: FlowResources, problems: list[Diagnostic], id_: str | None = None
) -> Iterator[FoundFlow]:
    """The flow in a file. Its id is its path below the root, unless another one is given."""
    name = os.path.relpath(file, root.path)
    content = root.open(root.path, name)
    if isinstance(content, UnopenedFile):
        problems.append(file_problem(content.code, file, content.message, content.hint))
        return
    text, wrong = decode(file, content.data)
    problems.extend(wrong)
    id_ = id_ or name_prefix(source) + os.path.splitext(name)[0]
    if wrong:
        yield FoundFlow(source=source, id=id_, file=file, plan=None, text="")
        return
    plan, job = read_flow(text, id_, known)
    problems.extend(job.problems)
    if (at := literal_secret(text.text)) is not None:
        line, column = text.text.count("\n", 0, at) + 1, at - text.text.rfind("\n", 0, at)
        message = "this looks like a secret; it is stored with each run, and everyone who has the file can read it"
        hint = "put it into a variable and write `${context.env.NAME}`"
        problems.append(Diagnostic("secret-literal", "warning", file, line, column, message, hint))
    nested, inside = tuple(job.nested), tuple(nested_references(job))
    yield FoundFlow(
        source=source, id=id_, file=file, plan=plan, text=text.text, nested=nested, inside=inside, also=tuple(job.also)
    )


def _read_shipped(
    shipped: ShippedFlows, own: list[FoundFlow], wanted: str | None, known: FlowResources, problems: list[Diagnostic]
) -> list[FoundFlow]:
    """The shipped flows that somebody names, and those that they run.

    In other flows, a name of another flow means that one. In shipped flows, it means the shipped flow, unless a flow
    with its id says that it `overrides` it.
    """
    own_names = {name for flow in own for name in flow_names(flow)}
    claims = {flow.id: shipped.id_of(flow.id) for flow in own if flow.plan is not None and flow.plan.overrides}
    overriding = {id_: own_id for own_id, id_ in claims.items() if id_ is not None}
    names = [use.name for flow in own for use in flow.nested] + ([wanted] if wanted is not None else [])
    if any(computes_nested_flow(flow.plan) for flow in own if flow.plan is not None):
        names += shipped.files

    def other_id(name: str) -> str | None:
        """The id of the flow that a name in a shipped flow means. None if only that flow has the name."""
        id_ = shipped.find_id(name)
        if id_ is None or (id_ not in overriding and not {name, id_} & own_names):
            return None
        return overriding.get(id_) or (id_ if id_ not in own_names else SHIPPED_PREFIX + id_)

    waiting = [id_ for name in names if name not in own_names and (id_ := shipped.find_id(name)) is not None]
    flows: dict[str, FoundFlow] = {}
    while waiting:
        id_ = waiting.pop()
        if id_ in flows or id_ in overriding:
            continue
        file = shipped.files[id_.removeprefix(SHIPPED_PREFIX)]
        for flow in _read_file(SHIPPED_SOURCE, Root(shipped.root), file, known, problems, id_):
            ids_by_name = {use.name: other_id(use.name) for use in flow.nested}
            flows[id_] = flow.with_names({name: inner for name, inner in ids_by_name.items() if inner is not None})
            ids = [inner or shipped.find_id(name) for name, inner in ids_by_name.items()]
            waiting += [one for one in ids if one is not None and one.removeprefix(SHIPPED_PREFIX) in shipped.files]
    return [flows[id_] for id_ in sorted(flows)]


def _broken_flows(catalog: FlowCatalog, problems: list[Diagnostic]) -> set[str]:
    """Ids of flows that cannot be used: a nested flow is missing or broken, gets wrong params, or is too deep."""
    broken: set[str] = set()
    suggestions, flows_by_name = Suggestions(), dict[str, list[FoundFlow]]()
    for flow in catalog.found:
        for name in dict.fromkeys(flow_names(flow)):
            flows_by_name.setdefault(name, []).append(flow)
    every = {flow.id: flow for flow in reversed(catalog.found)} | catalog.flows
    calls: dict[str, dict[str, NestedFlow]] = {id_: {} for id_ in every}
    for flow in catalog.found:
        source, targets, wrong = Source(flow.file, flow.text), dict[str, FoundFlow](), list[Diagnostic]()
        for use in flow.nested:
            candidates = flows_by_name.get(use.name, [])
            usable = [other for other in candidates if catalog.flows.get(other.id) is other]
            target = flow_by_name(use.name, usable)
            callee = target or (candidates[0] if len(candidates) == 1 else None)
            if every[flow.id] is flow and callee is not None:
                calls[flow.id].setdefault(callee.id, use)
            if target is not None:
                targets[use.name] = target
                wrong += _param_problems(source, use, target, suggestions)
            elif candidates and not usable:
                wrong.append(_echo(flow, use, candidates[0]))
            else:
                near = None if candidates else suggestions.near(use.name, catalog.flows)
                message, hint = _missing(use, [other.id for other in usable], near)
                wrong.append(source.problem("flow-missing", use.place, message, hint))
        severity: Severity = "warning" if is_foreign(flow.file) else "error"
        for reference in dict.fromkeys(flow.inside):
            plan = targets[reference.flow].plan if reference.flow in targets else None
            if plan is not None and (problem := wrong_nested_reference(reference, plan)) is not None:
                hint = suggestions.near(problem.name, problem.known) or problem.hint
                wrong.append(source.problem(problem.code, reference.place, problem.message, hint, severity))
        problems += wrong
        broken.update([flow.id] if not is_usable(wrong) and catalog.flows.get(flow.id) is flow else [])
    for id_, target_id, code, message, hint in nesting_problems(calls):
        source = Source(every[id_].file, every[id_].text)
        problems.append(source.problem(code, calls[id_][target_id].place, message, hint))
        broken.update([id_] if id_ in catalog.flows else [])
    _mark_users(catalog, calls, broken, problems)
    return broken


def _param_problems(
    source: Source, use: NestedFlow, target: FoundFlow, suggestions: Suggestions
) -> Iterator[Diagnostic]:
    """Problems with the params that a step gives to its flow."""
    if target.plan is None or (params := target.plan.params) is None:
        return
    names = [param.name for param in params]
    for name, place in use.params if not target.plan.is_foreign else ():
        if name not in names:
            hint = f"its params: {some(names)}" if names else "it takes no params; remove this one"
            message = f"flow `{target.id}` has no param `{name}`"
            yield source.problem("param-unknown", place, message, suggestions.near(name, names) or hint)
    for param in params:
        if param.required and param.name not in dict(use.params):
            message = f"flow `{target.id}` needs the param `{param.name}`"
            yield source.problem("param-missing", use.place, message, f"add `{param.name}:` to `params`")


def _missing(use: NestedFlow, usable: list[str], near: str | None) -> tuple[str, str]:
    if usable:
        return f"`{use.name}` names several flows", f"write one of {some(usable)}"
    message = f"there is no flow `{use.name}`" if use.name.strip() else "the name of the flow is blank"
    return message, near or "write the path of its file below the flows folder, without extension"


def _echo(flow: FoundFlow, use: NestedFlow, target: FoundFlow) -> Diagnostic:
    message = f"flow `{target.id}` has errors, so `{flow.id}` cannot be used"
    return Source(flow.file, flow.text).echo(use.place, message, f"fix `{target.id}` first", target.file)


def _mark_users(
    catalog: FlowCatalog, calls: Mapping[str, Mapping[str, NestedFlow]], broken: set[str], problems: list[Diagnostic]
) -> None:
    """Mark flows that run a broken flow as broken too."""
    users: dict[str, list[str]] = {}
    for id_, targets in calls.items():
        for target in targets:
            users.setdefault(target, []).append(id_)
    waiting = sorted(broken)
    while waiting:
        target = waiting.pop()
        for user in users.get(target, ()):
            if user in catalog.flows and user not in broken:
                problems.append(_echo(catalog.flows[user], calls[user][target], catalog.flows[target]))
                broken.add(user)
                waiting.append(user)


def problems_at(paths: Iterable[str], catalog: FlowCatalog, known: FlowResources) -> list[Diagnostic]:
    """The problems of single flow files, from the catalog if it contains them, else from reading them alone."""
    problems: list[Diagnostic] = []
    known_files = {os.path.realpath(flow.file) for flow in catalog.found}
    for path in map(os.path.realpath, paths):
        if path in known_files:
            problems.extend(problem for problem in catalog.problems if os.path.realpath(problem.file) == path)
            continue
        try:
            source, wrong = decode(path, read_limited(path, MAX_BYTES))
        except Unreadable as error:
            problems.append(file_problem("file-unreadable", path, f"`{os.path.basename(path)}` {error.message}"))
            continue
        problems.extend(wrong)
        if not wrong:
            problems.extend(read_flow(source, os.path.splitext(os.path.basename(path))[0], known)[1].problems)
    return problems
