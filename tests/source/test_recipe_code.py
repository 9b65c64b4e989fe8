"""The recipe for a problem code: reported at its place, one row in the data file, explained to people."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.source import codes
from handrail.source.definition_files import Source
from handrail.source.diagnostics import diagnostic_text
from handrail.source.yaml_text import read_yaml
from support import Project

ROW = """
tea-cold:
  severity: error
  meaning: The tea has to be hot.
  example: "tea: cold"
  cure: "Write `tea: hot`."
"""


@pytest.fixture
def with_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    file = tmp_path / "codes.yaml"
    file.write_text(Path(codes.FILE).read_text(encoding="utf-8") + ROW, encoding="utf-8")
    monkeypatch.setattr(codes, "FILE", str(file))
    codes.problem_kinds.cache_clear()
    yield
    codes.problem_kinds.cache_clear()


@pytest.mark.usefixtures("with_code")
def test_a_new_row_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project(tmp_path, monkeypatch, capsys)
    assert "The tea has to be hot." in project.run("explain", "tea-cold").out
    assert project.run("explain", "tea-cod").err.count("did you mean `tea-cold`?") == 1


def test_a_problem_is_reported_at_its_place() -> None:
    source = Source("tea.yaml", "cup: large\ntea: cold\n")
    tree, _ = read_yaml(source.text)
    assert tree is not None
    node = tree.value["tea"]
    place = (node.line, node.column, node.width)
    problem = source.problem("tea-cold", place, "`tea` has to be `hot`, found `cold`", "write `tea: hot`")
    assert diagnostic_text(problem).splitlines() == [
        "tea.yaml:2:6: error[tea-cold]: `tea` has to be `hot`, found `cold`",
        " 2 | tea: cold",
        "   |      ^^^^",
        "   hint: write `tea: hot`",
    ]
