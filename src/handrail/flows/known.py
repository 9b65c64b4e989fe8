"""Collects what the flows of a project may use: registered nodes and checks, artifact kinds, schemas."""

from __future__ import annotations

from functools import cache

from handrail import registry
from handrail.artifacts.schemas import artifact_table, find_schema, project_schema_ids, schema_ids
from handrail.errors import HandrailError
from handrail.flows.reading import Known


def known_in(project: str | None = None) -> Known:
    """What flows may use. With a project, this includes the schemas of the project."""
    table = artifact_table()
    own = frozenset() if project is None else frozenset(project_schema_ids(project))
    return Known(
        nodes=registry.node_declarations(),
        checks=registry.checks(),
        prompts=frozenset(),
        artifact_kinds=frozenset(table.kinds),
        artifact_lists=frozenset(table.lists),
        schemas=schema_ids() | own,
        schema_problem=cache(lambda id_: _problem(id_, project) if project is not None and id_ in own else None),
    )


def _problem(id_: str, project: str) -> str | None:
    """What is wrong with a schema file of the project. None if it can be used."""
    try:
        find_schema(id_, project)
    except HandrailError as error:
        return error.message
    return None
