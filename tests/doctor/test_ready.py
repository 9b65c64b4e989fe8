"""`handrail ready`: what would stop a run that nobody watches is found before it starts."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator

import pytest

from doctor.nights import STRANDINGS, Night, free, runs_of
from steps.services.githubs import NAME, OWNER, GitHub
from steps.services.web import serve
from support import Project

ASKS = "phases:\n- id: a\n  steps:\n  - {id: ask, node: approve, params: {question: Go?}}\n"


@pytest.fixture
def night(project: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[Night]:
    github = GitHub()
    with serve(github.answer) as web:
        github.web = web
        machine = Night(project, monkeypatch, github)
        yield machine
        monkeypatch.undo()


def test_a_machine_that_is_ready_has_no_problem(night: Night) -> None:
    assert night.problems() == []
    assert night.problems("small") == []
    assert runs_of(night) == []


@pytest.mark.whole(10)
@pytest.mark.parametrize("name", STRANDINGS)
def test_what_would_strand_the_run_is_found_and_the_run_is_not_started(night: Night, name: str) -> None:
    stranding = STRANDINGS[name]
    stranding.seed(night)
    before = runs_of(night)
    try:
        found = night.problems(*stranding.argv)
        assert any((one["code"], stranding.words in one["message"]) == (stranding.code, True) for one in found), found
        assert all(one["fix"] for one in found)
        said = night.project.run("run", *stranding.argv, "--unattended", "--json")
        assert said.code != 0, said
        assert runs_of(night) == before
    finally:
        free(night)


def test_a_run_that_is_ready_goes_to_its_end(night: Night) -> None:
    said = night.project.run("run", "small", "--unattended")
    assert said.code == 0, said


def test_answers_that_were_given_before_the_start_are_used(night: Night) -> None:
    form = "{formId: pace, title: Pace?, fields: [{id: how, type: text, required: true}]}"
    night.flow("asks", f"phases:\n- id: a\n  steps:\n  - {{id: ask, node: user-input, params: {form}}}\n")
    assert night.codes("asks") == {"unanswered"}
    answers = str(night.write("answers.yaml", "how: slowly\n"))
    assert night.problems("asks", "--answers", answers) == []
    run = night.project.json("run", "asks", "--unattended", "--answers", answers)
    assert run["phases"][0]["steps"][0]["value"]["values"] == {"how": "slowly"}


def test_questions_are_asked_now_and_their_answers_are_used_in_the_night(night: Night) -> None:
    form = "{formId: pace, title: Pace?, fields: [{id: how, type: text, required: true}]}"
    steps = (
        f"  - {{id: ask, node: user-input, params: {form}}}\n  - {{id: go, node: approve, params: {{question: Go?}}}}\n"
    )
    night.flow("asks", f"phases:\n- id: a\n  steps:\n{steps}")
    screen, inside = pty.openpty()
    os.write(screen, b"slowly\nyes\n\n")
    argv = [os.path.join(os.path.dirname(sys.executable), "handrail"), "ready", "asks", "--ask", "answers.json"]
    said = subprocess.run(argv, stdin=inside, stderr=inside, stdout=subprocess.PIPE, timeout=60, check=False)
    assert (said.returncode, b"Go?" in os.read(screen, 9000)) == (0, True), said
    run = night.project.json("run", "asks", "--unattended", "--answers", "answers.json")
    first, second = run["phases"][0]["steps"]
    assert (first["value"]["values"], second["value"]["approved"]) == ({"how": "slowly"}, True)


def test_without_a_terminal_nothing_is_asked_and_the_file_to_write_is_shown(night: Night) -> None:
    night.flow("asks", "phases:\n- id: a\n  steps:\n  - {id: ask, node: approve, params: {question: Go?}}\n")
    said = night.project.process("ready", "asks", "--ask", "answers.json")
    assert (said.code, said.out) == (2, "")
    assert "error: `--ask` needs a terminal\n" in said.err
    assert 'for `--answers FILE`: {"a/ask": {"approved": ' in said.err
    assert not (night.project.folder / "answers.json").exists()


def test_rounds_with_the_same_problem_are_one_problem_with_its_fix(night: Night) -> None:
    night.project.write(".handrail/settings.yaml", "{}\n")
    (problem,) = night.problems("check-loop", "make", "test")
    assert problem["message"] == "`attempt-1/fix` and 10 more steps: this step has no agent"
    assert problem["fix"] == "use `--agent NAME`, or `agent: NAME` in `settings.yaml`"
    (problem,) = night.problems("check-loop", "make", "test", "--agent", "scripted")
    assert problem["message"] == "`attempt-1/fix` and 10 more steps: the scripted agent needs a script"
    assert "set HANDRAIL_SCRIPT" in problem["fix"]


def test_a_problem_without_a_fix_of_its_own_has_the_command_that_explains_it(night: Night) -> None:
    night.sh("git remote remove origin")
    (problem,) = night.problems()
    assert problem["fix"] == "`handrail explain git-missing` says what to do"


def test_a_hint_repeats_what_was_given(night: Night) -> None:
    night.flow("asks", f"params: {{name: {{required: true}}, task: null}}\n{ASKS}")
    fix = "`handrail ready asks 'the task' --param 'name=a b' --ask answers.json` asks it now"
    (problem,) = night.problems("asks", "the task", "--param", "name=a b")
    assert fix in problem["fix"]
    argv = ("run", "--unattended", "asks", "--param", "name=x", "--", "the", "-q", "--json")
    said = night.project.run(*argv)
    assert "`handrail ready asks --param name=x --ask answers.json -- the -q --json` asks it now" in said.out


def test_a_rule_that_says_yes_needs_no_answer(night: Night) -> None:
    night.flow("asks", "phases:\n- id: a\n  steps:\n  - {id: ask, node: approve, params: {question: Go?}}\n")
    assert night.codes("asks") == {"unanswered"}
    assert night.problems("asks", "--approve", "approve") == []


def test_a_step_that_certainly_does_not_run_strands_nothing(night: Night) -> None:
    step = "{id: x, node: command, when: '${params.on}', params: {argv: [not-there]}}"
    ask = "{id: y, node: approve, when: '${params.on}', params: {question: Go?}}"
    night.flow("maybe", f"params: {{on: false}}\nphases:\n- id: a\n  steps:\n  - {step}\n  - {ask}\n")
    assert night.problems("maybe") == []
    assert night.codes("maybe", "--param", "on=true") == {"program-missing", "unanswered"}


def test_a_step_that_may_not_run_needs_no_service(night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_TOKEN")
    first = "{id: x, node: file-check, params: {path: lint.sh}}"
    issue = f"node: github-issue, params: {{issue: '{OWNER}/{NAME}#1', outputFile: i.md, outputJsonFile: i.json}}"
    for when, codes in (("when: '${steps.a.x.outputs.exists}', ", set[str]()), ("", {"service-config"})):
        night.flow("maybe", f"phases:\n- id: a\n  steps:\n  - {first}\n  - {{id: y, {when}{issue}}}\n")
        assert night.codes("maybe") == codes


def test_an_agent_that_only_reads_does_not_need_to_edit(night: Night) -> None:
    night.project.write(".claude/settings.json", '{"permissions": {"deny": ["Edit"]}}')
    for params, codes in (("params: {permissions: read}, ", set[str]()), ("", {"tool-denied"})):
        night.flow("look", f"phases: [{{id: a, steps: [{{id: x, node: llm-prompt, {params}prompt: Look.}}]}}]\n")
        assert night.codes("look") == codes


def test_a_program_that_a_step_before_may_make_is_no_problem(night: Night) -> None:
    steps = (
        "  - {id: make, node: command, params: {argv: [make]}}\n  - {id: x, node: command, params: {argv: [./made]}}\n"
    )
    night.flow("makes", f"phases:\n- id: a\n  steps:\n{steps}")
    assert night.problems("makes") == []


def test_a_person_reads_each_problem_with_its_fix(night: Night) -> None:
    night.sh("git remote remove origin")
    said = night.project.run("ready", "night")
    assert said.code == 5
    line, fix = said.out.splitlines()
    assert line.startswith("✗ git-missing: `end/push`: the repository has no remote `origin`")
    assert fix.strip()
    assert "not ready: 1 problem" in said.err


def test_a_flow_that_does_not_exist_is_not_found(night: Night) -> None:
    assert night.project.run("ready", "nihgt").code == 1


def test_a_default_for_unattended_runs_is_an_answer_and_is_named(night: Night) -> None:
    form = "{title: Pace?, fields: [{id: how, type: text, required: true}]}"
    more = "deadline: unattended, default: {'*': slowly}"
    night.flow("asks", f"phases:\n- id: a\n  steps:\n  - {{id: ask, node: user-input, params: {form}, {more}}}\n")
    taken = [{"path": "a/ask", "deadline": "unattended", "default": {"*": "slowly"}}]
    assert night.project.json("ready", "asks")["taken"] == taken
    assert "`a/ask`, this is taken (unattended)" in night.project.run("ready", "asks").out
    run = night.project.json("run", "asks", "--unattended")
    assert run["phases"][0]["steps"][0]["value"]["values"] == {"how": "slowly"}
    assert night.project.json("run", "asks", code=4)["status"] == "waiting"


PUBLISHING = ("--approve", "git-push", "--approve", "pr-open")
COMMENTS = ("--approve", "git-push", "--approve", "github-comment", "--approve", "gitlab-comment")
URL, MR = "https://github.com/octo/tea/pull/7", "https://gitlab.com/octo/tea/-/merge_requests/7"
SHIPPED: dict[str, tuple[str, ...]] = {
    "auto": ("Sort", *PUBLISHING),
    "auto-common": ("Sort",),
    "auto-common-guided": ("Sort", "--accept-playbook-draft"),
    "auto-golang": ("Sort",),
    "auto-guided": ("Sort", "--approve", "approve", *PUBLISHING),
    "auto-simple": ("Sort",),
    "bug-analyze": ("ABC-1",),
    "bug-fix": ("ABC-1",),
    "check-loop": ("make",),
    "describe-change": (),
    "design-review": (),
    "design-review-loop": (),
    "from-ticket": ("ABC-1",),
    "git-commit": (),
    "gitlab-diff-review": ("--param", f"mergeRequestUrl={MR}"),
    "gitlab-review": ("--param", f"mergeRequestUrl={MR}"),
    "implement": (),
    "instant-task": ("Sort",),
    "plan": ("Sort",),
    "plan-revise": (),
    "playbook-init": ("--accept-playbook-draft",),
    "pr-watch": (URL, *COMMENTS),
    "review": (),
    "review-change": (URL, *COMMENTS),
    "review-fix": (),
    "review-loop": (),
    "run-go-linter-loop": (),
    "run-go-tests-loop": (),
    "task-describe": ("Sort",),
}
"""Every shipped flow, with what makes its questions answered in advance."""


def test_the_table_has_every_shipped_flow(night: Night) -> None:
    assert {row["id"] for row in night.project.json("list", "--shipped")["flows"]} == SHIPPED.keys()


@pytest.mark.whole(6)
@pytest.mark.parametrize("name", SHIPPED)
def test_no_question_of_a_shipped_flow_is_left_if_the_options_that_ready_names_are_given(
    night: Night, name: str
) -> None:
    assert "unanswered" not in night.codes(name, *SHIPPED[name])


def test_each_gate_before_publishing_stays_a_persons_and_says_which_option_decides_it(night: Night) -> None:
    gates = {one["message"]: one["fix"] for one in night.problems("auto", "Sort") if one["code"] == "unanswered"}
    assert [message.split("`")[1] for message in gates] == ["open/push", "open/pull-request"]
    assert [fix.split("`")[1] for fix in gates.values()] == ["--approve git-push", "--approve pr-open"]
