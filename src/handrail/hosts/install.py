"""Puts an agent's stubs in place and takes them out again, by the agent's recipe, with a record of what was done.

A file of somebody else that nobody touched since comes back byte for byte; one that was edited meanwhile loses
our entries and nothing else. Installing twice, or a newer version over an older one, starts from what was there
before the first.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

import handrail
from handrail import registry
from handrail.app import App
from handrail.contracts import Recipe, Stubs
from handrail.errors import HandrailError
from handrail.project import file_name
from handrail.state.files import make_private, mode_of, real_inside, replace, write_whole


@dataclass(frozen=True)
class Change:
    """One file that an installation touches: `text` is its new content, nothing when it goes."""

    path: str
    verb: str
    text: str | None


class Installer:
    """One installation of one agent, known by its record."""

    def __init__(self, agent: str, recipe: Recipe, record: str, project: str | None) -> None:
        self.agent = agent
        self.recipe = recipe
        self.record = record
        self.project = project
        self.next: dict[str, Any] = {}

    def known(self) -> dict[str, Any]:
        try:
            with open(self.record, encoding="utf-8") as file:
                known = json.load(file)
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}

    def plan_install(self) -> list[Change]:
        """What has to change so that this version is installed; nothing when it is."""
        known = self.known()
        base = {path: self._without_ours(path, known) for path in self.recipe.shared()}
        try:
            after = {path: self.recipe.add(path, text) for path, text in base.items()}
            owned = self.recipe.owned(base)
        except ValueError as error:
            hint = "correct the file, then install again; nothing was touched"
            raise HandrailError(f"settings cannot be changed: {error}", hint) from error
        wanted = {**owned, **after}
        self._refuse_links(wanted)
        self._refuse_foreign(owned, known)
        gone = [path for path in known.get("owned", []) if path not in wanted and os.path.lexists(path)]
        changes = [_change(path, text) for path, text in wanted.items() if _read(path) != text]
        self.next = {
            "owned": sorted(owned),
            "before": base,
            "after": after,
            "folders": self._new_folders([*wanted, self.record], known),
        }
        return [*changes, *[Change(path, "remove", None) for path in gone]]

    def plan_uninstall(self) -> list[Change]:
        """What has to change so that no trace is left; nothing when there is none."""
        known = self.known()
        changes = [Change(path, "remove", None) for path in known.get("owned", []) if os.path.lexists(path)]
        for path in known.get("before", {}):
            now, then = _read(path), self._without_ours(path, known)
            if now != then:
                changes.append(Change(path, "restore" if then is not None else "remove", then))
        self.next = {}
        return changes

    def _without_ours(self, path: str, known: dict[str, Any]) -> str | None:
        """The file as it would be without us; nothing where there would be none."""
        now = _read(path)
        if path not in known.get("before", {}) or now is None:
            return now
        before: str | None = known["before"][path]
        if now == known["after"][path]:
            return before
        try:
            return self.recipe.strip(path, now, before)
        except ValueError:
            return now

    def _refuse_links(self, wanted: dict[str, str]) -> None:
        """A repository may not lead us out of itself: no file of a project's installation is written elsewhere."""
        if self.project is None:
            return
        for path in wanted:
            if real_inside(self.project, path) is None:
                message = f"`{path}` is a link that leads out of the project"
                raise HandrailError(message, "remove the link, then install again; nothing was touched")

    def _refuse_foreign(self, owned: dict[str, str], known: dict[str, Any]) -> None:
        mine = set(known.get("owned", []))
        for path, text in owned.items():
            if os.path.lexists(path) and path not in mine and _read(path) != text:
                message = f"`{path}` is there already and is not Handrail's"
                raise HandrailError(message, "move it away, then install again; nothing was touched")

    def _new_folders(self, wanted: list[str], known: dict[str, Any]) -> list[str]:
        folders = set(known.get("folders", []))
        for path in wanted:
            folder = os.path.dirname(path)
            while not os.path.isdir(folder):
                folders.add(folder)
                folder = os.path.dirname(folder)
        return sorted(folders)

    def apply(self, changes: list[Change]) -> None:
        """Write what was planned: the record first, so that a crash half-way can be undone."""
        folders = self.next.get("folders") or self.known().get("folders", [])
        if self.next:
            make_private(os.path.dirname(self.record))
            replace(self.record, json.dumps(self.next, ensure_ascii=False).encode(), durable=True)
        for change in changes:
            if change.text is None:
                os.unlink(change.path)
            else:
                os.makedirs(os.path.dirname(change.path), exist_ok=True)
                _write(change.path, change.text)
        if not self.next:
            if os.path.exists(self.record):
                os.unlink(self.record)
            for folder in sorted(folders, reverse=True):
                _remove_empty(folder)


def _change(path: str, text: str) -> Change:
    return Change(path, "change" if os.path.lexists(path) else "create", text)


def _read(path: str) -> str | None:
    """The text of a file with its own line ends; nothing where there is none."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise HandrailError(f"`{path}` cannot be read: {error}", "nothing was touched") from error


def _write(path: str, text: str) -> None:
    """Replace a file, through a link if it is one, and keep its mode."""
    real = os.path.realpath(path)
    write_whole(real, text.encode(), durable=False, mode=mode_of(real))


def _remove_empty(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:  # somebody put something there
        return


def installer_for(app: App, agent: str, *, for_project: bool) -> Installer:
    """What puts our stubs into an agent, for the user or for this project only."""
    project = app.project if for_project else None
    recipe = registry.host(agent).recipe(app.env, project, app.stubs)
    scope = file_name(project) if project else "user"
    return Installer(agent, recipe, os.path.join(app.places.state, "installed", f"{agent}@{scope}.json"), project)


def write_marketplace(agent: str, folder: str) -> list[str]:
    """Write a plugin and a marketplace for machines on which `handrail` is a command."""
    stubs = Stubs(("handrail", "hook"), ("handrail",), handrail.__version__)
    written = []
    for name, text in registry.market(agent).marketplace(stubs).items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        written.append(path)
    return written
