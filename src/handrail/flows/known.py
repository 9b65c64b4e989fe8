"""Collects what the flows of a project may use: registered nodes and checks, artifact kinds, schemas."""

from __future__ import annotations

from handrail import registry
from handrail.artifacts.schemas import artifact_table, project_schema_ids, schema_ids
from handrail.flows.reading import Known


def known_in(project: str | None = None) -> Known:
    """What flows may use. With a project, this includes the schemas of the project."""
    table = artifact_table()
    schemas = schema_ids() | (frozenset() if project is None else frozenset(project_schema_ids(project)))
    return Known(
        nodes=registry.node_declarations(),
        checks=registry.checks(),
        prompts=frozenset(),
        artifact_kinds=frozenset(table.kinds),
        artifact_lists=frozenset(table.lists),
        schemas=schemas,
    )
