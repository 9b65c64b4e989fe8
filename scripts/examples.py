"""The examples of the reference: one YAML file each, in `docs/examples/KIND/NAME.yaml`.

An example is a small project and what Handrail prints in it. `tests/test_examples.py` runs every one of them. Its keys:
`flow` is the flow `example`; `files` are other files by path; `settings` and `own` are the settings of the project and
of the user; `env` are variables; `agent` is what the scripted agent does; `answers` are for forms; `serves` are the
answers of a service by address and path, or by method and path; `git` makes the project a repository, in which
`changes` are not committed, and `remote` is the address of `origin`: a service, or the path of a bare repository;
`programs` are scripts on the `PATH` by name; `value` is a document of a schema, `without` a member of it; `like` names
the node with the rest of the example; `args` are further arguments of `run example`, or of the flow, `command` replaces
it, `before` are commands before it; `prints` is the output. The example of a flow may have `commands` instead: all its
command lines, in which `{how}` stands for the usual options.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from handrail.driven.artifacts.schemas import find_schema, schema_ids
from handrail.driven.flows.prompts import PromptLibrary
from handrail.driven.flows.shipped_flows import ShippedFlows
from handrail.extensions import registry
from handrail.extensions.registry import Registry
from handrail.settings.folders import UserFolders, prompt_roots, shipped_flows
from handrail.settings.settings import SETTINGS

FOLDER = Path(__file__).parent.parent / "docs" / "examples"
AGENT = "AGENT"
FLOW, SETTINGS_FILE = ".handrail/flows/example.yaml", ".handrail/settings.yaml"
USER_FILE = "~/.config/handrail/settings.yaml"
REPOSITORY: dict[str, Any] = {"git": True, "files": {"code.txt": "one\n"}, "changes": {"code.txt": "two\n"}}
"""The project of the examples of flows, unless an example has its own."""
LEFT = ("git status --short", "git ls-files -oi --exclude-standard .agentweaver .handrail/scopes")
"""Commands that show what a run left: changes of the project, and files of its scope."""
AGREED = {
    "review-findings/v1": {"summary": "The change is sound.", "ready_to_merge": True, "findings": []},
    "design-review/v1": {
        "summary": "The design is sound.",
        "status": "approved",
        "blocking_findings": [],
        "major_findings": [],
        "warnings": [],
        "missing_information": [],
        "consistency_checks": [],
        "qa_coverage_gaps": [],
        "recommended_actions": [],
    },
}
"""What the scripted agent says in its second review, and in later ones. What it says first is in the schemas."""


def needed() -> dict[str, list[str]]:
    """Everything that has to have an example, by kind."""
    return {
        "nodes": [*registry.NODES, *(f"{agent}-prompt" for agent in Registry().executors())],
        "prompts": list(library()),
        "schemas": sorted(schema_ids()),
        "settings": [field.name for field in SETTINGS.fields],
        "flows": list(ShippedFlows(shipped_flows()).files),
        "variables": [path.stem for path in sorted((FOLDER / "variables").glob("*.yaml"))],
    }


@cache
def library() -> PromptLibrary:
    """The prompts that come with Handrail."""
    roots = prompt_roots("/nowhere", UserFolders({"HOME": "/nowhere"}))
    return PromptLibrary(roots, lambda id_: find_schema(id_, "/nowhere", {}))


def place(kind: str, name: str) -> Path:
    """The file of an example. The nodes of agents share one."""
    if kind == "nodes" and name not in registry.NODES:
        name = f"{AGENT}-prompt"
    return FOLDER / kind / f"{name.replace('/', '-')}.yaml"


def load(kind: str, name: str) -> dict[str, Any]:
    text = place(kind, name).read_text(encoding="utf-8")
    if kind == "nodes" and name not in registry.NODES:
        text = text.replace(AGENT, name.removesuffix("-prompt"))
    found = yaml.safe_load(text)
    assert isinstance(found, dict), name
    if kind == "flows":
        return {**REPOSITORY, **found}
    return {**load("nodes", found["like"]), **found} if "like" in found else found


def document(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def files(example: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The files of an example that its page shows."""
    for key, path in (("settings", SETTINGS_FILE), ("own", USER_FILE), ("flow", FLOW)):
        if key in example:
            yield path, example[key]
    for path, content in example.get("files", {}).items():
        yield path, content if isinstance(content, str) else document(content)


def shown(kind: str, name: str) -> str:
    """An example as its page shows it."""
    example = load(kind, name)
    parts = [f"{example['about']}\n"] if "about" in example else []
    usual = REPOSITORY["files"] if kind == "flows" else {}
    for path, text in ((path, text) for path, text in files(example) if usual.get(path) != text):
        language = {"yaml": "yaml", "json": "json", "md": "markdown"}.get(path.rpartition(".")[2], "text")
        parts.append(f"`{path}`:\n\n```{language}\n{text.rstrip()}\n```\n")
    for path, text in example.get("changes", {}).items() if kind != "flows" else ():
        parts.append(f"`{path}`, changed since the last commit:\n\n```text\n{text.rstrip()}\n```\n")
    if "remote" in example:
        parts.append(f"The remote `origin` is `{example['remote']}`.\n")
    if "answers" in example:
        parts.append(f"Answers, for `--answers FILE`:\n\n```json\n{document(example['answers'])}```\n")
    if "agent" in example:
        lines = "".join(f"- {json.dumps(line, ensure_ascii=False)}\n" for line in example["agent"])
        parts.append(f"The [script](scripts.md) of the agent:\n\n```yaml\n{lines}```\n")
    parts.append(_printed(kind, example))
    return "\n".join(parts)


def _printed(kind: str, example: dict[str, Any]) -> str:
    text = str(example["prints"]).rstrip()
    if kind == "schemas":
        value = document(example["value"])
        return f"```json\n{value}```\n\nWithout `{example['without']}`: {text}.\n"
    if kind == "prompts":
        return f"The agent is told:\n\n````markdown\n{text}\n````\n"
    if kind == "flows":
        return f"```console\n{text}\n```\n"
    variables = "".join(f"{name}={value} " for name, value in example.get("env", {}).items())
    if "command" in example:
        before = "".join(f"$ handrail {line}\n" for line in example.get("before", []))
        return f"```console\n{before}$ {variables}handrail {example['command']}\n{text}\n```\n"
    args = "".join(f" {word}" for word in example.get("args", []))
    called = f"`{variables}handrail run example{args}`: the" if variables or args else "The"
    return f"{called} outputs of the last step:\n\n```json\n{text}\n```\n"


def commands(flow: str, example: dict[str, Any]) -> list[str]:
    """The command lines that the example of a flow runs."""
    more = " --answers answers.json" if "answers" in example else ""
    how = f"--agent scripted --scope example{more}"
    if "commands" in example:
        return [line.replace("{how}", how) for line in example["commands"]]
    args = "".join(f" {word}" for word in example.get("args", []))
    name = "example" if "flow" in example else flow
    before = [f"handrail run {line} {how}" for line in example.get("before", [])]
    return [*before, f"handrail run {name}{args} {how}", *LEFT]
