"""What the files of a project say about how its people work: languages, frameworks, commands, layout and conventions.

Each fact has evidence: a path and a line. Pure: the texts of files come from the caller. A tool is one row of a table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from handrail.playbook.signals import languages_of
from handrail.source.dataclasses import dataclass

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


class Fact(NamedTuple):
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


class Seen(NamedTuple):
    """What a survey looks at: all paths, how to get the text of a file, and test commands with their files."""

    paths: tuple[str, ...]
    text: Callable[[str], str]
    tests: tuple[tuple[str, str], ...] = ()
    scripts: tuple[str, ...] = ()
    manager: str = "npm"


def survey(seen: Seen) -> list[Fact]:
    """All facts, without repetition: the first command for a purpose and a language is the one that counts."""
    languages = _languages(seen.paths)
    facts = [*languages, *_frameworks(seen)]
    commands = [*_written(seen), *_tests(seen), *_tools(seen, {fact.value for fact in languages})]
    taken: set[tuple[str, str]] = set()
    for fact in commands:
        if (fact.kind, fact.language) not in taken and (fact.kind, "") not in taken:
            taken.add((fact.kind, fact.language))
            facts.append(fact)
    facts += _layout(seen.paths)
    facts += [Fact("convention", path, f"{path}:1") for path in seen.paths if CONVENTIONS.fullmatch(path)]
    facts += [Fact("ci", path, f"{path}:1") for path in seen.paths if CI.match(path)]
    return facts


def line_of(text: str, pattern: str) -> int | None:
    """The number of the first line that matches; None if none does."""
    found = re.compile(pattern)
    return next((number for number, line in enumerate(text.splitlines(), 1) if found.search(line)), None)


def _languages(paths: Iterable[str]) -> list[Fact]:
    first: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for path in paths:
        for language in languages_of(path):
            first.setdefault(language, path)
            counts[language] += 1
    main = [language for language, _ in counts.most_common() if counts[language] * 20 >= sum(counts.values())]
    return [Fact("language", language, f"{first[language]}:1", language) for language in main]


def _frameworks(seen: Seen) -> Iterator[Fact]:
    files = [path for path in seen.paths if "/" not in path and _DEPENDENCIES.match(path)]
    for name, pattern in FRAMEWORKS.items():
        found = ((path, line_of(seen.text(path), pattern)) for path in files)
        place = next(((path, line) for path, line in found if line is not None), None)
        if place is not None:
            yield Fact("framework", name, f"{place[0]}:{place[1]}")


def _written(seen: Seen) -> Iterator[Fact]:
    """What people wrote down themselves: targets of a Makefile or a justfile, and scripts of `package.json`."""
    for file, program in (("Makefile", "make"), ("makefile", "make"), ("justfile", "just"), ("Justfile", "just")):
        text = seen.text(file) if file in seen.paths else ""
        for name, purpose in WRITTEN.items() if text else ():
            line = line_of(text, rf"^{re.escape(name)}\s*:(?!=)")
            if line is not None:
                yield Fact(purpose, f"{program} {name}", f"{file}:{line}")
    language = "typescript" if "tsconfig.json" in seen.paths else "javascript"
    for name, purpose in WRITTEN.items():
        line = line_of(seen.text("package.json"), _NAMED.format(re.escape(name))) if name in seen.scripts else None
        if line is not None:
            yield Fact(purpose, f"{seen.manager} run {name}", f"package.json:{line}", language)


def _tests(seen: Seen) -> Iterator[Fact]:
    for command, file in seen.tests:
        if command.startswith(("make ", "just ")) or file == "package.json":
            continue
        words = re.escape(command.split()[-1]) if "pytest" in command else r"\S"
        line = line_of(seen.text(file), words) or 1
        found = languages_of(file) or [{"go.mod": "go", "Cargo.toml": "rust", "pom.xml": "java"}.get(file, "python")]
        yield Fact("test", command, f"{file}:{line}", found[0])


def _tools(seen: Seen, languages: set[str]) -> Iterator[Fact]:
    names = [path for path in seen.paths if "/" not in path]
    for tool in TOOLS:
        for name in names:
            if not re.fullmatch(tool.files, name):
                continue
            line = line_of(seen.text(name), tool.line) if tool.line else 1
            if line is not None:
                language = "javascript" if tool.language == "typescript" and "typescript" not in languages else None
                yield Fact(tool.purpose, tool.command, f"{name}:{line}", language or tool.language)


def _layout(paths: Iterable[str]) -> Iterator[Fact]:
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
            yield Fact(kind, folder, f"{first[kind, folder]}:1")
