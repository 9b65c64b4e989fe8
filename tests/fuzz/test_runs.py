"""Runs flows of every node, check and operator with values that no author expects. No run ends as a bug."""

from __future__ import annotations

import io
import json
import os
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz.inputs import share
from handrail.cli.main import main
from handrail.driven.expressions.parser import ARITHMETIC, PAIRS
from support import trust_below

PARAMS = ("v0", "v1", "v2", "v3")
CALM_CODES = (0, 1, 2, 3, 4, 5)

TEXTS = st.one_of(
    st.sampled_from(
        ["", "\0", "a\0b", "\ud800", "x\udc80", "a" * 5000, "../..", "/dev/null", "/", ".", "odd", "9" * 400,
         "9" * 5000, "nan", "inf", "1e999", "-1", "1_000", "(a+)+$", "a{99999}", "(" * 999, "(?=a)", "[", "${", "{x}",
         "\n", "\x1b[2J", "true", "null", "é", "plan/v1", "any", "f"]
    ),
    st.text(max_size=6),
)  # fmt: skip
NUMBERS = st.one_of(
    st.sampled_from([0, -1, 10**400, -(10**4000), 1e308, -1e308, 5e-324, 0.1, 2**63, 3]), st.integers(-3, 3)
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
DATA = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)
DEEP = st.sampled_from([json.loads("[" * depth + "]" * depth) for depth in (99, 101, 300)])
GIVEN = st.integers(0, 29).flatmap(lambda number: DEEP if number == 0 else DATA)
REFS = st.sampled_from(
    [f"${{params.{name}{rest}}}" for name in PARAMS for rest in (*[""] * 12, ".a", ".0", "." + "1" * 30)]
)


def _of(values: st.SearchStrategy[Any], count: int | None) -> st.SearchStrategy[Any]:
    return st.lists(values, min_size=count or 1, max_size=count or 3)


def _grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    forms = [st.fixed_dictionaries({name: _of(inner, count)}) for name, count in ARITHMETIC.items()]
    return st.one_of(
        *forms,
        st.fixed_dictionaries({"length": inner}),
        st.fixed_dictionaries({"default": _of(inner, 2)}),
        st.fixed_dictionaries({"template": st.just("{a}{b}"), "vars": st.fixed_dictionaries({"a": inner, "b": inner})}),
        st.fixed_dictionaries({"appendPrompt": st.fixed_dictionaries({"base": inner, "suffix": inner})}),
        st.fixed_dictionaries({"object": st.fixed_dictionaries({"a": inner, "b": inner})}),
        st.fixed_dictionaries({"artifact": st.fixed_dictionaries({"name": inner, "iteration": inner})}),
        st.fixed_dictionaries({"artifact": st.fixed_dictionaries({"kind": st.just("plan-file"), "taskKey": inner})}),
    )


VALUES = st.recursive(REFS, _grown, max_leaves=4)
CONDITIONS = st.recursive(
    st.one_of(
        *(st.fixed_dictionaries({name: _of(VALUES, 2)}) for name in PAIRS),
        st.fixed_dictionaries({"exists": VALUES}),
        st.fixed_dictionaries({"defined": VALUES}),
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"not": inner}),
        st.fixed_dictionaries({"all": _of(inner, 2)}),
        st.fixed_dictionaries({"any": _of(inner, 2)}),
    ),
    max_leaves=3,
)


def _node(name: str, **params: Any) -> st.SearchStrategy[Any]:
    given = {key: value if isinstance(value, st.SearchStrategy) else st.just(value) for key, value in params.items()}
    return st.fixed_dictionaries({"node": st.just(name), "params": st.fixed_dictionaries(given)})


NODES = st.one_of(
    _node("set", a=VALUES, b=VALUES),
    _node("file-check", path=VALUES),
    _node("read-file", path=VALUES),
    _node("write-file", path=VALUES, text=VALUES),
    _node("wait", seconds=VALUES),
    _node("command", argv=st.tuples(st.just("echo"), VALUES).map(list), stdin=VALUES),
    _node("command", argv=VALUES),
    _node("command", argv=["cat"], cwd=VALUES, mayFail=VALUES),
    _node("command", argv=["cat"], env=VALUES, maxOutput=VALUES),
    _node("user-input", formId=VALUES, title=VALUES, fields=VALUES, outputFile=VALUES),
    _node("flow-run", fileName=VALUES, a=VALUES),
    _node("workflow-run", workflow=VALUES, task=VALUES),
    VALUES.map(lambda value: {"node": "llm-prompt", "params": {"executor": value}, "prompt": "${params.v0}"}),
)
ITEMS = st.fixed_dictionaries({"path": VALUES, "schemaId": VALUES})
CHECKS = st.one_of(
    st.fixed_dictionaries({"file": VALUES}),
    st.fixed_dictionaries({"run": st.tuples(st.just("echo"), VALUES).map(list)}),
    st.fixed_dictionaries({"kind": st.just("require-file"), "path": VALUES}),
    st.fixed_dictionaries({"kind": st.just("require-artifacts"), "paths": VALUES}),
    st.fixed_dictionaries({"kind": st.just("require-structured-artifacts"), "items": st.lists(ITEMS, max_size=1)}),
    st.fixed_dictionaries({"kind": st.just("step-output"), "value": VALUES, "equals": VALUES}),
)
REST = st.fixed_dictionaries(
    {},
    optional={
        "when": CONDITIONS,
        "expect": st.lists(CHECKS, max_size=2),
        "makes": st.lists(st.one_of(REFS, VALUES.map(lambda value: {"path": value, "schema": "any"})), max_size=2),
        "after": VALUES.map(lambda value: [{"kind": "set-summary-from-file", "path": value}]),
        "stopFlowIf": CONDITIONS,
    },
)
STEPS = st.builds(lambda node, rest: {"id": "x", "timeout": 0.5, **node, **rest}, NODES, REST)
PHASES = st.fixed_dictionaries(
    {"id": st.just("a"), "steps": STEPS.map(lambda step: [step])}, optional={"when": CONDITIONS}
)
OVER = VALUES.map(lambda value: {"over": value, "max": 2})


@pytest.fixture(scope="module", autouse=True)
def home() -> Any:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setenv("HANDRAIL_HOME", f"{folder}/home")
        patch.setenv("NO_COLOR", "1")
        trust_below(Path(tempfile.gettempdir()), os.environ)
        yield


@share("runs: hostile values")
@given(PHASES, st.one_of(st.none(), OVER), st.fixed_dictionaries(dict.fromkeys(PARAMS, GIVEN)), st.booleans())
def test_no_value_makes_a_run_end_as_a_bug(phase: Any, over: Any, values: dict[str, Any], is_dry: bool) -> None:
    entry = phase if over is None else {"repeat": over, "phases": [{**phase, "id": "a-${index}"}]}
    with tempfile.TemporaryDirectory() as folder:
        flows = Path(folder, ".handrail", "flows")
        flows.mkdir(parents=True)
        Path(folder, ".handrail", "schemas").mkdir()
        Path(folder, ".handrail", "schemas", "any.json").write_text("{}")
        (flows / "f.yaml").write_text(json.dumps({"phases": [entry]}))
        (flows / "any.yaml").write_text("phases: [{id: a, steps: [{id: x, node: set, params: {a: '${params.a}'}}]}]")
        given = [part for name, value in values.items() for part in ("--param", f"{name}={json.dumps(value)}")]
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = main(["--project", folder, "run", "f", *given, "--json", *(["--dry-run"] if is_dry else [])])
    assert code in CALM_CODES, (code, out.getvalue(), err.getvalue())
    assert "Traceback" not in err.getvalue()
    assert "Error: " not in out.getvalue() + err.getvalue(), out.getvalue()
