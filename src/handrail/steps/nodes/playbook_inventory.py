"""`playbook-inventory`: lists what the files of a project say about it: its tools, tests, structure and settings.

It looks at names of files, and at the text of small ones. It runs nothing and follows no links. A rule is one row:
the kind of the observation, and what the paths look like that are its evidence.
"""

from __future__ import annotations

import re
from typing import Any

from handrail.base.dataclasses import dataclass
from handrail.extensions.contracts import LastingError, Node, NodeContext, Work
from handrail.source.plain_text import counted
from handrail.steps.nodes.files import time_text, write_json, write_text
from handrail.steps.nodes.params import path_param
from handrail.steps.playbook.survey import IGNORED, ProjectFact, ProjectTree, TooManyFiles, facts_of

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
class Observation:
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
    Observation("stack_indicators", "compose_file", "Compose file", r"(?:^|/)(?:docker-)?compose[^/]*\.ya?ml$"),
    Observation("stack_indicators", "dockerfile", "Dockerfile", r"^Dockerfile$"),
    Observation("stack_indicators", "go_module", "Go module", r"^go\.mod$"),
    Observation("stack_indicators", "gradle_kotlin_project", "Gradle project (Kotlin)", r"^build\.gradle\.kts$"),
    Observation("stack_indicators", "gradle_project", "Gradle project", r"^build\.gradle$"),
    Observation("stack_indicators", "makefile", "Makefile", r"^Makefile$"),
    Observation("stack_indicators", "maven_project", "Maven project", r"^pom\.xml$"),
    Observation("stack_indicators", "node_package", "Node package", r"^package\.json$", has_scripts=True),
    Observation("stack_indicators", "openapi_specification", "OpenAPI specification", "(?i)" + _API),
    Observation("stack_indicators", "python_project", "Python project", r"^(?:pyproject\.toml|setup\.(?:py|cfg))$"),
    Observation("stack_indicators", "rust_package", "Rust package", r"^Cargo\.toml$"),
    Observation("stack_indicators", "typescript_config", "TypeScript settings", r"^tsconfig\.json$"),
    Observation("test_structure", "fixtures", "Fixtures", r"(?:^|/)(?:fixtures?|testdata)/"),
    Observation("test_structure", "go_tests", "Go tests", r"_test\.go$"),
    Observation("test_structure", "java_tests", "Java tests", r"(?:Test|Tests|IT)\.(?:java|kt)$"),
    Observation("test_structure", "mocks_usage", "Mocks",
         text=r"(?i)\b(?:mock|gomock|mockito|jest\.fn|vi\.fn|sinon)\b"),
    Observation("test_structure", "python_tests", "Python tests", r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$"),
    Observation("test_structure", "test_directories", "Test folders", r"(?:^|/)(?:tests?|__tests__)/", of_folder=True),
    Observation("test_structure", "testcontainers_usage", "Testcontainers", text=r"(?i)\btestcontainers\b"),
    Observation("test_structure", "typescript_tests", "TypeScript and JavaScript tests",
         r"\.(?:test|spec)\.[cm]?[jt]sx?$"),
    Observation("architecture_hints", "dtos", "Data transfer objects", r"(?i)(?:^|/)dtos?/|[._-]?dto\.[a-z]+$"),
    Observation("architecture_hints", "handlers_or_controllers", "Handlers or controllers",
         r"(?i)(?:^|/)(?:handlers?|controllers?)/|(?:handler|controller)\.[a-z]+$"),
    Observation("architecture_hints", "migrations", "Migrations", r"(?i)(?:^|/)migrations?/"),
    Observation("architecture_hints", "repositories", "Repositories",
         r"(?i)(?:^|/)(?:repositories|repository|repos?)/|repository\.[a-z]+$"),
    Observation("architecture_hints", "services", "Services", r"(?i)(?:^|/)services?/|service\.[a-z]+$"),
    Observation("quality_tooling", "ci_config", "CI settings",
         r"^(?:\.github/workflows/.+\.ya?ml|\.gitlab-ci\.ya?ml|Jenkinsfile|\.circleci/.+)$"),
    Observation("quality_tooling", "custom_scripts", "Scripts of the project", r"^(?:scripts?|bin|tools)/"),
    Observation("quality_tooling", "eslint_config", "ESLint settings",
         r"(?:^|/)(?:\.eslintrc[^/]*|eslint\.config\.[a-z]+)$"),
    Observation("quality_tooling", "golangci_lint", "golangci-lint settings", r"(?:^|/)\.golangci\.[a-z]+$"),
    Observation("quality_tooling", "jest_or_vitest", "Jest or Vitest settings",
         r"(?:^|/)(?:jest|vitest)\.config\.[a-z]+$"),
    Observation("quality_tooling", "npm_scripts", "npm scripts",
         r"^package\.json$", has_scripts=True, needs_scripts=True),
    Observation("quality_tooling", "prettier_config", "Prettier settings",
         r"(?:^|/)(?:\.prettierrc[^/]*|prettier\.config\.[a-z]+)$"),
    Observation("specification_files", "api_or_specification", "API or specification",
         r"(?i)\.(?:proto|graphql|gql|wsdl|avsc)$|" + _API),
    Observation("runtime_configs", "environment_files", "Environment files", r"(?:^|/)\.env(?:\.[^/]+)?$"),
    Observation("runtime_configs", "runtime_config_files", "Settings files",
         r"(?i)(?:^|/)configs?/|(?:^|/)(?:application|config|settings)[^/]*\.(?:ya?ml|json|toml|properties|ini)$"),
    Observation("generated_code", "generated_paths", "Generated files",
         r"(?i)(?:^|/)(?:generated|gen)/|(?:\.pb|_gen|\.gen|\.generated)\.[a-z]+$"),
)  # fmt: skip


def observations(tree: ProjectTree) -> dict[str, list[tuple[Observation, list[str]]]]:
    """The rules that have evidence, by section and in the order of their kinds, each with its sorted evidence."""
    texts = {rule: re.compile(rule.text) for rule in RULES if rule.text}
    by_text: dict[Observation, list[str]] = {rule: [] for rule in texts}
    for path in tree.paths:
        text = tree.text(path) if _TEXTUAL.search(path) else ""
        for rule, pattern in texts.items() if text else ():
            if pattern.search(text):
                by_text[rule].append(path)
    sections: dict[str, list[tuple[Observation, list[str]]]] = {name: [] for name in SECTIONS}
    for rule in sorted(RULES, key=lambda rule: rule.kind):
        paths = by_text[rule] if rule.text else _matching(rule, tree)
        if paths and not (rule.needs_scripts and not tree.scripts):
            sections[rule.section].append((rule, paths))
    return sections


def _matching(rule: Observation, tree: ProjectTree) -> list[str]:
    pattern = re.compile(rule.path)
    paths = [path for path in tree.paths if pattern.search(path)]
    return sorted({path.rpartition("/")[0] for path in paths}) if rule.of_folder else paths


MAX_EVIDENCE = 50
_TEXTUAL = re.compile(r"\.(?:c|cc|cpp|cs|go|gradle|java|js|jsx|kt|kts|mjs|php|py|rb|rs|scala|swift|ts|tsx|xml)\Z")
NODE = Node(
    about="Lists what the files of the project say about it: its tools, tests, structure and settings.",
    params=(
        path_param("outputJsonFile", "the file for the list, as JSON"),
        path_param("outputFile", "the file for the list, as Markdown"),
    ),
    others="ignored",
    outputs={
        "summary": "the list in one sentence",
        "outputJsonFile": "the list, as JSON",
        "outputFile": "the list, as Markdown",
        "evidenceCount": "how many files the list names",
    },
    makes=("outputJsonFile", "outputFile"),
    schemas={"outputJsonFile": "repo-inventory/v1"},
)


async def run(work: Work, context: NodeContext) -> Any:
    as_json, as_markdown = (work.params[name] for name in ("outputJsonFile", "outputFile"))
    tree = ProjectTree(context.project, (as_json, as_markdown))
    try:
        facts = facts_of(tree)
    except TooManyFiles as error:
        raise LastingError(error.code, error.message) from error
    found = observations(tree).items()
    sections = {name: [_observation(rule, paths, tree) for rule, paths in rows] for name, rows in found}
    evidence = sorted({path for rows in sections.values() for row in rows for path in row["evidence_paths"]})
    count = sum(map(len, sections.values()))
    summary = f"{counted(count, 'observation')} about {counted(len(tree.paths), 'file')} of the project."
    data = {
        "summary": summary,
        "repository_root": context.project,
        "generated_at": time_text(),
        "ignored_directories": list(IGNORED),
        **sections,
        "facts": [{"kind": fact.kind, "value": fact.value, "evidence": fact.evidence} for fact in facts],
        "evidence": evidence,
    }
    write_json(context, as_json, data)
    write_text(context, as_markdown, _markdown(summary, sections, facts))
    return {"summary": summary, "outputJsonFile": as_json, "outputFile": as_markdown, "evidenceCount": len(evidence)}


def _observation(rule: Observation, paths: list[str], tree: ProjectTree) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": rule.kind, "title": rule.title, "evidence_paths": paths[:MAX_EVIDENCE]}
    details: dict[str, Any] = {"scripts": list(tree.scripts)} if rule.has_scripts and tree.scripts else {}
    if len(paths) > MAX_EVIDENCE:
        details["more_paths"] = len(paths) - MAX_EVIDENCE
    return {**row, "details": details} if details else row


def _markdown(summary: str, sections: dict[str, list[dict[str, Any]]], facts: list[ProjectFact]) -> str:
    lines = "\n".join(f"- {fact.kind}: {fact.value} (`{fact.evidence}`)" for fact in facts)
    parts = ["# Repository inventory", summary, f"## How people work\n\n{lines or 'Nothing was found.'}"]
    for name, title in SECTIONS.items():
        rows = [f"- {row['title']}: {', '.join(row['evidence_paths'])}" for row in sections[name]]
        parts.append(f"## {title}\n\n" + ("\n".join(rows) or "Nothing was found."))
    return "\n\n".join(parts) + "\n"
