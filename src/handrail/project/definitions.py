"""The workflows and flows of a project, with those of the user and those that Handrail ships. Each is read once."""

from __future__ import annotations

import time
from functools import cached_property

from handrail.base.errors import DefinitionError, HandrailError, NotFound, RefusedError
from handrail.extensions.registry import built_in_nodes, workflow_folders
from handrail.settings import folders
from handrail.settings.folders import UserFolders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from handrail.driven.flows.catalog import FlowCatalog, FoundFlow
    from handrail.driven.flows.load_state import FlowResources
    from handrail.driven.flows.shipped_flows import ShippedFlows
    from handrail.extensions.plugins.project_plugins import Plugins
    from handrail.extensions.registry import Registry
    from handrail.guided.workflows.catalog import Catalog
    from handrail.guided.workflows.spec import WorkflowSpec
    from handrail.settings.settings import Settings
    from handrail.settings.trust import ProgramUse

MARKS = ("workflow:", "flow:")
SHIPPED = "builtin"
OWN = "project"


class Definitions:
    """All definitions. Modules are imported when they are used."""

    def __init__(
        self,
        project: str,
        env: Mapping[str, str],
        places: UserFolders,
        registry: Registry,
        trusts_call: Callable[[], bool] = lambda: False,
    ) -> None:
        self.project = project
        self.env = env
        self.places = places
        self.registry = registry
        self._trusts_call = trusts_call

    @cached_property
    def plugins(self) -> Plugins:
        """The plugins of this project. If there are none, this imports almost nothing."""
        from handrail.extensions.plugins.project_plugins import Plugins
        from handrail.extensions.plugins.search import PluginSite, search

        ground = PluginSite(self.project, self.places.state, self.places.cache, self.env, self._trusts_call)
        return Plugins(search(self.project, self.places), ground, built_in_nodes())

    @cached_property
    def catalog(self) -> Catalog:
        from handrail.guided.workflows.catalog import CatalogCache, read_catalog

        memory = CatalogCache(self.places.cache, time.time_ns, self.registry)
        of_agents = workflow_folders(self.env, self.places.home)
        roots = folders.workflow_roots(self.project, self.places, of_agents, self.plugins.folders("workflows"))
        catalog = read_catalog(roots, self.registry, memory, folders.orchestrating_roots(self.project, of_agents))
        memory.save()
        return catalog

    @cached_property
    def flows(self) -> FlowCatalog:
        from handrail.driven.flows.catalog import read_flows

        return read_flows(self.flow_roots, self.resources, self.shipped)

    @cached_property
    def flow_roots(self) -> list[tuple[str, str]]:
        return [*folders.flow_roots(self.project, self.places), *self.plugins.folders("flows")]

    @cached_property
    def shipped(self) -> ShippedFlows:
        from handrail.driven.flows.shipped_flows import ShippedFlows

        return ShippedFlows(folders.shipped_flows())

    def with_shipped(self, name: str) -> FlowCatalog:
        """The flows of this project, and the shipped flow that has this name, if no other flow has it."""
        from handrail.driven.flows.catalog import read_flows

        if self.flows.named(name) is None and self.shipped.find_id(name) is not None:
            self.flows = read_flows(self.flow_roots, self.resources, self.shipped, wanted=name)
        return self.flows

    @cached_property
    def resources(self) -> FlowResources:
        """What the flows of this project may use. The workflows are read only if a flow runs one."""
        from handrail.base.dataclasses import replace
        from handrail.driven.artifacts.schemas import find_schema
        from handrail.driven.flows.load import flow_resources
        from handrail.driven.flows.prompts import PromptLibrary

        roots = folders.prompt_roots(self.project, self.places, self.plugins.folders("prompts"))
        prompts = PromptLibrary(roots, lambda id_: find_schema(id_, self.project, self.registry.schema_folders()))
        problems = lambda: self.catalog.problems  # noqa: E731 - read only if a flow runs a broken workflow
        resources = flow_resources(self.registry, self.project, prompts)
        return replace(resources, workflow_problem=self._workflow_problem, workflow_problems=problems)

    def _workflow_problem(self, name: str) -> tuple[str, str | None, str | None] | None:
        try:
            self.catalog.startable(name)
        except DefinitionError as error:
            return error.message, error.hint, next(entry.file for entry in self.catalog.found if entry.key == name)
        except HandrailError as error:
            return error.message, error.hint, None
        return None

    def flow_named(self, name: str) -> FoundFlow:
        """The flow that `run NAME` runs: a flow of the project or the user, else a workflow of theirs.

        Else it is a shipped flow, else a shipped workflow. `workflow:NAME` is always a workflow, and `flow:NAME` always
        a flow.
        """
        kind = next((mark for mark in MARKS if name.startswith(mark)), "")
        plain_name = name.removeprefix(kind)
        flow = None if kind == MARKS[0] else self.flows.named(plain_name)
        is_own = flow is not None and not flow.is_shipped
        if kind == MARKS[0] or (not kind and not is_own and self._has_workflow(plain_name)):
            from handrail.driven.flows.load import flow_resources
            from handrail.driven.runs.request import workflow_as_flow

            spec = self.catalog.find(plain_name)
            self.catalog.refuse_hidden(spec)
            return workflow_as_flow(spec, flow_resources(self.registry))
        flow = flow or self.with_shipped(plain_name).named(plain_name)
        if flow is None:
            raise self._not_found(plain_name)
        if flow.plan is not None and not flow.plan.visible:
            hint = "remove `catalogVisibility: hidden` from its file to run it alone"
            if flow.is_shipped:
                hint = "`handrail list --shipped` shows those that run alone"
            raise RefusedError(f"the flow `{flow.id}` only runs inside other flows", hint)
        return flow

    def flow_of_run(self, id_: str) -> FoundFlow:
        """The flow with the id that a run recorded. A workflow may have the same name."""
        return self.flow_named(id_ if id_.startswith(MARKS) else f"{MARKS[1]}{id_}")

    def _has_workflow(self, name: str) -> bool:
        """True if a workflow is meant by this name, even one with errors, unless a flow with errors has it.

        A shipped flow wins over a shipped workflow.
        """
        specs = [spec for spec in self.catalog.workflows.values() if name in (spec.key, spec.command)]
        if specs and self.shipped.find_id(name) is not None:
            return any(self.catalog.source_of(spec) != SHIPPED for spec in specs)
        is_flow = any(name in entry.ids for entry in self.flows.found if not entry.is_shipped)
        return bool(specs) or (not is_flow and any(entry.key == name for entry in self.catalog.found))

    def is_flow(self, name: str) -> bool:
        """True if a flow that `run NAME` could mean has this name, even one with errors."""
        if self.shipped.find_id(name) is not None:
            return True
        return self.flows.named(name) is not None or any(name in entry.ids for entry in self.flows.found)

    def flow_names(self) -> list[str]:
        """The ids of all flows that run alone."""
        own = [id_ for id_, flow in self.flows.flows.items() if flow.plan is not None and flow.plan.visible]
        return [*own, *(entry.id for entry in self.shipped.entries() if entry.visible)]

    def _not_found(self, name: str) -> HandrailError:
        from handrail.source.suggestions import did_you_mean

        if any(name in entry.ids for entry in self.flows.found):
            self.flows.find(name)
        keys = {key for spec in self.catalog.workflows.values() for key in (spec.key, spec.command)}
        names = [*self.flows.flows, *sorted(keys), *self.shipped.files]
        hint = did_you_mean(name, names) or "`handrail list` shows what there is"
        return NotFound(f"there is no flow and no workflow `{name}`", hint)

    def programs_of_workflow(self, spec: WorkflowSpec) -> list[ProgramUse]:
        """What the exit checks of a workflow and its subworkflows would run."""
        from handrail.guided.sessions.exit_checks import workflow_programs

        return workflow_programs(self.catalog.with_subworkflows(spec), self.registry)

    def programs_of_flow(self, flow: FoundFlow) -> list[ProgramUse]:
        """What a run of this flow would run, with the exit checks of the workflows in it."""
        from handrail.driven.flows.overview import programs_of

        if flow.plan is None:
            return []
        return programs_of(flow.plan, self.flows.plan_named, self._programs_of_named)

    def _programs_of_named(self, workflow: str) -> list[ProgramUse]:
        try:
            return self.programs_of_workflow(self.catalog.find(workflow))
        except HandrailError:  # there is none: the step itself is named
            return []

    def own_programs(self) -> list[ProgramUse]:
        """What the definitions of the project itself would run. Those of the user and of Handrail are left out."""
        from handrail.settings.trust import unique_programs

        specs = [spec for spec in self.catalog.workflows.values() if self.catalog.source_of(spec) == OWN]
        flows = [flow for flow in self.flows.flows.values() if flow.source == OWN]
        programs = [program for spec in specs for program in self.programs_of_workflow(spec)]
        return unique_programs([*programs, *(program for flow in flows for program in self.programs_of_flow(flow))])

    def programs_of_project(self, settings: Settings) -> list[ProgramUse]:
        """What the definitions of the project and these settings would run."""
        from handrail.settings.trust import ProgramUse
        from handrail.source.plain_text import command_line

        setup = [ProgramUse("program", command_line(*words), "worktree", "") for words in settings.worktree.setup]
        check = [ProgramUse("program", command_line(*settings.check), "check", "")] if settings.check else []
        return [*self.own_programs(), *setup, *check]
