"""`git-status` with real repositories: strange names, renamed files, subfolders, and what it writes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from steps.nodes.repositories import Checkout, isolate
from support import Project

FLOW = """phases:
- id: a
  steps:
  - {id: x, node: git-status, params: {outputFile: out/status.json, diffOutputFile: out/diff.txt, MORE}}
"""


@pytest.fixture
def checkout(project: Project, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    isolate(monkeypatch)
    made = Checkout(project.folder)
    made.write(".gitignore", "/out\n/.handrail\n")
    made.write("kept.txt", "one\n")
    made.commit()
    return made


def status(project: Project, more: str = "labelText: x", code: int = 0) -> Any:
    project.write(".handrail/flows/s.yaml", FLOW.replace("MORE", more))
    (step,) = project.json("run", "s", code=code)["phases"][0]["steps"]
    return step["error"] if code else step["value"]


def types(value: Any) -> dict[str, str]:
    return {entry["file"]: entry["type"] for entry in value["files"]}


def test_files_and_differences_are_outputs_and_are_in_the_files(project: Project, checkout: Checkout) -> None:
    checkout.write("kept.txt", "two\n")
    checkout.write("staged.txt", "s\n")
    checkout.git("add", "staged.txt")
    checkout.write("new.txt", "n\n")
    value = status(project)
    assert value["files"] == [
        {
            "xy": " M",
            "indexStatus": " ",
            "workTreeStatus": "M",
            "file": "kept.txt",
            "staged": False,
            "type": "modified",
        },
        {
            "xy": "??",
            "indexStatus": "?",
            "workTreeStatus": "?",
            "file": "new.txt",
            "staged": False,
            "type": "untracked",
        },
        {"xy": "A ", "indexStatus": "A", "workTreeStatus": " ", "file": "staged.txt", "staged": True, "type": "added"},
    ]
    assert value["names"] == ["kept.txt", "new.txt", "staged.txt"]
    assert value["diff"].index("+s") < value["diff"].index("+two")
    assert "staged.txt | 1 +" in value["diffStat"]
    assert "kept.txt | 2 +-" in value["diffStat"]
    written = (project.folder / "out/status.json").read_text()
    assert json.loads(written) == value
    assert written.startswith('{\n  "files": [')
    assert written.endswith("}\n")
    assert (project.folder / "out/diff.txt").read_text() == value["diff"]


def test_names_of_every_kind_are_found_as_they_are(project: Project, checkout: Checkout) -> None:
    names = ["-rf", "a b.txt", 'quo"te', "new\nline", "tab\t", "ümläut ☂", "back\\slash", "a -> b", " lead", ":(top)x"]
    for name in names:
        checkout.write(name, "x\n")
    checkout.write(b"caf\xe9.txt", "x\n")
    assert set(types(status(project))) == {*names, '"caf\\351.txt"'}


def test_removed_and_renamed_files(project: Project, checkout: Checkout) -> None:
    for name in ("old name", "gone", "dropped"):
        checkout.write(name, f"{name}\n" * 9)
    checkout.commit()
    checkout.git("mv", "old name", "new name")
    checkout.git("rm", "-q", "gone")
    (project.folder / "dropped").unlink()
    value = status(project)
    assert types(value) == {"new name": "renamed", "gone": "deleted", "dropped": "deleted"}
    assert [entry.get("originalFile") for entry in value["files"]] == [None, None, "old name"]


def test_a_project_in_a_subfolder_of_the_repository(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch)
    top = Checkout(project.folder.parent)
    top.write(".gitignore", "/home\n/user\n.handrail\nout\n")
    top.write("outside.txt", "1\n")
    top.commit()
    top.write("outside.txt", "2\n")
    project.write("in/side.txt", "x\n")
    assert types(status(project)) == {"in/side.txt": "untracked"}  # the whole folder is new
    top.commit("second")
    project.write("in/side.txt", "y\n")
    value = status(project)
    assert types(value) == {"in/side.txt": "modified"}
    assert "b/in/side.txt" in value["diff"]
    assert "outside" not in value["diff"]


def test_a_repository_in_a_subfolder_of_the_project(
    project: Project, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch)
    inner = Checkout(project.folder / "service")
    inner.write("x.txt", "1\n")
    assert types(status(project, "cwd: service")) == {"x.txt": "untracked"}
    (tmp_path / "elsewhere").mkdir()
    (project.folder / "link").symlink_to(tmp_path / "elsewhere")
    assert "leads out of the project" in status(project, "cwd: link", code=1)
    assert "is not a folder" in status(project, "cwd: nowhere", code=1)


def test_no_repository_and_no_changes_are_failures(project: Project, checkout: Checkout) -> None:
    assert status(project, code=1) == "git reports no changed files"
    checkout.git("config", "core.repositoryformatversion", "99")
    assert "Expected git repo version" in status(project, code=1)


def test_a_step_may_allow_that_nothing_has_changed(project: Project, checkout: Checkout) -> None:
    assert status(project, "mayBeClean: true") == {"files": [], "names": [], "diff": "", "diffStat": ""}
    checkout.write("kept.txt", "two\n")
    assert status(project, "mayBeClean: true")["names"] == ["kept.txt"]


def test_artifacts_count_only_if_git_tracks_them(project: Project, checkout: Checkout) -> None:
    checkout.write(".agentweaver/scopes/T-1/git-diff.txt", "x\n")
    assert "no changed files" in status(project, code=1)
    checkout.write(".agentweaver/.flows/mine.json", "{}\n")
    assert types(status(project)) == {".agentweaver/.flows/mine.json": "untracked"}
    checkout.commit()
    checkout.write(".agentweaver/scopes/T-1/git-diff.txt", "y\n")
    assert types(status(project)) == {".agentweaver/scopes/T-1/git-diff.txt": "modified"}


def test_settings_of_the_user_change_nothing(project: Project, checkout: Checkout) -> None:
    checkout.write("kept.txt", "two\n")
    checkout.write("dir/new.txt", "n\n")
    value = status(project)
    for name, setting in (
        ("status.showUntrackedFiles", "no"),
        ("color.ui", "always"),
        ("diff.noprefix", "true"),
        ("diff.external", "false"),
        ("core.quotePath", "true"),
    ):
        checkout.git("config", name, setting)
    assert status(project) == value
    assert types(value) == {"kept.txt": "modified", "dir/": "untracked"}


def test_git_variables_lead_to_no_other_repository(
    project: Project, checkout: Checkout, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Checkout(tmp_path / "other")
    checkout.write("kept.txt", "two\n")
    monkeypatch.setenv("GIT_DIR", str(other.folder / ".git"))
    assert types(status(project)) == {"kept.txt": "modified"}


def test_a_huge_difference_is_cut_and_says_so(project: Project, checkout: Checkout) -> None:
    checkout.write("kept.txt", "x" * 79 + "\n" + ("y" * 79 + "\n") * 70_000)
    value = status(project)
    assert len(value["diff"]) < 4_300_000
    assert "bytes after this were left out" in value["diff"].splitlines()[-1]


@pytest.mark.parametrize("path", ["../x.json", "/etc/x.json", "link/x.json"])
def test_a_file_outside_of_the_project_is_not_written(
    project: Project, checkout: Checkout, tmp_path: Any, path: str
) -> None:
    (project.folder / "link").symlink_to(tmp_path)
    project.write(
        ".handrail/flows/s.yaml",
        "phases:\n- id: a\n  steps:\n  - {id: x, node: git-status, params: {outputFile: '${params.at}'}}\n",
    )
    failed = project.json("run", "s", "--param", f"at={path}", code=1)
    assert "leads out of the project" in failed["phases"][0]["steps"][0]["error"]
