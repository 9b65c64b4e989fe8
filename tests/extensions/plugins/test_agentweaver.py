"""AgentWeaver's plugins are named and explained, and the flows that belong to them run unchanged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from extensions.plugins.acme import ACT, as_folder
from support import Project

PROOF = ".agentweaver/.artifacts/examples/claude-example-proof.json"
EXAMPLE = {  # as AgentWeaver publishes it, with a shorter prompt
    "kind": "claude-example-flow",
    "version": 1,
    "description": "Project-local reference flow for the Claude example plugin.",
    "phases": [
        {
            "id": "example",
            "steps": [
                {
                    "id": "run_claude_prompt",
                    "node": "llm-prompt",
                    "prompt": {"inlineTemplate": f"Use the current workspace. Create the JSON file `{PROOF}`."},
                    "params": {
                        "labelText": {"const": "Run Claude via llm-prompt"},
                        "executor": {"const": "claude"},
                        "requiredArtifacts": {"list": [{"const": PROOF}]},
                        "missingArtifactsMessage": {
                            "const": "The Claude example flow requires Claude to write the fixed proof artifact."
                        },
                    },
                    "expect": [
                        {
                            "kind": "require-artifacts",
                            "paths": {"list": [{"const": PROOF}]},
                            "message": "The Claude example flow must write the fixed proof artifact.",
                        }
                    ],
                }
            ],
        }
    ],
}
CLAUDE = f"""#!/bin/sh
mkdir -p "$(dirname {PROOF})"
printf '{{"status": "ok", "executor": "claude", "message": "m", "model": ""}}' > {PROOF}
echo '{{"type": "system", "subtype": "init", "session_id": "s-1"}}'
echo '{{"type": "result", "subtype": "success", "is_error": false, "result": "wrote", "session_id": "s-1"}}'
"""


def javascript(project: Project, id_: str) -> None:
    manifest = {"id": id_, "sdk_version": 1, "entrypoint": "index.js"}
    project.write(f".agentweaver/.plugins/{id_}/plugin.json", json.dumps(manifest))
    project.write(f".agentweaver/.plugins/{id_}/index.js", "export const nodes = [];\n")


def test_the_example_flow_runs_unchanged(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    javascript(project, "claude-example-plugin")
    project.write(".agentweaver/.flows/examples/claude-example.json", json.dumps(EXAMPLE, indent=2))
    program = tmp_path / "claude"
    program.write_text(CLAUDE, encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("CLAUDE_BIN", str(program))
    ended = project.json("run", "examples/claude-example")
    assert ended["status"] == "completed"
    assert json.loads((project.folder / PROOF).read_text())["executor"] == "claude"


def test_a_javascript_plugin_is_listed_and_explained(project: Project) -> None:
    javascript(project, "claude-example-plugin")
    (row,) = project.json("plugins")["plugins"]
    assert (row["id"], row["source"], row["trusted"]) == ("claude-example-plugin", "agentweaver", False)
    (problem,) = row["problems"]
    assert problem["code"] == "plugin-javascript"
    assert "in JavaScript, which cannot run here" in problem["message"]
    assert "`also`" in problem["hint"]


def test_a_node_in_python_has_the_name_that_flows_of_agentweaver_use(project: Project) -> None:
    javascript(project, "notes")
    flow = {"kind": "own-flow", "version": 1, "phases": [{"id": "a", "steps": [{"id": "x", "node": "write-note"}]}]}
    project.write(".agentweaver/.flows/own.json", json.dumps(flow))
    assert "there is no node `write-note`" in project.run("run", "own").err + project.run("validate").out
    manifest = 'version = "1.0"\ncontract = 1\n\n[nodes.note]\nmodule = "act"\nalso = ["write-note"]\n'
    as_folder(project, {"plugin.toml": manifest, "act.py": ACT}, "mine")
    assert project.json("run", "own")["phases"][0]["steps"][0]["value"] == {"done": True}
