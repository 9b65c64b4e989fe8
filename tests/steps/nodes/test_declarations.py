"""Every registered node declares itself, and no other code knows its name."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

import pytest

import handrail
from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
from handrail.extensions.declarations import node_declarations
from handrail.extensions.registry import Registry
from handrail.source.fields import Shape
from support import Project

NAMES = sorted(Registry().nodes())
SOURCE = Path(handrail.__file__).parent
REFERENCE = SOURCE.parent.parent / "docs" / "reference" / "nodes.md"


@pytest.mark.parametrize("name", NAMES)
def test_a_registered_node_declares_itself(name: str) -> None:
    kind, node = Registry().nodes()[name], node_declarations(Registry())[name]
    assert isinstance(node, Node)
    assert isinstance(node.shape, Shape)
    assert node.about.endswith(".")
    assert all(param.about and param.kinds for param in node.params), name
    assert len(node.shape.by_name) == len(node.params), "a param is declared twice"
    assert set(node.makes) <= node.shape.by_name.keys()
    assert all(node.outputs.values())
    run = getattr(kind, "run", None)
    assert inspect.iscoroutinefunction(run) == (node.nests is None), "a node runs, or nests a flow"


@pytest.mark.parametrize("name", NAMES)
def test_a_registered_node_is_documented(name: str) -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    assert f"\n## {name}\n" in text or f"`{name}`" in text
    for param in node_declarations(Registry())[name].params:
        assert f"| `{param.name}` |" in text


def test_every_executor_has_its_own_node() -> None:
    for agent in Registry().executors():
        node = node_declarations(Registry())[f"{agent}-prompt"]
        assert (node.prompt, node.routed) == ("required", False)
        assert "executor" not in node.shape.by_name


def test_the_node_of_an_agent_uses_that_agent() -> None:
    asked: list[tuple[str | None, str | None]] = []

    def route(group: str | None, own: tuple[str | None, str | None]) -> None:
        assert group is None
        asked.append(own)

    context = NodeContext(project="/p", env={}, route=route, registry=Registry())
    for name, params in (("codex-prompt", {"model": "m"}), ("llm-prompt", {"executor": "pi"}), ("llm-prompt", {})):
        work = Work(path="a/x", node=name, params=params, prompt="x", own_checks=True, timeout=None)
        with pytest.raises(NodeError, match="this step has no agent"):
            asyncio.run(Registry().nodes()[name].run(work, context))
    assert asked == [("codex", "m"), ("pi", None), (None, None)]


@pytest.mark.parametrize("word", ["flow-run", "fileName", "codex-prompt", "opencode-prompt", "requiredArtifacts"])
def test_names_of_one_node_appear_nowhere_else(word: str) -> None:
    found = [path for path in SOURCE.rglob("*.py") if f'"{word}"' in path.read_text(encoding="utf-8")]
    names = {path.relative_to(SOURCE).as_posix() for path in found}
    others = {"steps/nodes/jira.py"} if word == "fileName" else set()  # a member of the list of attachments
    nodes = {"steps/nodes/basic.py", "steps/nodes/agents/llm_prompt.py"}
    assert names - others <= {"extensions/registry.py", *nodes}


def test_a_path_out_of_the_project_fails_the_dry_run(project: Project) -> None:
    step = "{id: x, node: command, params: {argv: [ls], cwd: '${params.at}'}}"
    project.write(".handrail/flows/demo.yaml", f"phases:\n- id: a\n  steps:\n  - {step}\n")
    for at, verdict in (("..", "fails"), ("/", "fails"), (".", "runs"), (str(project.folder / "src"), "runs")):
        code = 2 if verdict == "fails" else 0
        rows = project.json("run", "demo", "--dry-run", "--param", f"at={at}", code=code)["rows"]
        assert [row["verdict"] for row in rows if row["kind"] == "step"] == [verdict], at


def test_a_declared_mapping_may_have_one_key(project: Project) -> None:
    step = "{id: x, node: command, params: {argv: [printenv, ONE], env: {ONE: '${params.one}'}}}"
    project.write(".handrail/flows/demo.yaml", f"phases:\n- id: a\n  steps:\n  - {step}\n")
    ended = project.json("run", "demo", "--param", "one=1")
    assert ended["phases"][0]["steps"][0]["value"]["output"] == "1\n"


def test_a_flag_from_an_expression_has_to_be_a_boolean(project: Project) -> None:
    step = "{id: x, node: command, params: {argv: ['false'], mayFail: '${params.may}'}}"
    project.write(".handrail/flows/demo.yaml", f"phases:\n- id: a\n  steps:\n  - {step}\n")
    failed = project.json("run", "demo", "--param", "may=maybe", code=1)
    assert "`mayFail` has to be true or false" in failed["phases"][0]["steps"][0]["error"]
