"""Every flow that was found, with where it was found and what is wrong with it. A broken one hides no other."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from handrail.diagnostics import Diagnostic, in_order
from handrail.driven.load import load_flow
from handrail.driven.plan import FlowPlan
from handrail.driven.reading import Known
from handrail.errors import DefinitionError, NotFound
from handrail.sourcefile import Root, Unopened, decode
from handrail.suggest import did_you_mean, nearest

ENDINGS = (".json", ".yaml", ".yml")
MAX_FLOWS = 5_000


class FoundFlow(NamedTuple):
    """A flow file and what came of it."""

    source: str
    id: str
    file: str
    plan: FlowPlan | None
    text: str


class FlowCatalog(NamedTuple):
    """What can be run (`flows`, by id), all that was found, and what is wrong."""

    flows: dict[str, FoundFlow]
    found: tuple[FoundFlow, ...]
    problems: tuple[Diagnostic, ...]

    def named(self, name: str) -> FoundFlow | None:
        """The flow of an id, or the only one whose file has this name."""
        if name in self.flows:
            return self.flows[name]
        same = [flow for flow in self.flows.values() if os.path.basename(flow.file) == name or _base(flow) == name]
        return same[0] if len(same) == 1 else None

    def find(self, name: str) -> FoundFlow:
        flow = self.named(name)
        if flow is not None:
            return flow
        if any(found.id == name for found in self.found):
            raise DefinitionError(f"flow `{name}` cannot be used: its file has errors", "run `handrail validate`")
        close = nearest(name, self.flows, most=3)
        hint = f"did you mean {', '.join(f'`{n}`' for n in close)}?" if close else "`handrail list` shows what there is"
        raise NotFound(f"there is no flow `{name}`", hint)


def _base(flow: FoundFlow) -> str:
    return os.path.splitext(os.path.basename(flow.file))[0]


def read_flows(roots: Iterable[tuple[str, str]], known: Known) -> FlowCatalog:
    """Everything below the roots; the first root wins, and a second flow of an id has to say that it overrides."""
    problems: list[Diagnostic] = []
    found = [flow for source, path in roots for flow in _read_root(source, path, known, problems)]
    usable: dict[str, FoundFlow] = {}
    for flow in found:
        if flow.plan is None:
            continue
        other = usable.setdefault(flow.id, flow)
        if other is not flow and other.plan is not None and not other.plan.overrides:
            message = f"flow `{flow.id}` is also in `{flow.file}`"
            hint = "rename one of them, or say `overrides: true` here"
            problems.append(Diagnostic("flow-id-twice", "error", other.file, 1, 1, message, hint))
    catalog = FlowCatalog(usable, tuple(found), ())
    broken = dict(_broken(catalog))
    problems.extend(broken.values())
    left = {id_: flow for id_, flow in usable.items() if id_ not in broken}
    return FlowCatalog(left, tuple(found), tuple(in_order(problems)))


def _read_root(source: str, path: str, known: Known, problems: list[Diagnostic]) -> Iterator[FoundFlow]:
    root = Root(path)
    for number, file in enumerate(_files(path)):
        if number >= MAX_FLOWS:
            problems.append(Diagnostic("too-many-folders", "error", path, 1, 1, f"more than {MAX_FLOWS} flows"))
            return
        name = os.path.relpath(file, path)
        opened = root.open(path, name)
        if isinstance(opened, Unopened):
            problems.append(Diagnostic(opened.code, "error", file, 1, 1, opened.message, opened.hint))
            continue
        text, wrong = decode(file, opened.data)
        problems.extend(wrong)
        id_ = os.path.splitext(name)[0]
        plan, found = (None, []) if wrong else load_flow(text, id_, known)
        problems.extend(found)
        yield FoundFlow(source, id_, file, plan, text.text)


def _files(path: str) -> list[str]:
    found: list[str] = []
    for folder, below, names in os.walk(path, followlinks=False):
        below.sort()
        found.extend(os.path.join(folder, name) for name in sorted(names) if name.endswith(ENDINGS))
        if len(found) > MAX_FLOWS:
            break
    return found


def _broken(catalog: FlowCatalog) -> Iterator[tuple[str, Diagnostic]]:
    """Flows that run one that is not there, or that run themselves by way of others."""
    runs: dict[str, list[str]] = {}
    for flow in catalog.flows.values():
        names = flow.plan.nested if flow.plan is not None else ()
        runs[flow.id] = []
        for name in names:
            target = catalog.named(name)
            if target is None:
                hint = did_you_mean(name, catalog.flows)
                yield flow.id, _at_name(flow, name, "flow-missing", f"there is no flow `{name}`", hint)
            else:
                runs[flow.id].append(target.id)
    for id_ in runs:
        if (circle := _circle(runs, id_)) is not None:
            message = f"flows run each other in a circle: {' → '.join(circle)}"
            yield id_, Diagnostic("flow-cycle", "error", catalog.flows[id_].file, 1, 1, message, "take one of them out")


def _at_name(flow: FoundFlow, name: str, code: str, message: str, hint: str | None) -> Diagnostic:
    lines = flow.text.split("\n")
    for number, line in enumerate(lines, 1):
        if name in line:
            return Diagnostic(code, "error", flow.file, number, line.index(name) + 1, message, hint, line, len(name))
    return Diagnostic(code, "error", flow.file, 1, 1, message, hint)


def _circle(runs: Mapping[str, list[str]], start: str) -> list[str] | None:
    """The way from a flow back to itself."""
    waiting: list[list[str]] = [[start]]
    seen: set[str] = set()
    while waiting:
        path = waiting.pop()
        for target in runs.get(path[-1], ()):
            if target == start:
                return [*path, start]
            if target not in seen:
                seen.add(target)
                waiting.append([*path, target])
    return None
