"""Checks the documentation: generated pages are up to date, console blocks print what they show, links work."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from support import open_to_agents

ROOT = Path(__file__).parent.parent
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_generated_pages_are_up_to_date() -> None:
    pages = runpy.run_path(str(ROOT / "scripts" / "generate_docs.py"))["pages"]()
    for path, text in pages.items():
        assert path.read_text(encoding="utf-8") == text, "run `make docs`"


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


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_the_definitions_in_the_readme_have_no_problems(tmp_path: Path) -> None:
    workflow, phase, flow = re.findall(
        r"```(?:yaml|markdown)\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL
    )
    folder = tmp_path / ".handrail" / "workflows" / "ship"
    folder.mkdir(parents=True)
    (tmp_path / ".handrail" / "flows").mkdir()
    (folder / "workflow.yaml").write_text(workflow, encoding="utf-8")
    (folder / "build.md").write_text(phase, encoding="utf-8")
    (folder / "plan.md").write_text(phase.replace("id: build", "id: plan"), encoding="utf-8")
    (tmp_path / ".handrail" / "flows" / "release.yaml").write_text(flow, encoding="utf-8")
    env = {"HOME": str(tmp_path), "HANDRAIL_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    argv = [sys.executable, "-m", "handrail", "validate"]
    ended = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert ended.stdout.startswith("no problems"), ended.stdout
    assert ended.stdout.endswith("and 1 flow\n")


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


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_console_blocks_print_what_they_show(page: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    open_to_agents(tmp_path / "home")
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
        assert same_ids(ended.stdout) == same_ids(output), f"$ {command}\n{ended.stderr}"


def same_ids(text: str) -> str:
    """The text with all run ids replaced, because each run has another id."""
    return re.sub(r"\br-[0-9a-z]{6}\b", "r-xxxxxx", text)
