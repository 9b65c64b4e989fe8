"""Settings of a user and of a project, read with the same care as definitions. The project's win.

A project's settings come with the repository, so nothing here may run code or widen what an agent may do.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from handrail.diagnostics import Diagnostic
from handrail.fields import Field, Reader, found, quoted, shape
from handrail.project import Places
from handrail.sourcefile import Root, Unopened, decode
from handrail.yamltree import parse

FILE = "settings.yaml"
MAX_IDLE_STOPS = 7  # hosts themselves give up after eight
SETTINGS = shape(
    "settings.yaml",
    "How Handrail behaves in this project, or for this user.",
    Field(
        "idleStops", ("integer",), "how often an agent that makes no progress is sent on before it may stop", default=3
    ),
)


class Settings(NamedTuple):
    idle_stops: int = 3


def read_settings(project: str, places: Places) -> tuple[Settings, list[Diagnostic]]:
    """The settings that hold here, and what is wrong in their files."""
    problems: list[Diagnostic] = []
    settings = Settings()
    for folder in (places.config, os.path.join(project, ".handrail")):
        settings = _read(folder, settings, problems)
    return settings, problems


def _read(folder: str, settings: Settings, problems: list[Diagnostic]) -> Settings:
    path = os.path.join(folder, FILE)
    if not os.path.lexists(path):
        return settings
    opened = Root(folder).open(folder, FILE)
    if isinstance(opened, Unopened):
        problems.append(Diagnostic(opened.code, "error", path, 1, 1, opened.message, opened.hint))
        return settings
    source, wrong = decode(path, opened.data)
    problems.extend(wrong)
    tree, troubles = parse(source.text)
    problems.extend(source.problem(t.code, (t.line, t.column, t.width), t.message, t.hint) for t in troubles)
    if wrong or tree is None:
        return settings
    if tree.kind != "mapping":
        message = f"`{FILE}` has to be `key: value` lines, found {found(tree)}"
        hint = "begin with a key: `idleStops: 3`"
        problems.append(source.problem("not-mapping", (tree.line, tree.column, tree.width), message, hint))
        return settings
    return _take(Reader(source, tree, SETTINGS, problems.append), settings)


def _take(reader: Reader, settings: Settings) -> Settings:
    stops = reader.integer("idleStops")
    if stops is None:
        return settings
    if not 0 <= stops <= MAX_IDLE_STOPS:
        node = reader.node.value["idleStops"]
        about = reader.shape.by_name["idleStops"].about
        message = f"`idleStops` has to be between 0 and {MAX_IDLE_STOPS}, found {quoted(node)}"
        reader.on(node, "bad-value", message, f"write {about}")
        return settings
    return settings._replace(idle_stops=stops)
