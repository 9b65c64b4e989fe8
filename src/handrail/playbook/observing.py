"""What names and texts of files say about a project. Pure.

A rule is one row: the kind of the observation, and what the paths look like that are its evidence.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from handrail.source.dataclasses import dataclass

SECTIONS = {
    "stack_indicators": "Stack",
    "test_structure": "Tests",
    "architecture_hints": "Architecture",
    "quality_tooling": "Quality",
    "specification_files": "Specifications",
    "runtime_configs": "Runtime settings",
    "generated_code": "Generated code",
}


@dataclass(frozen=True)
class Seen:
    """The paths of the files of a project, how to get the text of one, and the scripts of its `package.json`."""

    paths: tuple[str, ...]
    text: Callable[[str], str]
    scripts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rule:
    """An observation. Its evidence are the paths that match `path`, or the files whose text matches `text`.

    `of_folder`: the evidence are the folders of these files. `needs_scripts`: only if `package.json` has scripts.
    """

    section: str
    kind: str
    title: str
    path: str = ""
    text: str = ""
    of_folder: bool = False
    has_scripts: bool = False
    needs_scripts: bool = False


_API = r"(?:^|/)(?:openapi|swagger)[^/]*\.(?:json|ya?ml)$"
RULES = (
    Rule("stack_indicators", "compose_file", "Compose file", r"(?:^|/)(?:docker-)?compose[^/]*\.ya?ml$"),
    Rule("stack_indicators", "dockerfile", "Dockerfile", r"^Dockerfile$"),
    Rule("stack_indicators", "go_module", "Go module", r"^go\.mod$"),
    Rule("stack_indicators", "gradle_kotlin_project", "Gradle project (Kotlin)", r"^build\.gradle\.kts$"),
    Rule("stack_indicators", "gradle_project", "Gradle project", r"^build\.gradle$"),
    Rule("stack_indicators", "makefile", "Makefile", r"^Makefile$"),
    Rule("stack_indicators", "maven_project", "Maven project", r"^pom\.xml$"),
    Rule("stack_indicators", "node_package", "Node package", r"^package\.json$", has_scripts=True),
    Rule("stack_indicators", "openapi_specification", "OpenAPI specification", "(?i)" + _API),
    Rule("stack_indicators", "python_project", "Python project", r"^(?:pyproject\.toml|setup\.(?:py|cfg))$"),
    Rule("stack_indicators", "rust_package", "Rust package", r"^Cargo\.toml$"),
    Rule("stack_indicators", "typescript_config", "TypeScript settings", r"^tsconfig\.json$"),
    Rule("test_structure", "fixtures", "Fixtures", r"(?:^|/)(?:fixtures?|testdata)/"),
    Rule("test_structure", "go_tests", "Go tests", r"_test\.go$"),
    Rule("test_structure", "java_tests", "Java tests", r"(?:Test|Tests|IT)\.(?:java|kt)$"),
    Rule("test_structure", "mocks_usage", "Mocks",
         text=r"(?i)\b(?:gomock|mockito|jest\.mock|vi\.mock|unittest\.mock|sinon)\b"),
    Rule("test_structure", "python_tests", "Python tests", r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$"),
    Rule("test_structure", "test_directories", "Test folders", r"(?:^|/)(?:tests?|__tests__)/", of_folder=True),
    Rule("test_structure", "testcontainers_usage", "Testcontainers", text=r"(?i)\btestcontainers\b"),
    Rule("test_structure", "typescript_tests", "TypeScript and JavaScript tests", r"\.(?:test|spec)\.[cm]?[jt]sx?$"),
    Rule("architecture_hints", "dtos", "Data transfer objects", r"(?i)(?:^|/)dtos?/|[._-]?dto\.[a-z]+$"),
    Rule("architecture_hints", "handlers_or_controllers", "Handlers or controllers",
         r"(?i)(?:^|/)(?:handlers?|controllers?)/|(?:handler|controller)\.[a-z]+$"),
    Rule("architecture_hints", "migrations", "Migrations", r"(?i)(?:^|/)migrations?/"),
    Rule("architecture_hints", "repositories", "Repositories",
         r"(?i)(?:^|/)(?:repositories|repository|repos?)/|repository\.[a-z]+$"),
    Rule("architecture_hints", "services", "Services", r"(?i)(?:^|/)services?/|service\.[a-z]+$"),
    Rule("quality_tooling", "ci_config", "CI settings",
         r"^(?:\.github/workflows/.+\.ya?ml|\.gitlab-ci\.ya?ml|Jenkinsfile|\.circleci/.+)$"),
    Rule("quality_tooling", "custom_scripts", "Scripts of the project", r"^(?:scripts?|bin|tools)/"),
    Rule("quality_tooling", "eslint_config", "ESLint settings", r"(?:^|/)(?:\.eslintrc[^/]*|eslint\.config\.[a-z]+)$"),
    Rule("quality_tooling", "golangci_lint", "golangci-lint settings", r"(?:^|/)\.golangci\.[a-z]+$"),
    Rule("quality_tooling", "jest_or_vitest", "Jest or Vitest settings", r"(?:^|/)(?:jest|vitest)\.config\.[a-z]+$"),
    Rule("quality_tooling", "npm_scripts", "npm scripts", r"^package\.json$", has_scripts=True, needs_scripts=True),
    Rule("quality_tooling", "prettier_config", "Prettier settings",
         r"(?:^|/)(?:\.prettierrc[^/]*|prettier\.config\.[a-z]+)$"),
    Rule("specification_files", "api_or_specification", "API or specification",
         r"(?i)\.(?:proto|graphql|gql|wsdl|avsc)$|" + _API),
    Rule("runtime_configs", "environment_files", "Environment files", r"(?:^|/)\.env(?:\.[^/]+)?$"),
    Rule("runtime_configs", "runtime_config_files", "Settings files",
         r"(?i)(?:^|/)(?:application|config|settings)[^/]*\.(?:ya?ml|json|toml|properties|ini)$"),
    Rule("generated_code", "generated_paths", "Generated files",
         r"(?i)(?:^|/)(?:generated|gen)/|(?:\.pb|_gen|\.gen|\.generated)\.[a-z]+$"),
)  # fmt: skip


def observed(seen: Seen) -> dict[str, list[tuple[Rule, list[str]]]]:
    """The rules that have evidence, by section and in the order of their kinds, each with its sorted evidence."""
    texts = {rule: re.compile(rule.text) for rule in RULES if rule.text}
    by_text: dict[Rule, list[str]] = {rule: [] for rule in texts}
    for path in seen.paths:
        text = seen.text(path)
        for rule, pattern in texts.items() if text else ():
            if pattern.search(text):
                by_text[rule].append(path)
    found: dict[str, list[tuple[Rule, list[str]]]] = {name: [] for name in SECTIONS}
    for rule in sorted(RULES, key=lambda rule: rule.kind):
        paths = by_text[rule] if rule.text else _matching(rule, seen)
        if paths and not (rule.needs_scripts and not seen.scripts):
            found[rule.section].append((rule, paths))
    return found


def _matching(rule: Rule, seen: Seen) -> list[str]:
    pattern = re.compile(rule.path)
    paths = [path for path in seen.paths if pattern.search(path)]
    return sorted({path.rpartition("/")[0] for path in paths}) if rule.of_folder else paths
