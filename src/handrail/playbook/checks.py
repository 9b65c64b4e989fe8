"""Which commands check a project, by the files in its folder. Each language is one row; nothing is run."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from handrail.source.files import Root, Unopened

_TARGET = re.compile(r"^test\s*:(?!=)", re.MULTILINE)
_RECIPE = re.compile(r"^@?test(?:\s[^:=\n]*)?:(?!=)", re.MULTILINE)
_NO_TEST = "no test specified"
_MANAGERS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun"}
_TEST_FILE = re.compile(r"test_.*\.py|.*_test\.py")
_TEST_FOLDERS = ("tests", "test", ".")


class Found(NamedTuple):
    """A command, and the file that it was found by."""

    argv: tuple[str, ...]
    source: str


class Folder:
    """The top folder of a project. A file that cannot be read, or that leads out of the project, is not there."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._root = Root(path)

    def has(self, *names: str) -> str | None:
        """The first of these files that exists."""
        return next((name for name in names if os.path.isfile(os.path.join(self.path, name))), None)

    def text(self, name: str) -> str:
        opened = self._root.open(self.path, name) if self.has(name) else None
        return "" if opened is None or isinstance(opened, Unopened) else opened.data.decode("utf-8", "replace")

    def names(self, below: str = "") -> list[str]:
        try:
            return sorted(os.listdir(os.path.join(self.path, below)))
        except OSError:
            return []


def found_checks(project: str) -> list[Found]:
    """All commands that were found. What a person wrote down comes before what a language has by convention."""
    folder = Folder(project)
    return [found for look in _LOOKS for found in look(folder)]


def _make(folder: Folder) -> Iterator[Found]:
    name = folder.has("GNUmakefile", "makefile", "Makefile")
    if name is not None and _TARGET.search(folder.text(name)):
        yield Found(("make", "test"), name)


def _just(folder: Folder) -> Iterator[Found]:
    name = folder.has("justfile", "Justfile", ".justfile")
    if name is not None and _RECIPE.search(folder.text(name)):
        yield Found(("just", "test"), name)


def _node(folder: Folder) -> Iterator[Found]:
    about = _mapping(_json(folder.text("package.json")))
    script = _mapping(about.get("scripts")).get("test")
    if isinstance(script, str) and script.strip() and _NO_TEST not in script:
        said = str(about.get("packageManager") or "").partition("@")[0]
        lock = folder.has(*_MANAGERS)
        manager = said if said in _MANAGERS.values() else _MANAGERS[lock] if lock else "npm"
        yield Found((manager, "run", "test"), "package.json")


def _python(folder: Folder) -> Iterator[Found]:
    configured = folder.has("pytest.ini", "conftest.py", "tests/conftest.py")
    about = _toml(folder.text("pyproject.toml"))
    lists = [about.get("project"), about.get("dependency-groups"), _mapping(about.get("tool")).get("poetry")]
    if configured is None and ("pytest" in _mapping(about.get("tool")) or "pytest" in json.dumps(lists, default=str)):
        configured = "pyproject.toml"
    if configured is None:
        configured = next((n for n in ("tox.ini", "setup.cfg") if "pytest]" in folder.text(n)), None)
    if configured is not None:
        yield Found((*_interpreter(folder), "-m", "pytest"), configured)
        return
    for below in _TEST_FOLDERS:
        files = [name for name in folder.names(below) if _TEST_FILE.fullmatch(name)]
        if files:
            start = () if "__init__.py" in folder.names(below) else ("-s", below)
            pattern = () if files[0].startswith("test") else ("-p", "*_test.py")
            source = f"{below}/{files[0]}".removeprefix("./")
            yield Found((*_interpreter(folder), "-m", "unittest", "discover", *start, *pattern), source)
            return


def _interpreter(folder: Folder) -> tuple[str, ...]:
    """The interpreter of the project's own environment, else `python3`."""
    if folder.has("uv.lock"):
        return ("uv", "run", "python")
    own = next((name for name in (".venv", "venv") if folder.has(f"{name}/bin/python")), None)
    return (f"{own}/bin/python",) if own else ("python3",)


def _by_file(argv: tuple[str, ...], *names: str) -> Callable[[Folder], Iterator[Found]]:
    """A language whose projects all have the same command."""

    def look(folder: Folder) -> Iterator[Found]:
        name = folder.has(*names)
        if name is not None:
            yield Found(argv, name)

    return look


def _dotnet(folder: Folder) -> Iterator[Found]:
    name = next((name for name in folder.names() if name.endswith((".sln", ".slnx", ".csproj", ".fsproj"))), None)
    if name is not None:
        yield Found(("dotnet", "test"), name)


_LOOKS: tuple[Callable[[Folder], Iterator[Found]], ...] = (
    _make,
    _just,
    _node,
    _python,
    _by_file(("go", "test", "./..."), "go.mod"),
    _by_file(("cargo", "test"), "Cargo.toml"),
    _by_file(("./gradlew", "test"), "gradlew"),
    _by_file(("./mvnw", "-q", "test"), "mvnw"),
    _by_file(("mvn", "-q", "test"), "pom.xml"),
    _dotnet,
    _by_file(("bundle", "exec", "rake", "test"), "Rakefile"),
    _by_file(("mix", "test"), "mix.exs"),
)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _json(text: str) -> Any:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}
