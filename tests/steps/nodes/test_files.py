"""The nodes that read files, and those for summaries: of a run, of a JSON file, and of a Markdown file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from steps.nodes.single import alone, as_flow, read, refused, value
from steps.nodes.steps import step
from support import Project


def test_a_file_becomes_the_summary_of_the_run(project: Project) -> None:
    project.write("s.md", "\r\n Two lines\r\nof text \n\n")
    ended = as_flow(project, "summary-file-load", path="s.md", title="Summary")
    assert value(ended) == {"text": "Two lines\nof text"}
    assert ended["summary"] == "Two lines\nof text"


def test_a_summary_needs_its_file(project: Project) -> None:
    assert refused(project, "summary-file-load", path="none.md")[0] == "inputs-missing"
    assert refused(project, "summary-file-load", path="../none.md")[0] == "path-escape"
    assert refused(project, "summary-file-load", path=".handrail")[0] == "file-unreadable"


def test_the_summary_of_a_json_file(project: Project) -> None:
    project.write("s.json", '{"summary": " short "}')
    assert value(as_flow(project, "structured-summary", path="s.json", maxLength=3)) == {"summary": "short"}


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"summary": 1}', '{"summary": " "}'])
def test_a_json_file_without_a_summary_is_refused(project: Project, text: str) -> None:
    project.write("s.json", text)
    assert refused(project, "structured-summary", path="s.json")[0] == "inputs-invalid"
    assert refused(project, "structured-summary", path="none.json")[0] == "inputs-missing"


MARKDOWN = "# Title\r\n\r\n* **bold** and `code`\n+ __more__\n\n\n\nsnake__case__name # no heading\n"
PLAIN = "Title\n\n- bold and code\n- more\n\nsnake__case__name # no heading"


@pytest.mark.parametrize("before", [None, "{", '{"summary": ""}'])
def test_a_missing_summary_is_made_from_markdown(project: Project, before: str | None) -> None:
    project.write("s.md", MARKDOWN)
    if before is not None:
        project.write("out/s.json", before)
    ended = as_flow(project, "ensure-summary-json", markdownFile="s.md", outputFile="out/s.json")
    found = value(ended)
    assert (found["created"], found["repaired"]) == (before is None, before is not None)
    assert read(project, "out/s.json") == {"summary": PLAIN}
    assert [made["path"] for made in ended["artifacts"]] == ["out/s.json"]


def test_a_summary_that_is_there_stays(project: Project) -> None:
    text = '{"summary":"mine","more":1}'
    project.write("s.json", text)
    ended = as_flow(project, "ensure-summary-json", markdownFile="none.md", outputFile="s.json")
    assert (value(ended)["created"], value(ended)["repaired"], ended["artifacts"]) == (False, False, [])
    assert (project.folder / "s.json").read_text() == text


def test_without_text_there_is_no_summary(project: Project) -> None:
    params = {"markdownFile": "s.md", "outputFile": "s.json"}
    assert refused(project, "ensure-summary-json", **params)[0] == "inputs-missing"
    project.write("s.md", " \n \n")
    assert refused(project, "ensure-summary-json", **params)[0] == "inputs-invalid"
    assert not (project.folder / "s.json").exists()
    project.write("s.md", "x")
    assert refused(project, "ensure-summary-json", markdownFile="s.md", outputFile="/etc/x.json")[0] == "path-escape"


def test_a_file_check_of_nothing_says_that_it_does_not_exist(project: Project) -> None:
    params = {"panelTitle": "T", "foundMessage": "F", "tone": "green"}
    assert value(as_flow(project, "file-check", path=None, **params)) == {"exists": False}
    assert alone(project, "file-check", path=".handrail", **params) == {"exists": True}


FILES = [
    ("a.json", ' {"title": "x"}\n', {"title": "x"}),
    ("a.json", "\ufeff[1]", [1]),
    ("a.json", "{", None),
    ("a.json", "[" * 100_000, None),
    ("a.txt", "[1]", None),
]


@pytest.mark.parametrize(("name", "text", "data"), FILES, ids=["json", "byte-order-mark", "broken", "deep", "text"])
def test_a_json_file_is_also_data(tmp_path: Path, name: str, text: str, data: Any) -> None:
    (tmp_path / name).write_text(text)
    assert step("read-file", {"path": name}, tmp_path) == {"text": text.strip(" \n\ufeff"), "data": data}
