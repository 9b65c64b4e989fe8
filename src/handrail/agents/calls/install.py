"""Installs and removes an agent's stubs by the agent's recipe, and keeps a record of the changes.

Uninstalling restores a shared file byte for byte if nobody edited it since; otherwise it removes only our entries.
Installing again, or installing a newer version, starts from the files as they were before the first installation.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from typing import Any

import handrail
from handrail.app import App
from handrail.base.dataclasses import dataclass
from handrail.base.digest import file_digest
from handrail.base.errors import HandrailError
from handrail.base.files import is_below, make_private, mode_of, real_inside, replace, write_whole
from handrail.extensions.contracts import Market, Recipe, Stubs
from handrail.extensions.registry import Registry
from handrail.settings.environment import is_installed
from handrail.source import text_edits
from handrail.source.plain_text import some


@dataclass(frozen=True)
class FileChange:
    """One file that an installation changes. `text` is its new content; None removes the file."""

    path: str
    verb: str
    text: str | None


class Installer:
    """One installation of one agent, identified by the path of its record."""

    def __init__(self, agent: str, recipe: Recipe, record: str, project: str | None) -> None:
        self.agent = agent
        self.recipe = recipe
        self.record = record
        self.project = project
        self.next: dict[str, Any] = {}
        self.notes: list[str] = []

    def known(self) -> dict[str, Any]:
        try:
            with open(self.record, encoding="utf-8") as file:
                known = json.load(file)
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}

    @property
    def is_damaged(self) -> bool:
        """True if there is a record that cannot be read. Then the files in our places are ours: we wrote them."""
        return os.path.exists(self.record) and not self.known()

    def plan_install(self) -> list[FileChange]:
        """The changes that install this version; empty if it is already installed."""
        known = self.known()
        base = {path: self._without_our_entries(path, known) for path in self.recipe.shared()}
        try:
            after = {path: self.recipe.add(path, text) for path, text in base.items()}
            owned = self.recipe.owned(base)
        except ValueError as error:
            hint = "correct the file, then install again; nothing was touched"
            raise HandrailError(f"the settings cannot be changed: {error}", hint) from error
        wanted = {**owned, **{path: text for path, text in after.items() if text is not None}}
        notes = getattr(self.recipe, "notes", None)
        self.notes = list(notes(base)) if notes is not None else []
        self._refuse_links(wanted)
        self._refuse_foreign(owned, known)
        gone = [path for path in known.get("owned", []) if path not in wanted and os.path.lexists(path)]
        verbs = {path: "change" if os.path.lexists(path) else "create" for path in wanted}
        changes = [FileChange(path, verbs[path], text) for path, text in wanted.items() if _read(path) != text]
        self.next = {
            "owned": sorted(owned),
            "before": base,
            "after": after,
            "folders": self._new_folders([*wanted, self.record], known),
            "handrail": handrail.__version__,
        }
        return [*changes, *[FileChange(path, "remove", None) for path in gone]]

    def plan_uninstall(self) -> list[FileChange]:
        """The changes that remove the installation; empty if nothing is installed."""
        known = self.known()
        changes = [FileChange(path, "remove", None) for path in known.get("owned", []) if os.path.lexists(path)]
        for path in known.get("before", {}):
            current, restored = _read(path), self._without_our_entries(path, known)
            if current != restored:
                changes.append(FileChange(path, "restore" if restored is not None else "remove", restored))
        self.next = {}
        return changes

    def _without_our_entries(self, path: str, known: dict[str, Any]) -> str | None:
        """The content of a file without our entries; None if the file would not exist."""
        text = _read(path)
        if text is None or (path not in known.get("before", {}) and not self.is_damaged):
            return text
        before: str | None = known.get("before", {}).get(path)
        if known and text == known["after"][path]:
            return before
        try:
            return self.recipe.strip(path, text, before)
        except ValueError:
            return text

    def _refuse_links(self, wanted: dict[str, str]) -> None:
        """Refuse a project installation that would write outside of the project through a link.

        The user's own files may get entries about the project, too: their paths are not in the project.
        """
        if self.project is None:
            return
        for path in wanted:
            if is_below(path, self.project) and real_inside(self.project, path) is None:
                message = f"`{path}` is a link that leads out of the project"
                raise HandrailError(message, "remove the link, then install again; nothing was touched")

    def _refuse_foreign(self, owned: dict[str, str], known: dict[str, Any]) -> None:
        mine = set(owned) if self.is_damaged else set(known.get("owned", []))
        for path, text in owned.items():
            if os.path.lexists(path) and path not in mine and _read(path) != text:
                message = f"`{path}` already exists and does not belong to Handrail"
                raise HandrailError(message, "move it away, then install again; nothing was touched")

    def _new_folders(self, wanted: list[str], known: dict[str, Any]) -> list[str]:
        folders = set(known.get("folders", []))
        for path in wanted:
            folder = os.path.dirname(path)
            while not os.path.isdir(folder):
                folders.add(folder)
                folder = os.path.dirname(folder)
        return sorted(folders)

    def apply(self, changes: list[FileChange]) -> None:
        """Write the planned changes. The record is written first, so that an interrupted installation can be undone."""
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
            for folder in sorted(set(folders).difference(self.recipe.kept()), reverse=True):
                with contextlib.suppress(OSError):  # it contains other files
                    os.rmdir(folder)


def _read(path: str) -> str | None:
    """The text of a file with its own line endings; None if the file does not exist."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise HandrailError(f"`{path}` cannot be read: {error}", "nothing was touched") from error


def _write(path: str, text: str) -> None:
    """Replace the content of a file and keep its mode. Follows a link."""
    real = os.path.realpath(path)
    write_whole(real, text.encode(), durable=False, mode=mode_of(real))


def found_agents(registry: Registry, env: Mapping[str, str]) -> list[str]:
    """The agents that Handrail can be installed into and whose program is on the PATH, or chosen by a variable."""
    return [agent for agent in registry.installable() if program_is_there(registry, agent, env) is not False]


def program_is_there(registry: Registry, agent: str, env: Mapping[str, str]) -> bool | None:
    """True if the program of an agent is on the PATH; None if Handrail does not know its name."""
    known = agent in registry.executors()
    return is_installed(registry.executor(agent).PROGRAM, env) if known else None


def installer_for(app: App, agent: str, *, for_project: bool) -> Installer:
    project = app.project if for_project else None
    recipe = app.registry.installs(agent).recipe(app.env, project, app.stubs)
    return Installer(agent, recipe, app.places.installation(agent, project), project)


def compare(app: App, agent: str) -> tuple[list[str], dict[str, str | None]]:
    """What is not as `handrail install` made it in an agent, and settings that keep our hooks from running.

    The second value is the digest of each file that decides this.
    """
    found: list[str] = []
    digests: dict[str, str | None] = {}
    for for_project in (False, True):
        installer = installer_for(app, agent, for_project=for_project)
        recipe = installer.recipe
        paths = [installer.record, *installer.known().get("owned", ()), *recipe.shared(), *getattr(recipe, "reads", ())]
        digests |= {path: file_digest(path) for path in paths}
        if not os.path.lexists(installer.record):
            continue
        switches = getattr(recipe, "switched_off", None) or list
        found += [f"{setting} switches hooks off" for setting in switches()]
        try:
            paths = [change.path for change in installer.plan_install() if not _means_the_same(change)]
        except HandrailError as error:
            found.append(error.message)
        else:
            found += [f"not as `handrail install {agent}` writes it: {some(paths, 3)}"] if paths else []
    return list(dict.fromkeys(found)), digests


def _means_the_same(change: FileChange) -> bool:
    """True if a file has all that it would get, in another form: agents write their own settings anew."""
    texts = _read(change.path) or "", change.text or ""
    try:
        if change.path.endswith(".toml"):
            import tomllib  # a hook that starts a workflow imports this module

            one, other = map(tomllib.loads, texts)
        else:
            one, other = (json.loads(text_edits.without_comments(text)) for text in texts)
    except ValueError:
        return False
    return bool(one == other)


def write_marketplace(market: Market, folder: str) -> list[str]:
    """Write a plugin and a marketplace for machines where `handrail` is on the PATH. Returns the paths."""
    stubs = Stubs(("handrail", "hook"), ("handrail",), handrail.__version__)
    written = []
    for name, text in market.marketplace(stubs).items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        written.append(path)
    return written
