"""Collects what the flows of a project may use: registered nodes and checks, artifact kinds, schemas."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache

from handrail import registry
from handrail.artifacts.schemas import (
    artifact_table,
    find_schema,
    plugin_schema_ids,
    project_schema_ids,
    schema_ids,
)
from handrail.errors import HandrailError
from handrail.flows.library import PromptFile
from handrail.flows.reading import Known
from handrail.state.files import real_inside


def known_in(project: str | None = None, prompts: Mapping[str, PromptFile] | None = None) -> Known:
    """What flows may use. With a project, this includes its schemas and where it is."""
    table = artifact_table()
    own = plugin_schema_ids() | (frozenset() if project is None else project_schema_ids(project))
    return Known(
        nodes=registry.node_declarations(),
        checks=registry.checks(),
        prompts=prompts or {},
        artifact_kinds=frozenset(table.kinds),
        artifact_lists=frozenset(table.lists),
        schemas=schema_ids() | own,
        schema_problem=cache(lambda id_: _problem(id_, project) if project is not None and id_ in own else None),
        unusable=registry.unusable,
        is_elsewhere=lambda path: project is not None and _is_elsewhere(path, project),
    )


def _is_elsewhere(path: str, project: str) -> bool:
    """True if an absolute path is outside of the project. A relative path may become a link while the flow runs."""
    return os.path.isabs(path) and real_inside(project, path) is None


def _problem(id_: str, project: str) -> str | None:
    """What is wrong with a schema file of the project. None if it can be used."""
    try:
        find_schema(id_, project)
    except HandrailError as error:
        return error.message
    return None
