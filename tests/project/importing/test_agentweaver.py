"""`handrail import agentweaver`: what is taken over, what is left and why; no file of AgentWeaver is changed."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from handrail.driven.runs.agentweaver import counterpart
from project.importing.left import OTHER, ROUTE, artifact, digest, phase, put, routes, scope_folder, state
from support import Project

KEY = "abc-1"


def items(project: Project, *argv: str, kind: str | None = None) -> list[dict[str, Any]]:
    found = project.json("import", "agentweaver", *argv)["items"]
    return [item for item in found if kind in (None, item["kind"])]


def everything(project: Project, home: Path) -> None:
    """One of each thing that AgentWeaver leaves."""
    folder = project.folder
    artifact(folder, KEY, "plan-abc-1-1.md", "# one\n")
    artifact(folder, KEY, "plan-abc-1-2.md", "# two\n", version=2, inputs=[{"artifact_id": f"{KEY}:plan.md:v1"}])
    put(scope_folder(folder, KEY) / "notes.md", "no manifest")
    put(scope_folder(folder, KEY) / ".artifacts" / "artifact-index.json", {"records": []})
    put(scope_folder(folder, KEY) / ".artifacts/restart-archives/attempt-0001/workspace/old.md", "old")
    state(folder, KEY, "implement", status="running")
    put(folder / ".agentweaver/.flows/own.json", {"kind": "own-flow", "version": 1, "phases": [one_phase()]})
    put(folder / ".agentweaver/.plugins/acme/plugin.json", {"id": "acme", "version": "1.2.3"})
    put(folder / ".agentweaver/.env", "CODEX_MODEL=very-private-value\nsome text\nc2VjcmV0==\n")
    put(folder / ".agentweaver/playbook/manifest.yaml", "version: 1\n")
    routing = {"version": 1, "namedPresets": {"mine": routes(ROUTE)}, "lastUsedByFlow": {"built-in:plan": 1}}
    put(home / "execution-routing.json", routing)


def one_phase() -> dict[str, Any]:
    step = {"id": "s", "node": "set", "params": {"n": {"const": 1}}}
    return {"id": "a", "steps": [step]}


def test_nothing_of_agentweaver_is_changed_and_a_second_import_takes_nothing(project: Project, home: Path) -> None:
    everything(project, home)
    before = digest(project.folder / ".agentweaver", home)
    first = project.json("import", "agentweaver")
    assert first["counts"] == {"taken": 3, "already": 0, "works": 5, "left": 4}
    second = project.json("import", "agentweaver")
    assert second["counts"] == {"taken": 0, "already": 3, "works": 5, "left": 4}
    assert digest(project.folder / ".agentweaver", home) == before


def test_a_dry_run_reports_the_same_and_takes_nothing(project: Project, home: Path) -> None:
    everything(project, home)
    before = digest(project.folder.parent)
    dry = items(project, "--dry-run")
    assert project.run("import", "agentweaver", "--dry-run").out.count("would be taken over") == 3
    assert digest(project.folder.parent) == before
    assert items(project) == dry


def test_what_a_person_reads(project: Project, home: Path) -> None:
    everything(project, home)
    said = project.run("import", "agentweaver").out
    assert "2 artifacts of abc-1" in said
    assert "acme 1.2.3" in said
    assert "JavaScript" in said
    assert f"implement in {KEY}: handrail run implement ABC-1 --scope {KEY}" in said
    assert said.endswith("3 taken over, 5 work as they are, 4 not taken over; nothing of AgentWeaver was changed\n")
    assert "very-private-value" not in said
    assert "c2VjcmV0" not in said


def test_artifacts_become_visible_with_their_version_step_and_lineage(project: Project, home: Path) -> None:
    everything(project, home)
    items(project)
    second, first = project.json("artifacts")["artifacts"]
    assert (first["id"], first["run"], first["step"]) == ("abc-1:plan.md:v1", "agentweaver:run-7", "plan/run_plan")
    assert (second["id"], second["inputs"]) == ("abc-1:plan.md:v2", ["abc-1:plan.md:v1"])
    assert project.run("artifacts", "agentweaver:run-7", "plan.md@v1").out == "# one\n"
    plan = {one["id"]: one for one in project.json("scope", KEY)["stages"]}["plan"]
    assert (plan["iteration"], plan["run"], plan["basis"]) == (2, "agentweaver:run-7", "record")


def test_a_version_whose_content_is_gone_is_left_and_the_next_one_keeps_its_number(project: Project) -> None:
    artifact(project.folder, KEY, "plan-abc-1-1.md", "old")
    artifact(project.folder, KEY, "plan-abc-1-1.md", "new", version=2)
    found = {item["name"]: item["result"] for item in items(project, kind="artifact")}
    assert found == {"plan.md@v1": "left", "plan.md@v2": "taken"}
    assert [one["id"] for one in project.json("artifacts")["artifacts"]] == ["abc-1:plan.md:v2"]


def test_an_artifact_with_a_secret_is_left(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "s3cret-value-that-is-long")
    artifact(project.folder, KEY, "plan-abc-1-1.md", "it is s3cret-value-that-is-long")
    (item,) = items(project, kind="artifact")
    assert (item["result"], "`MY_API_KEY`" in item["note"]) == ("left", True)


HOSTILE: dict[str, Any] = {
    "a list": "[1]",
    "no JSON": "{",
    "deep": "[" * 100_000,
    "nested objects": '{"a":' * 500 + "1" + "}" * 500,
    "wrong types": {"artifact_id": [], "version": "x", "logical_key": 7},
    "another scope": {"scope": "other"},
    "a path outside": {"payload_path": "/etc/passwd"},
    "dots": {"payload_path": "/x/.agentweaver/scopes/abc-1/../../../secret.txt"},
    "a version": {"version": 10**30},
    "a time": {"created_at": "soon"},
    "a key": {"logical_key": "../../x"},
    "NaN": '{"version": NaN}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_broken_manifest_is_reported_and_spoils_nothing(project: Project, name: str) -> None:
    artifact(project.folder, KEY, "plan-abc-1-1.md", "# fine")
    broken = HOSTILE[name]
    history = scope_folder(project.folder, KEY) / ".artifacts/manifest-history"
    if isinstance(broken, dict):
        (good,) = history.iterdir()
        broken = {**json.loads(good.read_text()), "artifact_id": "abc-1:other.md:v1", **broken}
    put(history / "broken.manifest.json", broken)
    put(project.folder / "secret.txt", "secret")
    found = items(project)
    assert [item["result"] for item in found if item["kind"] == "artifact"] == ["taken"]
    assert [item["result"] for item in found if item["kind"] == "manifest"] == ["left"]


def test_links_are_not_followed(project: Project, tmp_path: Path) -> None:
    """A scope, a folder and a file that lead elsewhere."""
    outside = tmp_path / "outside"
    path = artifact(outside, KEY, "plan-abc-1-1.md", "outside")
    scopes = project.folder / ".agentweaver" / "scopes"
    scopes.mkdir(parents=True)
    (scopes / "linked").symlink_to(path.parent)
    artifact(project.folder, KEY, "plan-abc-1-1.md", "outside")
    mine = scope_folder(project.folder, KEY) / "plan-abc-1-1.md"
    mine.unlink()
    mine.symlink_to(path)
    (scope_folder(project.folder, KEY) / "folder").symlink_to(outside)
    (item,) = items(project, kind="artifact")
    assert (item["result"], "leads out of the scope" in item["note"]) == ("left", True)
    assert project.json("artifacts")["artifacts"] == []


def test_a_pipe_and_a_huge_file_are_left(project: Project) -> None:
    artifacts = scope_folder(project.folder, KEY) / ".artifacts"
    artifacts.mkdir(parents=True)
    os.mkfifo(artifacts / ".agentweaver-flow-state-plan.json")
    with (artifacts / ".agentweaver-flow-state-review.json").open("w") as file:
        file.truncate(80 * 1024 * 1024)
    notes = {item["name"]: item["note"] for item in items(project, kind="run")}
    assert "is a pipe" in notes["plan"]
    assert "has more than" in notes["review"]


GOING_ON: dict[str, tuple[dict[str, Any], str | None]] = {
    "blocked in the middle": (
        {"run_phases": [phase("source", "done"), phase("plan", "running")], "currentStep": "plan:s"},
        "handrail run auto-common ABC-1 --scope abc-1 --from plan",
    ),
    "stopped by a step": (
        {
            "run_terminated": True,
            "run_terminationReason": "Stopped by plan:s",
            "continuation": {"continueEligible": True, "stopPhaseId": "plan", "stopStepId": "s"},
        },
        "handrail run auto-common ABC-1 --scope abc-1 --from plan",
    ),
    "without an issue": (
        {"jiraRef": KEY + "@x", "run_phases": [phase("source", "done"), phase("plan", "pending")]},
        "handrail run auto-common --scope abc-1 --from plan",
    ),
    "a phase that is unknown": (
        {"run_phases": [phase("gone", "running")]},
        "handrail run auto-common ABC-1 --scope abc-1",
    ),
    "completed": ({"status": "completed"}, None),
    "version 1": (
        {"schemaVersion": 1, "run_phases": [phase("source", "running")]},
        "handrail run auto-common ABC-1 --scope abc-1",
    ),
    "version 2": (
        {"schemaVersion": 2, "run_phases": [phase("source", "done"), phase("plan", "pending")]},
        "handrail run auto-common ABC-1 --scope abc-1 --from plan",
    ),
}


@pytest.mark.parametrize("name", GOING_ON)
def test_a_saved_run_says_how_to_go_on(project: Project, name: str) -> None:
    changes, command = GOING_ON[name]
    project.write(".handrail/flows/auto-common.yaml", "phases:\n- {id: source, steps: [{id: s, node: set}]}\n"
                  "- {id: plan, steps: [{id: s, node: set}]}\n")  # fmt: skip
    state(project.folder, KEY, "auto-common", **changes)
    (item,) = items(project, kind="run")
    assert (item["result"], item["command"]) == ("left", command)


def test_the_command_that_goes_on_runs(project: Project) -> None:
    """A shipped flow, at the phase that AgentWeaver stopped at."""
    phases = project.json("phases", "auto-common")["phases"]
    second = phases[1]["id"]
    state(project.folder, KEY, "auto-common", run_phases=[phase(phases[0]["id"], "done"), phase(second, "running")])
    (item,) = items(project, kind="run")
    words = item["command"].split()
    assert words[-2:] == ["--from", second]
    said = project.run(*words[1:], "--dry-run", "--agent", "scripted")
    assert said.code == 0, said


def test_a_loop_that_ended_begins_its_next_round(project: Project) -> None:
    state(project.folder, KEY, "review-loop", status="completed", jiraRef=None)
    (item,) = items(project, kind="run")
    assert item["command"] == "handrail run review-loop --scope abc-1"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"schemaVersion": 4}, "has the version 4"),
        ({"schemaVersion": True}, "has the version True"),
        ({"flowId": "other"}, "is the state of the flow 'other'"),
        ({"status": "odd"}, "has the status 'odd'"),
        ({"executionState": 7, "status": 3}, "has the status None"),
    ],
)
def test_a_broken_state_is_reported_and_left(project: Project, changes: dict[str, Any], why: str) -> None:
    path = state(project.folder, KEY, "plan", **changes)
    before = path.read_bytes()
    (item,) = items(project, kind="run")
    assert (item["result"], why in item["note"], path.read_bytes()) == ("left", True, before)


def test_an_unknown_flow_is_named(project: Project) -> None:
    state(project.folder, KEY, "custom/thing")
    (item,) = items(project, kind="run")
    assert (item["command"], "Handrail has no flow `custom/thing`" in item["note"]) == (None, True)


def test_a_finished_implementation_of_agentweaver_counts_for_the_scope(project: Project) -> None:
    child = {"resumeKind": "flow-run", "executionState": {"flowKind": "implement-flow", "phases": [phase("i", "done")]}}
    path = state(project.folder, KEY, "auto-common", run_phases=[phase("implement", "running", value=child)])
    assert implementation(project)["state"] == "missing"
    for result in ("taken", "already"):
        (item,) = items(project, kind="artifact")
        assert (item["name"], item["result"], item["path"]) == ("implementation@v1", result, str(path))
    found = implementation(project)
    assert (found["state"], found["basis"], found["made"]) == ("made", "record", "2026-01-02T03:00:00+00:00")
    assert found["run"] == "agentweaver:8f14e45f-ceea-467f-9d2b-0a7b8e2f0001"


def test_the_last_finished_implementation_counts(project: Project) -> None:
    early = {**phase("i", "done"), "finishedAt": "2025-01-02T03:00:00.000Z"}
    state(project.folder, KEY, "implement", run_phases=[early])
    state(project.folder, KEY, "bug-fix", run_phases=[phase("i", "done"), phase("j", "skipped")])
    state(project.folder, KEY, "plan", run_phases=[phase("i", "done")])
    items(project)
    assert implementation(project)["made"] == "2026-01-02T03:00:00+00:00"


def implementation(project: Project) -> dict[str, Any]:
    return next(one for one in project.json("scope", KEY)["stages"] if one["id"] == "implementation")


def test_a_scope_says_what_was_not_imported(project: Project) -> None:
    path = artifact(project.folder, KEY, "plan-abc-1-1.md", "# one")
    saved = state(project.folder, KEY, "plan")
    assert project.json("scope", KEY)["notImported"] == [f"{path}.manifest.json", str(saved)]
    told = "AgentWeaver saved 2 files that Handrail has not imported; `handrail import agentweaver` does it"
    assert told in project.run("scope", KEY).out
    assert told in project.run("scope").out
    items(project, "--dry-run")
    assert told in project.run("scope", KEY).out
    items(project)
    assert project.json("scope", KEY)["notImported"] == []
    assert "AgentWeaver" not in project.run("scope", KEY).out
    os.utime(saved, (time.time() + 60,) * 2)
    assert project.json("scope", KEY)["notImported"] == [str(saved)]


def test_presets_keep_their_order(project: Project, home: Path) -> None:
    presets = {"one": routes(ROUTE), "two": routes(OTHER)}
    put(home / "execution-routing.json", {"version": 1, "namedPresets": presets})
    assert [item["name"] for item in items(project, kind="preset")] == ["one", "two"]
    written = settings(project).read_text()
    assert written.index("one") < written.index("two")


def settings(project: Project) -> Path:
    return project.home / "config" / "settings.yaml"


def test_presets_and_routes_of_flows_go_into_the_settings(project: Project, home: Path) -> None:
    routing = {
        "version": 1,
        "namedPresets": {"my preset": routes(OTHER, review=ROUTE), "odd": routes({"executor": "acme", "model": "m"})},
        "flowDefaults": {"built-in:review-loop": routes(ROUTE), "global:/nowhere/x.json": routes(ROUTE)},
        "lastUsedByFlow": {"built-in:plan": routes(ROUTE)},
    }
    put(home / "execution-routing.json", routing)
    settings(project).parent.mkdir(parents=True)
    settings(project).write_text("# mine\npresets:\n  # fast\n  old: {default: claude}\nidleStops: 4\n")
    found = {(item["kind"], item["name"]): item["result"] for item in items(project)}
    assert found == {
        ("preset", "my preset"): "taken",
        ("preset", "odd"): "left",
        ("routes of a flow", "review-loop"): "taken",
        ("routes of a flow", "global:/nowhere/x.json"): "left",
        ("last choice", "built-in:plan"): "left",
    }
    assert settings(project).read_text() == (
        '# mine\npresets:\n  # fast\n  "my preset": {default: "opencode:p/m", review: "codex:gpt-5.4"}\n'
        "  old: {default: claude}\nidleStops: 4\n"
        'flows:\n  "review-loop": {default: "codex:gpt-5.4"}\n'
    )
    assert project.json("validate")["problems"] == []
    assert {item["result"] for item in items(project)} == {"already", "left"}


def test_a_preset_of_the_same_name_is_not_replaced(project: Project, home: Path) -> None:
    put(home / "execution-routing.json", {"version": 1, "namedPresets": {"mine": routes(ROUTE)}})
    settings(project).parent.mkdir(parents=True)
    settings(project).write_text("presets: {mine: {default: claude}}\n")
    (item,) = items(project, kind="preset")
    assert (item["result"], "other routes under this name" in item["note"]) == ("left", True)


@pytest.mark.parametrize("text", ["presets: {old: {default: claude}}\n", "{idleStops: 3}\n", "a: [\n", "- list\n"])
def test_settings_that_cannot_be_edited_are_left_and_the_line_is_shown(project: Project, home: Path, text: str) -> None:
    put(home / "execution-routing.json", {"version": 1, "namedPresets": {"mine": routes(ROUTE)}})
    settings(project).parent.mkdir(parents=True)
    settings(project).write_text(text)
    (item,) = items(project, kind="preset")
    assert (item["result"], settings(project).read_text()) == ("left", text)
    assert '"mine": {default: "codex:gpt-5.4"}' in item["note"]


@pytest.mark.parametrize("data", [{"version": 2}, "{", [1], {"version": 1, "namedPresets": {"x": {"routing": 3}}}])
def test_a_broken_routing_file_is_reported(project: Project, home: Path, data: Any) -> None:
    put(home / "execution-routing.json", data)
    (item,) = items(project)
    assert item["result"] == "left"
    assert not settings(project).exists()


def test_a_folder_can_be_named(project: Project, tmp_path: Path) -> None:
    artifact(tmp_path / "other", KEY, "plan-abc-1-1.md", "# one")
    for name in ("other", "other/.agentweaver"):
        assert project.json("import", "agentweaver", str(tmp_path / name))["project"] == str(tmp_path / "other")
    assert project.json("artifacts", "--project", str(tmp_path / "other"))["artifacts"][0]["id"] == "abc-1:plan.md:v1"
    assert project.json("artifacts")["artifacts"] == []


def test_without_agentweaver_the_command_fails(project: Project, tmp_path: Path) -> None:
    assert project.run("import", "agentweaver").code == 1
    assert project.run("import", "agentweaver", str(tmp_path)).code == 1
    assert project.run("import", "other").code == 2


def test_a_saved_error_is_shown_in_one_short_line_without_secrets(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "s3cret-value-that-is-long")
    error = {"returnCode": 1, "message": "token s3cret-value-that-is-long\n\x1b[31m" + "x" * 5000}
    state(project.folder, KEY, "plan", lastError=error, scopeKey="../../other")
    (item,) = items(project, kind="run")
    assert "token [hidden]" in item["note"]
    assert ("\n" in item["note"], len(item["note"]) < 700, item["scope"]) == (False, True, KEY)


LARGE = {
    "auto-common": ["source", "normalize", "plan", "design_review_loop", "implement", "review-loop"],
    "auto-simple": ["source", "normalize", "plan", "implement", "review-loop"],
    "auto-golang": [
        *("source", "normalize", "plan", "design_review_loop", "implement"),
        *("after_implement_checks", "review_loop", "final_checks"),
    ],
    "auto-common-guided": [
        *("source", "normalize", "playbook", "plan_guidance", "plan", "design_review_guidance", "design_review_loop"),
        *("implement_guidance", "implement", "review_guidance", "repair_guidance", "review-loop"),
    ],
}
"""The phases of AgentWeaver's large flows, in its version 0.1.18."""


@pytest.mark.parametrize("flow", LARGE)
def test_every_phase_of_a_large_flow_of_agentweaver_has_its_counterpart(project: Project, flow: str) -> None:
    own = [one["id"] for one in project.json("phases", flow)["phases"]]
    places = [own.index(counterpart(id_, own) or "none") for id_ in LARGE[flow] if id_ not in ("source", "normalize")]
    assert places == sorted(places)


def test_finished_work_is_not_done_again(project: Project) -> None:
    done = [phase(id_, "done") for id_ in LARGE["auto-common"][:-1]]
    state(project.folder, KEY, "auto-common", run_phases=[*done, phase("review-loop", "running")])
    (item,) = items(project, kind="run")
    assert item["command"] == "handrail run auto-common ABC-1 --scope abc-1 --from review"
    assert "goes on at the phase `review`, which does the work of its phase `review-loop`" in item["note"]


def test_a_phase_of_agentweaver_is_refused_with_the_name_of_its_counterpart(project: Project) -> None:
    said = project.run("run", "auto-golang", "--from", "review_loop", "--agent", "scripted")
    assert (said.code, "AgentWeaver's phase `review_loop` is the phase `review` here" in said.err) == (2, True)


GROUPED = routes(ROUTE, review=OTHER)["routing"]
CHOSEN: dict[str, tuple[dict[str, Any], str]] = {
    "a preset that is taken over": (
        {"executionRouting": GROUPED, "selectedRoutingPreset": {"kind": "named", "presetId": "mine"}},
        " --preset mine",
    ),
    "a preset with other routes by now": (
        {"executionRouting": routes(ROUTE)["routing"], "selectedRoutingPreset": {"kind": "named", "presetId": "mine"}},
        " --agent codex --model gpt-5.4",
    ),
    "several agents": (
        {"executionRouting": GROUPED},
        " --route default=codex:gpt-5.4 --route review=opencode:p/m",
    ),
    "only a profile": ({"launchProfile": {"executor": "opencode"}}, " --agent opencode"),
    "an agent that is not known": ({"launchProfile": {"executor": "acme"}}, ""),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_the_command_that_goes_on_has_the_agents_of_the_saved_run(project: Project, home: Path, name: str) -> None:
    changes, options = CHOSEN[name]
    mine = routes(ROUTE, review=OTHER)
    put(home / "execution-routing.json", {"version": 1, "namedPresets": {"mine": mine}})
    state(project.folder, KEY, "implement", **changes)
    (item,) = items(project, kind="run")
    assert item["command"] == f"handrail run implement ABC-1 --scope abc-1{options}"


def test_variables_that_are_not_used_are_told(project: Project, home: Path) -> None:
    put(project.folder / ".agentweaver/.env", "JIRA_API_KEY=k\nPATH=/x\nCODEX_BIN=/y\nCODEX_MODEL=m\nrest\n")
    put(home / ".env", "CODEX_BIN=/y\n")
    own, users = (item["note"] for item in items(project, kind="variables"))
    assert "not used, because a project may only set variables of services: PATH, CODEX_BIN" in own
    assert "CODEX_MODEL does not choose a model here" in own
    assert "line 5: is not `NAME=VALUE`" in own
    assert "not used" not in users
