"""All flows that were found, with their files and problems. A broken flow does not hide other flows."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from handrail.errors import DefinitionError, NotFound
from handrail.expressions.parse import Place
from handrail.flows.files import flow_files
from handrail.flows.found import FoundFlow, names_of, taken_ids, the_one
from handrail.flows.library import PromptFile
from handrail.flows.load import read_flow
from handrail.flows.nesting import nesting_problems
from handrail.flows.reading import Known, Nested, Suggestions
from handrail.flows.shipped import INSIDE, Shipped
from handrail.flows.shipped import SOURCE as SHIPPED
from handrail.flows.uses import chooses_late
from handrail.flows.within import references_inside, wrong_inside
from handrail.project import prefix_of
from handrail.source.dataclasses import dataclass, field
from handrail.source.diagnostics import Diagnostic, Severity, blame, has_errors, in_order, of_file
from handrail.source.files import MAX_BYTES, Root, Source, Unopened, decode
from handrail.source.plain import command_line, some
from handrail.source.suggest import nearest
from handrail.state.regular import Unreadable, read_regular


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
        return the_one(name, [flow for flow in self.flows.values() if name in names_of(flow)])

    def find(self, name: str) -> FoundFlow:
        flow = self.named(name)
        if flow is not None:
            return flow
        file = next((found.file for found in self.found if name in found.ids), None)
        if file is not None:
            hint = f"run `{command_line('handrail', 'validate', file)}`"
            why = blame(file, (*self.problems, *self.workflow_problems()))
            raise DefinitionError(f"flow `{name}` cannot be used: {why}", hint)
        close = nearest(name, self.flows, most=3)
        hint = f"did you mean {', '.join(f'`{n}`' for n in close)}?" if close else "`handrail list` shows all flows"
        raise NotFound(f"there is no flow `{name}`", hint)

    def warnings_of(self, flow: FoundFlow) -> list[Diagnostic]:
        """The warnings in the files of a flow and of all flows that it runs."""
        used, waiting = {flow.file}, [flow]
        while waiting:
            plan = waiting.pop().plan
            nested = [self.named(name) for name in plan.nested] if plan is not None else []
            new = [found for found in nested if found is not None and found.file not in used]
            used.update(found.file for found in new)
            waiting.extend(new)
        return [p for p in self.problems if p.severity == "warning" and p.file in used]


def read_flows(
    roots: Iterable[tuple[str, str]], known: Known, shipped: Shipped | None = None, wanted: str | None = None
) -> FlowCatalog:
    """All flows below the roots. If two have the same id, the first root wins; the first needs `overrides: true`.

    Of the shipped flows, only those are read that another flow runs, or that have the wanted name.
    """
    problems: list[Diagnostic] = []
    found = [flow for source, path in roots for flow in _read_root(source, path, known, problems)]
    if shipped is not None:
        found += _read_shipped(shipped, found, wanted, known, problems)
    usable: dict[str, FoundFlow] = {}
    for flow in found:
        if flow.plan is None:
            continue
        first = usable.setdefault(flow.id, flow)
        if first is not flow and first.plan is not None and not first.plan.overrides:
            message = f"there are two flows `{flow.id}`; the other is {_other(first, flow)}"
            hint = "rename one of them, or write `overrides: true` here; until then, only this one is used"
            problems.append(of_file("flow-id-twice", first.file, message, hint))
    problems.extend(taken_ids(usable.values()))
    catalog = FlowCatalog(usable, tuple(found), ())
    broken = _broken(catalog, problems)
    left = {id_: flow for id_, flow in usable.items() if id_ not in broken}
    return FlowCatalog(left, tuple(found), tuple(in_order(problems)), known.workflow_problems, known.prompts)


def _other(first: FoundFlow, flow: FoundFlow) -> str:
    """The name of the other file: relative to the common folder if both are from the same source."""
    if first.source != flow.source:
        return f"`{os.path.basename(flow.file)}` ({flow.source})"
    return f"`{os.path.relpath(flow.file, os.path.commonpath([first.file, flow.file]))}`"


def _read_root(source: str, path: str, known: Known, problems: list[Diagnostic]) -> Iterator[FoundFlow]:
    root = Root(path)
    for file in flow_files(path, problems):
        yield from _read_file(source, root, file, known, problems)


def _read_file(
    source: str, root: Root, file: str, known: Known, problems: list[Diagnostic], id_: str | None = None
) -> Iterator[FoundFlow]:
    """The flow in a file. Its id is its path below the root, unless another one is given."""
    name = os.path.relpath(file, root.path)
    opened = root.open(root.path, name)
    if isinstance(opened, Unopened):
        problems.append(of_file(opened.code, file, opened.message, opened.hint))
        return
    text, wrong = decode(file, opened.data)
    problems.extend(wrong)
    id_ = id_ or prefix_of(source) + os.path.splitext(name)[0]
    if wrong:
        yield FoundFlow(source=source, id=id_, file=file, plan=None, text="")
        return
    plan, job = read_flow(text, id_, known)
    problems.extend(job.found)
    nested, inside = tuple(job.nested), tuple(references_inside(job))
    yield FoundFlow(
        source=source, id=id_, file=file, plan=plan, text=text.text, nested=nested, inside=inside, also=tuple(job.also)
    )


def _read_shipped(
    shipped: Shipped, own: list[FoundFlow], wanted: str | None, known: Known, problems: list[Diagnostic]
) -> list[FoundFlow]:
    """The shipped flows that somebody names, and those that they run.

    In other flows, a name of another flow means that one. In shipped flows, it means the shipped flow, unless a flow
    with its id says that it `overrides` it.
    """
    taken = {name for flow in own for name in names_of(flow)}
    claims = {flow.id: shipped.id_of(flow.id) for flow in own if flow.plan is not None and flow.plan.overrides}
    overriding = {id_: own_id for own_id, id_ in claims.items() if id_ is not None}
    names = [use.name for flow in own for use in flow.nested] + ([wanted] if wanted is not None else [])
    if any(chooses_late(flow.plan) for flow in own if flow.plan is not None):
        names += shipped.files
    waiting = [id_ for name in names if name not in taken and (id_ := shipped.named(name)) is not None]
    found: dict[str, FoundFlow] = {}
    while waiting:
        id_ = waiting.pop()
        if id_ in found or id_ in overriding:
            continue
        file = shipped.files[id_.removeprefix(INSIDE)]
        for flow in _read_file(SHIPPED, Root(shipped.root), file, known, problems, id_):
            meant = {use.name: _shipped_id(use.name, shipped, taken, overriding) for use in flow.nested}
            found[id_] = flow.with_names({name: inner for name, inner in meant.items() if inner is not None})
            used = [inner or shipped.named(name) for name, inner in meant.items()]
            waiting += [one for one in used if one is not None and one.removeprefix(INSIDE) in shipped.files]
    return [found[id_] for id_ in sorted(found)]


def _shipped_id(name: str, shipped: Shipped, taken: Collection[str], overriding: Mapping[str, str]) -> str | None:
    """The id of the flow that a name in a shipped flow means. None if only that flow has the name.

    `overriding` has the ids of the flows that replace shipped flows.
    """
    id_ = shipped.named(name)
    if id_ is None or (id_ not in overriding and not {name, id_} & set(taken)):
        return None
    return overriding.get(id_) or (id_ if id_ not in taken else INSIDE + id_)


def _broken(catalog: FlowCatalog, problems: list[Diagnostic]) -> set[str]:
    """Ids of flows that cannot be used: a nested flow is missing or broken, gets wrong params, or is too deep."""
    broken: set[str] = set()
    suggestions = Suggestions()
    runs: dict[str, dict[str, Nested]] = {id_: {} for id_ in catalog.flows}
    every = {flow.id: flow for flow in reversed(catalog.found)} | catalog.flows
    calls: dict[str, dict[str, Nested]] = {id_: {} for id_ in every}
    called = _called(catalog)
    for flow in catalog.found:
        is_used, source = catalog.flows.get(flow.id) is flow, Source(flow.file, flow.text)
        targets: dict[str, FoundFlow] = {}
        for use in flow.nested:
            meant = called.get(use.name, [])
            usable = [other for other in meant if catalog.flows.get(other.id) is other]
            target = the_one(use.name, usable)
            if every[flow.id] is flow and (one := target or (meant[0] if len(meant) == 1 else None)) is not None:
                calls[flow.id].setdefault(one.id, use)
            if target is None:
                near = None if meant else suggestions.near(use.name, catalog.flows)
                if meant and not usable:
                    problems.append(_echo(flow, use, meant[0]))
                else:
                    message, hint = _missing(use, [other.id for other in usable], near)
                    problems.append(source.problem("flow-missing", use.place, message, hint))
                broken.update([flow.id] if is_used else [])
                continue
            targets[use.name] = target
            if is_used:
                runs[flow.id].setdefault(target.id, use)
            for code, place, message, hint in _param_problems(use, target, suggestions):
                problems.append(source.problem(code, place, message, hint))
                broken.update([flow.id] if is_used else [])
        wrong = list(_inside_problems(flow, source, targets, suggestions))
        problems.extend(wrong)
        broken.update([flow.id] if is_used and has_errors(wrong) else [])
    for id_, target_id, code, message, hint in nesting_problems(calls):
        problems.append(_at(every[id_], calls[id_][target_id], code, message, hint))
        broken.update([id_] if id_ in catalog.flows else [])
    _mark_users(catalog, runs, broken, problems)
    return broken


def _called(catalog: FlowCatalog) -> dict[str, list[FoundFlow]]:
    """The flows that each name may mean."""
    called: dict[str, list[FoundFlow]] = {}
    for flow in catalog.found:
        for name in dict.fromkeys(names_of(flow)):
            called.setdefault(name, []).append(flow)
    return called


def _inside_problems(
    flow: FoundFlow, source: Source, targets: Mapping[str, FoundFlow], suggestions: Suggestions
) -> Iterator[Diagnostic]:
    """References into the results of nested flows that name what these flows do not have."""
    for inside in dict.fromkeys(flow.inside):
        plan = targets[inside.flow].plan if inside.flow in targets else None
        wrong = wrong_inside(inside, plan) if plan is not None else None
        if wrong is not None:
            known = f"known: {', '.join(wrong.known[:8])}{', …' * (len(wrong.known) > 8)}"
            hint = suggestions.near(wrong.name, wrong.known) or known
            severity: Severity = "warning" if flow.is_foreign else "error"
            yield source.problem(wrong.code, inside.place, f"`{inside.path}`: {wrong.message}", hint, severity)


def _param_problems(use: Nested, target: FoundFlow, suggestions: Suggestions) -> Iterator[tuple[str, Place, str, str]]:
    """Problems with the params that a step gives to its flow: (code, place, message, hint)."""
    if target.plan is None or (params := target.plan.params) is None:
        return
    names = [param.name for param in params]
    for name, place in use.given if not target.plan.is_foreign else ():
        if name not in names:
            hint = (
                f"its params: {', '.join(names[:8])}{', …' * (len(names) > 8)}"
                if names
                else "it takes no params; remove this one"
            )
            message = f"flow `{target.id}` has no param `{name}`"
            hint = suggestions.near(name, names) or hint
            yield "param-unknown", place, message, hint
    given = {name for name, _ in use.given}
    for param in params:
        if param.required and param.name not in given:
            message = f"flow `{target.id}` needs the param `{param.name}`"
            yield "param-missing", use.place, message, f"add `{param.name}:` to `params`"


def _missing(use: Nested, usable: list[str], near: str | None) -> tuple[str, str]:
    if usable:
        return f"`{use.name}` names several flows", f"write one of {some(usable)}"
    message = f"there is no flow `{use.name}`" if use.name.strip() else "the name of the flow is blank"
    return message, near or "write the path of its file below the flows folder, without extension"


def _echo(flow: FoundFlow, use: Nested, target: FoundFlow) -> Diagnostic:
    message = f"flow `{target.id}` has errors, so `{flow.id}` cannot be used"
    return Source(flow.file, flow.text).echo(use.place, message, f"fix `{target.id}` first", target.file)


def _mark_users(
    catalog: FlowCatalog, runs: Mapping[str, Mapping[str, Nested]], broken: set[str], problems: list[Diagnostic]
) -> None:
    """Mark flows that run a broken flow as broken too."""
    users: dict[str, list[str]] = {}
    for id_, targets in runs.items():
        for target in targets:
            users.setdefault(target, []).append(id_)
    waiting = sorted(broken)
    while waiting:
        target = waiting.pop()
        for user in users.get(target, ()):
            if user not in broken:
                problems.append(_echo(catalog.flows[user], runs[user][target], catalog.flows[target]))
                broken.add(user)
                waiting.append(user)


def _at(flow: FoundFlow, use: Nested, code: str, message: str, hint: str) -> Diagnostic:
    return Source(flow.file, flow.text).problem(code, use.place, message, hint)


def problems_at(paths: Iterable[str], catalog: FlowCatalog, known: Known) -> list[Diagnostic]:
    """The problems of single flow files, from the catalog if it contains them, else from reading them alone."""
    found: list[Diagnostic] = []
    catalogued = {os.path.realpath(flow.file) for flow in catalog.found}
    for path in map(os.path.realpath, paths):
        if path in catalogued:
            found.extend(problem for problem in catalog.problems if os.path.realpath(problem.file) == path)
            continue
        try:
            source, wrong = decode(path, read_regular(path, MAX_BYTES))
        except Unreadable as error:
            found.append(of_file("file-unreadable", path, f"`{os.path.basename(path)}` {error.message}"))
            continue
        found.extend(wrong)
        if not wrong:
            found.extend(read_flow(source, os.path.splitext(os.path.basename(path))[0], known)[1].found)
    return found
