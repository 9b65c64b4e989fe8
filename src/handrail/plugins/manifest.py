"""What a plugin says of itself: `plugin.toml` → a manifest, and every problem of the file with its place. Pure.

A manifest names modules and folders. So Handrail knows what a plugin provides before any of its code is imported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from handrail.plugins.tomlplaces import parse, place_of
from handrail.source.dataclasses import dataclass, field
from handrail.source.diagnostics import Diagnostic, has_errors
from handrail.source.files import Source
from handrail.source.suggest import did_you_mean

FILE = "plugin.toml"
CONTRACTS = {1: "the first version of `handrail.contracts`"}
"""The versions of `handrail.contracts` that this Handrail supports."""
ID = re.compile(r"[a-z][a-z0-9-]*")
NAME = re.compile(r"[a-z][a-z0-9_-]*")
MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
RESERVED = ("acp", "builtin", "flow", "given", "handrail", "project", "user", "workflow")
"""Words that have another meaning where the id of a plugin stands: sources, and the begin of names."""
FOLDERS = ("flows", "workflows", "prompts", "schemas")
PARTS = ("host", "executor", "tools", "offline")
MODULES = ("nodes", "checks", "engines")
_TEXTS = ("id", "version", "about")
_KEYS = (*_TEXTS, "contract", *MODULES, "agents", "folders")


@dataclass
class Signs:
    """How a process recognises that the agent of a plugin started it. See `contracts.Signs`."""

    VARIABLES: tuple[str, ...] = ()
    PROGRAMS: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The content of a `plugin.toml`. Names are without the id of the plugin.

    `modules`: kind (`nodes`, `checks`, `engines`) → name → module. `agents`: name → part → module. `also`: other name
    of a node → name of the node. `folders`: kind of definition → folder of the plugin.
    """

    id: str
    version: str
    about: str = ""
    modules: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    agents: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    signs: Mapping[str, Signs] = field(default_factory=dict)
    also: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)

    def provides(self) -> dict[str, list[str]]:
        """What the plugin provides, by kind, with full names. Empty kinds are left out."""
        parts = {
            "nodes": self.modules.get("nodes", {}),
            "checks": self.modules.get("checks", {}),
            "executors": [name for name, row in self.agents.items() if "executor" in row],
            "hosts": [name for name, row in self.agents.items() if "host" in row],
            "engines": self.modules.get("engines", {}),
        }
        return {kind: [f"{self.id}/{name}" for name in sorted(names)] for kind, names in parts.items() if names}

    def code(self) -> Iterator[tuple[str, str, str]]:
        """(kind, name, module) of everything that has code. The kind of a part of an agent is the name of the part."""
        for kind in MODULES:
            for name, module in self.modules.get(kind, {}).items():
                yield kind.removesuffix("s"), name, module
        for name, row in self.agents.items():
            for part, module in row.items():
                yield part, name, module


def read_manifest(source: Source, id_: str) -> tuple[Manifest | None, list[Diagnostic]]:
    """The manifest of the plugin with this id: the name of its folder, or of its entry point.

    There is a manifest only if the file has no errors.
    """
    data, problems = parse(source)
    if data is None:
        return None, problems
    reading = _Reading(source, data)
    manifest = reading.manifest(id_)
    return (None if has_errors(reading.found) else manifest), reading.found


class _Reading:
    """One `plugin.toml` being read."""

    def __init__(self, source: Source, data: dict[str, Any]) -> None:
        self.source = source
        self.data = data
        self.found: list[Diagnostic] = []

    def report(self, code: str, path: tuple[str, ...], message: str, hint: str) -> None:
        self.found.append(self.source.problem(code, place_of(self.source, *path), message, hint))

    def manifest(self, id_: str) -> Manifest:
        self.refuse_unknown(self.data, _KEYS, ())
        own = self.text("id", required=False) or id_
        if own != id_:
            self.report(
                "plugin-id", ("id",), f"the id is `{own}`, but the plugin is called `{id_}`", f'write `id = "{id_}"`'
            )
        elif not ID.fullmatch(id_) or id_ in RESERVED:
            hint = "begin with a lower-case letter, then letters, digits and `-`; not " + ", ".join(
                f"`{n}`" for n in RESERVED
            )
            self.report("plugin-id", ("id",), f"`{id_}` cannot be the id of a plugin", hint)
        self.contract()
        also: dict[str, str] = {}
        modules = {kind: dict(self.rows(kind, also)) for kind in MODULES}
        agents, signs = self.agents()
        return Manifest(
            id=id_,
            version=self.text("version") or "",
            about=self.text("about", required=False) or "",
            modules=modules,
            agents=agents,
            signs=signs,
            also=also,
            folders=self.folders(),
        )

    def contract(self) -> None:
        value = self.data.get("contract")
        known = ", ".join(map(str, CONTRACTS))
        if value is None:
            self.report("missing-key", (), "key `contract` is missing", f"add `contract = {max(CONTRACTS)}`")
        elif isinstance(value, bool) or not isinstance(value, int):
            self.wrong_type(("contract",), "a number", value, f"write `contract = {max(CONTRACTS)}`")
        elif value not in CONTRACTS:
            message = f"the plugin is written for version {value} of the contract; this Handrail supports {known}"
            self.report(
                "plugin-contract", ("contract",), message, "install a version of the plugin or of Handrail that fits"
            )

    def text(self, key: str, *, required: bool = True) -> str | None:
        value = self.data.get(key)
        if value is None:
            if required:
                self.report("missing-key", (), f"key `{key}` is missing", f'add `{key} = "..."`')
            return None
        if not isinstance(value, str):
            self.wrong_type((key,), "text", value, f'write `{key} = "..."`')
            return None
        if not value.strip():
            self.report("blank-text", (key,), f"`{key}` is blank", "fill it in")
            return None
        return value

    def table(self, *path: str) -> Mapping[str, Any]:
        value: Any = self.data
        for part in path:
            value = value.get(part, {})
        if not isinstance(value, dict):
            self.wrong_type(path, "a table", value, f"write `[{'.'.join(path)}]` on a line of its own")
            return {}
        return value

    def rows(self, kind: str, also: dict[str, str]) -> Iterator[tuple[str, str]]:
        """Name → module. A node may be a table, with its other names."""
        for name, given in self.table(kind).items():
            path: tuple[str, ...] = (kind, name)
            value = given
            if not self.is_name(name, path):
                continue
            if isinstance(value, dict) and kind == "nodes":
                self.refuse_unknown(value, ("module", "also"), path)
                also.update(dict.fromkeys(self.texts(value, "also", path), name))
                path, value = (*path, "module"), value.get("module")
            if self.is_module(value, path):
                yield name, value

    def agents(self) -> tuple[dict[str, dict[str, str]], dict[str, Signs]]:
        rows: dict[str, dict[str, str]] = {}
        signs: dict[str, Signs] = {}
        for name in self.table("agents"):
            path = ("agents", name)
            row = self.table(*path)
            self.refuse_unknown(row, (*PARTS, "signs"), path)
            if not self.is_name(name, path):
                continue
            rows[name] = {part: row[part] for part in PARTS if part in row and self.is_module(row[part], (*path, part))}
            if not rows[name]:
                hint = f'add `executor = "MODULE"` or `host = "MODULE"` below `[agents.{name}]`'
                self.report("missing-key", path, f"the agent `{name}` has neither `executor` nor `host`", hint)
            own = self.table(*path, "signs") if "signs" in row else {}
            self.refuse_unknown(own, ("variables", "programs"), (*path, "signs"))
            lists = [tuple(self.texts(own, key, (*path, "signs"))) for key in ("variables", "programs")]
            if any(lists):
                signs[name] = Signs(*lists)
        return rows, signs

    def folders(self) -> dict[str, str]:
        given = self.table("folders")
        self.refuse_unknown(given, FOLDERS, ("folders",))
        found = {kind: kind for kind in FOLDERS}
        for kind in FOLDERS:
            value = given.get(kind, kind)
            path = ("folders", kind)
            if not isinstance(value, str):
                self.wrong_type(path, "text", value, f'write `{kind} = "{kind}"`')
            elif leaves(value):
                hint = "write the path of a folder of the plugin, relative to `plugin.toml`"
                self.report("path-escape", path, f"`{value}` leads out of the plugin", hint)
            else:
                found[kind] = value
        return found

    def texts(self, table: Mapping[str, Any], key: str, path: tuple[str, ...]) -> list[str]:
        value = table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, str) and one.strip() for one in value):
            self.wrong_type((*path, key), "a list of texts", value, f'write `{key} = ["..."]`')
            return []
        return value

    def is_name(self, name: str, path: tuple[str, ...]) -> bool:
        if NAME.fullmatch(name):
            return True
        hint = "begin with a lower-case letter, then letters, digits, `-` and `_`"
        self.report("bad-value", path, f"`{name}` cannot be a name", hint)
        return False

    def is_module(self, value: Any, path: tuple[str, ...]) -> bool:
        if not isinstance(value, str):
            self.wrong_type(path, "the name of a module", value, f'write `{path[-1]} = "MODULE"`')
            return False
        if MODULE.fullmatch(value):
            return True
        code = "path-escape" if "/" in value or ".." in value else "bad-value"
        hint = "write a module of the plugin with dots, such as `nodes.deploy` for `nodes/deploy.py`"
        self.report(code, path, f"`{value}` is not the name of a module of the plugin", hint)
        return False

    def refuse_unknown(self, table: Mapping[str, Any], known: tuple[str, ...], path: tuple[str, ...]) -> None:
        for name in table:
            if name not in known:
                hint = did_you_mean(name, known) or f"known: {', '.join(known)}"
                place = place_of(self.source, *path, name)
                self.found.append(self.source.problem("unknown-key", place, f"unknown key `{name}`", hint, "warning"))

    def wrong_type(self, path: tuple[str, ...], wanted: str, value: Any, hint: str) -> None:
        self.report("wrong-type", path, f"`{path[-1]}` has to be {wanted}, found {_shown(value)}", hint)


def leaves(path: str) -> bool:
    """True if a path is absolute, or leads out of its folder, or cannot be a path."""
    return path.startswith("/") or "\\" in path or "\0" in path or ".." in path.split("/") or not path.strip()


def _shown(value: Any) -> str:
    kinds: Mapping[type, Callable[[Any], str]] = {
        dict: lambda _: "a table",
        list: lambda _: "a list",
        bool: lambda flag: f"`{str(flag).lower()}`",
        type(None): lambda _: "nothing",
    }
    return kinds.get(type(value), lambda other: f"`{other}`")(value)
