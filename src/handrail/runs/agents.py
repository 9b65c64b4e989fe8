"""Finds what will certainly run, and steps of it that no agent is chosen for, before a run exists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from handrail import registry
from handrail.errors import RefusedError
from handrail.expressions.tree import Const
from handrail.flows.outline import Finder, child_of
from handrail.flows.paths import segment
from handrail.flows.plan import FlowPlan, Phase, Step
from handrail.flows.spec import MAX_DEPTH
from handrail.process.chosen import is_installed
from handrail.settings.routes import Own, Route
from handrail.source.agents import AcpAgents, NoSuchAgent, agent_named
from handrail.source.dataclasses import dataclass
from handrail.source.suggest import did_you_mean

Router = Callable[[str | None, Own], Route | None]


@dataclass(frozen=True)
class Search:
    """Looks through a flow and its nested flows. `find` returns a flow by name, `route` the agent of a step.

    `acp` are the agents of the user's settings.
    """

    find: Finder
    route: Router
    acp: AcpAgents

    def refuse(self, plan: FlowPlan, phases: list[Phase]) -> None:
        """Raise `RefusedError` for the first step that will certainly run, and has no agent or an unknown one."""
        known = registry.executors()
        for path, step in self._certain(phases, "", 0):
            if step.node not in registry.nodes() or not registry.nodes()[step.node].NODE.routed:
                continue
            own = own_of(step)
            route = None if own is None else self.route(step.routing_group, own)
            if own is not None and route is None:
                if registry.nodes()[step.node].NODE.can_lack_agent:
                    continue
                hint = f"choose one: `--agent NAME` ({', '.join(known)}), Agents in a launch form, or `agent: NAME` in"
                hint += " `.handrail/settings.yaml`"
                raise RefusedError(f"step `{path}` of `{plan.id}` needs an agent, and none is chosen", hint)
            if route is not None and not registry.has_executor(route.agent):
                hint = did_you_mean(route.agent, known) or f"known: {', '.join(known)}"
                raise RefusedError(f"step `{path}` of `{plan.id}` needs `{route.agent}`, which is no agent", hint)
            if route is not None:
                registry.refuse_unusable([route.agent])
                self._refuse_unnamed(route.agent, f"step `{path}` of `{plan.id}` needs an agent")

    def _refuse_unnamed(self, agent: str, why: str) -> None:
        try:
            agent_named(agent, self.acp)
        except NoSuchAgent as error:
            raise RefusedError(f"{why}, and {error.message}", error.hint) from None

    def _certain(self, phases: list[Phase], base: str, depth: int) -> Iterator[tuple[str, Step]]:
        """The steps that run whatever the results of others are, up to the first that may stop the flow."""
        for phase, step in _certain_steps(phases):
            path = f"{base}{segment(phase.id)}/{segment(step.id)}"
            yield path, step
            child = child_of(step, self.find) if depth < MAX_DEPTH else None
            if child is not None:
                yield from self._certain(list(child.phases), f"{path}/", depth + 1)


def refuse_unusable(plans: Iterable[FlowPlan]) -> None:
    """Raise an error if a step or an expectation of these flows is of a plugin that cannot be used now."""
    steps = [step for plan in plans for phase in plan.phases for step in phase.steps]
    registry.refuse_unusable(name for step in steps for name in (step.node, *(one.kind for one in step.expect or ())))


def certain_flows(plan: FlowPlan, find: Finder) -> list[FlowPlan]:
    """The flow and the nested flows that run whatever the results of steps are, each once."""
    found, waiting = {plan.id: plan}, [plan]
    while waiting:
        for _, step in _certain_steps(waiting.pop().phases):
            child = child_of(step, find)
            if child is not None and child.id not in found:
                found[child.id] = child
                waiting.append(child)
    return list(found.values())


def _certain_steps(phases: Iterable[Phase]) -> Iterator[tuple[Phase, Step]]:
    for phase in phases:
        if phase.guards or phase.when is not None:
            continue
        for step in phase.steps:
            if step.when is None:
                yield phase, step
            if step.stop_if is not None:
                return


def absent(plans: Iterable[FlowPlan], route: Router, env: Mapping[str, str]) -> list[str]:
    """Which agents of these flows are not installed, in words: a warning, because their steps may never be reached.

    Agents of plugins are left out, because their programs are known only by running the code of the plugin.
    """
    found: dict[str, str] = {}
    steps = [(phase, step) for plan in plans for phase in plan.phases for step in phase.steps]
    every = {id(step): (f"{phase.shape or phase.id}/{step.id}", step) for phase, step in steps}  # rounds share steps
    for path, step in every.values():
        node, own = registry.nodes().get(step.node), own_of(step)
        chosen = route(step.routing_group, own) if node is not None and node.NODE.routed and own is not None else None
        if chosen is not None and registry.is_built_in(chosen.agent):
            found.setdefault(chosen.agent, path)
    programs = {agent: registry.executor(agent).PROGRAM for agent in found}
    return [
        f"`{programs[agent]}` is not installed or not on the PATH, and the step `{step}` needs it"
        for agent, step in found.items()
        if not is_installed(programs[agent], env)
    ]


def own_of(step: Step) -> Own | None:
    """The agent and the model that a step sets; None if only the run knows them."""
    agent, model = step.params.get("executor", Const(None)), step.params.get("model", Const(None))
    if not isinstance(agent, Const) or not isinstance(model, Const):
        return None
    return (agent.value or None, model.value or None)
