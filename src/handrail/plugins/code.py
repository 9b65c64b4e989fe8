"""The code of one plugin: whether it may be used, and its modules. A module is imported when it is first used."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from functools import cached_property
from typing import Any

from handrail import __version__
from handrail.errors import HandrailError
from handrail.plugins import trial
from handrail.plugins.content import Content, Unusable, read_content
from handrail.plugins.importing import Broken, import_folder, import_package
from handrail.plugins.manifest import Manifest
from handrail.plugins.search import Ground, Place, installation
from handrail.plugins.trial import Request, Tried
from handrail.plugins.trusted import TrustedCode
from handrail.project import file_name
from handrail.source.dataclasses import asdict
from handrail.state.files import write_whole

DETAILS = "`handrail plugins` shows everything that is wrong with it"


class PluginUntrusted(HandrailError):
    """The code of a plugin would have to run, and no person trusts it."""

    code = "plugin-untrusted"
    exit_code = 4


class PluginBroken(HandrailError):
    """A plugin cannot be used: it does not keep to the contract, or its code cannot be imported."""

    code = "plugin-broken"


class Code:
    """The modules of a plugin, and what keeps them from being used."""

    def __init__(self, place: Place, manifest: Manifest, ground: Ground) -> None:
        self.place = place
        self.manifest = manifest
        self.ground = ground
        self.rows = tuple(manifest.code())
        self._modules: dict[str, Any] = {}

    @cached_property
    def _read(self) -> Content | Unusable:
        """The files of the folder, read once: the bytes that are compared with the trusted ones are imported."""
        try:
            return read_content(self.place.folder)
        except Unusable as error:
            return error

    @property
    def content(self) -> Content | None:
        """The files of the folder; None if they cannot be read as a whole."""
        return self._read if isinstance(self._read, Content) else None

    @cached_property
    def refusal(self) -> HandrailError | None:
        """Why a person has to trust the code first; None if it is trusted. Imports nothing."""
        id_, folder, source = self.place.id, self.place.folder, self.place.source
        if source == "package" or not self.rows:
            return None
        now = self._read
        if isinstance(now, Unusable):
            return PluginBroken(
                f"the plugin `{id_}` cannot be trusted: {now}", "a plugin consists of files and folders"
            )
        if self.ground.trusts_call():
            return None
        store = TrustedCode(self.ground.state)
        if source == "project" and not store.project_is_trusted(self.ground.project):
            message = f"the plugin `{id_}` is part of a project that you do not trust"
            return PluginUntrusted(
                message, f"look at the project, then run `handrail trust` and `handrail plugin trust {id_}`"
            )
        before = store.find(folder)
        if before is None:
            hint = f"`handrail plugin trust {id_}` shows its files and asks you"
            return PluginUntrusted(f"the plugin `{id_}` runs code that you do not trust yet", hint)
        if before.digest != now.digest:
            hint = f"`handrail plugin trust {id_}` shows what changed and asks you"
            return PluginUntrusted(f"the plugin `{id_}` changed after you trusted it", hint)
        return None

    @cached_property
    def tried(self) -> Tried:
        """What the trial of the code found. It is repeated only if the files changed, or if it failed quickly."""
        if not self.rows:
            return Tried()
        kept = self._kept()
        return kept if kept is not None else self.try_again()

    def try_again(self) -> Tried:
        """Try the code now, and keep the result."""
        digest = self.content.digest if self.content is not None else ""
        path = tuple(installation(self.ground.project))
        request = Request(self.place.id, self.place.folder, self.place.package, digest, self.rows, path)
        found = trial.try_out(request, self.ground.env, trial.SECONDS)
        self.__dict__["tried"] = found
        if not found.problems or found.timed_out:
            try:
                os.makedirs(os.path.dirname(self._file), 0o700, exist_ok=True)
                write_whole(self._file, json.dumps(asdict(found)).encode(), durable=False)
            except OSError:
                pass
        return found

    def _kept(self) -> Tried | None:
        try:
            with open(self._file, encoding="utf-8") as file:
                data = json.load(file)
            return Tried(tuple(map(tuple, data["problems"])), data["printed"], data["timed_out"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    @cached_property
    def _file(self) -> str:
        """Where the result of the trial is kept: another file for other content, another Handrail or Python."""
        digest = self.content.digest if self.content is not None else str(_stamp(self.place.folder))
        parts = [digest, self.place.folder, self.rows, __version__, sys.version, sys.executable]
        key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]
        return os.path.join(self.ground.cache, "plugins", f"{file_name(self.place.id)}-{key}.json")

    def error(self) -> HandrailError | None:
        """Why the code cannot be used; None if it can. Tries the code if that is not known yet."""
        if self.refusal is not None:
            return self.refusal
        problems = self.tried.problems
        if not problems:
            return None
        kind, name, text = problems[0]
        what = "" if kind == "plugin" else f"{kind} `{self.place.id}/{name}`: "
        message = f"the plugin `{self.place.id}` is disabled: {what}{text}"
        return PluginBroken(message, DETAILS)

    def module(self, module: str) -> Any:
        """A module of the plugin. Raises `PluginUntrusted` or `PluginBroken`."""
        if module in self._modules:
            return self._modules[module]
        error = self.error()
        if error is not None:
            raise error
        try:
            self._modules[module] = self._load(module)
        except Broken as broken:
            message = f"the plugin `{self.place.id}` is disabled: `{module}` cannot be imported: {broken}"
            raise PluginBroken(message, DETAILS) from broken
        return self._modules[module]

    def _load(self, module: str) -> Any:
        if self.place.package:
            return import_package(f"{self.place.package}.{module}")
        if self.content is None:
            raise Broken("its files cannot be read")
        return import_folder(self.place.id, self.place.folder, self.content, module)


def _stamp(folder: str) -> tuple[int, int]:
    found = os.stat(folder)
    return found.st_mtime_ns, found.st_ino
