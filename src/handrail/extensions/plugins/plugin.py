"""A plugin as its files describe it: its `plugin.toml`, what is wrong with it, and the files of a new one.

A manifest names modules and folders. So Handrail knows what a plugin provides before any of its code is imported. The
JSON Schema of `plugin.toml` is here, too. The files of a new plugin are in `builtin/plugin`; `@ID@` stands for the id.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import handrail
from handrail.base.dataclasses import dataclass, field, replace
from handrail.base.files import real_inside
from handrail.extensions.callers import Signs
from handrail.extensions.plugins.search import JAVASCRIPT, SOURCES, PluginPlace
from handrail.source.definition_files import Root, Source, UnopenedFile, decode
from handrail.source.diagnostics import Diagnostic, file_problem, has_errors
from handrail.source.suggestions import did_you_mean

TomlPlace = tuple[int, int, int]
_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_HEADER = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*=")


def parse_toml(source: Source) -> tuple[dict[str, Any] | None, list[Diagnostic]]:
    """The tables of a TOML text, or the problem that it has."""
    try:
        return tomllib.loads(source.text), []
    except ValueError as error:
        message = str(error)
        found = _AT.search(message)
        line = int(found[1]) if found and found[1] else max(1, len(source.text.rstrip("\n").split("\n")))
        column = int(found[2]) if found and found[2] else len(source.line(line) or "") + 1
        text = f"the file is not TOML: {_AT.sub('', message)}"
        return None, [source.problem("toml-syntax", (line, column, 1), text, 'write lines like `version = "1.0"`')]


def toml_place(source: Source, *path: str) -> TomlPlace:
    """The place of a key, or of the nearest table around it; the first line if the text has none of them."""
    best: tuple[int, TomlPlace] = (0, (1, 1, 1))
    table: tuple[str, ...] = ()
    for number, line in enumerate(source.lines, 1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header is not None:
            table = _dotted_parts(header[1])
            found, at = table, header.start(1)
        elif key is not None:
            found, at = (*table, *_dotted_parts(key[1])), key.start(1)
        else:
            continue
        length = len(found)
        if found == path[:length] and length > best[0]:
            text = header[1] if header is not None else key[1] if key is not None else ""
            best = length, (number, at + 1, len(text))
    return best[1]


def _dotted_parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


MANIFEST_FILE = "plugin.toml"
CONTRACTS = {1: "the first version of `handrail.extensions.contracts`"}
"""The versions of `handrail.extensions.contracts` that this Handrail supports."""
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


@dataclass(frozen=True, kw_only=True)
class PluginManifest:
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


def read_manifest(source: Source, id_: str) -> tuple[PluginManifest | None, list[Diagnostic]]:
    """The manifest of the plugin with this id: the name of its folder, or of its entry point.

    There is a manifest only if the file has no errors.
    """
    data, problems = parse_toml(source)
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
        self.found.append(self.source.problem(code, toml_place(self.source, *path), message, hint))

    def manifest(self, id_: str) -> PluginManifest:
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
        return PluginManifest(
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
            variables, programs = (tuple(self.texts(own, key, (*path, "signs"))) for key in ("variables", "programs"))
            if variables or programs:
                signs[name] = variables, programs
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
                place = toml_place(self.source, *path, name)
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


_TABLE_ABOUT = {
    "nodes": "the nodes of flows that the plugin brings: name = module",
    "checks": "the checks that the plugin brings: name = module",
    "engines": "the engines that the plugin brings: name = module",
}
_PART_ABOUT = {
    "host": "the module with which the agent calls Handrail",
    "executor": "the module with which Handrail calls the agent",
    "tools": "the module with the names of the agent's tools",
    "offline": "the module that runs the agent against a scripted model",
}
_TEXTS_SCHEMA = {"type": "array", "items": {"type": "string", "minLength": 1}}


def manifest_schema() -> dict[str, Any]:
    """The schema of a `plugin.toml`."""
    long_form = _table_schema(
        {
            "module": _module_schema("the module of the node", "nodes.deploy"),
            "also": {**_TEXTS_SCHEMA, "description": "other names of the node", "examples": [["deploy-to-acme"]]},
        },
        ["module"],
    )
    node = {"anyOf": [_module_schema("the module of the node", "nodes.deploy"), long_form]}
    rows = {
        name: _named_schema(about, node if name == "nodes" else _module_schema("a module", "checks.healthy"))
        for name, about in _TABLE_ABOUT.items()
    }
    folders = {name: _text_schema(f"the folder with {name}", default=name) for name in FOLDERS}
    properties = {
        "version": _text_schema("the version of the plugin", examples=["1.0"]),
        "contract": {
            "enum": list(CONTRACTS),
            "description": "the version of `handrail.extensions.contracts` that the plugin is written for",
        },
        "id": {
            **_text_schema("the id; by default the name of the folder", examples=["acme"]),
            "pattern": f"^{ID.pattern}$",
        },
        "about": _text_schema("what the plugin is for", examples=["Deploys to Acme."]),
        **rows,
        "agents": _named_schema("the agents that the plugin brings", _agent_schema()),
        "folders": {**_table_schema(folders), "description": "where the plugin has its definitions"},
    }
    return _table_schema(properties, ["version", "contract"])


def _agent_schema() -> dict[str, Any]:
    signs = {
        "variables": {
            **_TEXTS_SCHEMA,
            "description": "variables that the agent sets for what it starts",
            "examples": [["ACME_ROBOT"]],
        },
        "programs": {**_TEXTS_SCHEMA, "description": "names of the agent's program", "examples": [["acme-robot"]]},
    }
    known = {part: _module_schema(_PART_ABOUT[part], f"robot.{part}") for part in PARTS}
    return _table_schema(
        {**known, "signs": {**_table_schema(signs), "description": "how a process knows that the agent started it"}}
    )


def _named_schema(about: str, value: dict[str, Any]) -> dict[str, Any]:
    rows = {f"^{NAME.pattern}$": value}
    return {"type": "object", "description": about, "patternProperties": rows, "additionalProperties": False}


def _table_schema(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    found = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": required} if required else found


def _text_schema(about: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "description": about, **more}


def _module_schema(about: str, example: str) -> dict[str, Any]:
    pattern = MODULE.pattern.replace(r"\w", "[A-Za-z0-9_]")
    return {"type": "string", "pattern": f"^{pattern}$", "description": about, "examples": [example]}


@dataclass(frozen=True)
class Plugin:
    """A plugin that was found. `manifest` is None if its `plugin.toml` has errors, or if another has its id."""

    place: PluginPlace
    manifest: PluginManifest | None
    source: Source
    problems: tuple[Diagnostic, ...] = field(default=())

    @property
    def id(self) -> str:
        return self.place.id

    @property
    def file(self) -> str:
        return os.path.join(self.place.folder, MANIFEST_FILE)

    def folder(self, kind: str) -> str | None:
        """The folder with definitions of this kind, such as `flows`; None if it has none."""
        if self.manifest is None or leaves(self.manifest.folders[kind]):
            return None
        path = os.path.join(self.place.folder, self.manifest.folders[kind])
        return path if os.path.isdir(path) else None

    def problem(self, code: str, path: tuple[str, ...], message: str, hint: str | None = None) -> Diagnostic:
        """A problem at a key of `plugin.toml`."""
        return self.source.problem(code, toml_place(self.source, *path), message, hint)

    def disabled(self, *problems: Diagnostic) -> Plugin:
        """The plugin with these problems. With any, it is not used."""
        return replace(self, manifest=None if problems else self.manifest, problems=(*self.problems, *problems))


def read_plugins(places: Iterable[PluginPlace], taken: Collection[str]) -> list[Plugin]:
    """All plugins. If several have one id, the first is used. `taken` are names of nodes that are built in."""
    found: list[Plugin] = []
    owners: dict[str, Plugin] = {}
    names: dict[str, str] = {}
    for place in places:
        if place.source == JAVASCRIPT:
            found.append(_javascript(place))
            continue
        plugin = read_plugin(place)
        first = owners.setdefault(place.id, plugin)
        if first is not plugin:
            plugin = plugin.disabled(_twice(plugin, first))
        found.append(_with_own_names(plugin, taken, names))
    return found


def _javascript(place: PluginPlace) -> Plugin:
    file = os.path.join(place.folder, "plugin.json")
    message = f"`{place.id}` is a plugin of AgentWeaver in JavaScript, which cannot run here"
    hint = "`handrail plugin new ID` makes one in Python; `also` gives a node the name that flows use"
    problem = file_problem("plugin-javascript", file, message, hint, "warning")
    return Plugin(place, None, Source(file, ""), (problem,))


def _twice(plugin: Plugin, first: Plugin) -> Diagnostic:
    order = " over ".join(f"{'an installed ' if source == 'package' else ''}{source}" for source in SOURCES)
    message = f"another plugin has the id `{plugin.id}`: that of the {first.place.source}, which is used"
    return plugin.problem("plugin-id", ("id",), message, f"remove one of them, or rename it ({order})")


def _with_own_names(plugin: Plugin, taken: Collection[str], names: dict[str, str]) -> Plugin:
    """The plugin without those other names of nodes that something built in or an earlier plugin has."""
    own: dict[str, str] = {}
    problems: list[Diagnostic] = []
    for other, name in plugin.manifest.also.items() if plugin.manifest is not None else ():
        owner = f"the plugin `{names[other]}`" if other in names else "Handrail itself"
        if other in taken or other in names or "/" in other:
            message = f"`also` names `{other}`, but that node is of {owner}"
            hint = f"write `{plugin.id}/{name}` in flows"
            problems.append(plugin.problem("plugin-id", ("nodes", name, "also"), message, hint))
        else:
            names[other], own[other] = plugin.id, name
    if plugin.manifest is None:
        return plugin
    return replace(plugin, manifest=replace(plugin.manifest, also=own), problems=(*plugin.problems, *problems))


def read_plugin(place: PluginPlace) -> Plugin:
    """The plugin in a folder, with all that can be said about it without its code."""
    file = os.path.join(place.folder, MANIFEST_FILE)
    opened = Root(place.folder).open(place.folder, MANIFEST_FILE)
    if isinstance(opened, UnopenedFile):
        hint = "write it, or start with `handrail plugin new ID`"
        problem = file_problem(opened.code, file, f"the plugin `{place.id}` cannot be used: {opened.message}", hint)
        return Plugin(place, None, Source(file, ""), (problem,))
    source, problems = decode(file, opened.data)
    if problems:
        return Plugin(place, None, source, tuple(problems))
    manifest, problems = read_manifest(source, place.id)
    plugin = Plugin(place, manifest, source, tuple(problems))
    return plugin.disabled(*_outside(plugin), *_missing(plugin))


def _outside(plugin: Plugin) -> Iterator[Diagnostic]:
    """Folders that links lead out of the plugin."""
    for kind, name in plugin.manifest.folders.items() if plugin.manifest is not None else ():
        if real_inside(plugin.place.folder, name) is None:
            hint = "copy the files into the folder of the plugin"
            yield plugin.problem("path-escape", ("folders", kind), f"`{name}` leads out of the plugin", hint)


def _missing(plugin: Plugin) -> Iterator[Diagnostic]:
    """Modules that do not exist, as far as files show that."""
    for kind, name, module in plugin.manifest.code() if plugin.manifest is not None else ():
        path = os.path.join(plugin.place.folder, *module.split("."))
        if not os.path.isfile(f"{path}.py") and not os.path.isdir(path) and not plugin.place.package:
            table = (f"{kind}s", name) if kind in ("node", "check", "engine") else ("agents", name, kind)
            relative = "/".join(module.split("."))
            message = f"the {kind} `{plugin.id}/{name}` names the module `{module}`, but there is no `{relative}.py`"
            yield plugin.problem("plugin-broken", table, message, "write the file, or correct the name of the module")


SKELETON_FOLDER = os.path.join(handrail.__path__[0], "builtin", "plugin")
ID_MARK = "@ID@"


def skeleton_files(id_: str) -> dict[str, str]:
    """Path below the plugin's folder → text."""
    found: dict[str, str] = {}
    for folder, folders, names in os.walk(SKELETON_FOLDER):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                found[os.path.relpath(path, SKELETON_FOLDER)] = file.read().replace(ID_MARK, id_)
    return found
