"""Checks the structure of the code: pure modules, sizes, import cycles, one module that starts processes."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import handrail
from handrail import NAMED_AGENT
from handrail.extensions import registry

SOURCE = Path(handrail.__file__).parent
PROGRAMS = tuple(SOURCE / "builtin" / name for name in ("demo", "plugin", "scripts"))  # no modules of ours
MODULES = sorted(p for p in SOURCE.rglob("*.py") if not any(p.is_relative_to(folder) for folder in PROGRAMS))
IMPURE = {"os", "io", "time", "datetime", "random", "secrets", "logging", "subprocess", "socket", "pathlib", "shutil"}
STARTS = {"subprocess", "multiprocessing", "pty"}
MOST_LINES, MOST_LINES_OF_A_FUNCTION = 600, 40
PURE = ("driven/expressions", "guided/workflows/plan.py", "guided/sessions/events.py", "guided/sessions/machine.py",
        "guided/sessions/words.py", "driven/runs/run_events.py", "view/rows", "view/text")  # fmt: skip


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree_of(path)))


@cache
def imports(path: Path, *, at_run_time: bool = False) -> frozenset[str]:
    """The modules that a file imports, also inside functions. `at_run_time`: without imports for type checking."""
    return frozenset(_imports(_run_time(tree_of(path)) if at_run_time else nodes_of(path)))


def _imports(nodes: Iterator[ast.AST] | tuple[ast.AST, ...]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _run_time(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree without the blocks of `if TYPE_CHECKING:`."""
    yield node
    for child in ast.iter_child_nodes(node):
        is_for_types = (
            isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING"
        )
        if not is_for_types:
            yield from _run_time(child)


def name_of(path: Path) -> str:
    parts = list(path.relative_to(SOURCE.parent).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def place_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def says_pure(path: Path) -> bool:
    """True if the docstring of a module says that it is pure."""
    return "Pure" in (ast.get_docstring(tree_of(path)) or "")


def calls(path: Path) -> set[str]:
    """The names of the functions that a file calls directly."""
    return {node.func.id for node in nodes_of(path) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}


def test_pure_modules_do_no_input_or_output() -> None:
    pure = [path for path in MODULES if says_pure(path)]
    imported = {name_of(path): {module.split(".")[0] for module in imports(path)} & IMPURE for path in pure}
    called = {name_of(path): {"open", "print", "input"} & calls(path) for path in pure}
    assert {name: found for name, found in imported.items() if found} == {}
    assert {name: found for name, found in called.items() if found} == {}


def test_all_core_modules_are_declared_pure() -> None:
    core = [path for path in MODULES if place_of(path).startswith(PURE) and path.name != "__init__.py"]
    assert len(core) > len(PURE)
    assert [name_of(path) for path in core if not says_pure(path)] == []


def test_only_one_module_starts_processes() -> None:
    importing = {
        place_of(path)
        for path in MODULES
        for module in imports(path)
        if module.split(".")[0] in STARTS or module in ("os.system", "os.popen", "os.posix_spawn")
    }
    calling = {
        place_of(path)
        for path in MODULES
        for node in nodes_of(path)
        if isinstance(node, ast.Attribute) and node.attr.startswith(("create_subprocess", "posix_spawn", "popen"))
    }
    assert importing | calling == {"base/processes.py"}


def test_modules_and_functions_stay_small() -> None:
    long = {name_of(path): text_of(path).count("\n") for path in MODULES}
    assert {name: lines for name, lines in long.items() if lines > MOST_LINES} == {}
    functions = {
        f"{name_of(path)}.{node.name}": (node.end_lineno or 0) - node.lineno
        for path in MODULES
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: lines for name, lines in functions.items() if lines > MOST_LINES_OF_A_FUNCTION} == {}


def test_every_module_has_a_docstring() -> None:
    assert [name_of(path) for path in MODULES if not ast.get_docstring(tree_of(path))] == []


def test_there_is_no_import_cycle() -> None:
    files = {name_of(path): path for path in MODULES}
    graph = {name: imports(path, at_run_time=True) & files.keys() - {name} for name, path in files.items()}
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
    calls_of_agents = "handrail.agents.calls"
    waiting = [f"{calls_of_agents}.hook", f"{calls_of_agents}.servers", "handrail.guided.sessions.sessions", *hosts]
    files = {name_of(path): path for path in MODULES}
    # only the server runs exit checks; declarations of nodes and checks are imported when definitions are loaded
    left_out = {
        "handrail.guided.sessions.exit_checks",
        *(name for name in files if name.startswith("handrail.extensions.contracts")),
        *(name for name in files if name.startswith("handrail.agents.") and name.endswith(".install")),
    }
    assert left_out <= files.keys()
    while waiting:
        name = waiting.pop()
        if name in files and name not in reached | left_out:
            reached.add(name)
            waiting.extend(imports(files[name], at_run_time=True))
    outside = {m.split(".")[0] for name in reached for m in imports(files[name], at_run_time=True)}
    assert outside - set(sys.stdlib_module_names) - {"_sha2"} == {"handrail"}  # SHA-256 in Python 3.12 and later
    assert "handrail.guided.sessions.store" in reached
    assert not {"handrail.app", "handrail.source.tree"} & reached
    assert not [name for name in reached if name.startswith(("handrail.agents.probe", "handrail.doctor"))]


NAMES = [name for name in registry.AGENTS if name not in (registry.OWN_TOOLS, NAMED_AGENT)]  # that is a protocol
OF_AGENTS = re.compile(
    rf"(?<![.\w-])({'|'.join(NAMES)})(?![\w-])"  # a name, but not pi-workflows or .pi/workflows
    rf"|\b({'|'.join(name.upper() for name in NAMES)})_[A-Z]"
    r"|\b(tool_use_id|session_id|hook_event_name|transcript_path|additionalContext)\b|/(cancel-)?workflow (NAME|TASK)",
    re.IGNORECASE,
)


def test_names_variables_fields_and_commands_of_an_agent_are_only_in_its_package() -> None:
    others = [p for p in MODULES if not place_of(p).startswith("agents/") and place_of(p) != "extensions/registry.py"]
    found = {place_of(path): [match[0] for match in OF_AGENTS.finditer(text_of(path))] for path in others}
    assert {place: names for place, names in found.items() if names} == {}


def test_every_agent_has_its_own_package() -> None:
    for name, row in registry.AGENTS.items():
        assert {module.rpartition(".")[0] for module in row.values()} == {f"handrail.agents.{name}"}


def test_the_changelog_has_the_version() -> None:
    changelog = (SOURCE.parent.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {handrail.__version__}" in changelog
