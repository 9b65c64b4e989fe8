"""What a surface opens on demand: a step, the log, an artifact. Hostile content is only text."""

from __future__ import annotations

import os
from typing import Any

import pytest

from handrail.app import App
from handrail.base.errors import NotFound, UsageError
from handrail.view.live import artifacts
from handrail.view.live.artifacts import markdown_tree
from handrail.view.live.run import LOG_PAGE, LogQuery, search_log, step_of
from support import Project

FLOW = r"""
phases:
- id: write
  steps:
  - id: note
    node: command
    params: {argv: [sh, -c, 'cp source.md NOTES.md; printf "a\033[31mred\033[0m\nlast line\n"']}
    makes: [NOTES.md]
    expect: [{file: NOTES.md}]
  - {id: data, node: command, params: {argv: [cp, source.json, out.json]}, makes: [out.json]}
  - {id: fail, node: command, params: {argv: [sh, -c, "echo $((2+3)); exit 7"]}, retry: {attempts: 2, wait: 0}}
- {id: after, steps: [{id: it, node: set, params: {x: 1}}]}
"""
HOSTILE = """# Title <script>alert(1)</script>

[bad](javascript:alert(1)) [good](https://example.org/x) ![pic](http://example.org/x.png) <img src=x onerror=y>

- one\u202e
- `code`

```py
print("\x1b]52;c;aGk=\x07")
```
"""


@pytest.fixture
def app(project: Project) -> App:
    project.write(".handrail/flows/demo.yaml", FLOW)
    project.write("source.md", HOSTILE)
    project.write("source.json", '{"a": [1, {"b": "<b>"}]}')
    return App(str(project.folder), os.environ, by="person")


def run_id(project: Project) -> str:
    found: str = project.json("run", "demo", code=1)["run"]
    return found


def test_a_step_shows_its_input_output_checks_and_files(project: Project, app: App) -> None:
    run = run_id(project)
    step = step_of(app.runs, run, "write/note")
    assert (step["status"], step["try"], step["end"]) == ("done", 1, "done")
    assert step["params"]["argv"][0] == "sh"
    assert step["output"]["output"] == "ared\nlast line\n"
    assert [(one["name"], one["held"]) for one in step["checks"]] == [("file: NOTES.md", True)]
    assert [one["path"] for one in step["artifacts"]] == ["NOTES.md"]
    assert [one["text"] for one in step["lines"] if one["kind"] == "out"] == ["ared", "last line"]
    assert step["usage"] == {}


def test_each_try_of_a_step_can_be_looked_at(project: Project, app: App) -> None:
    run = run_id(project)
    last, first = (step_of(app.runs, run, "write/fail", number) for number in (None, 1))
    assert [(one["try"], one["end"]) for one in last["tries"]] == [(1, "failed"), (2, "failed")]
    assert (last["try"], first["try"]) == (2, 1)
    assert "ended with 7" in first["why"]["message"]
    assert step_of(app.runs, run, "after/it")["status"] == "pending"
    for path, number in (("write/nothing", None), ("write/fail", 9), ("../../etc/passwd", None)):
        with pytest.raises(NotFound):
            step_of(app.runs, run, path, number)


def test_the_log_is_searched_backwards_in_pages(project: Project, app: App) -> None:
    many = "seq 250 | sed s/^/line/"
    project.write(".handrail/flows/many.yaml", f"phases: [{{id: a, steps: [{{id: b, node: command, params: "
                  f"{{argv: [sh, -c, '{many}']}}}}]}}]")  # fmt: skip
    run = project.json("run", "many")["run"]
    texts: list[str] = []
    before = None
    for size in (LOG_PAGE, LOG_PAGE, 50):
        page = search_log(app.runs, run, LogQuery("LINE", ("agent",), "a/b", before))
        assert len(page["rows"]) == size
        texts = [row["text"] for row in page["rows"]] + texts
        before = page["before"]
    assert before is None
    assert texts == [f"line{number}" for number in range(1, 251)]
    assert [row["what"] for row in search_log(app.runs, run, LogQuery("", ("steps",), "a/b"))["rows"]][-1] == "done"
    assert search_log(app.runs, run, LogQuery("nowhere"))["rows"] == []
    for wrong in (LogQuery(kinds=("evil",)), LogQuery(before="x"), LogQuery(before="1-e")):
        with pytest.raises(UsageError):
            search_log(app.runs, run, wrong)


def artifact(app: App, run: str, path: str) -> str:
    found: str = next(one["id"] for one in app.runs.load(run).state.artifacts if one["path"] == path)
    return found


def flat(tree: list[Any]) -> list[Any]:
    return [part for one in tree for part in ([one] if isinstance(one, str) else [one, *flat(one["children"])])]


def test_markdown_is_a_tree_in_which_nothing_is_markup(project: Project, app: App) -> None:
    run = run_id(project)
    shown = artifacts.preview(app.runs.shelves, artifact(app, run, "NOTES.md"))
    assert shown["kind"] == "markdown"
    parts = flat(shown["tree"])
    texts = " ".join(part for part in parts if isinstance(part, str))
    links = [part for part in parts if isinstance(part, dict) and part["tag"] == "a"]
    assert [(link["href"], link["host"]) for link in links] == [("https://example.org/x", "example.org")]
    assert {part["tag"] for part in parts if isinstance(part, dict)} == {"h1", "p", "a", "ul", "li", "code", "pre"}
    items = [part for part in parts if isinstance(part, dict) and part["tag"] == "li"]
    assert not [one for item in items for one in item["children"] if isinstance(one, dict) and one["tag"] == "p"]
    assert "<script>alert(1)</script>" in texts
    assert "[image: pic]" in texts
    assert "one⟨U+202E⟩" in texts
    assert "\x1b" not in texts
    assert artifacts.raw(app.runs.shelves, artifact(app, run, "NOTES.md")) == HOSTILE.encode()


def test_json_is_a_value_and_other_files_are_named(project: Project, app: App) -> None:
    run = run_id(project)
    data = artifact(app, run, "out.json")
    assert artifacts.preview(app.runs.shelves, data)["value"] == {"a": [1, {"b": "<b>"}]}
    known = artifacts.about(app.runs.shelves, data)
    assert (known["file"], known["size"], len(known["sha256"])) == ("out.json", 24, 64)
    for id_ in ("", "x", "../../x:y:v1", f"{data}0", data.replace(":v1", ":v2"), "a/b"):
        with pytest.raises(NotFound):
            artifacts.raw(app.runs.shelves, id_)


@pytest.mark.parametrize(("content", "kind"), [("x\0y", "none"), ("x" * 300_000, "none"), ("{not json", "text")])
def test_what_cannot_be_previewed_is_not(project: Project, app: App, content: str, kind: str) -> None:
    project.write("source.json", content)
    run = run_id(project)
    assert artifacts.preview(app.runs.shelves, artifact(app, run, "out.json"))["kind"] == kind


def test_a_version_is_compared_with_the_previous_one(project: Project, app: App) -> None:
    first = artifact(app, run_id(project), "NOTES.md")
    assert artifacts.diff(app.runs.shelves, first)["lines"] is None
    project.write("source.md", HOSTILE.replace("# Title", "# Other\x1b[31m"))
    second = artifacts.diff(app.runs.shelves, artifact(app, run_id(project), "NOTES.md"))
    assert second["previous"] == first
    changed = [(line["sign"], line["text"].split("<")[0]) for line in second["lines"] if line["sign"] in "+-"]
    assert changed == [("-", "# Title "), ("+", "# Other ")]
    project.write("source.md", "\n".join(map(str, range(5_000))))
    third = artifacts.diff(app.runs.shelves, artifact(app, run_id(project), "NOTES.md"))
    assert (len(third["lines"]), third["isCut"]) == (2_000, True)


@pytest.mark.whole
def test_markdown_that_takes_long_to_read_is_no_tree() -> None:
    assert markdown_tree("![" * 100_000) is None
    assert markdown_tree("one paragraph\n" * 100_000) is None
    code = markdown_tree("```\n" + "x\n" * 50_000 + "```\n")
    assert code is not None
    assert code[0]["tag"] == "pre"  # type: ignore[index]  # it is a node
