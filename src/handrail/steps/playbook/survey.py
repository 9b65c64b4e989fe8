"""What the files of a project and the text of a task say: languages, frameworks, commands, layout, conventions.

Each fact has evidence: a path and a line. A tool, a language and a framework is one row of a table. Nothing is run.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from handrail.base.dataclasses import dataclass
from handrail.base.errors import HandrailError
from handrail.base.files import Unreadable, path_flaw, read_limited
from handrail.source.definition_files import Root, UnopenedFile
from handrail.source.values import json_value

TASK_LANGUAGES = ("typescript", "javascript", "node", "go", "golang", "python", "react", "vue", "svelte")
TASK_FRAMEWORKS = ("express", "fastify", "nestjs", "react", "vite", "vitest", "node:test", "jest", "ink")
"""The names that AgentWeaver finds in a task. Strict matching looks for more."""
MORE_TASK_LANGUAGES = ("java", "kotlin", "rust", "ruby", "php", "swift", "scala", "elixir", "csharp", "c#")
STOP_WORDS = frozenset((
    "and", "the", "with", "for", "from", "into", "that", "this", "when", "then", "must", "should", "will", "are", "was",
    "как", "для", "что", "это", "или", "при", "над", "под", "если",
))  # fmt: skip
"""Words that say nothing about a task. AgentWeaver leaves out the same ones."""
OTHER_NAMES = {
    "golang": "go", "ts": "typescript", "js": "javascript", "node": "javascript", "py": "python", "c#": "csharp",
    "nextjs": "next.js", "nest": "nestjs",
}  # fmt: skip
"""Other names of languages and frameworks."""
SUFFIXES = {
    "python": (".py", ".pyi"),
    "typescript": (".ts", ".tsx", ".mts", ".cts"),
    "javascript": (".js", ".jsx", ".mjs", ".cjs"),
    "go": (".go",),
    "java": (".java",),
    "kotlin": (".kt", ".kts"),
    "rust": (".rs",),
    "ruby": (".rb",),
    "php": (".php",),
    "swift": (".swift",),
    "scala": (".scala",),
    "elixir": (".ex", ".exs"),
    "csharp": (".cs",),
    "vue": (".vue",),
    "svelte": (".svelte",),
    "c": (".c", ".h"),
    "cpp": (".cc", ".cpp", ".hpp"),
    "shell": (".sh", ".bash"),
    "sql": (".sql",),
}
"""Language → how the names of its files end."""
MAX_WORDS = 100_000
_WORD = re.compile(r"[^\W\d_][\w-]{2,}")
_PATH = re.compile(r"(?:^|(?<=\s))([./]?[\w.@-]+/[\w./@-]+)")
_MARKED_PATH = re.compile(r"[\"'`(]([./]?[\w.@-]+/[\w./@-]+|[\w@-]+\.[a-z]{1,5})(?=[\"'`)])")
_WITHOUT_SPACES = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")


@dataclass(frozen=True)
class Signals:
    """The signals of a task. `text` is all of it in lower case. `files` are those that it is known to change.

    `marked` are paths in quotes or backticks, which AgentWeaver does not see.
    """

    title: str
    source_type: str
    text: str
    keywords: tuple[str, ...]
    paths: tuple[str, ...]
    languages: tuple[str, ...]
    frameworks: tuple[str, ...]
    marked: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @cached_property
    def touched_files(self) -> tuple[str, ...]:
        """The files that the task changes or names, without a leading `./`."""
        return tuple(dict.fromkeys(path.removeprefix("./") for path in (*self.files, *self.paths, *self.marked)))

    @cached_property
    def known_languages(self) -> frozenset[str]:
        """The languages that the task names, and those of its files."""
        of_files = [language for path in self.touched_files for language in languages_of(path)]
        named = [name for name in MORE_TASK_LANGUAGES if self.says(name)] if self.text else []
        return frozenset((*map(usual_name, (*self.languages, *named)), *of_files))

    @cached_property
    def known_frameworks(self) -> frozenset[str]:
        return frozenset(map(usual_name, self.frameworks))

    def says(self, words: str) -> bool:
        """True if the task has this keyword: as whole words, or anywhere if its script has no spaces."""
        wanted = " ".join(words.casefold().split())
        if any(unicodedata.name(char, "").startswith(_WITHOUT_SPACES) for char in wanted):
            return wanted in self.text
        return re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", self.text) is not None

    def to_json(self) -> dict[str, Any]:
        """The signals as the schema `project-guidance/v1` has them."""
        return {
            "title": self.title,
            "source_type": self.source_type,
            "keywords": list(self.keywords),
            "file_globs": list(self.paths),
            "referenced_paths": list(self.paths),
            "languages": list(self.languages),
            "frameworks": list(self.frameworks),
        }


def signals_of(task: Any, files: Iterable[str] = ()) -> Signals:
    """The signals of a task: a text, or data with texts in it."""
    texts = list(_texts(task))
    joined = "\n".join(texts)
    words = sorted(set(_WORD.findall(joined.lower()[: 20 * MAX_WORDS])) - STOP_WORDS)
    paths = sorted({path.rstrip("\"'`,.;:") for path in _PATH.findall(joined)} - {""})
    text = " ".join(joined.casefold().split())
    data = task if isinstance(task, dict) else {}
    return Signals(
        title=_first(data, "title", "summary", "key") or "Untitled task",
        source_type=_first(data, "source_type", "sourceType") or "unknown",
        text=text,
        keywords=tuple(word for word in words if len(word) <= 100),
        paths=tuple(paths),
        languages=tuple(name for name in TASK_LANGUAGES if name in words),
        frameworks=tuple(name for name in TASK_FRAMEWORKS if name in words),
        marked=tuple(sorted(set(_MARKED_PATH.findall(joined)))),
        files=tuple(files),
    )


def usual_name(name: str) -> str:
    """The usual name of a language or a framework: `Golang` is `go`."""
    lower = name.strip().casefold()
    return OTHER_NAMES.get(lower, lower)


def languages_of(path: str) -> list[str]:
    return [language for language, suffixes in SUFFIXES.items() if path.lower().endswith(suffixes)]


def _texts(value: Any) -> Iterable[str]:
    """All texts in a value, in order."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict | list):
            waiting.extend(reversed(list(one.values()) if isinstance(one, dict) else one))


def _first(data: dict[str, Any], *names: str) -> str:
    values = (data.get(name) for name in names)
    return next((value.strip() for value in values if isinstance(value, str) and value.strip()), "")


PURPOSES = {"test": "Run the tests", "lint": "Run the linter", "format": "Format the code", "types": "Check the types",
            "build": "Build the project"}  # fmt: skip
"""What a command is for → the title of its practice."""
CONVENTIONS = re.compile(
    r"(?!(?:README|CHANGELOG|CHANGES|HISTORY|NEWS|LICENSE|NOTICE|AUTHORS|SECURITY|CODE_OF_CONDUCT|TODO)\.)[A-Z_]+\.(?:md|rst)"
    r"|(?:docs|\.github)/CONTRIBUTING\.md|\.github/[\w-]+-instructions\.md|\.cursorrules|\.editorconfig"
    r"|\.pre-commit-config\.yaml"
)
"""Files in which people already wrote down how to work: pages in capitals such as `AGENTS.md` and `CONTRIBUTING.md`."""
CI = re.compile(r"(?:\.github/workflows/[^/]+\.ya?ml|\.gitlab-ci\.ya?ml|Jenkinsfile|\.circleci/config\.yml)\Z")
_TESTS = re.compile(
    r"(?:^|/)(?:tests?|__tests__|spec)/|_test\.\w+$|(?:^|/)test_[^/]+\.py$|\.(?:test|spec)\.[cm]?[jt]sx?$"
)
MAX_FOLDERS = 6


class ProjectFact(NamedTuple):
    """A fact. `kind` is `language`, `framework`, `convention`, `ci`, `code`, `tests`, or a purpose of a command."""

    kind: str
    value: str
    evidence: str
    language: str = ""


@dataclass(frozen=True)
class Tool:
    """A tool that a project uses if one of `files` exists, and has a line that matches `line`, if it is given."""

    purpose: str
    command: str
    language: str
    files: str
    line: str = ""


_NAMED = r"""["']{}["']\s*:"""
TOOLS = (
    Tool("lint", "ruff check", "python", r"pyproject\.toml", r"^\[tool\.ruff"),
    Tool("lint", "ruff check", "python", r"\.?ruff\.toml"),
    Tool("lint", "flake8", "python", r"\.flake8"),
    Tool("lint", "flake8", "python", r"setup\.cfg|tox\.ini", r"^\[flake8\]"),
    Tool("lint", "pylint", "python", r"\.?pylintrc"),
    Tool("format", "ruff format", "python", r"pyproject\.toml", r"^\[tool\.ruff\.format"),
    Tool("format", "black .", "python", r"pyproject\.toml", r"^\[tool\.black"),
    Tool("types", "mypy", "python", r"pyproject\.toml", r"^\[tool\.mypy"),
    Tool("types", "mypy", "python", r"mypy\.ini"),
    Tool("types", "pyright", "python", r"pyrightconfig\.json"),
    Tool("lint", "npx eslint .", "typescript", r"\.eslintrc(?:\.\w+)?|eslint\.config\.\w+"),
    Tool("lint", "npx biome check .", "typescript", r"biome\.jsonc?"),
    Tool("format", "npx prettier --check .", "typescript", r"\.prettierrc(?:\.\w+)?|prettier\.config\.\w+"),
    Tool("types", "npx tsc --noEmit", "typescript", r"tsconfig\.json"),
    Tool("lint", "golangci-lint run", "go", r"\.golangci\.(?:ya?ml|toml|json)"),
    Tool("lint", "go vet ./...", "go", r"go\.mod"),
    Tool("format", "gofmt -l .", "go", r"go\.mod"),
    Tool("build", "go build ./...", "go", r"go\.mod"),
    Tool("lint", "cargo clippy", "rust", r"Cargo\.toml"),
    Tool("format", "cargo fmt --check", "rust", r"Cargo\.toml"),
    Tool("build", "cargo build", "rust", r"Cargo\.toml"),
    Tool("lint", "bundle exec rubocop", "ruby", r"\.rubocop\.yml"),
    Tool("lint", "pre-commit run --all-files", "", r"\.pre-commit-config\.yaml"),
)
WRITTEN = {"test": "test", "tests": "test", "lint": "lint", "check": "lint", "format": "format", "fmt": "format",
           "typecheck": "types", "type-check": "types", "types": "types", "build": "build"}  # fmt: skip
"""The usual names of targets and scripts → what they are for."""
FRAMEWORKS = {
    "django": r"""(?i)(?:^|["'])django\b""",
    "flask": r"""(?i)(?:^|["'])flask\b""",
    "fastapi": r"""(?i)(?:^|["'])fastapi\b""",
    "pytest": r"""(?i)(?:^|["'])pytest\b|^\[tool\.pytest""",
    "react": _NAMED.format("react"),
    "vue": _NAMED.format("vue"),
    "svelte": _NAMED.format("svelte"),
    "next.js": _NAMED.format("next"),
    "express": _NAMED.format("express"),
    "nestjs": _NAMED.format("@nestjs/core"),
    "vitest": _NAMED.format("vitest"),
    "jest": _NAMED.format("jest"),
    "gin": r"github\.com/gin-gonic/gin\b",
    "echo": r"github\.com/labstack/echo\b",
    "cobra": r"github\.com/spf13/cobra\b",
    "spring": r"org\.springframework",
    "rails": r"""^\s*gem ["']rails["']""",
}
"""Framework → a line of a file with dependencies that names it."""
_DEPENDENCIES = re.compile(
    r"(?:pyproject\.toml|requirements[\w-]*\.txt|package\.json|go\.mod|pom\.xml|build\.gradle(?:\.kts)?|Gemfile)\Z"
)


IGNORED = (".git", "node_modules", "dist", "manifest-history", ".venv", "__pycache__", ".handrail", ".agentweaver")
MOST_PROJECT_FILES = 100_000
LARGEST_PROJECT_TEXT = 256 * 1024


class TooManyFiles(HandrailError):
    """The project has more files than an inventory reads."""

    code = "too-many-files"


class ProjectTree:
    """A project's folder. `own` are paths that are left out: the files with a result."""

    def __init__(self, project: str, own: tuple[str, ...] = ()) -> None:
        self.project = project
        self.own = own
        self._texts: dict[str, str] = {}

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The paths of all files, sorted, without the folders of tools. Raises `TooManyFiles`."""
        paths: list[str] = []
        for folder, folders, names in os.walk(self.project):
            folders[:] = sorted(name for name in folders if name not in IGNORED)
            below = os.path.relpath(folder, self.project)
            paths += [name if below == "." else f"{below}/{name}" for name in sorted(names)]
            if len(paths) > MOST_PROJECT_FILES:
                raise TooManyFiles(f"the project has more than {MOST_PROJECT_FILES} files")
        left_out = {os.path.relpath(os.path.join(self.project, path), self.project) for path in self.own}
        usual = (path for path in paths if path_flaw(path) is None and path.encode("utf-8", "replace").decode() == path)
        return tuple(sorted(set(usual) - left_out))

    def text(self, path: str) -> str:
        """The text of a small file; empty for any other, and for a link."""
        if path not in self._texts:
            try:
                data = read_limited(os.path.join(self.project, path), LARGEST_PROJECT_TEXT, follows=False)
            except Unreadable:
                data = b""
            self._texts[path] = data.decode("utf-8", "replace")
        return self._texts[path]

    @cached_property
    def scripts(self) -> dict[str, str]:
        scripts = _mapping(_mapping(json_value(self.text("package.json"))).get("scripts"))
        return {name: line for name, line in sorted(scripts.items()) if isinstance(line, str)}


def facts_of(tree: ProjectTree) -> list[ProjectFact]:
    """What the files of a project say about how its people work, without repetition.

    The first command for a purpose and a language is the one that counts.
    """
    languages, checks = _languages(tree.paths), find_check_commands(tree.project)
    facts = [*languages, *_frameworks(tree)]
    manager = next((check.argv[0] for check in checks if check.source == "package.json"), "npm")
    commands = [
        *_targets(tree, manager),
        *_tests(tree, checks),
        *_tools(tree, {fact.value for fact in languages}),
    ]
    taken: set[tuple[str, str]] = set()
    for fact in commands:
        if (fact.kind, fact.language) not in taken and (fact.kind, "") not in taken:
            taken.add((fact.kind, fact.language))
            facts.append(fact)
    facts += _layout(tree.paths)
    facts += [ProjectFact("convention", path, f"{path}:1") for path in tree.paths if CONVENTIONS.fullmatch(path)]
    facts += [ProjectFact("ci", path, f"{path}:1") for path in tree.paths if CI.match(path)]
    return facts


def line_of(text: str, pattern: str) -> int | None:
    regex = re.compile(pattern)
    return next((number for number, line in enumerate(text.splitlines(), 1) if regex.search(line)), None)


def _languages(paths: Iterable[str]) -> list[ProjectFact]:
    first: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for path in paths:
        for language in languages_of(path):
            first.setdefault(language, path)
            counts[language] += 1
    main = [language for language, _ in counts.most_common() if counts[language] * 20 >= sum(counts.values())]
    return [ProjectFact("language", language, f"{first[language]}:1", language) for language in main]


def _frameworks(tree: ProjectTree) -> Iterator[ProjectFact]:
    files = [path for path in tree.paths if "/" not in path and _DEPENDENCIES.match(path)]
    for name, pattern in FRAMEWORKS.items():
        places = ((path, line_of(tree.text(path), pattern)) for path in files)
        place = next(((path, line) for path, line in places if line is not None), None)
        if place is not None:
            yield ProjectFact("framework", name, f"{place[0]}:{place[1]}")


def _targets(tree: ProjectTree, manager: str) -> Iterator[ProjectFact]:
    """What people wrote down themselves: targets of a Makefile or a justfile, and scripts of `package.json`."""
    for file, program in (("Makefile", "make"), ("makefile", "make"), ("justfile", "just"), ("Justfile", "just")):
        text = tree.text(file) if file in tree.paths else ""
        for name, purpose in WRITTEN.items() if text else ():
            line = line_of(text, rf"^{re.escape(name)}\s*:(?!=)")
            if line is not None:
                yield ProjectFact(purpose, f"{program} {name}", f"{file}:{line}")
    language = "typescript" if "tsconfig.json" in tree.paths else "javascript"
    for name, purpose in WRITTEN.items():
        line = line_of(tree.text("package.json"), _NAMED.format(re.escape(name))) if name in tree.scripts else None
        if line is not None:
            yield ProjectFact(purpose, f"{manager} run {name}", f"package.json:{line}", language)


def _tests(tree: ProjectTree, checks: Iterable[CheckCommand]) -> Iterator[ProjectFact]:
    for command, file in ((" ".join(check.argv), check.source) for check in checks):
        if command.startswith(("make ", "just ")) or file == "package.json":
            continue
        words = re.escape(command.split()[-1]) if "pytest" in command else r"\S"
        line = line_of(tree.text(file), words) or 1
        names = languages_of(file) or [{"go.mod": "go", "Cargo.toml": "rust", "pom.xml": "java"}.get(file, "python")]
        yield ProjectFact("test", command, f"{file}:{line}", names[0])


def _tools(tree: ProjectTree, languages: set[str]) -> Iterator[ProjectFact]:
    names = [path for path in tree.paths if "/" not in path]
    for tool in TOOLS:
        for name in names:
            if not re.fullmatch(tool.files, name):
                continue
            line = line_of(tree.text(name), tool.line) if tool.line else 1
            if line is not None:
                language = "javascript" if tool.language == "typescript" and "typescript" not in languages else None
                yield ProjectFact(tool.purpose, tool.command, f"{name}:{line}", language or tool.language)


def _layout(paths: Iterable[str]) -> Iterator[ProjectFact]:
    """The folders with code and with tests, those with the most files first. `.` is the top folder."""
    folders: dict[str, Counter[str]] = {"code": Counter(), "tests": Counter()}
    first: dict[tuple[str, str], str] = {}
    for path in paths:
        if languages_of(path):
            kind = "tests" if _TESTS.search(path) else "code"
            folder = path.split("/", 1)[0] if "/" in path else "."
            folders[kind][folder] += 1
            first.setdefault((kind, folder), path)
    for kind, counts in folders.items():
        for folder, _ in counts.most_common(MAX_FOLDERS):
            yield ProjectFact(kind, folder, f"{first[kind, folder]}:1")


_TARGET = re.compile(r"^test\s*:(?!=)", re.MULTILINE)
_RECIPE = re.compile(r"^@?test(?:\s[^:=\n]*)?:(?!=)", re.MULTILINE)
_NO_TEST = "no test specified"
_MANAGERS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun"}
_TEST_FILE = re.compile(r"test_.*\.py|.*_test\.py")
_TEST_FOLDERS = ("tests", "test", ".")


class CheckCommand(NamedTuple):
    """A command, and the file that it was found by."""

    argv: tuple[str, ...]
    source: str


class Folder:
    """The top folder of a project. A file that cannot be read, or that leads out of the project, is not there."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._root = Root(path)

    def has(self, *names: str) -> str | None:
        return next((name for name in names if os.path.isfile(os.path.join(self.path, name))), None)

    def text(self, name: str) -> str:
        opened = self._root.open(self.path, name) if self.has(name) else None
        return "" if opened is None or isinstance(opened, UnopenedFile) else opened.data.decode("utf-8", "replace")

    def names(self, below: str = "") -> list[str]:
        try:
            return sorted(os.listdir(os.path.join(self.path, below)))
        except OSError:
            return []


def find_check_commands(project: str) -> list[CheckCommand]:
    """All commands that were found. What a person wrote down comes before what a language has by convention."""
    folder = Folder(project)
    return [command for look in _LOOKS for command in look(folder)]


def _node(folder: Folder) -> Iterator[CheckCommand]:
    about = _mapping(json_value(folder.text("package.json")))
    script = _mapping(about.get("scripts")).get("test")
    if isinstance(script, str) and script.strip() and _NO_TEST not in script:
        name = str(about.get("packageManager") or "").partition("@")[0]
        lock = folder.has(*_MANAGERS)
        manager = name if name in _MANAGERS.values() else _MANAGERS[lock] if lock else "npm"
        yield CheckCommand((manager, "run", "test"), "package.json")


def _python(folder: Folder) -> Iterator[CheckCommand]:
    configured = folder.has("pytest.ini", "conftest.py", "tests/conftest.py")
    about = _toml(folder.text("pyproject.toml"))
    lists = [about.get("project"), about.get("dependency-groups"), _mapping(about.get("tool")).get("poetry")]
    if configured is None and ("pytest" in _mapping(about.get("tool")) or "pytest" in json.dumps(lists, default=str)):
        configured = "pyproject.toml"
    if configured is None:
        configured = next((n for n in ("tox.ini", "setup.cfg") if "pytest]" in folder.text(n)), None)
    if configured is not None:
        yield CheckCommand((*_interpreter(folder), "-m", "pytest"), configured)
        return
    for below in _TEST_FOLDERS:
        if files := [name for name in folder.names(below) if _TEST_FILE.fullmatch(name)]:
            start = () if "__init__.py" in folder.names(below) else ("-s", below)
            pattern = () if files[0].startswith("test") else ("-p", "*_test.py")
            source = f"{below}/{files[0]}".removeprefix("./")
            yield CheckCommand((*_interpreter(folder), "-m", "unittest", "discover", *start, *pattern), source)
            return


def _interpreter(folder: Folder) -> tuple[str, ...]:
    if folder.has("uv.lock"):
        return ("uv", "run", "python")
    own = next((name for name in (".venv", "venv") if folder.has(f"{name}/bin/python")), None)
    return (f"{own}/bin/python",) if own else ("python3",)


def _by_file(
    argv: tuple[str, ...], *names: str, line: re.Pattern[str] | None = None
) -> Callable[[Folder], Iterator[CheckCommand]]:
    """A tool or a language whose projects all have the same command, if one of the files has such a line."""

    def look(folder: Folder) -> Iterator[CheckCommand]:
        name = folder.has(*names)
        if name is not None and (line is None or line.search(folder.text(name))):
            yield CheckCommand(argv, name)

    return look


def _dotnet(folder: Folder) -> Iterator[CheckCommand]:
    name = next((name for name in folder.names() if name.endswith((".sln", ".slnx", ".csproj", ".fsproj"))), None)
    if name is not None:
        yield CheckCommand(("dotnet", "test"), name)


_LOOKS: tuple[Callable[[Folder], Iterator[CheckCommand]], ...] = (
    _by_file(("make", "test"), "GNUmakefile", "makefile", "Makefile", line=_TARGET),
    _by_file(("just", "test"), "justfile", "Justfile", ".justfile", line=_RECIPE),
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


def _toml(text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}
