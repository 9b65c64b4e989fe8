"""Where a playbook is found, and what is refused: links, line ends, sizes. The corpus has the other problems."""

from __future__ import annotations

import os

import pytest

from handrail.source.fields import json_schema
from handrail.steps.playbook import spec
from handrail.steps.playbook.load import FoundPlaybook, read_playbook
from support import Project

MANIFEST = "version: 1\nproject: {name: P}\npractices: {globs: ['practices/*.md']}\n"
ENTRY = "---\nid: a\ntitle: A\n---\nDo it.\n"


def written(
    project: Project, root: str = ".handrail/playbook", manifest: str = MANIFEST, **files: str
) -> FoundPlaybook:
    for name, text in {"manifest.yaml": manifest, "project.md": "# P\n", "practices/a.md": ENTRY, **files}.items():
        project.write(f"{root}/{name}", text)
    return read_playbook(str(project.folder))


def codes(found: FoundPlaybook) -> list[tuple[str, str]]:
    return [(problem.code, os.path.basename(problem.file)) for problem in found.problems]


def test_the_own_folder_comes_before_that_of_agentweaver(project: Project) -> None:
    assert read_playbook(str(project.folder)) == FoundPlaybook(str(project.folder))
    sections = "examples: {paths: [practices/a.md]}\ntemplates: {paths: [project.md]}\n"
    theirs = MANIFEST.replace("practices/*", "rules/*").replace("P}", "Theirs}") + sections
    found = written(project, ".agentweaver/playbook", theirs, **{"rules/b.md": ENTRY.replace("id: a", "id: b")})
    assert found.playbook is not None, found.problems
    assert (found.folder, found.playbook.name) == (".agentweaver/playbook", "Theirs")
    found = written(project)
    assert found.playbook is not None
    assert (found.folder, found.playbook.name) == (".handrail/playbook", "P")


def test_a_playbook_of_agentweaver_needs_all_sections(project: Project) -> None:
    found = written(project, ".agentweaver/playbook")
    assert [problem.message for problem in found.problems] == [
        "key `examples` is missing",
        "key `templates` is missing",
    ]


def test_a_folder_without_a_manifest_is_told(project: Project) -> None:
    project.write(".handrail/playbook/project.md", "# P\n")
    found = read_playbook(str(project.folder))
    assert (found.has_manifest, codes(found)) == (False, [("file-missing", "manifest.yaml")])


def test_windows_line_ends_and_a_byte_order_mark_are_accepted(project: Project) -> None:
    for name, text in {"manifest.yaml": MANIFEST, "project.md": "# P\n", "practices/a.md": ENTRY}.items():
        path = project.write(f".handrail/playbook/{name}", "")
        path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    found = read_playbook(str(project.folder))
    assert found.problems == ()
    assert found.playbook is not None
    assert found.playbook.practices[0].body == "Do it.\n"


@pytest.mark.parametrize("target", ["/etc/hosts", "../../../secret.md"])
def test_a_link_out_of_the_playbook_is_refused(project: Project, target: str) -> None:
    project.write("secret.md", ENTRY)
    written(project)
    os.symlink(target, project.folder / ".handrail/playbook/practices/b.md")
    found = read_playbook(str(project.folder))
    assert (found.playbook, codes(found)) == (None, [("path-escape", "manifest.yaml")])


def test_a_link_inside_the_playbook_is_followed(project: Project) -> None:
    written(project, **{"more/b.md": ENTRY.replace("id: a", "id: b")})
    os.symlink("../more/b.md", project.folder / ".handrail/playbook/practices/b.md")
    found = read_playbook(str(project.folder))
    assert found.playbook is not None
    assert [entry.id for entry in found.playbook.practices] == ["a", "b"]


def test_a_folder_that_is_a_link_out_of_the_project_is_refused(project: Project) -> None:
    outside = project.folder.parent / "outside"
    outside.mkdir()
    os.symlink(outside, project.folder / ".handrail/playbook")
    assert codes(read_playbook(str(project.folder))) == [("path-escape", "playbook")]


def test_a_pipe_does_not_block(project: Project) -> None:
    written(project)
    os.mkfifo(project.folder / ".handrail/playbook/practices/b.md")
    assert codes(read_playbook(str(project.folder))) == [("path-kind", "manifest.yaml")]


def test_validate_and_check_show_the_same_problems(project: Project) -> None:
    written(project, **{"practices/b.md": ENTRY})
    found = project.json("validate", code=2)
    assert found["checked"]["playbooks"] == 1
    assert [problem["code"] for problem in found["problems"]] == ["playbook-id-twice"]
    own = project.json("playbook", "check", code=2)
    assert own == {"ok": False, "problems": found["problems"]}
    for path in (".handrail/playbook", ".handrail/playbook/practices/b.md", ".handrail"):
        assert project.json("validate", path, code=2)["problems"] == found["problems"], path
    assert (own["problems"][0]["line"], own["problems"][0]["column"]) == (2, 5)


def test_the_schemas_name_every_key(project: Project) -> None:
    del project
    assert {"version", "project", "practices", "context_budgets", "selection"} <= set(
        json_schema(spec.MANIFEST_KEYS)["properties"]
    )
    assert {"id", "title", "applies_to", "severity"} <= set(json_schema(spec.ENTRY)["properties"])
    assert json_schema(spec.MANIFEST_KEYS)["required"] == ["version", "project"]
