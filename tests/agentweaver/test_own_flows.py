"""What the shipped flows for checks, tasks, bugs, GitLab, commits and playbooks do in unusual cases."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from agentweaver.agent import Mood
from agentweaver.scene import ISSUE, KEY, MERGE_REQUEST, Scene

CHECK = "test -e broken && test ! -e fixed && echo wrong && exit 3; true"


def results(scene: Scene, *argv: str, code: int = 0) -> tuple[dict[str, Any], list[bool]]:
    """How a run of `check-loop` ended, and what its results say."""
    ended = scene.run("check-loop", *argv, code=code)
    files = sorted((scene.project.folder / ".handrail/scopes" / KEY).glob("check-*.json"))
    return ended, [json.loads(file.read_text(encoding="utf-8"))["ok"] for file in files]


def command(line: str) -> tuple[str, str]:
    return "--param", f"command={json.dumps(['sh', '-c', line])}"


def test_any_check_is_run_and_what_fails_is_fixed(scene: Scene) -> None:
    scene.project.write("broken", "")
    ended, found = results(scene, *command(CHECK))
    assert (ended["outcome"], found) == ("success", [False, True])
    published = [artifact["path"] for artifact in ended["artifacts"]]
    assert published == [f".handrail/scopes/{KEY}/check-{number}.json" for number in (1, 2)]


def test_a_check_that_passes_needs_no_agent(scene: Scene) -> None:
    ended, found = results(scene, "test -e code.txt")
    assert (ended["outcome"], found) == ("success", [True])
    assert not (scene.project.folder / "fixed").exists()


def test_a_loop_without_a_command_says_so(scene: Scene) -> None:
    ended, found = results(scene, code=1)
    assert (ended["reason"], found) == ("expectation at attempt-1/result", [])
    assert "no command is given; name it: `handrail run check-loop make test`" in ended["error"]


def test_a_loop_with_too_many_attempts_says_so(scene: Scene) -> None:
    ended, found = results(scene, "true", "--param", "attempts=11", code=1)
    assert ("`attempts` may be at most 10" in ended["error"], found) == (True, [])


def test_a_program_that_does_not_exist_is_not_given_to_the_agent(scene: Scene) -> None:
    ended, found = results(scene, "nosuchprog -x", code=1)
    assert (ended["reason"], found) == ("program-missing at attempt-1/check", [])
    assert "`nosuchprog` cannot be started" in ended["error"]
    assert not (scene.project.folder / "fixed").exists()


def test_a_script_of_the_project_is_a_check(scene: Scene) -> None:
    scene.project.write("check.sh", "#!/bin/sh\nexit 0\n").chmod(0o755)
    assert results(scene, "--param", "command=./check.sh")[1] == [True]


def test_a_fix_that_changes_nothing_ends_the_loop(scene: Scene) -> None:
    ended, found = results(scene, *command("echo same; exit 1"), code=1)
    assert (ended["reason"], found) == ("same-failure at attempt-2/check", [False, False])
    assert "failed in the same way in 2 rounds in a row, so the repeat ends: same" in ended["error"]


def test_the_loop_ends_after_its_attempts(scene: Scene) -> None:
    failing = command("date +%N; wc -c fixed; exit 1")
    ended, found = results(scene, *failing, "--param", "attempts=2", code=1)
    assert (ended["reason"], found) == ("expectation at attempt-3/check", [False, False, False])
    assert "no attempts left" in ended["error"]


def test_a_person_may_fix_what_the_agent_did_not(scene: Scene) -> None:
    failing = command("test -e by-hand || { date +%N; exit 1; }")
    run = results(scene, *failing, "--param", "attempts=1", code=1)[0]["run"]
    scene.project.write("by-hand", "")
    assert scene.project.json("resume", run)["status"] == "completed"


@pytest.mark.parametrize("flow", ["go/run-go-tests-loop", "go/run-go-linter-loop"])
def test_go_tools_that_are_missing_are_told_before_an_agent_works(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, flow: str
) -> None:
    only = tmp_path / "only"
    only.mkdir()
    for name in ("git", "sh"):  # the machine may have Go
        (only / name).symlink_to(shutil.which(name) or "")
    monkeypatch.setenv("PATH", str(only))
    assert scene.run(flow, code=1)["reason"].startswith("program-missing")


def test_a_second_run_of_a_go_loop_keeps_the_results_of_the_first(scene: Scene) -> None:
    for number in (1, 2):
        scene.run("run-go-tests-loop")
        assert scene.file("run-go-tests-result-json-file", number).is_file()


@pytest.mark.whole
@pytest.mark.parametrize("flow", ["gitlab-review", "gitlab-diff-review"])
def test_the_address_of_a_merge_request_is_a_word_or_a_param(scene: Scene, flow: str) -> None:
    scene.answers.pop(f"{flow}-input")
    url = scene.webs.gitlab.url + MERGE_REQUEST
    assert scene.run(flow, url)["status"] == "completed"
    assert scene.run(flow, "--param", f"mergeRequestUrl={url}")["status"] == "completed"
    assert scene.run(flow, ISSUE, code=4)["questions"][0]["form"]["formId"] == f"{flow}-input"


def test_comments_that_are_right_are_fixed(scene: Scene) -> None:
    scene.agent(Mood(bad_reviews=1))
    assert scene.run("gitlab-review")["outcome"] == "success"
    assert scene.file("review-fix-json-file").is_file()
    chosen = scene.file("review-json-file").parent / f"review-fix-selection-{KEY}-1.json"
    assert json.loads(chosen.read_text(encoding="utf-8"))["values"]["apply_all"] is True


def test_without_such_comments_nothing_is_asked_or_fixed(scene: Scene) -> None:
    scene.answers.pop("review-fix-selection")
    assert scene.run("gitlab-review")["outcome"] == "success"
    assert not scene.file("review-fix-json-file").exists()


@pytest.mark.whole
def test_a_task_is_described_from_the_words_of_the_command(scene: Scene) -> None:
    scene.answers.pop("task-describe-source-input")
    assert scene.run("task-describe", "Sort", "by", "date")["status"] == "completed"
    assert scene.webs.jira.asked == []
    assert scene.run("task-describe", ISSUE)["status"] == "completed"
    assert scene.file("jira-task-file").is_file()
    assert scene.file("jira-description-json-file", 2).is_file()


def test_the_issue_of_a_merge_request_is_fetched_if_it_is_named(scene: Scene) -> None:
    assert scene.run("mr-description")["status"] == "completed"
    assert scene.webs.jira.asked == []
    assert scene.run("mr-description", ISSUE)["status"] == "completed"
    assert [one.path for one in scene.webs.jira.asked if one.path.startswith("/rest/")] == [
        f"/rest/api/2/issue/{ISSUE}"
    ]
    assert scene.file("mr-description-json-file", 2).is_file()


def test_a_fix_needs_an_analysis(scene: Scene) -> None:
    assert "bug-analyze" in scene.run("flow:bug-fix", code=1)["error"]
    scene.has("bug-analyze", "bug-fix-design", "bug-fix-plan")
    scene.file("bug-fix-plan-json-file").write_text("{}", encoding="utf-8")
    assert scene.run("flow:bug-fix", code=1)["reason"].startswith("expectation")


@pytest.mark.whole
def test_an_instant_task_is_not_the_issue_that_the_scope_has(scene: Scene) -> None:
    scene.has("jira")
    ended = scene.run("instant-task", "Sort", "by", "date")
    steps = ended["phases"][0]["steps"][1]["value"]["executionState"]["phases"][0]["steps"]
    assert {step["id"]: step["status"] for step in steps} == {
        "from-issue": "skipped",
        "from-ticket": "skipped",
        "words": "done",
        "from-words": "done",
    }
    data = json.loads(scene.file("instant-task-input-json-file").read_text(encoding="utf-8"))
    assert re.match(r"20\d\d-\d\d-\d\dT\d\d:\d\d", data["submitted_at"])


def test_a_task_without_a_source_is_told_before_an_agent_works(scene: Scene) -> None:
    scene.wrap("normalize-task-source")
    ended = scene.run("wrapper", code=1)
    assert "instant-task-input" in ended["error"]


@pytest.mark.whole
def test_a_valid_playbook_is_left_alone_and_an_invalid_one_is_told(scene: Scene) -> None:
    assert scene.run("playbook-init")["outcome"] == "success"
    manifest = scene.project.folder / ".handrail/playbook/manifest.yaml"
    before = manifest.read_text(encoding="utf-8")
    ended = scene.run("playbook-init")
    assert (ended["outcome"], ended["phases"][1]["status"]) == ("success", "skipped")
    assert manifest.read_text(encoding="utf-8") == before
    manifest.write_text("version: 7\n", encoding="utf-8")
    assert "not valid" in scene.run("playbook-init", code=1)["error"]


@pytest.mark.whole
def test_a_draft_that_nobody_accepts_is_not_written(scene: Scene) -> None:
    scene.answer("playbook-final-acceptance", final_write_accepted=False)
    assert scene.run("playbook-init", code=1)["outcome"] == "stopped"
    assert not (scene.project.folder / ".handrail/playbook").exists()


@pytest.mark.whole
def test_a_file_that_does_not_match_its_schema_is_no_proof(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    data, text = scene.file("mr-description-json-file"), scene.file("mr-description-file")
    line = f"mkdir -p {data.parent}; echo '{{}}' > {data}; echo text > {text}"
    call = {"tool": "bash", "input": {"command": line}}
    script = {"prompts": [{"play": [call, {"say": "done"}]}]}
    monkeypatch.setenv("HANDRAIL_SCRIPT", str(scene.project.write("script.json", json.dumps(script))))
    assert scene.run("mr-description", code=1)["reason"].startswith("artifact-schema")
