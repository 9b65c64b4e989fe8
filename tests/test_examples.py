"""Every node, prompt, schema, setting, variable and shipped flow has an example, which prints what its page shows.

With `HANDRAIL_UPDATE_EXAMPLES=1`, what is printed is written to the examples instead. Then run `make docs`.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

import handrail
from agentweaver.agent import write_script
from handrail.driven.artifacts.schemas import artifact_table
from handrail.extensions.registry import Registry
from handrail.settings.environment import LOGINS, variable_of
from steps.nodes.repositories import Checkout, isolate
from steps.services.web import Asked, Reply, serve
from support import Project

ROOT = Path(__file__).parent.parent
EXAMPLES = runpy.run_path(str(ROOT / "scripts" / "examples.py"))
NEEDED: dict[str, list[str]] = EXAMPLES["needed"]()
ALL = [(kind, name) for kind, names in NEEDED.items() for name in names]
UPDATE = "HANDRAIL_UPDATE_EXAMPLES"
IS_UPDATE = UPDATE in os.environ
SCHEMA = re.compile(r"```json\n\{.*?\n\}\n```", re.DOTALL)
EXACT = {
    r"\br-[0-9a-z]{6}\b": "r-xxxxxx",
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}\b": "7dbf2379-8cf8-4290-a84a-93ff48703d6d",
    r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z": "2026-02-03T04:05:06Z",
    r"\b\d{4}-\d\d-\d\d \d\d:\d\d\b": "2026-02-03 04:05",
    r"\b[0-9a-f]{40}\b": "1f0e3dad99908345f7439f8ffabdffc4d01a8c5b",
    r"\[main [0-9a-f]{7}\]": "[main 1f0e3da]",
    r"\b\d+\.\ds\b": "0.1s",
}
"""What differs from run to run, and what the examples show in its place."""


class Stage:
    """Runs one example in a project of its own."""

    def __init__(self, project: Project, patch: pytest.MonkeyPatch, stack: ExitStack, kind: str, name: str) -> None:
        example: dict[str, Any] = EXAMPLES["load"](kind, name)
        self.project, self.example, self.name = project, example, name
        self.real: dict[str, str] = {str(project.folder): "/project"}
        self.real[str(project.home / "state")] = "/home/ada/.local/state/handrail"
        isolate(patch)
        for variable in NEEDED["variables"]:
            if not variable.startswith("HANDRAIL_"):
                patch.delenv(variable, raising=False)
        for address, answers in example.get("serves", {}).items():
            self.real[stack.enter_context(serve(_service(answers))).url] = address
        self.script(example.get("agent", [{"say": "done"}]))
        patch.setenv("HANDRAIL_SCRIPT", str(project.folder.parent / "agent.yaml"))
        self._add_programs(patch)
        for name, value in example.get("env", {}).items():
            patch.setenv(name, self._local(str(value)))
        self._write()

    def _write(self) -> None:
        example = self.example
        repository = Checkout(self.project.folder) if example.get("git") else None
        for path, text in EXAMPLES["files"](example):
            self.write(path, text)
        if repository is not None:
            repository.write(".gitignore", ".agentweaver\n.handrail\nanswers.json\n")
            repository.commit()
            self._add_remote(repository)
            for path, text in example.get("changes", {}).items():
                self.write(path, text)

    def _add_programs(self, patch: pytest.MonkeyPatch) -> None:
        folder = self.project.folder.parent / "programs"
        for name, text in self.example.get("programs", {}).items():
            self.project.write(f"../programs/{name}", text).chmod(0o755)
        patch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def _add_remote(self, repository: Checkout) -> None:
        address = self.example.get("remote")
        if address is not None and address.startswith("/"):
            bare = self.project.folder.parent / "remote.git"
            repository.git("init", "-q", "--bare", "-b", "main", str(bare))
            self.real[str(bare)] = address
        if address is not None:
            repository.git("remote", "add", "origin", self._local(address))

    def script(self, lines: Any) -> None:
        """Let the scripted agent do this."""
        self.project.write("../agent.yaml", json.dumps(lines))

    def write(self, path: str, text: str) -> None:
        if path.startswith("~"):
            path = "../home/config/settings.yaml"
        self.project.write(path, self._local(text))

    def _local(self, text: str) -> str:
        for real, told in self.real.items():
            text = text.replace(told, real)
        return text

    def same(self, text: str) -> str:
        for real, told in self.real.items():
            text = text.replace(real, told)
        for pattern, told in EXACT.items():
            text = re.sub(pattern, told, text)
        return text.rstrip() + "\n"

    def run(self, *more: str, code: int = 0) -> dict[str, Any]:
        assert self.project.run("validate", "--strict").code == 0, self.project.run("validate", "--strict")
        argv = ["run", "example", "--scope", "example", *self.example.get("args", []), *more]
        argv += [] if "settings" in self.example else ["--agent", "scripted"]
        if "answers" in self.example:
            self.write("answers.json", json.dumps(self.example["answers"]))
            argv += ["--answers", "answers.json"]
        return self.project.json(*argv, code=code)


def _service(answers: dict[str, Any]) -> Any:
    def answer(asked: Asked) -> Reply:
        found = answers.get(f"{asked.method} {asked.path}", answers.get(asked.path, answers.get("*")))
        return Reply(found) if found is not None else Reply({"message": f"there is no {asked.path}"}, 404)

    return answer


def of_node(stage: Stage) -> str:
    last = stage.run()["phases"][-1]["steps"][-1]
    return str(EXAMPLES["document"](last["value"]))


def of_prompt(stage: Stage) -> str:
    """The prompt as the agent gets it, without schemas. The files that the step makes are valid, or the run fails."""
    step = yaml.safe_load(stage.example["flow"])["phases"][0]["steps"][0]
    for name, path in step["prompt"]["vars"].items():
        if name.endswith("_file"):
            stage.write(path, "{}\n")
    row = stage.run("--dry-run")["rows"][-1]
    written = []
    for made in step.get("makes", []):
        path = made if isinstance(made, str) else made["path"]
        text = "{}" if path.endswith(".json") else "# Done\n"
        if isinstance(made, dict):
            text = EXAMPLES["document"](EXAMPLES["load"]("schemas", made["schema"])["value"])
        written.append({"tool": "write", "input": {"path": path, "content": text}})
    stage.script([*written, {"say": "done"}])
    stage.run()
    return SCHEMA.sub("(the JSON Schema)", row["prompt"])


def of_schema(stage: Stage) -> str:
    """What is said about a document without a member. The whole document is valid, or the run fails."""
    made = [{"path": "x.json", "schema": stage.name}]
    step: dict[str, Any] = {"id": "x", "node": "write-file", "makes": made}
    value = stage.example["value"]
    without = {key: found for key, found in value.items() if key != stage.example["without"]}
    for content, code in ((value, 0), (without, 1)):
        step["params"] = {"path": "x.json", "text": {"const": content}}
        flow = {"phases": [{"id": "a", "steps": [step]}]}
        stage.write(".handrail/flows/example.yaml", json.dumps(flow))
        ended = stage.run(code=code)
    return str(ended["error"])


def of_flow(stage: Stage) -> str:
    """What the commands of an example print. The agent does what each prompt asks for."""
    target = stage.project.folder.parent / "agent"
    target.mkdir()
    script = write_script(target, stage.project.folder, "example", _document)
    stage.project.write("../agent.yaml", script.read_text(encoding="utf-8"))
    if "answers" in stage.example:
        stage.write("answers.json", json.dumps(stage.example["answers"]))
    printed = []
    for line in EXAMPLES["commands"](stage.name, stage.example):
        program, *words = shlex.split(line)
        if program == "handrail":
            ended = stage.project.run(*words)
            said = ended.out or ended.err
        else:
            said = subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout
        printed.append(f"$ {line}\n{said}".rstrip())
    return "\n".join(printed)


def _document(kind: str, turn: int) -> Any:
    """What the agent writes as the JSON file of a kind: the example of its schema, or what it says later."""
    schema = artifact_table().kinds[f"{kind}-json-file"].schema
    if schema == "mr-description/v1":
        schema = "change-description/v1"  # the flow asks for a title, too
    if schema is None:
        return {"subject": "Keep the order of the items"}
    agreed = EXAMPLES["AGREED"].get(schema) if turn > 1 else None
    return agreed or EXAMPLES["load"]("schemas", schema)["value"]


def of_command(stage: Stage) -> str:
    if "command" not in stage.example:
        return of_node(stage)
    for line in stage.example.get("before", []):
        stage.project.run(*shlex.split(line))
    said = stage.project.run(*shlex.split(stage.example["command"]))
    return said.out or said.err


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    return Project(tmp_path, monkeypatch, capsys)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.whole(179)
@pytest.mark.parametrize(("kind", "name"), ALL, ids=[f"{kind}-{name}" for kind, name in ALL])
def test_an_example_prints_what_the_reference_shows(
    project: Project, monkeypatch: pytest.MonkeyPatch, stack: ExitStack, kind: str, name: str
) -> None:
    path: Path = EXAMPLES["place"](kind, name)
    assert path.is_file(), f"the {kind.removesuffix('s')} `{name}` needs an example: write `{path.relative_to(ROOT)}`"
    stage = Stage(project, monkeypatch, stack, kind, name)
    if kind in ("nodes", "prompts"):
        assert name in stage.example["flow"], "the example has to use what it is an example of"
    makers = {"nodes": of_node, "prompts": of_prompt, "schemas": of_schema, "flows": of_flow}
    printed = stage.same(makers.get(kind, of_command)(stage))
    if IS_UPDATE:
        text = path.read_text(encoding="utf-8").partition("\nprints:")[0].rstrip()
        lines = "".join(f"  {line}".rstrip() + "\n" for line in printed.splitlines())
        path.write_text(f"{text}\nprints: |\n{lines}", encoding="utf-8")
    else:
        assert stage.example.get("prints") == printed, f"run the tests with {UPDATE}=1, then `make docs`"


def test_every_example_is_of_something() -> None:
    found = set((ROOT / "docs" / "examples").rglob("*.yaml"))
    assert found - {EXAMPLES["place"](kind, name) for kind, name in ALL} == set()


def test_every_variable_of_handrail_and_of_the_services_has_an_example() -> None:
    services = "HANDRAIL|JIRA|GITLAB|GITHUB|GH|TELEGRAM|NOTIFY|SLACK|AGENTWEAVER"
    read = re.compile(rf"\"((?:{services})_[A-Z_]+|[A-Z]+_BIN)\"")
    sources = Path(handrail.__file__).parent.rglob("*.py")
    found = {name for source in sources for name in read.findall(source.read_text(encoding="utf-8"))}
    programs = {variable_of(Registry().executor(agent).PROGRAM) for agent in Registry().executors()} - {None}
    assert "CODEX_BIN" in programs
    assert (found | programs) - {*NEEDED["variables"], *INTERNAL, *OF_AGENTS, *WITHHELD} == set()


INTERNAL = ("HANDRAIL_CALL", "HANDRAIL_FOR_ONE_CALL", "HANDRAIL_STATE")
"""Handrail sets them for its own processes and for its stubs in agents."""
OF_AGENTS = ("GH_HOST", "GH_PROMPT_DISABLED")
"""Only agents and their programs read them."""
READ = ("GH_TOKEN", "GITHUB_TOKEN", "GITLAB_TOKEN", "JIRA_API_KEY")
WITHHELD = set(LOGINS) - set(READ)
"""Handrail does not read them. It keeps them from agents."""
