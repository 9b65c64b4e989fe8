"""Checks the documentation: generated pages are up to date, console blocks print what they show, links work."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from handrail import __version__
from handrail.agents.scripted.player import ACTIONS
from handrail.doctor.probe import ORDER
from handrail.driven.expressions.parser import CONDITIONS, VALUES
from handrail.driven.flows.keys import AFTER
from handrail.extensions import registry
from handrail.extensions.declarations import check_declarations
from handrail.extensions.registry import Registry
from handrail.settings.folders import MARKERS
from handrail.settings.trust import TrustStore
from support import open_to_agents

ROOT = Path(__file__).parent.parent
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.whole
def test_generated_pages_are_up_to_date() -> None:
    pages = runpy.run_path(str(ROOT / "scripts" / "generate_docs.py"))["pages"]()
    for path, text in pages.items():
        assert path.read_text(encoding="utf-8") == text, "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_heading_of_a_page_names_no_version_that_does_not_exist_yet(page: Path) -> None:
    heading = page.read_text(encoding="utf-8").partition("\n")[0]
    assert [
        found for found in re.findall(r"\((\d+\.\d+\.\d+)\)", heading) if Version(found) > Version(__version__)
    ] == []


LOOKED_FOR = {
    "a schema goes into": (".handrail/schemas/NAME.json", []),
    "the kinds of `expect` and `after`": ("reference/checks.md", [*check_declarations(Registry()), *AFTER]),
    "the forms of values and conditions": ("reference/values.md", [*VALUES, *CONDITIONS]),
    "what `retry` covers": ("An attempt is the work of a step together with its proof (`makes` and `expect`)", []),
    "what null means": ("**Null is no value.**", []),
    "where state is": (
        "reference/folders.md",
        ["sessions", "runs", "artifacts", "hosts", "installed", "aside", "reports"],
    ),
    "how state is cleaned": ("`handrail prune`", []),
    "what marks a project": ("reference/folders.md", list(MARKERS)),
    "scripts of the scripted agent": ("reference/scripts.md", list(ACTIONS)),
}


@pytest.mark.parametrize("question", LOOKED_FOR)
def test_the_guides_answer_what_people_look_for(question: str) -> None:
    told, names = LOOKED_FOR[question]
    assert told in "\n".join(page.read_text(encoding="utf-8") for page in GUIDES)
    if names:
        page = (ROOT / "docs" / told).read_text(encoding="utf-8")
        assert [name for name in names if not re.search(rf"[`/#] ?{re.escape(name)}[`\n]", page)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_point_to_existing_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_module_that_is_named_exists(page: Path) -> None:
    if page.parent.name != "reference":
        rooms = "|".join(path.name for path in (ROOT / "src" / "handrail").iterdir() if path.is_dir())
        named = re.findall(rf"`((?:{rooms})/[\w/]+\.\w+)`", page.read_text(encoding="utf-8"))
        known = [name for name in named if "NAME" not in name]
        assert [name for name in known if not (ROOT / "src" / "handrail" / name).exists()] == []
        tests = re.findall(r"`(tests/[\w/]+\.\w+)`", page.read_text(encoding="utf-8"))
        assert [name for name in tests if not (ROOT / name).exists()] == []


def test_a_key_that_most_workflows_need_is_marked_as_required() -> None:
    rows = (ROOT / "docs" / "reference" / "files.md").read_text(encoding="utf-8").splitlines()
    for key in ("commandName", "initialMessage"):
        assert "required unless `show: workflows`" in next(row for row in rows if row.startswith(f"| `{key}` "))


def test_every_make_target_that_is_named_exists_and_ci_has_everything() -> None:
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"))
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {name: needs.split() for name, needs in re.findall(r"^([a-z-]+):([a-z -]*)##", rules, re.MULTILINE)}
    named = re.findall(r"(?:^\$ |`)make ([a-z-]+)", pages, re.MULTILINE)
    assert [name for name in named if name not in targets] == []
    assert targets["ci"] == ["check", "demo", "verify", "test-long", "test-browser", "test-agents", "wheel"]
    assert "what CI runs" not in pages + rules


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def needed(package: str) -> set[str]:
    """The names of all packages that a package brings with this Python."""
    found: set[str] = set()
    for requirement in map(Requirement, requires(package) or ()):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            found |= {requirement.name.lower().replace("_", "-"), *needed(requirement.name)}
    return found


def test_every_package_that_is_installed_is_named() -> None:
    text = (ROOT / "docs" / "design" / "dependencies.md").read_text(encoding="utf-8").lower()
    named = {word.strip(".") for word in re.findall(r"[\w.-]+", text)}
    assert needed("handrail") - named == set()


@pytest.mark.whole
def test_the_definitions_in_the_readme_have_no_problems(tmp_path: Path) -> None:
    env = write_readme_files(tmp_path)
    argv = [sys.executable, "-m", "handrail", "validate"]
    ended = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert ended.stdout.startswith("no problems"), ended.stdout
    assert ended.stdout.endswith("and 1 flow\n")


def write_readme_files(project: Path) -> dict[str, str]:
    """Write each file of the README to the path in its first comment, and nothing else. Returns an environment."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for block in re.findall(r"```(?:yaml|markdown)\n(.*?)```", text, re.DOTALL):
        named = re.search(r"^# (\.handrail/\S+)", block, re.MULTILINE)
        assert named is not None, block
        file = project / named[1]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block, encoding="utf-8")
    path = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
    home = {"HOME": str(project), "HANDRAIL_HOME": str(project / "home")}
    return {**home, "PATH": path, "LANG": "C.UTF-8", "NO_COLOR": "1"}


def commands(page: Path) -> list[tuple[str, str]]:
    """(command, expected output) of each console block. Lines that begin with `> ` belong to the command."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            first, *rest = part.splitlines(keepends=True)
            more = [line for line in rest if line.startswith("> ")]
            command = "".join([first, *[line[2:] for line in more]]).rstrip("\n")
            found.append((command, "".join(rest[len(more) :])))
    return found


@pytest.mark.whole(24)
@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_console_blocks_print_what_they_show(page: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    open_to_agents(tmp_path / "home")
    if page.stem == "trust":
        TrustStore(str(tmp_path / "home" / "state")).revoke(str(tmp_path))
    env = {
        "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"],
        "HOME": str(tmp_path),
        "HANDRAIL_HOME": str(tmp_path / "home"),
        "LANG": "C.UTF-8",
    }
    for command, output in commands(page):
        ended = subprocess.run(
            ["/bin/sh", "-c", command], cwd=project, env=env, capture_output=True, text=True, timeout=120, check=False
        )
        assert comparable(ended.stdout) == comparable(output), f"$ {command}\n{ended.stderr}"


def comparable(text: str) -> str:
    """The text without what differs from run to run: ids, dates, times, short durations. A test is a script."""
    text = text.replace(" by a person ", " by a script ")
    text = re.sub(r"\br-[0-9a-z]{6}\b", "r-xxxxxx", text)
    text = re.sub(r"\b\d{4}-\d\d-\d\d\b", "2026-02-03", text)
    text = re.sub(r"\b\d\d:\d\d:\d\d\b", "04:05:06", text)
    text = re.sub(r"\b2026-02-03 \d\d:\d\d\b", "2026-02-03 04:05", text)
    return re.sub(r"\b\d\.\ds\b", "0.0s", text)


def test_the_table_of_hosts_shows_the_pinned_versions_and_every_row() -> None:
    """`make hosts-table` measures it."""
    page, _, seen = (ROOT / "docs" / "reference" / "hosts.md").read_text(encoding="utf-8").partition("\n## What the ")
    pins = re.findall(r"^want (\w+) \1 \S+@([\d.]+)$", (ROOT / "scripts" / "agents").read_text(), re.MULTILINE)
    pins += re.findall(r"^want (claude) \. \S+@([\d.]+)$", (ROOT / "scripts" / "agents").read_text(), re.MULTILINE)
    assert {name for name, _ in pins} == {name for name, row in registry.AGENTS.items() if "offline" in row}
    head, *rows = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("|")]
    assert {cell.strip() for cell in head[1:]} == {f"{name} {version}" for name, version in pins}
    assert [cells[0].strip() for cells in rows[1:]] == [*ORDER]
    assert {cell.strip() for cells in rows[1:] for cell in cells[1:]} <= {"hard", "partial", "none", "unknown", "–"}
    names, _, *rows = [line.strip("|").split("|") for line in seen.splitlines() if line.startswith("|")]
    assert {name.strip() for name in names[1:]} == {name for name, _ in pins}
    words = ("ended", "stands", "notices", "stopped")
    assert [word for word, cells in zip(words, rows, strict=True) if word not in cells[0] or not all(cells)] == []


def test_every_test_that_a_design_note_names_exists() -> None:
    named = [
        (file, test)
        for page in (ROOT / "docs" / "design").glob("*.md")
        for file, test in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page.read_text(encoding="utf-8"))
    ]
    assert named
    assert [one for one in named if f"def {one[1]}(" not in (ROOT / one[0]).read_text(encoding="utf-8")] == []
