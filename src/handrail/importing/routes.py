"""Takes over AgentWeaver's named presets and the routes of flows into the user's settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator

from handrail import SETTINGS_FILE
from handrail.agentweaver.reading import FOLDER, Broken
from handrail.agentweaver.routing import FILE, Entry, read_routing
from handrail.importing.report import Item
from handrail.settings import read_user_settings, shipped_presets
from handrail.source.dataclasses import dataclass
from handrail.source.plain import one_line
from handrail.source.yamledit import add_entries, entry_lines
from handrail.state.files import make_private, mode_of, write_whole

SECTIONS = {"preset": "presets", "routes of a flow": "flows"}
"""What is taken over, and the key in the settings that gets it."""


@dataclass(frozen=True)
class Target:
    """Where routes go. `flow_id` is the id of a flow by AgentWeaver's key for it; None if there is none here."""

    config: str
    agents: Collection[str]
    flow_id: Callable[[str], str | None]
    is_dry: bool


def presets_for(home: str, target: Target) -> dict[str, dict[str, str]]:
    """All presets after an import: those of the settings, of AgentWeaver's file and of Handrail. The first wins."""
    try:
        taken = read_routing(os.path.join(home, FOLDER, FILE)).presets
    except Broken:
        taken = {}
    usable = {name: entry.routes for name, entry in taken.items() if entry.why is None and _unfit(name) is None}
    written = {name: {group: str(route) for group, route in routes.items()} for name, routes in usable.items()}
    return {**shipped_presets(), **written, **read_user_settings(target.config).presets}


def take_routes(home: str, target: Target) -> Iterator[Item]:
    """Take over what the file of the user has."""
    path = os.path.join(home, FOLDER, FILE)
    if not os.path.lexists(path):
        return
    try:
        found = read_routing(path)
    except Broken as error:
        yield Item(kind="routing", name=FILE, path=path, result="left", note=f"it {error.message}")
        return
    settings = read_user_settings(target.config)
    yield from _take("preset", found.presets, settings.presets, path, target)
    flows: dict[str, Entry] = {}
    for key, entry in found.flows.items():
        id_ = target.flow_id(key)
        flows[id_ or key] = entry if id_ is not None else Entry(why="Handrail has no such flow")
    yield from _take("routes of a flow", flows, settings.flows, path, target)
    if found.last_used:
        note = "the last choice of a person is no setting; `--preset` or `--agent` chooses, or `flows` in the settings"
        yield Item(kind="last choice", name=", ".join(found.last_used[:5]), path=path, result="left", note=note)


def _take(
    kind: str, entries: dict[str, Entry], present: dict[str, dict[str, str]], path: str, target: Target
) -> Iterator[Item]:
    """Take over one section. All entries that can be taken are written at once."""
    new: dict[str, dict[str, str]] = {}
    for name, entry in entries.items():
        routes = {group: str(route) for group, route in entry.routes.items()}
        why = entry.why or _unknown(entry, target.agents) or _unfit(name)
        if why is None and present.get(name) == routes:
            yield Item(kind=kind, name=name, path=path, result="already", note="your settings have it")
        elif why is None and name in present:
            note = "your settings have other routes under this name"
            yield Item(kind=kind, name=name, path=path, result="left", note=note)
        elif why is not None:
            yield Item(kind=kind, name=one_line(name)[:80], path=path, result="left", note=why)
        else:
            new[name] = routes
    if new:
        yield from _written(kind, new, path, target)


def _unknown(entry: Entry, agents: Collection[str]) -> str | None:
    unknown = {route.agent for route in entry.routes.values()} - set(agents)
    return f"there is no agent `{one_line(min(unknown))[:80]}`" if unknown else None


def _unfit(name: str) -> str | None:
    is_fit = name.strip() and len(name) <= 80 and name.isprintable()
    return None if is_fit else "its name is empty, too long or not printable"


def _written(kind: str, new: dict[str, dict[str, str]], path: str, target: Target) -> Iterator[Item]:
    settings = os.path.realpath(os.path.join(target.config, SETTINGS_FILE))
    why = _write(settings, SECTIONS[kind], new, is_dry=target.is_dry)
    for name, routes in new.items():
        if why is None:
            note = f"`{SECTIONS[kind]}` in `{settings}`"
            yield Item(kind=kind, name=name, path=path, result="taken", note=note)
        else:
            line = entry_lines({name: routes})[0]
            note = f"`{settings}` cannot be edited ({why}); write below `{SECTIONS[kind]}:` yourself: {line}"
            yield Item(kind=kind, name=name, path=path, result="left", note=note)


def _write(path: str, section: str, new: dict[str, dict[str, str]], *, is_dry: bool) -> str | None:
    """Write entries to the settings. Returns why that is not possible, or None."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
    except FileNotFoundError:
        text = ""
    except (OSError, UnicodeDecodeError):
        return "it cannot be read"
    try:
        edited = add_entries(text, section, new)
    except ValueError as error:
        return str(error)
    if not is_dry:
        make_private(os.path.dirname(path))
        write_whole(path, edited.encode(), durable=True, mode=mode_of(path))
    return None
