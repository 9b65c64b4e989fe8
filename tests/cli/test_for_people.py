"""At a terminal, people read where they are, what comes next and what to type. Agents read other texts."""

from __future__ import annotations

import pytest

from handrail.source.plain_text import counted
from handrail.view.text.session import without_marks
from support import Project


@pytest.fixture
def walked(project: Project) -> Project:
    project.phase("tiny", "one", "tools:\n  blacklist: [edit]\n")
    project.phase("tiny", "two", "exit:\n  - file: out.txt\n")
    project.workflow("tiny", ["one", "two"])
    return project


def body(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("started:")]


def test_start_and_status_say_what_to_do_and_what_to_type(walked: Project) -> None:
    now = [
        "What to do now:",
        "  Do one.",
        "An agent may use: all except: edit",
        "When it is done: `handrail next --summary 'what you did'` (then comes Two)",
    ]
    assert body(walked.run("start", "tiny", "some", "work").out) == ["Tiny > • One [1/2]", *now]
    assert body(walked.run("status").out) == [
        "Tiny > • One [1/2]",
        "task:     some work",
        "  ● 1. • One",
        "  ○ 2. • Two",
        *now,
    ]


def test_next_says_what_is_done_and_what_is_checked(walked: Project) -> None:
    walked.run("start", "tiny", "work")
    assert body(walked.run("next", "--summary", "looked").out)[:2] == ["Tiny > • Two [2/2]", "✓ One is done."]
    assert "Done so far:\n  One: looked" in walked.run("status").out
    assert body(walked.run("next").out) == [
        "Tiny > • Two [2/2]",
        "✗ Two cannot be left yet: the exit check does not hold.",
        "✗ `out.txt` does not exist",
        "Fix this, then run `handrail next` again.",
    ]
    walked.write("out.txt", "x")
    assert body(walked.run("next").out)[:2] == ["✓ Two is done.", "✓ Tiny is done."]


@pytest.mark.parametrize("command", ["status", "next", "loop"])
def test_people_see_no_markdown_and_no_tool_of_agents(walked: Project, command: str) -> None:
    walked.run("start", "tiny", "work")
    said = walked.run(command).out
    assert "**" not in said
    assert "workflow_step" not in said
    assert "action" not in said


def test_programs_still_read_what_the_agent_is_told(walked: Project) -> None:
    walked.run("start", "tiny", "work")
    assert walked.json("status")["message"].startswith("**Workflow:** Tiny (tiny)\n")
    assert walked.json("next")["message"].startswith("✓ Advanced: One → • Two\nPrevious: One | Current")
    assert walked.json("next", code=5)["message"].endswith('Fix this, then repeat the action "next".')
    assert walked.json("loop")["message"].startswith("🔄 Starting 'Tiny' over at: • One")


def test_the_session_that_was_typed_is_in_the_commands_that_are_shown(walked: Project) -> None:
    walked.run("start", "tiny", "work", "--session", "my one")
    walked.run("start", "tiny", "work", "--session", "other")
    said = walked.run("status", "--session", "my one").out
    assert "`handrail next --session 'my one' --summary 'what you did'`" in said


def test_a_cancel_that_is_not_confirmed_says_how_to_confirm_it(walked: Project) -> None:
    walked.run("start", "tiny", "work")
    said = walked.run("cancel")
    assert said.code == 4
    assert "`handrail cancel --yes`" in said.out
    assert walked.run("cancel").out.startswith("■ Tiny was cancelled by a script in the phase One.\n")


def test_a_command_given_as_a_list_is_shown_as_it_is_typed_in_a_shell(project: Project) -> None:
    project.phase("tiny", "one", "exit:\n  - run: [test, -f, my file]\n")
    project.workflow("tiny", ["one"])
    project.run("start", "tiny", "work")
    assert "✗ `test -f 'my file'` ended with exit code 1" in project.run("next").out


def test_markdown_is_shown_without_its_marks() -> None:
    text = "# Title\n\n**Do** this:\n```sh\n# a **comment**\n```\n- `**` stays"
    assert without_marks(text) == "Title\n\nDo this:\n    # a **comment**\n- `**` stays"


def test_plurals_are_right(project: Project) -> None:
    assert [counted(n, "phase") for n in (0, 1, 2, 1.5, 600.0)] == [
        *("no phases", "1 phase", "2 phases", "1.5 phases", "600 phases")
    ]
    project.write(".handrail/flows/broken.yaml", "phases: [{id: a, steps: [{id: x, node: sett}]}]\n")
    assert "1 error; `handrail validate` shows it\n" in project.run("list").err


@pytest.mark.whole
def test_the_question_about_an_interrupted_command_is_printed_once(project: Project) -> None:
    kill = "{id: x, node: command, params: {argv: [/bin/sh, -c, 'kill -9 $PPID']}}"
    project.write(".handrail/flows/demo.yaml", f"phases: [{{id: a, steps: [{kill}]}}]\n")
    project.process("run", "demo")
    waiting = project.run("resume", "last")
    asked = "Did `a/x` finish? It was running when the run was interrupted"
    assert (waiting.code, waiting.out.count(asked)) == (4, 1)
    shown = project.run("answer", "last", "--show")
    assert (shown.out + shown.err).count(asked) == 1


def test_quiet_prints_results_and_errors_only(walked: Project) -> None:
    walked.write(".handrail/flows/demo.yaml", "phases: [{id: a, steps: [{id: x, node: set, params: {n: 1}}]}]\n")
    walked.write(".handrail/flows/broken.yaml", "phases: [{id: a, steps: [{id: x, node: sett}]}]\n")
    said = walked.run("run", "demo", "-q")
    assert (said.err, said.out.split()[1:]) == ("", ["demo", "completed"])
    assert walked.run("list", "-q").err == ""
    assert walked.run("init", "-q").err == ""
    said = walked.run("start", "tiny", "work", "-q")
    assert (said.err, said.out) == ("", "Tiny > • One [1/2]\n")
    walked.run("next", "-q")
    said = walked.run("next", "-q")
    assert said.err == ""
    assert "✗ `out.txt` does not exist" in said.out
    assert walked.run("show", "nothing", "-q").err.startswith("error: there is no workflow and no flow `nothing`")


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (["nope"], 1, "there is no workflow `nope`"),
        (["tiny"], 2, "the task is missing"),
        (["tiny", " "], 2, "the task is blank"),
    ],
)
def test_a_start_says_what_is_missing(walked: Project, args: list[str], code: int, told: str) -> None:
    said = walked.run("start", *args)
    assert (said.code, f"error: {told}\n" in said.err) == (code, True)
