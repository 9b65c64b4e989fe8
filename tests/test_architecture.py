"""Checks the structure of the code: pure modules, sizes, import cycles, one module that starts processes."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import handrail
from handrail import NAMED_AGENT
from handrail.extensions import registry

SOURCE = Path(handrail.__file__).parent
PROGRAMS = tuple(SOURCE / "builtin" / name for name in ("demo", "plugin", "scripts"))  # no modules of ours
MODULES = sorted(p for p in SOURCE.rglob("*.py") if not any(p.is_relative_to(folder) for folder in PROGRAMS))
IMPURE = {"os", "io", "time", "datetime", "random", "secrets", "logging", "subprocess", "socket", "pathlib", "shutil"}
STARTS = {"subprocess", "multiprocessing", "pty"}


def imports(path: Path, *, at_run_time: bool = False) -> Iterator[str]:
    """The modules that a file imports, also inside functions. `at_run_time`: without imports for type checking."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(RunTime().visit(tree) if at_run_time else tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


class RunTime(ast.NodeTransformer):
    """Removes the blocks of `if TYPE_CHECKING:`."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        is_for_types = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if is_for_types else self.generic_visit(node)


def name_of(path: Path) -> str:
    parts = list(path.relative_to(SOURCE.parent).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def says_pure(path: Path) -> bool:
    """True if the docstring of a module says that it is pure."""
    return "Pure" in (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")


@pytest.mark.parametrize("path", [path for path in MODULES if says_pure(path)], ids=name_of)
def test_pure_modules_do_no_input_or_output(path: Path) -> None:
    found = set(imports(path))
    assert not {module.split(".")[0] for module in found} & IMPURE
    assert not {"open", "print", "input"} & set(calls(path))


def test_all_core_modules_are_declared_pure() -> None:
    rooms = (
        "expressions",
        "workflows/plan.py",
        "sessions/events.py",
        "sessions/machine.py",
        "sessions/words.py",
        "runs/machine.py",
        "view",
    )
    core = [path for path in MODULES if path.relative_to(SOURCE).as_posix().startswith(rooms)]
    assert [name_of(path) for path in core if path.name != "__init__.py" and not says_pure(path)] == []


def with_words(*words: str) -> list[Path]:
    """The modules whose text has one of these words. Only they have to be parsed, which is slow."""
    texts = ((path, path.read_text(encoding="utf-8")) for path in MODULES)
    return [path for path, text in texts if any(word in text for word in words)]


def calls(path: Path) -> Iterator[str]:
    """The names of the functions that a file calls directly."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def test_only_one_module_starts_processes() -> None:
    starters = {
        path.relative_to(SOURCE).as_posix()
        for path in with_words(*STARTS, "system", "popen", "posix_spawn")
        for module in imports(path)
        if module.split(".")[0] in STARTS or module in ("os.system", "os.popen", "os.posix_spawn")
    }
    spawners = {
        path.relative_to(SOURCE).as_posix()
        for path in with_words("create_subprocess", "posix_spawn", "popen")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr.startswith(("create_subprocess", "posix_spawn", "popen"))
    }
    assert starters | spawners == {"process/child.py"}


def test_only_modules_without_an_event_loop_call_sleep() -> None:
    """`time.sleep` is allowed in commands and hooks without an event loop, and for locks that are held briefly."""
    sleepers = {
        path.relative_to(SOURCE).as_posix()
        for path in with_words("sleep")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "time.sleep"
    }
    hooks = {"agents/copilot/transcript.py"}
    assert sleepers == {"cli/demo.py", "cli/history.py", "cli/runs.py", "cli/view.py", "state/locks.py"} | hooks


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_and_functions_stay_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 45, f"{node.name} is long"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_has_a_short_docstring(path: Path) -> None:
    about = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert about
    assert len(about.splitlines()) <= 7


def test_there_is_no_import_cycle() -> None:
    names = {name_of(path) for path in MODULES}
    graph = {
        name_of(path): {m for m in imports(path, at_run_time=True) if m in names and m != name_of(path)}
        for path in MODULES
    }
    done: set[str] = set()

    def walk(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, " → ".join([*above, name])
        if name not in done:
            for target in sorted(graph[name]):
                walk(target, (*above, name))
            done.add(name)

    for name in sorted(graph):
        walk(name, ())


def test_hooks_import_only_the_standard_library() -> None:
    """Follows the imports of the hook, of the `workflow_step` server and of the hosts, except loading definitions."""
    hosts = [row["host"] for row in registry.AGENTS.values() if "host" in row]
    reached: set[str] = set()
    waiting = [
        "handrail.agents.calls.hook",
        "handrail.agents.calls.servers",
        "handrail.guided.sessions.sessions",
        *hosts,
    ]
    files = {name_of(path): path for path in MODULES}
    declared = {
        "handrail.guided.sessions.exit_checks",
        *(name for name in files if name.startswith("handrail.extensions.contracts")),
    }
    # only the server runs exit checks; declarations of nodes and checks are imported when definitions are loaded
    installs = {
        name for name in files if name.startswith("handrail.agents.") and name.endswith((".install", ".plugin"))
    }
    while waiting:
        name = waiting.pop()
        if name in files and name not in reached | declared | installs:
            reached.add(name)
            waiting.extend(imports(files[name], at_run_time=True))
    outside = {m.split(".")[0] for name in reached for m in imports(files[name], at_run_time=True)}
    assert outside - set(sys.stdlib_module_names) - {"_sha2"} == {"handrail"}  # SHA-256 in Python 3.12 and later
    assert "handrail.guided.sessions.store" in reached
    assert not {"handrail.app", "handrail.source.tree"} & reached
    assert not [name for name in reached if name.startswith(("handrail.agents.probe", "handrail.doctor"))]


def stem(word: str) -> str:
    """A word without the endings that make other forms of it."""
    for ending in ("ations", "ation", "ings", "ing", "ers", "er", "ed", "en", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word.removesuffix(ending)
    return word


def rooms() -> dict[str, list[str]]:
    """The names that stand side by side: rooms and modules at the top, and the modules of each room."""
    found: dict[str, list[str]] = {}
    for path in MODULES:
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if parts[-1].startswith("__") and len(parts) > 1:
            parts = parts[:-1]
        if not parts[-1].startswith("__"):
            found.setdefault("/".join(parts[:-1]), []).append(parts[-1])
    return found


@pytest.mark.parametrize("names", rooms().values(), ids=[room or "top" for room in rooms()])
def test_no_two_names_side_by_side_are_forms_of_one_word(names: list[str]) -> None:
    stems = [stem(name) for name in set(names)]
    assert sorted(stems) == sorted(set(stems)), names


def test_there_are_at_most_ten_modules_at_the_top() -> None:
    assert len([path for path in SOURCE.glob("*.py") if not path.name.startswith("__")]) <= 10


def test_there_are_at_most_sixteen_layers_without_exceptions() -> None:
    config = tomllib.loads((SOURCE.parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
    house, *inner = config["tool"]["importlinter"]["contracts"]
    assert len(house["layers"]) <= 16
    assert house["exhaustive"]
    assert not any("ignore_imports" in contract for contract in (house, *inner))
    large = {f"handrail.{room.replace('/', '.')}" for room, names in rooms().items() if len(set(names)) > 12 and room}
    assert large <= {container for contract in inner for container in contract.get("containers", ())}


NAMES = [name for name in registry.AGENTS if name not in (registry.OWN_TOOLS, NAMED_AGENT)]  # that is a protocol
OF_AGENTS = re.compile(
    rf"(?<![.\w-])({'|'.join(NAMES)})(?![\w-])"  # a name, but not pi-workflows or .pi/workflows
    rf"|\b({'|'.join(name.upper() for name in NAMES)})_[A-Z]"
    r"|\b(tool_use_id|session_id|hook_event_name|transcript_path|additionalContext)\b|/(cancel-)?workflow (NAME|TASK)",
    re.IGNORECASE,
)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_names_variables_fields_and_commands_of_an_agent_are_only_in_its_package(path: Path) -> None:
    place = path.relative_to(SOURCE).as_posix()
    if not place.startswith("agents/") and place != "registry/tables.py":
        assert [found[0] for found in OF_AGENTS.finditer(path.read_text(encoding="utf-8"))] == []


def test_every_agent_has_its_own_package() -> None:
    for name, row in registry.AGENTS.items():
        assert {module.rpartition(".")[0] for module in row.values()} == {f"handrail.agents.{name}"}


def test_the_changelog_has_the_version() -> None:
    changelog = (SOURCE.parent.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {handrail.__version__}" in changelog
