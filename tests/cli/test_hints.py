"""A hint is what really helps: words of AgentWeaver and of other tools, and guesses that are near something else."""

from __future__ import annotations

import shutil

import pytest

from handrail.base.errors import system_error
from support import Project

ONE = "phases: [{id: a, steps: [{id: x, node: set, params: {n: 1}}]}]\n"


def hint(project: Project, *argv: str) -> str:
    said = project.run(*argv)
    assert said.code != 0
    return said.err.rpartition("hint: ")[2].strip()


@pytest.mark.parametrize(
    ("placeholder", "meant"),
    [("task", "description"), ("taskname", "description"), ("phase", "phaseName"), ("workflow", "workflowName")],
)
def test_a_placeholder_that_people_guess_has_the_one_that_they_mean(
    project: Project, placeholder: str, meant: str
) -> None:
    project.workflow("w", ["a"])
    project.write(".handrail/workflows/w/a.md", f"---\nid: a\nname: A\nemoji: x\n---\nDo {{{placeholder}}}.\n")
    (problem,) = project.json("validate")["problems"]
    assert problem["hint"] == f"did you mean `{{{meant}}}`?"


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ("plan", "write it as `.handrail/schemas/plan.json`"),
        ("review-findings", "did you mean `review-findings/v1`?"),
        ("own", "did you mean `owns`?"),
    ],
)
def test_a_schema_that_is_missing_is_not_confused_with_a_shipped_one(project: Project, schema: str, said: str) -> None:
    project.write(".handrail/schemas/owns.json", "{}")
    makes = f"makes: [{{path: p.json, schema: {schema}}}]"
    step = f"{{id: x, node: write-file, params: {{path: p.json, text: '1'}}, {makes}}}"
    project.write(".handrail/flows/f.yaml", f"phases: [{{id: a, steps: [{step}]}}]\n")
    (problem,) = project.json("validate", code=2)["problems"]
    assert problem["hint"] == said


def test_the_braces_of_other_tools_are_named(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", "params: {x: 1}\n" + ONE.replace("n: 1", "n: '${{ params.x }}'"))
    (problem,) = project.json("validate", code=2)["problems"]
    assert problem["hint"] == "write `${params.x}`"


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--resume", "`handrail resume RUN`"),
        ("--continue", "`handrail continue RUN`"),
        ("--restart", "`handrail restart RUN`"),
        ("--force", "leave it out"),
        ("--help-phases", "`handrail show FLOW --phases`"),
        ("--dry", "`--dry-run`"),
        ("--agnt", "did you mean `--agent`?"),
        ("--nothing", "`handrail run --help` shows the usage"),
    ],
)
@pytest.mark.parametrize("call", [("run", "plan", "ABC-1"), ("plan", "ABC-1")])
def test_an_option_of_agentweaver_has_what_is_here_instead(
    project: Project, call: tuple[str, ...], option: str, said: str
) -> None:
    assert said in hint(project, *call, option)


@pytest.mark.parametrize(("word", "category"), [("executors", "agents"), ("machine", "machine"), ("disk", "machine")])
def test_a_check_of_the_doctor_is_chosen_like_an_agent(project: Project, word: str, category: str) -> None:
    assert {row["category"] for row in project.run("doctor", word, "--json").data["checks"]} == {category}


def test_a_misspelt_agent_has_the_nearest_one(project: Project) -> None:
    assert hint(project, "doctor", "cladue").startswith("did you mean `claude`")


def test_continue_is_named_only_if_the_run_can_continue(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", f"continue: from-stop\n{ONE}")
    project.write(".handrail/flows/g.yaml", f"continue: again\n{ONE}")
    ran = {name: project.json("run", name)["run"] for name in "fg"}
    assert hint(project, "resume", ran["f"]) == f"`handrail restart {ran['f']}` starts it again"
    assert hint(project, "resume", ran["g"]).startswith(f"`handrail continue {ran['g']}` continues it")


def test_a_flow_is_not_started_but_run_and_a_missing_run_can_be_named(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", ONE)
    assert hint(project, "start", "f", "a task") == "it is a flow: `handrail run f`"
    assert hint(project, "resume") == "name one, or write `last`; `handrail runs` lists them"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (FileNotFoundError(2, "No such file or directory", "git"), "the program `git` is not installed"),
        (FileNotFoundError(2, "No such file or directory", "a/b"), "`a/b` cannot be used: No such file or directory"),
        (OSError(30, "Read-only file system", ".claude"), "`.claude` cannot be used: Read-only file system"),
        (PermissionError(13, "Permission denied", "/x"), "`/x` cannot be used: Permission denied"),
    ],
)
def test_an_error_of_the_system_is_said_in_plain_words(error: OSError, words: str) -> None:
    assert system_error(error).message.startswith(words)
    assert (system_error(error).hint is None) is (error.filename == "a/b")


def test_a_missing_program_is_named_by_every_command(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert "error: the program `git` is not installed or not on the PATH" in project.run("demo").err


def test_an_error_of_the_system_in_a_step_is_said_in_plain_words(project: Project) -> None:
    project.write("a-file", "")
    written = "write-file, params: {path: a-file/below, text: hi}"
    project.write(".handrail/flows/f.yaml", ONE.replace("set, params: {n: 1}", written))
    assert project.json("run", "f", code=1)["error"] == f"`{project.folder}/a-file` cannot be used: File exists"


def test_an_empty_folder_is_told_nothing_that_does_not_concern_it(project: Project) -> None:
    shutil.rmtree(project.home / "state" / "trust")
    (project.folder / ".handrail").rmdir()
    assert project.run("start", "review", "it").code == 4
    assert "not trusted" not in project.run("list").out
    summary = project.run("doctor").out.splitlines()[-1]
    assert "checks fine; " in summary
    assert "about things that are not set up here" in summary
    project.write(".handrail/flows/f.yaml", ONE)
    assert "estimate" not in project.run("run", "f", "--trust").err


@pytest.mark.parametrize("name", ["ready", "run", "start"])
def test_a_task_with_options_of_its_own_has_two_ways_to_be_written(project: Project, name: str) -> None:
    said = f"quote the words of the task, or put `--` before them: `handrail {name} NAME -- WORDS`"
    assert hint(project, name, "check-loop", "python3", "-m", "unittest") == said


def test_both_ways_to_write_such_a_task_work(project: Project) -> None:
    for words in (("python3 -c pass",), ("--", "python3", "-c", "pass")):
        assert project.run("run", "check-loop", *words).code == 0


def test_a_pair_in_place_of_a_file_of_params_has_the_option_for_pairs(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", ONE)
    assert hint(project, "run", "f", "--params", "version=1 2") == "`--param 'version=1 2'` sets one parameter"


def test_another_word_for_a_text_has_the_option_of_this_command(project: Project) -> None:
    for name, option in (("next", "--summary"), ("blocked", "--question"), ("answer", "--note")):
        assert hint(project, name, "--reason", "x") == f"did you mean `{option}`?"
