"""Names of artifacts: their paths, their keys on the shelf, and which content they need. Pure.

AgentWeaver's artifact kinds are a table of data that the caller loads. The caller also lists the files of a folder.
"""

from __future__ import annotations

import json
import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from handrail.base.dataclasses import dataclass, replace
from handrail.source.values import Unresolved, as_text, number, shown

NOT_PROVIDED = "not provided"
"""What flows of AgentWeaver say in place of a file that may be missing."""
AGENTWEAVER = ".agentweaver/scopes"
HANDRAIL = ".handrail/scopes"
MAX_ITERATION = 10**12
MAX_NAME_BYTES = 255
MAX_SCOPE_BYTES = 180

FileLister = Callable[[str], Iterable[str]]


@dataclass(frozen=True)
class ArtifactRequest:
    """A request for an artifact: AgentWeaver's by its `kind`, or Handrail's by its `name`.

    `key` is the key of its task, or its scope. Without an iteration, it is the newest one.
    """

    key: str
    kind: str | None = None
    name: str | None = None
    extension: str = "md"
    iteration: int | None = None

    def to_text(self) -> str:
        data = {name: value for name, value in vars(self).items() if value is not None}
        return json.dumps(data, ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_text(cls, text: str) -> ArtifactRequest:
        return cls(**json.loads(text))


@dataclass(frozen=True)
class ArtifactKind:
    """An artifact kind. `file` is a path below the scope's folder, with `{key}` and `{iteration}` in it."""

    file: str
    needs_iteration: bool = False
    schema: str | None = None


@dataclass(frozen=True)
class Contract:
    """The kind of content that a file needs."""

    family: str
    schema: str
    version: int


@dataclass(frozen=True)
class ShelfReference:
    """A reference to a published artifact by its key. Without a version, it is the newest one."""

    key: str
    version: int | None
    scope: str | None = None


@dataclass(frozen=True)
class ArtifactTable:
    """AgentWeaver's artifact kinds, its lists of kinds, and its schemas by the prefix of a file name.

    `keys` are the keys on the shelf of files whose names do not say what they are.
    """

    kinds: Mapping[str, ArtifactKind]
    lists: Mapping[str, tuple[str, ...]]
    prefixes: Mapping[str, str]
    keys: Mapping[str, str]

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> ArtifactTable:
        kinds = {
            name: ArtifactKind(row["file"], row.get("needsIteration", False), row.get("schema"))
            for name, row in data["kinds"].items()
        }
        lists = {name: tuple(members) for name, members in data["lists"].items()}
        return cls(kinds, lists, data["prefixes"], data["keys"])

    def path(self, request: ArtifactRequest, project: str, names: FileLister) -> str:
        """The path of an artifact. `names` lists the files of a folder; it is empty if there is no folder."""
        key = safe_name(request.key, "key" if request.kind else "scope")
        if request.kind is None:
            pattern = posixpath.join(project, HANDRAIL, key, "{key}-{iteration}." + safe_extension(request.extension))
            return _file_path(pattern, safe_name(request.name or "", "name"), request.iteration, names)
        if request.kind not in self.kinds:
            raise Unresolved("artifact-kind", f"there is no artifact kind `{request.kind}`")
        kind = self.kinds[request.kind]
        if kind.needs_iteration and request.iteration is None:
            raise Unresolved("artifact-needs-iteration", f"`{request.kind}` needs an iteration")
        return _file_path(posixpath.join(project, AGENTWEAVER, key, kind.file), key, request.iteration, names)

    def iterations(self, kind: str, key: str, project: str, names: FileLister) -> set[int]:
        path = posixpath.join(project, AGENTWEAVER, safe_name(key, "key"), self.kinds[kind].file)
        folder, file = posixpath.split(path)
        prefix, _, suffix = (part.replace("{key}", key) for part in file.partition("{iteration}"))
        return _turns(names(folder), prefix, suffix)

    def paths(self, request: ArtifactRequest, project: str, names: FileLister) -> list[str]:
        """The paths of the artifacts of a list: the newest of each kind, or all of one iteration."""
        members = self.lists.get(request.kind or "")
        if members is None:
            raise Unresolved("artifact-kind", f"there is no artifact list `{request.kind}`")
        return [self.path(replace(request, kind=member), project, names) for member in members]

    def key(self, path: str, project: str, scope: str) -> str:
        inner_path = _path_in_scope(posixpath.normpath(path), AGENTWEAVER, scope)
        keys_by_file = {file.replace("{key}", scope): key for file, key in self.keys.items()}
        return keys_by_file.get(inner_path or "") or artifact_key(path, project, scope)

    def contract(self, path: str, scope: str, schema: str | None = None) -> Contract:
        """The content that a file needs: the named schema, else what its name and extension imply."""
        path = path.replace("\\", "/")
        base = posixpath.basename(path)
        if schema is not None:
            return _contract("structured-json", schema)
        if path.endswith(".json"):
            is_free = base in (f"{scope}.json", f"{scope}-enriched.json") or f"/{HANDRAIL}/" in f"/{path}"
            begins = [] if is_free else [start for start in self.prefixes if base.startswith(start)]
            schema_id = self.prefixes[max(begins, key=len)] if begins else "helper-json/v1"
            return _contract("helper-json" if schema_id.startswith("helper-json/") else "structured-json", schema_id)
        family = {"md": "markdown", "txt": "plain-text"}.get(base.rpartition(".")[2] if "." in base else "")
        return _contract(family or "opaque-file", f"{family or 'opaque-file'}/v1")


def _contract(family: str, schema: str) -> Contract:
    version = re.search(r"/v([0-9]{1,9})\Z", schema)
    return Contract(family, schema, int(version[1]) if version else 1)


def _file_path(pattern: str, key: str, iteration: int | None, names: FileLister) -> str:
    """The path of a file. `pattern` is its folder and the pattern of its name; without an iteration, the newest one."""
    folder, name = posixpath.split(pattern)
    prefix, mark, suffix = (part.replace("{key}", key) for part in name.partition("{iteration}"))
    if mark:
        turns = _turns(names(folder), prefix, suffix) if iteration is None else {whole_iteration(iteration)}
        prefix = f"{prefix}{max(turns, default=1)}"
    file = prefix + suffix
    if len(file.encode()) > MAX_NAME_BYTES:
        raise Unresolved("artifact-name", f"the file name `{file[:40]}…` is too long")
    return posixpath.join(folder, file)


def _turns(names: Iterable[str], prefix: str, suffix: str) -> set[int]:
    """The numbers between a prefix and a suffix."""
    middles = [
        name[len(prefix) : len(name) - len(suffix)]
        for name in names
        if name.startswith(prefix) and name.endswith(suffix) and len(name) > len(prefix) + len(suffix)
    ]
    return {int(text) for text in middles if re.fullmatch("[1-9][0-9]{0,11}", text)}


def whole_iteration(value: Any) -> int:
    """The number of an iteration. Raises `Unresolved` unless it is a whole number, 1 or more."""
    try:
        turn = 0 if isinstance(value, bool) else number(value)
    except Unresolved:
        turn = 0
    if not 1 <= turn <= MAX_ITERATION or int(turn) != turn:
        text = "nothing" if value in (None, "") else f"`{shown(value)}`"
        raise Unresolved("artifact-iteration", f"an iteration has to be a whole number, 1 or more, found {text}")
    return int(turn)


def name_text(value: Any, what: str) -> str:
    """A text or a number as part of a file name. Raises `Unresolved` for other values."""
    if isinstance(value, str):
        return safe_name(value, what)
    if isinstance(value, int | float) and not isinstance(value, bool) and value == value and abs(value) < 1e15:
        return safe_name(as_text(value), what)
    text = "nothing" if value is None else f"`{shown(value)}`"
    raise Unresolved("artifact-name", f"the {what} of an artifact has to be text, found {text}")


def safe_name(text: str, what: str) -> str:
    """The same text, if it is safe in a file name and does not leave its folder. Else raises `Unresolved`."""
    if not text.strip():
        raise Unresolved("artifact-name", f"the {what} of an artifact is empty")
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in text):
        message = f"the {what} of an artifact contains a character that is not allowed in a file name"
        raise Unresolved("artifact-name", message)
    if text in (".", "..") or "/" in text or "\\" in text:
        raise Unresolved("artifact-name", f"the {what} `{shown(text)}` of an artifact leads out of its folder")
    return text


def safe_extension(value: Any) -> str:
    """The same text, if it is a file extension. Else raises `Unresolved`."""
    if not isinstance(value, str) or not re.fullmatch("[A-Za-z0-9]{1,16}", value):
        raise Unresolved("artifact-name", f"an extension has to be letters and digits, found `{shown(value)}`")
    return value


def _is_plain(char: str) -> bool:
    """True for a letter, a digit or a combining mark, of any script."""
    return unicodedata.category(char)[0] in "LNM"


def _plain(text: str, signs: str) -> str:
    """The text in lower case, with a dash instead of everything but letters, digits and `signs`."""
    return _dashed(unicodedata.normalize("NFC", text).lower(), signs)


def _dashed(text: str, signs: str) -> str:
    text = unicodedata.normalize("NFC", text)
    return re.sub("-+", "-", "".join(char if _is_plain(char) or char in signs else "-" for char in text))


def scope_name(text: str) -> str:
    name = _plain(text.strip(), "._@-").strip("-")
    if not name.strip("."):
        raise Unresolved("scope-name", f"`{shown(text)}` cannot name a scope: it has no letter and no digit")
    if len(name.encode()) > MAX_SCOPE_BYTES:
        raise Unresolved("scope-name", f"the name `{text[:40]}…` is too long for a scope")
    return name


def _path_in_scope(path: str, root: str, scope: str) -> str | None:
    """The part of a path below the folder of a scope. None if it is elsewhere."""
    if not scope.strip():
        return None
    _, mark, inner_path = f"/{path}".rpartition(f"/{root}/{scope}/")
    return inner_path if mark and inner_path else None


def logical_key(path: str, scope: str, fold: Callable[[str, str], str] = _plain) -> str:
    """The name of an artifact without its iteration: `plan.md`, `artifacts/plan.json`."""
    path = posixpath.normpath(path.replace("\\", "/"))
    handrail, agentweaver = _path_in_scope(path, HANDRAIL, scope), _path_in_scope(path, AGENTWEAVER, scope)
    inner = f"/{path}".rpartition("/.artifacts/")
    inner_path = handrail or agentweaver or (f".artifacts/{inner[2]}" if inner[1] else posixpath.basename(path))
    folder, base = posixpath.split(inner_path)
    if not handrail and scope.strip():
        stem, extension = posixpath.splitext(base)
        stem = "scope" if stem == scope else re.sub(rf"-{re.escape(scope)}(-iter-[0-9]+|-[0-9]+)?\Z", "", stem)
        base = stem + extension
    base = re.sub(r"-[0-9]+(?=\.[^.]+\Z)", "", base)
    if folder == ".artifacts" or folder.startswith(".artifacts/"):
        folder = folder[1:]
    parts = [fold(part, "._-").lstrip("._-") for part in (*folder.split("/"), base)]
    return "/".join(part for part in parts[:-1] if part) + ("/" if any(parts[:-1]) else "") + (parts[-1] or "file")


def artifact_key(path: str, project: str, scope: str) -> str:
    """The key of an artifact on the shelf: its path within the scope, without its iteration.

    A file in a folder of the scope has the key that AgentWeaver gives it, in lower case. Any other file has its path in
    the project, so that `a.md`, `A.md` and `d/a.md` are three artifacts.
    """
    path = posixpath.normpath(path.replace("\\", "/"))
    is_in_scope = any(_path_in_scope(path, root, scope) for root in (HANDRAIL, AGENTWEAVER))
    if is_in_scope or "/.artifacts/" in f"/{path}":
        return logical_key(path, scope)
    folder = posixpath.dirname(posixpath.relpath(path, project))
    parts = [] if folder.startswith("..") else [_dashed(part, "._-").lstrip("._-") for part in folder.split("/")]
    return "/".join([part for part in parts if part] + [logical_key(path, scope, _dashed)])


def artifact_id(scope: str, key: str, version: int) -> str:
    return f"{scope}:{key}:v{version}"


def parse_reference(text: str) -> ShelfReference | None:
    """Parse `SCOPE:KEY:vN`, `KEY@vN` or `KEY@latest`. None for any other text."""
    match = re.fullmatch(r"(?P<scope>.+):(?P<key>[^:@\n]+):v(?P<version>[1-9][0-9]{0,14})", text)
    if match and is_key(match["key"]):
        return ShelfReference(match["key"], int(match["version"]), match["scope"])
    match = re.fullmatch(r"(?P<key>[^:@\n]+)@(?:latest|v(?P<version>[1-9][0-9]{0,14}))", text)
    if match and is_key(match["key"]):
        return ShelfReference(match["key"], int(match["version"]) if match["version"] else None)
    return None


def is_key(text: str) -> bool:
    """True for a logical key: letters, digits, `.`, `_`, `-` and `/`; it begins with a letter or digit."""
    return text[:1] != "" and _is_plain(text[0]) and all(_is_plain(char) or char in "._/-" for char in text)
