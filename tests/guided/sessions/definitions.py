"""Small workflows for the machine tests, built without files."""

from __future__ import annotations

from handrail.guided.workflows.plan import ExitCheck, Plan
from handrail.guided.workflows.spec import PhaseSpec, Reference, WorkflowSpec, compile_plan

Entry = PhaseSpec | Reference


def phase(id_: str, checks: int = 0) -> PhaseSpec:
    """A phase with this many `file` checks."""
    proofs = tuple(ExitCheck("file", {"path": f"{id_}-{n}"}, f"{id_}-{n}") for n in range(checks))
    return PhaseSpec(
        id=id_,
        name=id_.title(),
        emoji="•",
        instructions=f"Do {id_} for {{task}}.",
        deny=None,
        allow=None,
        profiles=(),
        exit=proofs,
        file=f"{id_}.md",
    )


def run(key: str) -> Reference:
    return Reference(key, 1, 1, 1, None)


def workflow(key: str, *entries: Entry, loopable: bool = True) -> WorkflowSpec:
    return WorkflowSpec(
        key=key,
        file=f"{key}/workflow.yaml",
        name=key.upper(),
        command=key,
        show="user",
        loopable=loopable,
        initial_message="Begin.",
        entries=entries,
        texts={},
        session_name_length=50,
    )


def plan(*specs: WorkflowSpec) -> Plan:
    """The plan of the first workflow. The others are its possible subworkflows."""
    return compile_plan({spec.key: spec for spec in specs}, specs[0].key)


def replaced(spec: WorkflowSpec, *entries: Entry) -> WorkflowSpec:
    """The same workflow with other phases."""
    return spec._replace(entries=entries)
