"""Steps that an agent runs. Here it is the scripted agent, which really changes the project."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.steps.nodes.agents import llm_prompt
from support import Project

PROOF = ".agentweaver/.artifacts/examples/proof.json"
EXAMPLE: dict[str, Any] = {
    "kind": "example-flow",
    "version": 1,
    "description": "A flow as in the documentation of AgentWeaver.",
    "phases": [
        {
            "id": "example",
            "steps": [
                {
                    "id": "run_prompt",
                    "node": "llm-prompt",
                    "prompt": {"inlineTemplate": f'Write `{PROOF}` as `{{ "status": "ok" }}`, and nothing else.'},
                    "params": {
                        "labelText": {"const": "Ask the agent"},
                        "executor": {"const": "claude"},
                        "requiredArtifacts": {"list": [{"const": PROOF}]},
                        "missingArtifactsMessage": {"const": "The proof has to be there."},
                    },
                    "expect": [
                        {
                            "kind": "require-artifacts",
                            "paths": {"list": [{"const": PROOF}]},
                            "message": "The proof has to be written.",
                        }
                    ],
                }
            ],
        }
    ],
}
WRITES = f'- tool: write\n  input: {{path: {PROOF}, content: \'{{"status": "ok"}}\'}}\n- say: written\n'


@pytest.fixture
def example(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    project.write(".agentweaver/.flows/examples/example.json", json.dumps(EXAMPLE))
    project.write("script.yaml", WRITES)
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    return project


@pytest.mark.whole
def test_a_flow_of_agentweaver_runs_with_another_agent(example: Project) -> None:
    assert example.json("validate")["problems"] == []
    data = example.json("run", "examples/example", "--agent", "scripted")
    assert data["status"] == "completed"
    value = data["phases"][0]["steps"][0]["value"]
    assert (value["executor"], value["output"]) == ("scripted", "written")
    assert [artifact["path"] for artifact in data["artifacts"]] == [PROOF]


@pytest.mark.whole
def test_an_agent_that_does_not_write_a_required_file_fails_the_step(example: Project) -> None:
    example.write("script.yaml", "- say: done\n")
    data = example.json("run", "examples/example", "--agent", "scripted", code=1)
    assert data["error"] == f"The proof has to be written: `{PROOF}` is missing"
    (example.folder / PROOF).parent.mkdir(parents=True, exist_ok=True)
    (example.folder / PROOF).write_text("{}")
    ended = example.json("resume", data["run"])
    assert (ended["status"], ended["phases"][0]["steps"][0]["attempts"]) == ("completed", 1)


@pytest.mark.whole
def test_resume_asks_the_agent_again_if_its_proof_is_still_missing(example: Project) -> None:
    example.write("script.yaml", "- say: done\n")
    run = example.json("run", "examples/example", "--agent", "scripted", code=1)["run"]
    example.write("script.yaml", WRITES)
    ended = example.json("resume", run)
    assert (ended["status"], ended["phases"][0]["steps"][0]["attempts"]) == ("completed", 2)


TOLD = """\
prompts:
- match: "it is not done yet: {told}"
  play: [{{tool: write, input: {{path: out.json, content: '{{}}'}}}}, {{say: corrected}}]
- match: Write it.
  play: [{{say: done}}]
"""


@pytest.mark.whole
@pytest.mark.parametrize(
    ("proof", "told"),
    [
        ("makes: [out.json]", "the step did not make `out.json`"),
        ("expect: [{file: out.json, message: no file}]", "no file"),
        ("params: {requiredArtifacts: [out.json]}", "the agent did not write a required file"),
    ],
)
def test_an_agent_is_told_in_its_conversation_what_was_missing(
    project: Project, monkeypatch: pytest.MonkeyPatch, proof: str, told: str
) -> None:
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    step = f"{{id: x, node: llm-prompt, prompt: Write it., retry: {{attempts: 2, wait: 0}}, {proof}}}"
    project.write(".handrail/flows/ask.yaml", f"phases:\n- id: a\n  steps:\n  - {step}\n")
    project.write("script.yaml", TOLD.format(told=told))
    data = project.json("run", "ask", "--agent", "scripted")
    assert data["phases"][0]["steps"][0]["value"]["output"] == "corrected"
    opened = [event for event in project.json("log", data["run"])["events"] if event["type"] == "SessionOpened"]
    assert len({event["session"] for event in opened}) == 1


def test_a_long_answer_of_an_agent_is_cut_and_marked(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    project.write("script.yaml", f"- say: {'a' * 7}{'b' * 20_000}\n")
    project.write(".handrail/flows/ask.yaml", "phases: [{id: a, steps: [{id: x, node: llm-prompt, prompt: Go}]}]")
    value = project.json("run", "ask", "--agent", "scripted")["phases"][0]["steps"][0]["value"]
    assert value["output"] == "… 7 characters before this were left out\n" + "b" * 20_000


@pytest.mark.whole
def test_an_agent_gets_the_prompt_with_resolved_references(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    project.write(
        ".handrail/flows/ask.yaml",
        "phases:\n- id: a\n  steps:\n"
        "  - {id: x, node: llm-prompt, prompt: 'Look at ${params.file}.'}\n"
        "  - {id: y, node: llm-prompt, prompt: {inlineTemplate: 'Mend {it} of ${params.file}', vars: {it: two}}}\n",
    )
    project.write(
        "script.yaml",
        "prompts:\n- {match: Look at a.py., play: [{say: looked}]}\n"
        "- {match: Mend two of a.py, play: [{say: mended}]}\n",
    )
    data = project.json("run", "ask", "--agent", "scripted", "--param", "file=a.py")
    assert [step["value"]["output"] for step in data["phases"][0]["steps"]] == ["looked", "mended"]


@pytest.mark.whole
@pytest.mark.parametrize("outcome", ["refused", "auth", "overflow", "unavailable", "crash"])
def test_each_failure_of_an_agent_has_a_code(example: Project, outcome: str) -> None:
    example.write("script.yaml", f"- fail: {outcome}\n  message: no\n")
    data = example.json("run", "examples/example", "--agent", "scripted", code=1)
    assert (data["reason"], data["error"]) == (f"{outcome} at example/run_prompt", "scripted: no")


@pytest.mark.whole
@pytest.mark.parametrize(
    ("before", "retries"),
    [
        ("- retry: 10 of 10\n", ["10 of 10"]),
        ("- retry: 1 of 10\n- say: here\n", ["1 of 10", "no; scripted is called again in 0 s", "1 of 10"]),
        ("", ["no; scripted is called again in 0 s"]),
    ],
    ids=["its retries failed", "a retry helped", "it did not retry"],
)
def test_an_agent_whose_own_retries_failed_is_not_called_again(
    example: Project, monkeypatch: pytest.MonkeyPatch, before: str, retries: list[str]
) -> None:
    monkeypatch.setattr(llm_prompt, "PAUSES", (0.0,))
    example.write("script.yaml", f"{before}- fail: unavailable\n  message: no\n")
    data = example.json("run", "examples/example", "--agent", "scripted", code=1)
    assert data["reason"] == "unavailable at example/run_prompt"
    events = example.json("log", data["run"])["events"]
    assert [event["text"] for event in events if event["type"] == "AgentActed"] == retries


@pytest.mark.whole
def test_a_script_is_played_from_its_beginning_after_a_crash_and_may_have_an_entry_for_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    step = "{id: x, node: llm-prompt, prompt: {inlineTemplate: Do it}, retry: {attempts: 2, wait: 0}}"
    project.write(".handrail/flows/ask.yaml", f"phases:\n- {{id: a, steps: [{step}]}}\n")
    project.write(
        "script.yaml",
        "prompts:\n- {match: You were interrupted, play: [{say: finished}]}\n- play: [{say: begun}, {crash: true}]\n",
    )
    data = project.json("run", "ask", "--agent", "scripted")
    assert data["phases"][0]["steps"][0]["value"]["output"] == "finished"


@pytest.mark.whole
def test_a_step_waits_for_a_limit_to_reset_without_a_new_attempt(example: Project) -> None:
    once = "- {tool: bash, input: {command: 'test -f once && touch enough; touch once'}}\n"
    example.write(
        "script.yaml", f"{once}- {{fail: rate-limit, message: too many, resetsIn: 0.2, unless: enough}}\n{WRITES}"
    )
    data = example.json("run", "examples/example", "--agent", "scripted")
    assert data["phases"][0]["steps"][0]["attempts"] == 1
    delays = [event for event in example.json("log", data["run"])["events"] if event["type"] == "Delayed"]
    assert [delay["reason"] for delay in delays] == ["scripted: too many"]
