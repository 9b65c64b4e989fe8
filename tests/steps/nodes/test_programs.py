"""The nodes that look for programs, run checks, and explain failures."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from steps.nodes.single import alone, as_flow, read, refused, value, within
from support import Project

RESULT = {"ok": True, "kind": "tests", "stage": "unit", "exitCode": 0, "summary": "fine", "command": "make test"}


def program(project: Project, name: str, text: str) -> Path:
    path = project.write(name, text)
    path.chmod(0o755)
    return path


def test_programs_are_found_by_a_variable_and_on_the_path(project: Project) -> None:
    tool = program(project, "bin/tool", "#!/bin/sh\n")
    other = program(project, "other/tool", "#!/bin/sh\n")
    project.write("plain", "not a program")
    commands = [{"commandName": "tool", "envVarName": "TOOL_BIN"}]
    for named, path in (("", tool), (str(other), other), ("plain", tool), ("none", tool)):
        env = {"PATH": str(tool.parent), "TOOL_BIN": named}
        found = alone(project, "command-check", env, commands=commands)
        assert found == {"resolved": [{"commandName": "tool", "envVarName": "TOOL_BIN", "path": str(path)}]}


def test_every_missing_program_is_named(project: Project) -> None:
    commands = [{"commandName": name} for name in ("none-a", "sh", "none-b; rm -rf x")]
    ended = as_flow(project, "command-check", code=1, commands=commands)
    assert ended["reason"] == "program-missing at a/x"
    assert ended["error"].endswith("`none-a`, `none-b; rm -rf x`")


@pytest.mark.parametrize("commands", [None, "sh", [1], [{}], [{"commandName": " "}], [{"commandName": "a\0b"}]])
def test_programs_have_names(project: Project, commands: Any) -> None:
    assert refused(project, "command-check", commands=commands)[0] == "params"


def check(project: Project, script: str, **more: Any) -> Any:
    return value(as_flow(project, "local-script-check", argv=["sh", "-c", script], labelText="Check", **more))


def test_the_last_result_line_counts(project: Project) -> None:
    first = json.dumps({**RESULT, "summary": "first", "ok": False})
    last = json.dumps({**RESULT, "details": {"n": 1}})
    project.write("out.txt", f"log {first}\n\x1b[32mresult: {last}\x1b[0m\n{{}}\n{{broken\n[1]\nend\n")
    found = check(project, "cat out.txt; echo more >&2", outputFile="deep/result.json")
    assert found["parsed"] == {**RESULT, "details": {"n": 1}}
    assert found["output"].endswith("end\nmore\n")
    assert read(project, "deep/result.json") == found["parsed"]


@pytest.mark.parametrize("change", [{"ok": "yes"}, {"exitCode": True}, {"summary": None}, {"details": []}])
def test_a_line_of_another_form_is_no_result(project: Project, change: dict[str, Any]) -> None:
    project.write("out.txt", json.dumps({**RESULT, **change}) + "\n")
    found = check(project, "cat out.txt")["parsed"]
    assert (found["ok"], found["kind"], found["summary"]) == (False, "check", "sh -c cat out.txt printed no result")


def test_a_failed_check_is_a_result_and_always_has_its_output(project: Project) -> None:
    found = check(project, "echo broken; exit 3")["parsed"]
    assert (found["ok"], found["exitCode"], found["details"]) == (False, 3, {"raw": "broken\n"})
    project.write("out.txt", json.dumps({**RESULT, "ok": False, "exitCode": 2, "details": {"missing": "go"}}))
    found = check(project, "cat out.txt; exit 2")["parsed"]
    assert (found["details"]["missing"], '"exitCode": 2' in found["details"]["raw"]) == ("go", True)
    assert check(project, "exit 1")["parsed"]["details"] == {"raw": ""}


def test_a_check_that_says_ok_but_fails_has_failed(project: Project) -> None:
    project.write("out.txt", json.dumps(RESULT))
    assert check(project, "cat out.txt; exit 4")["parsed"]["exitCode"] == 4


def test_a_program_that_cannot_be_started_is_a_result(project: Project) -> None:
    found = value(as_flow(project, "local-script-check", argv=["./none"], labelText="x"))["parsed"]
    assert (found["ok"], found["exitCode"]) == (False, 127)
    assert "cannot be started" in found["details"]["raw"]


def test_a_check_that_takes_too_long_is_a_result(project: Project) -> None:
    given = {"argv": ["sleep", "60"], "labelText": "x"}
    found = within(project, 0.2, "local-script-check", {"PATH": os.environ["PATH"]}, given)["parsed"]
    assert (found["ok"], "was not done after" in found["summary"]) == (False, True)


def test_the_timeout_of_a_step_is_a_failure(project: Project) -> None:
    step = "{id: x, node: local-script-check, timeout: 1, params: {argv: [sleep, 60], labelText: x}}"
    project.write(".handrail/flows/slow.yaml", f"phases:\n- id: a\n  steps:\n  - {step}\n")
    assert project.json("run", "slow", code=3)["reason"] == "timeout at a/x"


@pytest.mark.parametrize(("code", "is_ok", "word"), [(0, True, "succeeded"), (3, False, "failed")])
def test_a_check_without_a_result_is_judged_by_its_exit_code_if_asked(
    project: Project, code: int, is_ok: bool, word: str
) -> None:
    found = check(project, f"echo said; exit {code}", byExitCode=True)["parsed"]
    assert (found["ok"], found["exitCode"], found["details"]) == (is_ok, code, {"raw": "said\n"})
    assert found["summary"].endswith(word)


def test_a_result_counts_more_than_an_exit_code_of_0(project: Project) -> None:
    project.write("out.txt", json.dumps({**RESULT, "ok": False}))
    assert check(project, "cat out.txt", byExitCode=True)["parsed"]["ok"] is False
    project.write("out.txt", json.dumps(RESULT))
    assert check(project, "cat out.txt; exit 1", byExitCode=True)["parsed"]["ok"] is False


def test_a_line_is_split_into_words_and_no_shell_runs_it(project: Project) -> None:
    found = value(as_flow(project, "local-script-check", argv="printf '%s|' 'a b' $HOME ; x"))
    assert found["output"] == "a b|$HOME|;|x|"
    assert refused(project, "local-script-check", argv="echo 'a")[0] == "params"
    assert refused(project, "local-script-check", argv=" ")[0] == "params"


@pytest.mark.parametrize("given", [5, True, {"sh": 1}])
def test_a_command_of_another_kind_that_only_the_run_knows_is_refused(project: Project, given: Any) -> None:
    step = "{id: x, node: local-script-check, params: {argv: {ref: params.argv}, labelText: x}}"
    project.write(".handrail/flows/known.yaml", f"params: {{argv: null}}\nphases:\n- id: a\n  steps:\n  - {step}\n")
    project.write("params.json", json.dumps({"argv": given}))
    ended = project.json("run", "known", "--params", "params.json", code=1)
    assert (ended["reason"], "`argv` has to be" in ended["error"]) == ("params at a/x", True)


def test_a_python_script_needs_no_permission_to_run(project: Project) -> None:
    project.write(
        "check.py", f"import sys\nassert sys.executable == {sys.executable!r}\nprint({json.dumps(RESULT)!r})\n"
    )
    assert value(as_flow(project, "local-script-check", argv=["check.py"], labelText="x"))["parsed"]["ok"] is True


def test_a_check_gets_no_secrets_and_little_of_a_long_output_is_kept(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "s3cr3t-value")
    found = check(project, 'echo "[$MY_API_KEY]"; yes 0123456789 | head -c 3000000; echo end')
    assert "s3cr3t" not in found["output"]
    assert (len(found["output"]), found["output"][-4:]) == (65_536, "end\n")


def test_wrong_params_of_a_check_are_failures(project: Project) -> None:
    for argv in ([], None, [None], ["a\0b"]):
        assert refused(project, "local-script-check", argv=argv)[0] == "params"
    given = {"argv": ["touch", "ran"], "outputFile": "../x.json"}
    assert refused(project, "local-script-check", **given)[0] == "path-escape"
    assert not (project.folder / "ran").exists()


@pytest.fixture
def explained(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    script = "prompts:\n- {match: line 999, play: [{say: '- the cause'}]}\n- {match: quiet, play: [{say: ''}]}\n"
    project.write("script.yaml", script)
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    return project


def explain(project: Project, output: Any, *argv: str) -> Any:
    return value(as_flow(project, "build-failure-summary", *argv, output=output))


def test_an_agent_explains_the_end_of_an_output(explained: Project) -> None:
    output = "".join(f"line {number}\n" for number in range(1000)) * 50
    found = explain(explained, output, "--agent", "scripted")
    assert found == {"summaryText": "- the cause", "executor": "scripted"}


def test_without_an_answer_the_last_lines_are_shown(explained: Project) -> None:
    lines = [f"quiet {number}" for number in range(20)]
    for argv in ((), ("--agent", "scripted")):
        found = explain(explained, "\n\n".join(lines), *argv)
        assert found["executor"] is None
        assert found["summaryText"].splitlines()[-8:] == lines[-8:]


@pytest.mark.parametrize("output", ["", " \n", None])
def test_an_empty_output_needs_no_agent(project: Project, output: Any) -> None:
    assert "printed nothing" in explain(project, output)["summaryText"]
