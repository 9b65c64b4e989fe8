"""The examples of the reference: one YAML file each, in `docs/examples/KIND/NAME.yaml`.

An example is a small project and what Handrail prints in it. `tests/test_examples.py` runs every one of them. Its keys:
`flow` is the flow `example`; `files` are other files by path; `settings` and `own` are the settings of the project and
of the user; `env` are variables; `agent` is what the scripted agent does; `answers` are for forms; `serves` are the
answers of a service by address and path, or by method and path; `git` makes the project a repository, in which
`changes` are not committed, and `remote` is the address of `origin`: a service, or the path of a bare repository;
`value` is a document of a schema, `without` a member of it; `like` names the node with the rest of the example; `args`
are further arguments of `run example`, `command` replaces it, `before` are commands before it; `prints` is the output.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from handrail import registry
from handrail.artifacts.schemas import find_schema, schema_ids
from handrail.flows.library import Library
from handrail.project import Places, prompt_roots
from handrail.settings import SETTINGS

FOLDER = Path(__file__).parent.parent / "docs" / "examples"
AGENT = "AGENT"
FLOW, SETTINGS_FILE = ".handrail/flows/example.yaml", ".handrail/settings.yaml"
USER_FILE = "~/.config/handrail/settings.yaml"


def needed() -> dict[str, list[str]]:
    """Everything that has to have an example, by kind."""
    return {
        "nodes": [*registry.NODES, *(f"{agent}-prompt" for agent in registry.executors())],
        "prompts": list(library()),
        "schemas": sorted(schema_ids()),
        "settings": [field.name for field in SETTINGS.fields],
        "variables": [path.stem for path in sorted((FOLDER / "variables").glob("*.yaml"))],
    }


@cache
def library() -> Library:
    """The prompts that come with Handrail."""
    roots = prompt_roots("/nowhere", Places({"HOME": "/nowhere"}))
    return Library(roots, lambda id_: find_schema(id_, "/nowhere"))


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
    for path, text in files(example):
        language = {"yaml": "yaml", "json": "json", "md": "markdown"}.get(path.rpartition(".")[2], "text")
        parts.append(f"`{path}`:\n\n```{language}\n{text.rstrip()}\n```\n")
    for path, text in example.get("changes", {}).items():
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
    variables = "".join(f"{name}={value} " for name, value in example.get("env", {}).items())
    if "command" in example:
        before = "".join(f"$ handrail {line}\n" for line in example.get("before", []))
        return f"```console\n{before}$ {variables}handrail {example['command']}\n{text}\n```\n"
    args = "".join(f" {word}" for word in example.get("args", []))
    called = f"`{variables}handrail run example{args}`: the" if variables or args else "The"
    return f"{called} outputs of the last step:\n\n```json\n{text}\n```\n"
