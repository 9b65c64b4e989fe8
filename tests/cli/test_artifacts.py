"""`handrail artifacts`: lists what runs made, and prints one artifact, also after `prune`."""

from __future__ import annotations

import base64

import pytest

from support import Project

STEP = "{id: w, node: write-file, params: {path: '${params.path}', text: '${params.text}'}, makes: ['${params.path}']}"


@pytest.fixture
def maker(project: Project) -> Project:
    """A project with the flow `make`, which writes one file."""
    flow = f"params: {{path: NOTES.md, text: hi}}\nphases: [{{id: a, steps: [{STEP}]}}]\n"
    project.write(".handrail/flows/make.yaml", flow)
    return project


def make(project: Project, path: str = "NOTES.md", text: str = "hi", scope: str = "k") -> str:
    given = ("--param", f"path={path}", "--param", f"text={text}", "--scope", scope)
    run = project.json("run", "make", *given)["run"]
    assert isinstance(run, str)
    return run


def listed(project: Project, *argv: str) -> list[tuple[str, str]]:
    return [(one["run"], one["path"]) for one in project.json("artifacts", *argv)["artifacts"]]


def test_without_a_run_the_artifacts_of_all_runs_and_scopes_are_listed_newest_first(maker: Project) -> None:
    first, second = make(maker, "a.md", scope="one"), make(maker, "d/b.md", scope="two")
    assert listed(maker) == [(second, "d/b.md"), (first, "a.md")]
    head, row, _ = maker.run("artifacts").out.splitlines()
    assert head.split() == ["RUN", "PATH", "MADE", "STEP", "ARTIFACT", "SHA256"]
    assert row.split()[:2] == [second, "d/b.md"]


def test_a_project_without_artifacts_says_so(maker: Project) -> None:
    said = maker.run("artifacts")
    assert (said.code, said.out.split(";")[0]) == (0, "no run of this project published an artifact")
    assert maker.json("artifacts") == {"artifacts": []}


def test_a_shelf_that_cannot_be_read_hides_no_other(maker: Project) -> None:
    for text in ("x", "y"):
        make(maker, "a.md", text, scope="one")
    second = make(maker, "b.md", scope="two")
    (journal,) = (maker.home / "state/artifacts").glob("*/one/journal")
    journal.write_bytes(b"garbage" + journal.read_bytes())
    said = maker.run("artifacts", "--json")
    assert [one["run"] for one in said.data["artifacts"]] == [second]
    assert "is damaged" in said.err


@pytest.mark.parametrize("name", ["d/NOTES.md", "d/NOTES.md@v1", "d/NOTES.md@latest", "k:d/NOTES.md:v1"])
def test_an_artifact_is_printed_by_path_key_version_or_id(maker: Project, name: str) -> None:
    run = make(maker, "d/NOTES.md", "one\ntwo")
    assert maker.run("artifacts", run, name) == (0, "one\ntwo", "")


def test_the_printed_content_is_the_published_one_not_the_file_of_today(maker: Project) -> None:
    run = make(maker, text="then")
    maker.write("NOTES.md", "now")
    assert maker.run("artifacts", run, "NOTES.md").out == "then"


def test_with_json_the_content_is_text_or_base64(maker: Project) -> None:
    run = make(maker, text="hello")
    data = maker.json("artifacts", run, "NOTES.md")
    assert (data["run"], data["artifact"]["path"], data["text"]) == (run, "NOTES.md", "hello")
    step = '{id: w, node: command, params: {argv: [python3, -c, \'open("x.bin","wb").write(bytes([255,0]))\']}'
    maker.write(".handrail/flows/raw.yaml", f"phases: [{{id: a, steps: [{step}, makes: [x.bin]}}]}}]\n")
    maker.json("run", "raw")
    assert base64.b64decode(maker.json("artifacts", "last", "x.bin")["base64"]) == b"\xff\x00"


def test_an_unknown_artifact_is_named_with_the_nearest_one(maker: Project) -> None:
    run = make(maker)
    said = maker.run("artifacts", run, "NOTE.md")
    assert (said.code, said.err) == (
        1,
        "error: this run has no artifact `NOTE.md`\nhint: did you mean `NOTES.md`?\n",
    )


def test_the_newest_version_of_a_run_is_printed_and_an_older_one_by_its_number(maker: Project) -> None:
    steps = [STEP.replace("id: w", f"id: w{n}").replace("${params.text}", f"text {n}") for n in (1, 2)]
    maker.write(
        ".handrail/flows/twice.yaml", f"params: {{path: a.md}}\nphases: [{{id: a, steps: [{','.join(steps)}]}}]\n"
    )
    run = maker.json("run", "twice")["run"]
    assert maker.run("artifacts", run, "a.md").out == "text 2"
    assert maker.run("artifacts", run, "a.md@v1").out == "text 1"


def test_versions_are_counted_in_a_scope_across_its_runs(maker: Project) -> None:
    first, second = (make(maker, "a.md", text) for text in ("one", "two"))
    make(maker, "a.md", "elsewhere", scope="other")
    for run in (first, second):
        assert maker.run("artifacts", run, "a.md@v1").out == "one"
        assert maker.run("artifacts", run, "a.md@latest").out == "two"
    assert maker.run("artifacts", first, "a.md").out == "one"
    assert maker.run("artifacts", "k:a.md:v2").out == "two"
    assert maker.run("artifacts", "a.md@latest").out == "elsewhere"
    assert "no artifact `a.md@v9`" in maker.run("artifacts", "a.md@v9").err


def test_what_prune_keeps_is_listed_and_printed(maker: Project) -> None:
    run = make(maker, text="kept")
    before = maker.run("artifacts", run).out
    maker.json("prune", "--keep", "0", "--yes")
    assert maker.json("runs")["runs"] == []
    assert listed(maker) == [(run, "NOTES.md")]
    assert maker.run("artifacts", run).out == before
    assert maker.run("artifacts", run[:-1], "NOTES.md").out == "kept"


def test_a_run_that_never_was_is_not_found(maker: Project) -> None:
    make(maker)
    said = maker.run("artifacts", "r-never")
    assert (said.code, said.err.split("\n")[0]) == (1, "error: there is no run `r-never` in this project")


def test_the_end_of_a_path_is_enough_if_only_one_artifact_has_it(maker: Project) -> None:
    run = make(maker, "deep/er/NOTES.md", "deep")
    assert maker.run("artifacts", run, "NOTES.md").out == "deep"
    assert maker.run("artifacts", run, "er/NOTES.md").out == "deep"
    steps = [STEP.replace("id: w", f"id: w{n}").replace("${params.path}", f"{n}/a.md") for n in (1, 2)]
    flow = f"params: {{text: x}}\nphases: [{{id: a, steps: [{','.join(steps)}]}}]\n"
    maker.write(".handrail/flows/two.yaml", flow)
    maker.json("run", "two")
    assert maker.run("artifacts", "last", "a.md").code == 1


def test_an_artifact_in_place_of_a_run_says_which_run_made_it(maker: Project) -> None:
    run = make(maker)
    said = maker.run("artifacts", "NOTES.md")
    assert said.code == 1
    assert f"`handrail artifacts {run} NOTES.md` prints it" in said.err
