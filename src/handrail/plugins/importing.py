"""Imports the code of plugins. What a module prints while it is imported never gets to the standard output.

A folder is imported from the bytes that were compared with the trusted ones, as a package of its own: nothing is added
to `sys.path`, and compiled files in the folder are neither read nor written.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from handrail.plugins.content import Content

PREFIX = "handrail_plugin_"


class Broken(Exception):
    """A module of a plugin cannot be imported. The message says why."""


def import_folder(id_: str, folder: str, content: Content, module: str) -> Any:
    """A module of a plugin's folder, made of these files."""
    package = f"{PREFIX}{id_.replace('-', '_')}_{content.digest[:16]}"
    if not any(isinstance(finder, _Finder) and finder.package == package for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(package, folder, content.files))
    return import_package(f"{package}.{module}")


def import_package(module: str) -> Any:
    """A module of an installed package, or of a folder that `import_folder` prepared. Raises `Broken`."""
    try:
        with _quiet():
            return importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise Broken(described(error, module)) from error


def described(error: BaseException, module: str) -> str:
    """An exception on one line, with the place in the plugin where it was raised."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith("<") and not file.startswith(os.path.dirname(os.path.dirname(__file__)) + os.sep):
            place = f" ({os.path.basename(file)}:{trace.tb_lineno})"
        trace = trace.tb_next
    if isinstance(error, ModuleNotFoundError) and error.name == module:
        return f"there is no module `{module.rpartition('.')[2]}`"
    text = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}{f': {text}' if text else ''}{place}"


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """While this is open, the standard output is the standard error, for Python and for libraries in C."""
    before, saved = sys.stdout, None
    with contextlib.suppress(OSError, ValueError):
        before.flush()
    with contextlib.suppress(OSError):
        saved = os.dup(1)
        os.dup2(2, 1)
    sys.stdout = sys.stderr
    try:
        yield
    finally:
        sys.stdout = before
        if saved is not None:
            os.dup2(saved, 1)
            os.close(saved)


class _Finder(MetaPathFinder):
    """Finds the modules of one plugin's folder, below a package with an unmistakable name."""

    def __init__(self, package: str, folder: str, files: Mapping[str, bytes]) -> None:
        self.package = package
        self.folder = folder
        self.files = files

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname != self.package and not fullname.startswith(f"{self.package}."):
            return None
        inner = fullname[len(self.package) + 1 :].replace(".", "/")
        base = f"{inner}/" if inner else ""
        for name, is_package in ((f"{inner}.py", False), (f"{base}__init__.py", True)):
            if name in self.files:
                return self._spec(fullname, name, self.files[name], is_package=is_package)
        if any(name.startswith(base) for name in self.files):
            return self._spec(fullname, f"{base}__init__.py", b"", is_package=True)
        return None

    def _spec(self, fullname: str, name: str, data: bytes, *, is_package: bool) -> ModuleSpec:
        file = os.path.join(self.folder, name)
        spec = ModuleSpec(fullname, _Source(file, data), origin=file, is_package=is_package)
        spec.has_location = True  # a package has an empty `__path__`, so that Python's own finders find nothing in it
        return spec


class _Source(Loader):
    """Executes the bytes of one file."""

    def __init__(self, file: str, data: bytes) -> None:
        self.file = file
        self.data = data

    def exec_module(self, module: ModuleType) -> None:
        code = compile(self.data, self.file, "exec", dont_inherit=True)
        exec(code, module.__dict__)  # noqa: S102 - a person trusts exactly these bytes
