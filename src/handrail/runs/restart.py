"""Begin a run anew, from its start or from a phase, with the definitions as they are now.

The attempt before it stays as it is, on disk and readable. What it published and what nobody has changed since is
taken out of the project, so that it cannot pass for the work of the new attempt; its content is kept.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from handrail.contracts import NodeError
from handrail.errors import RefusedError
from handrail.expressions.tree import ABSENT
from handrail.flows.catalog import FlowCatalog, FoundFlow
from handrail.flows.paths import segment, top
from handrail.flows.plan import FlowPlan, Phase
from handrail.runs import machine
from handrail.runs.aside import digest_of_file
from handrail.runs.embedded.durable import Run
from handrail.runs.embedded.payloads import Payloads
from handrail.runs.embedded.recorder import Recorder
from handrail.runs.interpret import FlowFailed
from handrail.runs.machine import Event, RunState
from handrail.runs.request import About, read_about
from handrail.runs.runs import Runs
from handrail.source.values import Unresolved

Find = Callable[[str], FoundFlow]


@dataclass(frozen=True)
class Restarted:
    """What a restart did: what the definitions have become, what is kept, which files were put aside."""

    changes: list[str]
    kept: list[str]
    put_aside: list[str]


async def restart(runs: Runs, catalog: FlowCatalog, find: Find, id_: str, start: str | None) -> Restarted:
    """Make the next attempt at a run. It is for the caller to drive it."""
    folder = runs.attempt(id_)
    old = read_about(folder)
    old_plan = runs.plans(old)[old.flow]
    flow = find(old.flow)
    assert flow.plan is not None
    engine = runs.engine(id_, old, folder)
    with engine.held():
        request = replace(old.request, start=None, until=None)
        new = replace(runs.asked(catalog, flow, replace(request, start=start)), created=old.created)
        changes = changed(old_plan, flow.plan) if new.digest != old.digest else []
        kept = _before(flow.plan, start)
        following = os.path.join(os.path.dirname(folder), str(int(os.path.basename(folder)) + 1))
        await _seed(runs, engine, (old, new), kept, following)
        aside = _published(runs.project, engine, {segment(phase.id) for phase in kept})
        replace(new, request=request, aside=aside).write(following)
    return Restarted(changes, [phase.id for phase in kept], [path for path, _ in aside])


def _before(plan: FlowPlan, start: str | None) -> list[Phase]:
    if start is None:
        return []
    ids = [phase.id for phase in plan.phases]
    return list(plan.phases[: ids.index(start)])


async def _seed(runs: Runs, engine: Run, abouts: tuple[About, About], kept: list[Phase], folder: str) -> None:
    """Write the beginning of the new journal: all that the phases before the start have made."""
    if not kept:
        return
    old, new = abouts
    results = await _results(runs, engine, old, kept)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, "journal")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)  # a restart that was cut off before it counted
    recorder, payloads = Recorder(path, runs.clock), Payloads(folder)
    recorder.add(machine.RunStarted(new.flow, new.digest, None), durable=False)
    for phase in kept:
        for event in _told(phase, results[phase.id], engine, payloads):
            recorder.add(event, durable=False)
    recorder.flush(durable=True)
    recorder.close()


async def _results(runs: Runs, engine: Run, old: About, kept: list[Phase]) -> dict[str, dict[str, dict[str, object]]]:
    """What the old attempt's steps made. Everything before the start has to be behind it."""
    run, behind = engine.context.run, not_behind(engine.state, kept)
    if behind is not None:
        status = engine.state.phases.get(segment(behind), "not begun")
        message = f"phase `{behind}` of run `{run}` is {status}, so nothing can start behind it"
        raise RefusedError(message, f"`handrail restart {run} --from {behind}`")
    plans = runs.plans(old)
    wanted = segment(kept[-1].id)
    interpreter = runs.interpreter(engine, old, plans)
    ids = {phase.id for phase in kept}
    engine.nodes, engine.is_reading = {}, True  # nothing may be run, nothing put down
    try:
        for phase in plans[old.flow].phases:
            if phase.id in ids:
                await interpreter.phase(phase)
    except (FlowFailed, NodeError, Unresolved) as error:
        raise RefusedError(f"what was done up to `{wanted}` cannot be read: {error.message}") from error
    finally:
        engine.is_reading = False
    found = interpreter.values.steps
    for phase in kept:
        for step in phase.steps:
            if step.id not in found.get(phase.id, {}):
                message = f"step `{phase.id}/{step.id}` is new, so it has no result to keep"
                raise RefusedError(message, f"`handrail restart {run} --from {phase.id}`")
    return found


def not_behind(state: RunState, phases: Sequence[Phase]) -> str | None:
    """The first of these phases that is not behind a run, if there is one."""
    return next((p.id for p in phases if state.phases.get(segment(p.id)) not in ("done", "skipped")), None)


def _told(phase: Phase, results: dict[str, dict[str, object]], engine: Run, payloads: Payloads) -> list[Event]:
    path = segment(phase.id)
    if engine.state.phases[path] == "skipped":
        return [machine.PhaseSkipped(path, "kept from the attempt before")]
    events: list[Event] = [machine.PhaseStarted(path)]
    for step in phase.steps:
        at, result = f"{path}/{segment(step.id)}", results[step.id]
        if result["status"] != "done":
            events.append(machine.StepSkipped(at))
            continue
        value = None if result["value"] is ABSENT else result["value"]
        kept = payloads.keep(value)
        events += [machine.StepStarted(at), machine.NodeFinished(at, "", 0, kept.value, kept.payload)]
        known = engine.memory.published.items()
        events += [machine.ArtifactPublished(p, a) for p, many in known if (p + "/").startswith(at + "/") for a in many]
        events.append(machine.StepDone(at, False))
    return [*events, machine.PhaseDone(path)]


def _published(project: str, engine: Run, kept: set[str]) -> list[list[str]]:
    """What the old attempt published and nobody has changed since: (path, digest)."""
    made = [a for path, many in engine.memory.published.items() if top(path) not in kept for a in many]
    rows = [[a["path"], a["sha256"]] for a in made if a.get("isNew") and engine.is_newest(a)]
    return [[path, digest] for path, digest in rows if digest_of_file(os.path.join(project, path)) == digest]


def changed(old: FlowPlan, new: FlowPlan) -> list[str]:
    """What has become different between two plans of a flow, in a person's words."""
    before, after = ({phase.id: phase for phase in plan.phases} for plan in (old, new))
    told = [f"phase `{id_}` is gone" for id_ in before if id_ not in after]
    for id_, phase in after.items():
        if id_ not in before:
            told.append(f"phase `{id_}` is new")
        elif repr(phase) != repr(before[id_]):
            told.extend(_steps_changed(before[id_], phase) or [f"phase `{id_}` is different"])
    if repr(old.constants) != repr(new.constants):
        told.append("the constants are different")
    if repr(old.params) != repr(new.params):
        told.append("the parameters are different")
    return told or ["a flow that it runs is different, or only its text"]


def _steps_changed(old: Phase, new: Phase) -> list[str]:
    before, after = ({step.id: step for step in phase.steps} for phase in (old, new))
    told = [f"step `{new.id}/{id_}` is gone" for id_ in before if id_ not in after]
    told += [f"step `{new.id}/{id_}` is new" for id_ in after if id_ not in before]
    told += [
        f"step `{new.id}/{id_}` is different"
        for id_, step in after.items()
        if id_ in before and repr(before[id_]) != repr(step)
    ]
    return told
