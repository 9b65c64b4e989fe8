"""Imports the modules of a plugin, and checks them against `handrail.extensions.contracts`.

The files of a folder are read once, so what is trusted, shown and imported are the same bytes. A folder is imported as
a package of its own: nothing is added to `sys.path`, and compiled files in the folder are neither read nor written.
What a module prints while it is imported never gets to the standard output.
A plugin is tried in a process of its own (`try_out`): a module that never ends its import, or kills its process, only
harms that process. Run as a program, this module is that process: it reads a request as JSON and answers with JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib
import inspect
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, get_args

import handrail
from handrail.base.dataclasses import asdict, dataclass
from handrail.base.files import Unreadable, read_limited
from handrail.extensions.contracts.agent import Enforcement, Executor, Host, Installs, Offline
from handrail.extensions.contracts.check import Check, CheckKind, CheckPlace
from handrail.extensions.contracts.engine import EngineKind
from handrail.extensions.contracts.node import Node, NodeKind
from handrail.source.fields import Field

MAX_FILES = 2_000
MAX_BYTES = 16 * 1_048_576
IGNORED = "__pycache__"
"""Python and tests write this folder. Handrail never reads it: it compiles the sources of a plugin itself."""


class UnusableFolder(Exception):
    """A folder that cannot be trusted as a whole. The message says why."""


@dataclass(frozen=True)
class PluginContent:
    """All files of a folder: path below the folder → bytes."""

    files: Mapping[str, bytes]

    @property
    def digest(self) -> str:
        """One digest of all names and bytes."""
        hasher = hashlib.sha256()
        for name, data in sorted(self.files.items()):
            name_bytes = name.encode("utf-8", "surrogateescape")
            hasher.update(b"%d:%s%d:" % (len(name_bytes), name_bytes, len(data)))
            hasher.update(data)
        return hasher.hexdigest()


def read_content(folder: str) -> PluginContent:
    """The files of a plugin. Raises `UnusableFolder` if there is a link, something that is no file, or too much."""
    files: dict[str, bytes] = {}
    total = 0
    for name in _names(folder, ""):
        try:
            files[name] = read_limited(os.path.join(folder, name), MAX_BYTES)
        except Unreadable as error:
            raise UnusableFolder(f"`{name}` {error.message}") from error
        total += len(files[name])
        if len(files) > MAX_FILES or total > MAX_BYTES:
            raise UnusableFolder(f"it has more than {MAX_FILES} files or {MAX_BYTES} bytes")
    return PluginContent(files)


def _names(folder: str, below: str) -> Iterator[str]:
    try:
        with os.scandir(os.path.join(folder, below)) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        raise UnusableFolder(f"`{below or folder}` cannot be listed: {error.strerror}") from error
    for entry in entries:
        name = os.path.join(below, entry.name)
        if entry.is_symlink():
            raise UnusableFolder(f"`{name}` is a link; a plugin has to consist of files and folders")
        if not entry.is_dir():
            yield name
        elif entry.name != IGNORED:
            yield from _names(folder, name)


PREFIX = "handrail_plugin_"


class ImportFailed(Exception):
    """A module of a plugin cannot be imported. The message says why."""


def import_folder(id_: str, folder: str, content: PluginContent, module: str) -> Any:
    """A module of a plugin's folder, made of these files."""
    package = f"{PREFIX}{id_.replace('-', '_')}_{content.digest[:16]}"
    if not any(isinstance(finder, _Finder) and finder.package == package for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(package, folder, content.files))
    return import_package(f"{package}.{module}")


def import_package(module: str) -> Any:
    """A module of an installed package, or of a folder that `import_folder` prepared. Raises `ImportFailed`."""
    try:
        with _quiet():
            return importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise ImportFailed(error_line(error, module)) from error


def error_line(error: BaseException, module: str) -> str:
    """An exception on one line, with the place in the plugin where it was raised."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith("<") and not file.startswith(handrail.__path__[0] + os.sep):
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
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
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


def contract_problems(kind: str, module: Any) -> list[str]:
    """What is wrong with a module of this kind, one sentence each. Empty if it keeps to the contract."""
    return list(_KINDS[kind](module) if kind in _KINDS else _part(kind, module))


def _node(module: Any) -> Iterator[str]:
    declared = getattr(module, "NODE", None)
    if not isinstance(declared, Node):
        yield f"`NODE` has to be `Node(...)` of `handrail.extensions.contracts`, found {_words_for(declared)}"
        return
    wrong = [*_fields(declared.params, "NODE.params"), *_text(declared, "about", "NODE")]
    yield from wrong
    if wrong:
        return
    outputs: Any = declared.outputs
    if not isinstance(outputs, Mapping) or not all(isinstance(text, str) for pair in outputs.items() for text in pair):
        yield f"`NODE.outputs` has to be names with what they hold, found {_words_for(outputs)}"
        return
    names = [param.name for param in declared.params]
    yield from (f"`NODE.makes` names `{name}`, which is no param" for name in declared.makes if name not in names)
    for key in ("published", "summary", "stops"):
        name = getattr(declared, key)
        if name is not None and name not in outputs and not declared.open_outputs:
            yield f"`NODE.{key}` names `{name}`, which is no output"
    if declared.nests is None:
        yield from _function(module, "run", NodeKind.run, is_async=True)
    if declared.where is not None and not callable(getattr(module, "preview", None)):
        yield "`NODE.where` is set, but there is no function `preview`"


def _check(module: Any) -> Iterator[str]:
    declared = getattr(module, "CHECK", None)
    if not isinstance(declared, Check):
        yield f"`CHECK` has to be `Check(...)` of `handrail.extensions.contracts`, found {_words_for(declared)}"
        return
    wrong = [*_fields(declared.params, "CHECK.params"), *_text(declared, "about", "CHECK")]
    yield from (*wrong, *_text(declared, "words", "CHECK"))
    if wrong:
        return
    if declared.short is not None and declared.short not in [param.name for param in declared.params]:
        yield f"`CHECK.short` names `{declared.short}`, which is no param"
    if not declared.places or not set(declared.places) <= set(get_args(CheckPlace)):
        yield f"`CHECK.places` has to be some of {', '.join(get_args(CheckPlace))}, found {_words_for(declared.places)}"
    yield from _function(module, "verify", CheckKind.verify, is_async=True)


def _host(module: Any) -> Iterator[str]:
    commands = getattr(module, "COMMANDS", None)
    if not isinstance(commands, Mapping) or set(commands) != {"start", "cancel"}:
        yield f"`COMMANDS` has to say what a person types: `start` and `cancel`, found {_words_for(commands)}"
    levels = getattr(module, "ENFORCES", None)
    if not isinstance(levels, Mapping) or not set(levels.values()) <= set(get_args(Enforcement)):
        allowed = ", ".join(get_args(Enforcement))
        yield f"`ENFORCES` has to give a level ({allowed}) for each rule, found {_words_for(levels)}"
    yield from _part("host", module)


def _part(kind: str, module: Any) -> Iterator[str]:
    """What is wrong with the attributes and the functions of a module of this kind."""
    for name, (is_right, form_words) in _ATTRIBUTES.get(kind, {}).items():
        if not hasattr(module, name):
            yield f"`{name}` is missing; it has to be {form_words}"
        elif not is_right(getattr(module, name)):
            yield f"`{name}` has to be {form_words}, found {_words_for(getattr(module, name))}"
    for protocol in _PROTOCOLS.get(kind, ()):
        for name, member in vars(protocol).items():
            if inspect.isfunction(member) and not name.startswith("_"):
                yield from _function(module, name, member)


def _is_texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(one, str) for one in value)


_ATTRIBUTES: Mapping[str, Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "executor": {
        "PROGRAM": (lambda value: isinstance(value, str) and bool(value), "the name of a program"),
        "ENVIRONMENT": (_is_texts, "a tuple of names of variables"),
    },
    "host": {
        "LINKS": (lambda value: isinstance(value, bool), "true or false"),
        "CONVERSATION": (lambda value: value is None or isinstance(value, str), "the name of a variable, or None"),
    },
    "tools": dict.fromkeys(("TOOLS", "FORMER_TOOLS"), (_is_texts, "a tuple of names of tools")),
    "offline": dict.fromkeys(Offline.__annotations__, (lambda _: True, "a value")),
}
_PROTOCOLS: Mapping[str, tuple[type, ...]] = {
    "executor": (Executor,),
    "host": (Installs, Host),
    "offline": (Offline,),
    "engine": (EngineKind,),
}
_KINDS: Mapping[str, Callable[[Any], Iterator[str]]] = {"node": _node, "check": _check, "host": _host}


def _fields(params: Any, where: str) -> Iterator[str]:
    if not isinstance(params, tuple) or not all(isinstance(param, Field) for param in params):
        yield f"`{where}` has to be a tuple of `Field(...)`, found {_words_for(params)}"
        return
    names = [param.name for param in params]
    yield from (f"`{where}` has `{name}` twice" for name in dict.fromkeys(names) if names.count(name) > 1)


def _text(declared: Any, key: str, where: str) -> Iterator[str]:
    value = getattr(declared, key)
    if not isinstance(value, str) or not value.strip():
        yield f"`{where}.{key}` has to be a text for people"


def _function(module: Any, name: str, protocol: Callable[..., Any], *, is_async: bool = False) -> Iterator[str]:
    """What is wrong with a function, compared with the method of a protocol."""
    function = getattr(module, name, None)
    takes = list(inspect.signature(protocol).parameters)[1:]
    form = f"`{'async ' * is_async}def {name}({', '.join(takes)})`"
    if not callable(function):
        yield f"there is no function `{name}`; write {form}"
        return
    try:
        inspect.signature(function).bind(*takes)
    except (TypeError, ValueError):
        yield f"`{name}` takes other arguments; write {form}"
    if is_async and not inspect.iscoroutinefunction(function):
        yield f"`{name}` is not `async`; write {form}"


def _words_for(value: Any) -> str:
    return "nothing" if value is None else f"`{str(value)[:60]}`"


SECONDS = 10.0
MOST_OUTPUT = 1_000_000


@dataclass(frozen=True)
class TrialRequest:
    """What is tried. `package` is empty for a folder, whose files must have this digest.

    `rows` are (kind, name, module), see `PluginManifest.code`.
    """

    id: str
    folder: str
    package: str
    digest: str
    rows: tuple[tuple[str, str, str], ...]
    path: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrialResult:
    """What was found: (kind, name, message) of each problem, and what the modules printed."""

    problems: tuple[tuple[str, str, str], ...] = ()
    printed: str = ""
    timed_out: bool = False


def try_out(request: TrialRequest, env: Mapping[str, str], seconds: float) -> TrialResult:
    """Import a plugin in another process. Blocks for at most about this many seconds."""
    results: list[TrialResult] = []
    thread = threading.Thread(target=lambda: results.append(asyncio.run(_try(request, env, seconds))))
    thread.start()  # the caller may be inside of an event loop
    thread.join()
    return results[0] if results else TrialResult((("plugin", request.id, "it could not be tried"),))


async def _try(request: TrialRequest, env: Mapping[str, str], seconds: float) -> TrialResult:
    from handrail.base.processes import Task, capture

    argv = (sys.executable, "-I", "-m", "handrail.extensions.plugins.code_import")
    task = Task(argv=argv, cwd=request.folder, env=env, timeout=seconds, stdin=json.dumps(asdict(request)).encode())
    try:
        output = await capture(task, MOST_OUTPUT)
    except OSError as error:
        return TrialResult((("plugin", request.id, f"Python cannot be started: {error.strerror}"),))
    if output.timed_out:
        message = f"importing it takes longer than {seconds:g} seconds"
        return TrialResult((("plugin", request.id, message),), output.errors, timed_out=True)
    try:
        problems = [(str(kind), str(name), str(text)) for kind, name, text in json.loads(output.data)]
    except (ValueError, TypeError):
        message = f"its import ended the process with exit code {output.exit_code}"
        return TrialResult((("plugin", request.id, message),), output.errors)
    return TrialResult(tuple(problems), output.errors)


def check_modules(request: TrialRequest) -> list[tuple[str, str, str]]:
    """Import each module, and check it. Runs in the process of the trial."""
    sys.path[:] = [*request.path, *[entry for entry in sys.path if entry not in request.path]]
    load: Any = lambda module: import_package(f"{request.package}.{module}")  # noqa: E731 - one of two ways to load
    if not request.package:
        try:
            content = read_content(request.folder)
        except UnusableFolder as error:
            return [("plugin", request.id, str(error))]
        if content.digest != request.digest:
            return [("plugin", request.id, "its files changed while it was tried")]
        load = lambda module: import_folder(request.id, request.folder, content, module)  # noqa: E731 - see above
    problems: list[tuple[str, str, str]] = []
    for kind, name, module in request.rows:
        try:
            problems += [(kind, name, text) for text in contract_problems(kind, load(module))]
        except ImportFailed as error:
            problems.append((kind, name, f"`{module}` cannot be imported: {error}"))
    return problems


def _main() -> None:
    stdout = os.dup(1)
    os.dup2(2, 1)  # the modules may print
    data = json.load(sys.stdin)
    request = TrialRequest(**{**data, "rows": tuple(map(tuple, data["rows"])), "path": tuple(data["path"])})
    problems = check_modules(request)
    sys.stdout.flush()
    os.write(stdout, json.dumps(problems).encode())
    os._exit(0)  # threads of a plugin must not keep this process


if __name__ == "__main__":
    _main()
