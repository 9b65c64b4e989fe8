"""The code of one plugin: whether a person trusts it, its modules, and errors that name the plugin.

Code is trusted by its content: a record has the digest of all files, and a copy of them, which shows later what
changed. The records are in Handrail's state folder, beside those of trusted projects. A module is imported when it is
first used. Nodes and checks are wrapped, so that an error in one of them names the plugin.
"""

from __future__ import annotations

import base64
import contextlib
import difflib
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from handrail import __version__
from handrail.base.dataclasses import asdict
from handrail.base.errors import HandrailError
from handrail.base.files import make_private, read_regular, refuse_shared, remove_record, replace, write_whole
from handrail.extensions.contracts.check import Check, CheckContext, Finding
from handrail.extensions.contracts.node import Exhausted, Node, NodeContext, NodeError, Waiting, Work
from handrail.extensions.plugins import code_import
from handrail.extensions.plugins.code_import import (
    ImportFailed,
    PluginContent,
    TrialRequest,
    TrialResult,
    UnusableFolder,
)
from handrail.extensions.plugins.manifest import PluginManifest
from handrail.extensions.plugins.search import PluginPlace, PluginSite, folder_stamp, installation
from handrail.settings.folders import file_name
from handrail.settings.trust import TRUST_FOLDER, TrustStore


class TrustedCode:
    """The records of trusted plugin folders. `state` is Handrail's state folder."""

    def __init__(self, state: str) -> None:
        self.state = state
        self.folder = os.path.join(state, TRUST_FOLDER, "plugins")

    def project_is_trusted(self, project: str) -> bool:
        return TrustStore(self.state).find(project) is not None

    def find(self, plugin: str) -> PluginContent | None:
        """The files of a plugin's folder as they were trusted; None if they never were."""
        refuse_shared(self.state, self.folder)
        try:
            data: Any = json.loads(read_regular(self._file(plugin)))
            if data["folder"] != os.path.realpath(plugin):
                return None
            return PluginContent({str(name): base64.b64decode(text) for name, text in data["files"].items()})
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def grant(self, plugin: str, content: PluginContent, at: float) -> None:
        refuse_shared(self.state, self.folder)
        make_private(self.folder)
        files = {name: base64.b64encode(data).decode() for name, data in content.files.items()}
        record = {"folder": os.path.realpath(plugin), "digest": content.digest, "at": at, "files": files}
        replace(self._file(plugin), json.dumps(record).encode() + b"\n", durable=True)

    def revoke(self, plugin: str) -> bool:
        """Remove the record of a folder. False if there was none."""
        refuse_shared(self.state, self.folder)
        return remove_record(self._file(plugin))

    def _file(self, plugin: str) -> str:
        return os.path.join(self.folder, f"{file_name(os.path.realpath(plugin))}.json")


def difference(before: PluginContent, now: PluginContent) -> Iterator[str]:
    """What changed between two states of a folder, as lines of a unified diff."""
    for name in sorted(before.files.keys() | now.files.keys()):
        old, new = before.files.get(name), now.files.get(name)
        if old == new:
            continue
        first, second = _lines(old), _lines(new)
        if first is None or second is None:
            yield f"binary file {name} differs"
            continue
        begin = os.devnull if old is None else f"a/{name}"
        end = os.devnull if new is None else f"b/{name}"
        yield from difflib.unified_diff(first, second, begin, end, lineterm="")


def _lines(data: bytes | None) -> list[str] | None:
    """The lines of a text; None if it is no text."""
    try:
        return (data or b"").decode("utf-8").splitlines()
    except UnicodeDecodeError:
        return None


DETAILS = "`handrail plugins` shows everything that is wrong with it"


class PluginUntrusted(HandrailError):
    """The code of a plugin would have to run, and no person trusts it."""

    code = "plugin-untrusted"
    exit_code = 4


class PluginBroken(HandrailError):
    """A plugin cannot be used: it does not keep to the contract, or its code cannot be imported."""

    code = "plugin-broken"


class PluginCode:
    """The modules of a plugin, and what keeps them from being used."""

    def __init__(self, place: PluginPlace, manifest: PluginManifest, ground: PluginSite) -> None:
        self.place = place
        self.manifest = manifest
        self.ground = ground
        self.rows = tuple(manifest.code())
        self._modules: dict[str, Any] = {}

    @cached_property
    def _read(self) -> PluginContent | UnusableFolder:
        """The files of the folder, read once: the bytes that are compared with the trusted ones are imported."""
        try:
            return code_import.read_content(self.place.folder)
        except UnusableFolder as error:
            return error

    @property
    def content(self) -> PluginContent | None:
        """The files of the folder; None if they cannot be read as a whole."""
        return self._read if isinstance(self._read, PluginContent) else None

    @cached_property
    def refusal(self) -> HandrailError | None:
        """Why a person has to trust the code first; None if it is trusted. Imports nothing."""
        id_, folder, source = self.place.id, self.place.folder, self.place.source
        if source == "package" or not self.rows:
            return None
        now = self._read
        if isinstance(now, UnusableFolder):
            message = f"the plugin `{id_}` cannot be trusted: {now}"
            return PluginBroken(message, "a plugin consists of files and folders")
        if self.ground.trusts_call():
            return None
        store = TrustedCode(self.ground.state)
        if source == "project" and not store.project_is_trusted(self.ground.project):
            hint = f"look at the project, then run `handrail trust` and `handrail plugins trust {id_}`"
            return PluginUntrusted(f"the plugin `{id_}` is part of a project that you do not trust", hint)
        before = store.find(folder)
        if before is None:
            hint = f"`handrail plugins trust {id_}` shows its files and asks you"
            return PluginUntrusted(f"the plugin `{id_}` runs code that you do not trust yet", hint)
        if before.digest != now.digest:
            hint = f"`handrail plugins trust {id_}` shows what changed and asks you"
            return PluginUntrusted(f"the plugin `{id_}` changed after you trusted it", hint)
        return None

    @cached_property
    def tried(self) -> TrialResult:
        """What the trial of the code found. It is repeated only if the files changed, or if it failed quickly."""
        if not self.rows:
            return TrialResult()
        return self._recorded_trial() or self.try_again()

    def try_again(self) -> TrialResult:
        """Try the code now, and keep the result."""
        digest = self.content.digest if self.content is not None else ""
        path = tuple(installation(self.ground.project))
        request = TrialRequest(self.place.id, self.place.folder, self.place.package, digest, self.rows, path)
        result = code_import.try_out(request, self.ground.env, code_import.SECONDS)
        self.__dict__["tried"] = result
        if not result.problems or result.timed_out:
            with contextlib.suppress(OSError):
                os.makedirs(os.path.dirname(self._file), 0o700, exist_ok=True)
                write_whole(self._file, json.dumps(asdict(result)).encode(), durable=False)
        return result

    def _recorded_trial(self) -> TrialResult | None:
        try:
            with open(self._file, encoding="utf-8") as file:
                data = json.load(file)
            return TrialResult(tuple(map(tuple, data["problems"])), data["printed"], data["timed_out"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    @cached_property
    def _file(self) -> str:
        """Where the result of the trial is kept: another file for other content, another Handrail or Python."""
        digest = self.content.digest if self.content is not None else str(folder_stamp(self.place.folder))
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
        if (error := self.error()) is not None:
            raise error
        try:
            self._modules[module] = self._load(module)
        except ImportFailed as broken:
            message = f"the plugin `{self.place.id}` is disabled: `{module}` cannot be imported: {broken}"
            raise PluginBroken(message, DETAILS) from broken
        return self._modules[module]

    def _load(self, module: str) -> Any:
        if self.place.package:
            return code_import.import_package(f"{self.place.package}.{module}")
        if self.content is None:
            raise ImportFailed("its files cannot be read")
        return code_import.import_folder(self.place.id, self.place.folder, self.content, module)


class GuardedNode:
    """A node of a plugin. If it raises anything but `NodeError`, the step fails with an error that names the plugin."""

    def __init__(self, plugin: str, name: str, module: Any) -> None:
        self.plugin = plugin
        self.name = name
        self.module = module
        self.NODE: Node = module.NODE

    async def run(self, work: Work, context: NodeContext) -> Any:
        try:
            return await self.module.run(work, context)
        except (NodeError, Waiting, Exhausted, HandrailError):
            raise
        except (Exception, SystemExit) as error:
            what, why = f"the node `{self.name}` of the plugin `{self.plugin}`", code_import.error_line(error, "")
            raise NodeError("plugin-failed", f"{what} failed: {why}", transient=False) from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)


class GuardedCheck:
    """A check of a plugin. If it raises, it could not run: nothing holds because of that."""

    def __init__(self, plugin: str, module: Any) -> None:
        self.plugin = plugin
        self.module = module
        self.CHECK: Check = module.CHECK

    async def verify(self, params: Mapping[str, Any], context: CheckContext) -> Finding:
        try:
            finding = await self.module.verify(params, context)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the code of a plugin may raise anything
            return Finding(None, f"the plugin `{self.plugin}` could not check it: {code_import.error_line(error, '')}")
        if not isinstance(finding, Finding):
            return Finding(None, f"the plugin `{self.plugin}` could not check it: `verify` returned no `Finding`")
        return finding


class UnusableNode:
    """A node that is declared by a plugin which cannot be used now. Its params are not known, so any are accepted."""

    def __init__(self, error: HandrailError) -> None:
        self.error = error
        self.NODE = Node(
            about=error.message, prompt="optional", others="used", open_outputs=True, routed=True, can_lack_agent=True
        )

    async def run(self, _work: Work, _context: NodeContext) -> Any:
        raise NodeError(self.error.code, self.error.message, transient=False)


class UnusableCheck:
    """A check that is declared by a plugin which cannot be used now."""

    def __init__(self, name: str, error: HandrailError) -> None:
        self.error = error
        self.CHECK = Check(
            about=error.message, words="holds", short="value", takes_any=True, subject=lambda _params: name
        )

    async def verify(self, _params: Mapping[str, Any], _context: CheckContext) -> Finding:
        return Finding(None, self.error.message)
