"""Reads the manifest of a plugin, `plugin.toml`, and finds what is wrong with it; writes the files of a new plugin.

A manifest names modules and folders, so Handrail knows what a plugin provides before it imports any of its code. The
JSON Schema of `plugin.toml` is here, too. The files of a new plugin are in `builtin/plugin`; `@ID@` stands for the id.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import handrail
from handrail.base.dataclasses import dataclass, field, replace
from handrail.base.files import real_inside
from handrail.extensions.callers import Signs
from handrail.extensions.plugins.search import JAVASCRIPT, SOURCES, PluginPlace
from handrail.source.definition_files import Root, Source, UnopenedFile, decode
from handrail.source.diagnostics import Diagnostic, file_problem, has_errors
from handrail.source.fields import Field, MappingReader, Shape, field_schema, found, json_schema, quoted, shape
from handrail.source.tree import NO_KEYS, TreeNode, ValueKind, node_text

TomlPlace = tuple[int, int, int]
_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_HEADER = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*=")
DEEPEST = 6
"""No manifest has more levels. What is deeper is not read."""


def parse_toml(source: Source) -> tuple[dict[str, Any] | None, list[Diagnostic]]:
    """The tables of a TOML text, or the problem that it has."""
    try:
        return tomllib.loads(source.text), []
    except ValueError as error:
        message = str(error)
        at = _AT.search(message)
        line = int(at[1]) if at and at[1] else max(1, len(source.text.rstrip("\n").split("\n")))
        column = int(at[2]) if at and at[2] else len(source.line(line) or "") + 1
        text = f"the file is not TOML: {_AT.sub('', message)}"
        return None, [source.problem("toml-syntax", (line, column, 1), text, 'write lines like `version = "1.0"`')]


def toml_tree(source: Source, data: Mapping[str, Any]) -> TreeNode:
    """The tree of these tables. Each value has the place of its key, or of the nearest table around it."""
    places = _toml_places(source)

    def node(value: Any, path: tuple[str, ...]) -> TreeNode:
        place = _nearest_place(places, path)
        if isinstance(value, dict):
            values = {name: node(one, (*path, name)) for name, one in value.items()} if len(path) < DEEPEST else {}
            return TreeNode("mapping", values, *place, {name: one.place[:2] for name, one in values.items()})
        if isinstance(value, list):
            items = [node(one, (*path, "")) for one in value] if len(path) < DEEPEST else []
            return TreeNode("list", items, *place, NO_KEYS)
        kind = _KINDS.get(type(value), "text")
        return TreeNode(kind, str(value) if kind == "text" else value, *place, NO_KEYS)  # a date is read as text

    return node(data, ())


_KINDS: dict[type, ValueKind] = {bool: "boolean", int: "integer", float: "number"}


def _toml_places(source: Source) -> dict[tuple[str, ...], TomlPlace]:
    """The place of each key and of each header of a table."""
    places: dict[tuple[str, ...], TomlPlace] = {(): (1, 1, 1)}
    table: tuple[str, ...] = ()
    for number, line in enumerate(source.lines, 1):
        header = _HEADER.match(line)
        match = header or _KEY.match(line)
        if match is not None:
            parts = (part.strip().strip("\"'") for part in match[1].split("."))
            path = (*(table if header is None else ()), *parts)
            table = table if header is None else path
            places.setdefault(path, (number, match.start(1) + 1, len(match[1])))
    return places


def _nearest_place(places: Mapping[tuple[str, ...], TomlPlace], path: tuple[str, ...]) -> TomlPlace:
    return next(places[path[:end]] for end in range(len(path), -1, -1) if path[:end] in places)


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
_MODULE = {"type": "string", "pattern": f"^{MODULE.pattern}$".replace(r"\w", "[A-Za-z0-9_]")}
_TEXT = {"type": "string", "minLength": 1}
_TEXTS = {"type": "array", "items": _TEXT}


def _module_field(name: str, about: str, example: str, *, required: bool = False) -> Field:
    return Field(name, ("text",), about, required, schema=_MODULE, examples=(example,))


def _rows_schema(value: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a table whose keys are names."""
    return {"type": "object", "patternProperties": {f"^{NAME.pattern}$": value}, "additionalProperties": False}


def _modules_field(kind: str, example: str) -> Field:
    about = f"the {kind} that the plugin brings: name = module"
    return Field(kind, ("mapping",), about, schema=_rows_schema(field_schema(_module_field("", "a module", example))))


_OF_NODE = _module_field("module", "the module of the node", "nodes.deploy", required=True)
NODE = shape(
    "nodes.NAME",
    "A node with other names.",
    _OF_NODE,
    Field("also", ("list",), "other names of the node", schema=_TEXTS, examples=(["deploy-to-acme"],)),
)
SIGNS = shape(
    "signs",
    "How a process knows that the agent started it.",
    Field("variables", ("list",), "variables that it sets for programs", schema=_TEXTS, examples=(["ACME_ROBOT"],)),
    Field("programs", ("list",), "names of the agent's program", schema=_TEXTS, examples=(["acme-robot"],)),
)
AGENT = shape(
    "agents.NAME",
    "An agent.",
    _module_field("host", "the module with which the agent calls Handrail", "robot.host"),
    _module_field("executor", "the module with which Handrail calls the agent", "robot.executor"),
    _module_field("tools", "the module with the names of the agent's tools", "robot.tools"),
    _module_field("offline", "the module that runs the agent against a scripted model", "robot.offline"),
    Field("signs", ("mapping",), SIGNS.about, schema=lambda: json_schema(SIGNS)),
)
DEFINITIONS = shape(
    "folders",
    "Where the plugin has its definitions.",
    *(Field(kind, ("text",), f"the folder with {kind}", default=kind, schema=_TEXT) for kind in FOLDERS),
)
MANIFEST = shape(
    MANIFEST_FILE,
    "What a plugin provides.",
    Field("version", ("text",), "the version of the plugin", required=True, schema=_TEXT, examples=("1.0",)),
    Field(
        "contract",
        ("integer",),
        "the version of `handrail.extensions.contracts` that the plugin is written for",
        required=True,
        schema={"enum": list(CONTRACTS)},
    ),
    Field(
        "id",
        ("text",),
        "the id; by default the name of the folder",
        schema={"type": "string", "pattern": f"^{ID.pattern}$"},
        examples=("acme",),
    ),
    Field("about", ("text",), "what the plugin is for", schema=_TEXT, examples=("Deploys to Acme.",)),
    Field(
        "nodes",
        ("mapping",),
        "the nodes of flows that the plugin brings: name = module",
        schema=lambda: _rows_schema({"anyOf": [field_schema(_OF_NODE), json_schema(NODE)]}),
    ),
    _modules_field("checks", "checks.healthy"),
    _modules_field("engines", "engines.remote"),
    Field(
        "agents",
        ("mapping",),
        "the agents that the plugin brings",
        schema=lambda: _rows_schema(json_schema(AGENT)),
    ),
    Field("folders", ("mapping",), DEFINITIONS.about, schema=lambda: json_schema(DEFINITIONS)),
)


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
    reader = MappingReader(source, toml_tree(source, data), MANIFEST, problems.append)
    _check_id(reader, id_)
    contract = reader.child("contract", f"write `contract = {max(CONTRACTS)}`")
    if contract is not None and contract.value not in CONTRACTS:
        versions = f"{contract.value} of the contract; this Handrail supports {', '.join(map(str, CONTRACTS))}"
        message = f"the plugin is written for version {versions}"
        reader.on(contract, "plugin-contract", message, "install a version of the plugin or of Handrail that fits")
    also: dict[str, str] = {}
    signs: dict[str, Signs] = {}
    manifest = PluginManifest(
        id=id_,
        version=_text(reader, "version"),
        about=_text(reader, "about"),
        modules={kind: dict(_modules(reader, kind, also)) for kind in MODULES},
        agents=dict(_agents(reader, signs)),
        signs=signs,
        also=also,
        folders=dict(_folders(reader)),
    )
    return (None if has_errors(problems) else manifest), problems


def _check_id(reader: MappingReader, id_: str) -> None:
    declared_id = _text(reader, "id") or id_
    place = reader.node.value.get("id", reader.node)
    if declared_id != id_:
        message = f"the id is `{declared_id}`, but the plugin is called `{id_}`"
        reader.on(place, "plugin-id", message, f'write `id = "{id_}"`')
    elif not ID.fullmatch(id_) or id_ in RESERVED:
        names = ", ".join(f"`{name}`" for name in RESERVED)
        hint = f"begin with a lower-case letter, then letters, digits and `-`; not {names}"
        reader.on(place, "plugin-id", f"`{id_}` cannot be the id of a plugin", hint)


def _text(reader: MappingReader, name: str) -> str:
    node = reader.child(name, f'write `{name} = "..."`')
    if node is not None and not node.value.strip():
        reader.on(node, "blank-text", f"`{name}` is blank", "fill it in")
    return "" if node is None else str(node.value)


def _texts(reader: MappingReader, name: str) -> tuple[str, ...]:
    hint = f'write `{name} = ["..."]`'
    node = reader.child(name, hint)
    for item in node.value if node is not None else ():
        if item.kind != "text" or not item.value.strip():
            reader.on(item, "wrong-type", f"an item of `{name}` has to be text, found {found(item)}", hint)
    return () if node is None else tuple(node_text(item) for item in node.value)


def _table(reader: MappingReader, name: str, node: TreeNode | None, keys: Shape) -> MappingReader:
    """The reader of a table. One that is missing or something else is empty."""
    if node is not None and node.kind != "mapping":
        reader.on(node, "wrong-type", f"`{name}` has to be a table, found {found(node)}", "write `KEY = VALUE` in it")
    if node is None or node.kind != "mapping":
        node = (node or reader.node)._replace(kind="mapping", value={}, keys={})
    return MappingReader(reader.source, node, keys, reader.report)


def _rows(reader: MappingReader, kind: str) -> Iterator[tuple[str, TreeNode]]:
    """The rows of a table whose keys are names."""
    node = reader.child(kind, f"write `[{kind}]` on a line of its own")
    for name, child in node.value.items() if node is not None else ():
        if NAME.fullmatch(name):
            yield name, child
        else:
            hint = "begin with a lower-case letter, then letters, digits, `-` and `_`"
            reader.on(child, "bad-value", f"`{name}` cannot be a name", hint)


def _modules(reader: MappingReader, kind: str, also: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Name → module. A node may be a table, with its other names."""
    for name, node in _rows(reader, kind):
        if kind == "nodes" and node.kind == "mapping":
            row = _table(reader, name, node, NODE)
            also.update(dict.fromkeys(_texts(row, "also"), name))
            module = _module(reader, "module", row.child("module"))
        else:
            module = _module(reader, name, node)
        if module is not None:
            yield name, module


def _module(reader: MappingReader, key: str, node: TreeNode | None) -> str | None:
    if node is None:
        return None
    if node.kind == "text" and MODULE.fullmatch(node.value):
        return str(node.value)
    if node.kind != "text":
        message = f"`{key}` has to be the name of a module, found {found(node)}"
        reader.on(node, "wrong-type", message, f'write `{key} = "MODULE"`')
        return None
    code = "path-escape" if "/" in node.value or ".." in node.value else "bad-value"
    hint = "write a module of the plugin with dots, such as `nodes.deploy` for `nodes/deploy.py`"
    reader.on(node, code, f"{quoted(node)} is not the name of a module of the plugin", hint)
    return None


def _agents(reader: MappingReader, signs: dict[str, Signs]) -> Iterator[tuple[str, dict[str, str]]]:
    """Name → part → module."""
    for name, node in _rows(reader, "agents"):
        agent = _table(reader, name, node, AGENT)
        parts = {part: _module(agent, part, agent.node.value.get(part)) for part in PARTS}
        modules = {part: module for part, module in parts.items() if module is not None}
        if not modules:
            hint = f'add `executor = "MODULE"` or `host = "MODULE"` below `[agents.{name}]`'
            agent.on(node, "missing-key", f"the agent `{name}` has neither `executor` nor `host`", hint)
        signs_reader = _table(agent, "signs", agent.node.value.get("signs"), SIGNS)
        if signs_reader.node.value:
            signs[name] = _texts(signs_reader, "variables"), _texts(signs_reader, "programs")
        yield name, modules


def _folders(reader: MappingReader) -> Iterator[tuple[str, str]]:
    """Kind of definition → folder."""
    folders = _table(reader, "folders", reader.node.value.get("folders"), DEFINITIONS)
    for kind in FOLDERS:
        node = folders.child(kind, f'write `{kind} = "{kind}"`')
        if node is not None and leads_outside(node.value):
            hint = "write the path of a folder of the plugin, relative to `plugin.toml`"
            folders.on(node, "path-escape", f"{quoted(node)} leads out of the plugin", hint)
        yield kind, kind if node is None else str(node.value)


def leads_outside(path: str) -> bool:
    """True if a path is absolute, or leads out of its folder, or cannot be a path."""
    return path.startswith("/") or "\\" in path or "\0" in path or ".." in path.split("/") or not path.strip()


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
        if self.manifest is None or leads_outside(self.manifest.folders[kind]):
            return None
        path = os.path.join(self.place.folder, self.manifest.folders[kind])
        return path if os.path.isdir(path) else None

    def problem(self, code: str, path: tuple[str, ...], message: str, hint: str | None = None) -> Diagnostic:
        """A problem at a key of `plugin.toml`."""
        return self.source.problem(code, _nearest_place(_toml_places(self.source), path), message, hint)

    def disabled(self, *problems: Diagnostic) -> Plugin:
        """The plugin with these problems. With any, it is not used."""
        return replace(self, manifest=None if problems else self.manifest, problems=(*self.problems, *problems))


def read_plugins(places: Iterable[PluginPlace], taken_names: Collection[str]) -> list[Plugin]:
    """All plugins. If several have one id, the first is used. `taken` are names of nodes that are built in."""
    plugins: list[Plugin] = []
    owners: dict[str, Plugin] = {}
    names: dict[str, str] = {}
    for place in places:
        if place.source == JAVASCRIPT:
            plugins.append(_javascript(place))
            continue
        plugin = read_plugin(place)
        first = owners.setdefault(place.id, plugin)
        if first is not plugin:
            plugin = plugin.disabled(_duplicate_id(plugin, first))
        plugins.append(_with_own_names(plugin, taken_names, names))
    return plugins


def _javascript(place: PluginPlace) -> Plugin:
    file = os.path.join(place.folder, "plugin.json")
    message = f"`{place.id}` is a plugin of AgentWeaver in JavaScript, which cannot run here"
    hint = "`handrail plugins new ID` makes one in Python; `also` gives a node the name that flows use"
    problem = file_problem("plugin-javascript", file, message, hint, "warning")
    return Plugin(place, None, Source(file, ""), (problem,))


def _duplicate_id(plugin: Plugin, first: Plugin) -> Diagnostic:
    order = " over ".join(f"{'an installed ' if source == 'package' else ''}{source}" for source in SOURCES)
    message = f"another plugin has the id `{plugin.id}`: that of the {first.place.source}, which is used"
    return plugin.problem("plugin-id", ("id",), message, f"remove one of them, or rename it ({order})")


def _with_own_names(plugin: Plugin, taken_names: Collection[str], names: dict[str, str]) -> Plugin:
    """The plugin without those other names of nodes that something built in or an earlier plugin has."""
    owned_names: dict[str, str] = {}
    problems: list[Diagnostic] = []
    for other, name in plugin.manifest.also.items() if plugin.manifest is not None else ():
        owner = f"the plugin `{names[other]}`" if other in names else "Handrail itself"
        if other in taken_names or other in names or "/" in other:
            message = f"`also` names `{other}`, but that node is of {owner}"
            hint = f"write `{plugin.id}/{name}` in flows"
            problems.append(plugin.problem("plugin-id", ("nodes", name, "also"), message, hint))
        else:
            names[other], owned_names[other] = plugin.id, name
    if plugin.manifest is None:
        return plugin
    return replace(plugin, manifest=replace(plugin.manifest, also=owned_names), problems=(*plugin.problems, *problems))


def read_plugin(place: PluginPlace) -> Plugin:
    """The plugin in a folder, with all that can be said about it without its code."""
    file = os.path.join(place.folder, MANIFEST_FILE)
    opened_file = Root(place.folder).open(place.folder, MANIFEST_FILE)
    if isinstance(opened_file, UnopenedFile):
        message = f"the plugin `{place.id}` cannot be used: {opened_file.message}"
        problem = file_problem(opened_file.code, file, message, "write it, or start with `handrail plugins new ID`")
        return Plugin(place, None, Source(file, ""), (problem,))
    source, problems = decode(file, opened_file.data)
    if problems:
        return Plugin(place, None, source, tuple(problems))
    manifest, problems = read_manifest(Source(file, source.text, is_foreign=True), place.id)
    plugin = Plugin(place, manifest, source, tuple(problems))
    return plugin.disabled(*_outside_folders(plugin), *_missing_modules(plugin))


def _outside_folders(plugin: Plugin) -> Iterator[Diagnostic]:
    """Folders that links lead out of the plugin."""
    for kind, name in plugin.manifest.folders.items() if plugin.manifest is not None else ():
        if real_inside(plugin.place.folder, name) is None:
            hint = "copy the files into the folder of the plugin"
            yield plugin.problem("path-escape", ("folders", kind), f"`{name}` leads out of the plugin", hint)


def _missing_modules(plugin: Plugin) -> Iterator[Diagnostic]:
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
    texts: dict[str, str] = {}
    for folder, folders, names in os.walk(SKELETON_FOLDER):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                texts[os.path.relpath(path, SKELETON_FOLDER)] = file.read().replace(ID_MARK, id_)
    return texts
