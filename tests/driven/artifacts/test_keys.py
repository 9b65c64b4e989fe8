"""The key of an artifact is its path within the scope."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from handrail.driven.artifacts.names import artifact_key, is_key
from handrail.driven.artifacts.shelf import ArtifactVersion, Shelf
from support import Project

KEYS = {
    "/p/a.md": "a.md",
    "/p/d/a.md": "d/a.md",
    "/p/d/e/A b.md": "d/e/A-b.md",
    "/p/README.md": "README.md",
    "/p/readme.md": "readme.md",
    "/p/D/a.md": "D/a.md",
    "/p/.handrail/scopes/k/Plan-2.md": "plan.md",
    "/p/.hidden/a.md": "hidden/a.md",
    "/p/out/plan-3.md": "out/plan.md",
    "/p/.handrail/scopes/k/plan-2.md": "plan.md",
    "/p/.handrail/scopes/k/deep/plan-2.md": "deep/plan.md",
    "/p/.agentweaver/scopes/k/plan-k-2.md": "plan.md",
    "/p/.agentweaver/scopes/k/.artifacts/plan-k-2.json": "artifacts/plan.json",
    "/q/a.md": "a.md",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    return Project(tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize(("path", "key"), KEYS.items())
def test_the_key_of_a_path(path: str, key: str) -> None:
    assert artifact_key(path, "/p", "k") == key
    assert is_key(key)


def test_files_of_the_same_name_in_two_folders_are_two_artifacts(project: Project) -> None:
    project.write(
        ".handrail/flows/two.yaml",
        "phases:\n- id: a\n  steps:\n"
        "  - {id: x, node: write-file, params: {path: a.md, text: one}, makes: [a.md]}\n"
        "  - {id: y, node: write-file, params: {path: d/a.md, text: two}, makes: [d/a.md]}\n",
    )
    made = project.json("run", "two", "--scope", "k")["artifacts"]
    assert [(row["id"], row["supersedes"]) for row in made] == [("k:a.md:v1", None), ("k:d/a.md:v1", None)]


def test_two_files_whose_names_differ_in_case_are_two_artifacts(project: Project) -> None:
    steps = "".join(
        f"  - {{id: {id_}, node: write-file, params: {{path: {name}, text: {id_}}}, makes: [{name}]}}\n"
        for id_, name in (("x", "README.md"), ("y", "readme.md"))
    )
    project.write(".handrail/flows/two.yaml", f"phases:\n- id: a\n  steps:\n{steps}")
    made = project.json("run", "two", "--scope", "k")["artifacts"]
    assert [(row["id"], row["supersedes"]) for row in made] == [("k:README.md:v1", None), ("k:readme.md:v1", None)]
    assert project.run("artifacts", "README.md@latest").out == "x"
    assert project.run("artifacts", "k:readme.md:v1").out == "y"


def test_a_shelf_of_the_first_version_is_read(tmp_path: Path) -> None:
    """Version 0.1.0 gave `d/a.md` the key `a.md`. Its records are found by path, key and id."""
    draft = ArtifactVersion(
        scope="k", key="a.md", name="a.md", path="d/a.md", run="r", step="s", schema="x/v1", family="x", created=1.0
    )
    old = Shelf(str(tmp_path)).publish(draft, b"old")
    new = Shelf(str(tmp_path)).publish(replace(draft, key="d/a.md", run="r2"), b"new")
    shelf = Shelf(str(tmp_path))
    assert (shelf.find(old.id), shelf.find(new.id)) == (old, new)
    assert (shelf.at("d/a.md"), new.version, new.supersedes) == (new, 1, None)
