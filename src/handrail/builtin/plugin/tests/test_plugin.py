"""Tests the plugin. The first test runs the contract tests of Handrail, the second one uses a node."""

import asyncio
import importlib.util
from pathlib import Path

from handrail.extensions.contracts import NodeContext, Work
from handrail.extensions.plugins.contract_tests import check_plugin
from handrail.extensions.registry import Registry

FOLDER = Path(__file__).parent.parent


def test_the_plugin_keeps_to_the_contract() -> None:
    assert check_plugin(FOLDER) == []


def test_hello_writes_a_greeting(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("hello", FOLDER / "nodes" / "hello.py")
    assert spec is not None
    assert spec.loader is not None
    hello = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hello)
    step = {"path": "greet/hello", "node": "@ID@/hello", "prompt": None, "own_checks": True, "timeout": None}
    work = Work(params={"name": "Ada"}, **step)
    made = asyncio.run(hello.run(work, NodeContext(project=str(tmp_path), env={}, registry=Registry())))
    assert made["text"] == "hello, Ada"
    assert (tmp_path / "hello.txt").read_text() == "hello, Ada\n"
