"""Stories about values: what a person typed is inserted as typed, and everything else has one plain text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support import Project


def flow(project: Project, name: str, text: str) -> None:
    project.write(f".handrail/flows/{name}.yaml", text)


def steps(*steps: str) -> str:
    return "phases:\n- id: a\n  steps:\n" + "".join(f"  - {step}\n" for step in steps)


def value(run: dict[str, Any], number: int = -1) -> Any:
    return [step["value"] for phase in run["phases"] for step in phase["steps"]][number]


SHOW = "{id: x, node: set, params: {tag: 'v${params.version}', sum: {add: ['${params.version}', 1]}}}"


@pytest.mark.parametrize(("typed", "total"), [("2.0", 3), ("1.10", 2.1), ("1e3", 1001), ("7", 8), ("123e45", None)])
def test_what_a_person_typed_is_inserted_as_typed(project: Project, typed: str, total: float | None) -> None:
    flow(project, "release", steps(SHOW))
    made = value(project.json("run", "release", "--param", f"version={typed}"))
    assert made["tag"] == f"v{typed}"
    assert total is None or made["sum"] == total


@pytest.mark.parametrize(
    ("name", "text"), [("p.yaml", "version: 1.10\n"), ("p.yml", "{version: 1.10}"), ("p.json", '{"version": 1.10}')]
)
def test_a_number_in_a_parameters_file_keeps_its_text(project: Project, name: str, text: str) -> None:
    flow(project, "release", steps(SHOW))
    project.write(name, text)
    assert value(project.json("run", "release", "--params", name)) == {"tag": "v1.10", "sum": 2.1}


def test_a_number_in_a_flow_file_keeps_its_text(project: Project) -> None:
    text = "{id: x, node: set, params: {a: 'v${params.v}', b: 'v${flow.v}', c: 'v${params.l.1}', d: 'v${params.l}'}}"
    flow(project, "demo", "params: {v: 1.10, l: [a, 2.0]}\nconstants: {v: 007}\n" + steps(text))
    assert value(project.json("run", "demo")) == {"a": "v1.10", "b": "v007", "c": "v2.0", "d": 'v["a", 2.0]'}


def test_a_number_still_counts_as_a_number(project: Project) -> None:
    conditions = {
        "same": "{equals: ['${params.v}', 2]}",
        "less": "{less: ['${params.v}', 2.5]}",
        "in": "{in: ['${params.v}', [1, 2]]}",
        "text": "{equals: ['${params.v}', '2.0']}",
    }
    flow(
        project,
        "demo",
        steps(*(f"{{id: {n}, node: set, params: {{}}, when: {when}}}" for n, when in conditions.items())),
    )
    run = project.json("run", "demo", "--param", "v=2.0")
    assert [step["status"] for step in run["phases"][0]["steps"]] == ["done", "done", "done", "skipped"]


@pytest.mark.parametrize("padding", ["", "x" * 20_000])
def test_the_text_of_a_number_survives_the_journal_and_nested_flows(project: Project, padding: str) -> None:
    """The first life ends after the value is recorded, and the second one inserts it. A large value is in a file."""
    keep = "{id: k, node: set, params: {v: '${params.v}', l: ['${params.v}'], pad: '${params.pad}'}}"
    wait = "{id: w, node: command, params: {argv: [test, -f, ready]}}"
    out = "'${steps.a.k.outputs.v} ${steps.a.k.outputs.l.0} ${params.v} ${flow.c}'"
    flow(
        project,
        "inner",
        "params: {v: {required: true}, pad: ''}\nconstants: {c: 3.0}\n"
        + steps(keep, wait, f"{{id: s, node: write-file, params: {{path: out, text: {out}}}}}"),
    )
    flow(
        project,
        "outer",
        steps(f"{{id: n, node: flow-run, params: {{fileName: inner, v: '${{params.v}}', pad: '{padding}'}}}}"),
    )
    run = project.json("run", "outer", "--param", "v=1.10", code=1)["run"]
    project.write("ready", "")
    project.json("resume", run)
    assert (project.folder / "out").read_text() == "1.10 1.10 1.10 3.0"


def test_answers_are_inserted_as_written(project: Project) -> None:
    picks = "{id: pick, options: [1.10, 1.9]}, {id: many, type: multi-select, options: [2.0]}"
    fields = f"[{{id: v, type: text}}, {picks}]"
    form = f"{{id: f, node: user-input, params: {{formId: f, title: T, fields: {fields}}}}}"
    flow(project, "demo", steps(form))
    for name, text in (
        ("a.yaml", "v: 1.10\npick: 1.10\nmany: [2.0]\n"),
        ("a.json", '{"v": 1.10, "pick": 1.10, "many": [2.0]}'),
    ):
        project.write(name, text)
        made = value(project.json("run", "demo", "--answers", name))
        assert made["values"] == {"v": "1.10", "pick": "1.10", "many": ["2.0"]}
    run = project.json("run", "demo", code=4)["run"]
    assert value(project.json("answer", run, "--file", "a.yaml"))["values"]["v"] == "1.10"


def test_a_list_and_an_object_are_inserted_as_json_everywhere(project: Project) -> None:
    it = "'${params.o}'"
    flow(
        project,
        "demo",
        "params: {o: {default: {a: [1, x], b: null}}}\n"
        + steps(
            "{id: t, node: set, params: {text: 'is ${params.o}.', list: 'is ${params.o.a}.'}}",
            f"{{id: w, node: write-file, params: {{path: out, text: {it}}}}}",
            f"{{id: c, node: command, params: {{argv: [echo, {it}, '${{params.o.a}}'], stdin: {it}}}}}",
            f"{{id: e, node: command, params: {{argv: [sh, -c, 'cat; echo $O'], env: {{O: {it}}}, stdin: {it}}}}}",
        ),
    )
    run = project.json("run", "demo")
    text = '{"a": [1, "x"], "b": null}'
    assert value(run, 0) == {"text": f"is {text}.", "list": 'is [1, "x"].'}
    assert json.loads((project.folder / "out").read_text()) == json.loads(text)
    assert value(run, 2)["output"] == f'{text} [1, "x"]\n'
    assert value(run, 3)["output"] == f"{text}{text}\n"


@pytest.mark.parametrize(
    ("printed", "result"),
    [
        ('{"n": 1}\n[INFO] done\n', {"n": 1}),
        ('{"n": 1}\n{"n": 2}\n[1, 2\n{not json}\n', {"n": 2}),
        ("[INFO] nothing\n", None),
        ('{"n": 1e999}\n', {"n": "1e999"}),
        ('{"n": NaN}\n', {"n": "NaN"}),
    ],
)
def test_the_result_of_a_command_is_its_last_line_of_json(project: Project, printed: str, result: object) -> None:
    project.write("printed", printed)
    flow(project, "demo", steps("{id: c, node: command, params: {argv: [cat, printed]}}"))
    assert value(project.json("run", "demo"))["result"] == result


@pytest.mark.parametrize("node", ["set, params: {x: .inf}", "command, params: {argv: [touch, made], stdin: .nan}"])
def test_infinity_fails_the_step_and_is_never_taken_for_an_interruption(project: Project, node: str) -> None:
    flow(project, "demo", steps(f"{{id: c, node: {node}}}"))
    run = project.json("run", "demo", code=1)
    assert "a number that JSON does not have" in run["error"]
    assert project.json("resume", run["run"], code=1)["status"] == "failed"


def test_left_out_output_is_marked(project: Project) -> None:
    flow(project, "demo", steps("{id: c, node: command, params: {argv: [seq, 1000], maxOutput: 9}}"))
    assert value(project.json("run", "demo"))["output"] == "… 3884 bytes before this were left out\n999\n1000\n"


def test_an_error_of_an_expression_says_where_it_is(project: Project) -> None:
    flow(
        project,
        "demo",
        "params: {l: {default: null}}\n" + steps("{id: c, node: set, when: {less: [0, {length: '${params.l}'}]}}"),
    )
    error = project.json("run", "demo", code=1)["error"]
    assert error == "null has no length, in `when`: 0 < ${length of params.l}"


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ("command, params: {argv: [env], env: '${params.l}'}", "`command`: `env` has to be a mapping, found `[1]`"),
        ("command, params: {argv: '${params.t}'}", "`command`: `argv` has to be a list, found `t`"),
        ("write-file, params: {path: x, text: '${params.n}'}", "`write-file`: `text` needs a value, but it is null"),
    ],
)
def test_a_value_that_a_node_cannot_use_is_named(project: Project, node: str, message: str) -> None:
    flow(project, "demo", "params: {l: [1], t: t, n: {default: null}}\n" + steps(f"{{id: c, node: {node}}}"))
    assert project.json("run", "demo", code=1)["error"] == message


@pytest.mark.parametrize(
    ("items", "message"),
    [("t", "`items` has to be a list, found `t`"), ("[{path: a}]", "in an item of `items`, `schemaId` needs a value")],
)
def test_a_value_that_a_check_cannot_use_is_named(project: Project, items: str, message: str) -> None:
    expect = "[{kind: require-structured-artifacts, items: '${params.i}', message: m}]"
    flow(project, "demo", f"params: {{i: {items}}}\n" + steps(f"{{id: c, node: set, expect: {expect}}}"))
    assert message in project.json("run", "demo", code=1)["error"]


def test_json_is_read_as_json(project: Project) -> None:
    step = {
        "id": "x",
        "node": "set",
        "params": {"t": {"const": "\U0001f600"}, "n": {"template": "{n}", "vars": {"n": {"const": 2.0}}}},
    }
    text = json.dumps({"phases": [{"id": "a", "steps": [step]}]})
    assert "\\ud83d\\ude00" in text
    project.write(".agentweaver/.flows/demo.json", text)
    assert value(project.json("run", "demo")) == {"t": "\U0001f600", "n": "2"}
    project.write(".agentweaver/.flows/demo.json", text.replace('"phases": ', '"phases": // all\n'))
    (problem,) = project.json("validate", code=2)["problems"]
    assert (problem["code"], problem["line"], problem["column"]) == ("json-syntax", 1, 12)


def test_an_escaped_emoji_in_params_and_answers_is_read(project: Project) -> None:
    """Most programs write an emoji in JSON as two escapes, which YAML refuses."""
    form = "{id: f, node: user-input, params: {formId: f, title: T, fields: [{id: v, type: text}]}}"
    out = "'${params.v}${steps.a.f.outputs.values.v}'"
    flow(project, "demo", steps(form, f"{{id: x, node: set, params: {{t: {out}}}}}"))
    project.write("v.json", json.dumps({"v": "\U0001f600"}))
    run = project.json("run", "demo", "--params", "v.json", "--answers", "v.json")
    assert value(run) == {"t": "\U0001f600\U0001f600"}


def test_names_in_templates_may_be_any_text_that_is_given(project: Project, tmp_path: Path) -> None:
    template = "{template: '{a-b} {имя} {a.b} {{a b}} {c-d} {', vars: {a-b: 1, имя: 2, a.b: 3, a b: 4}}"
    flow(project, "demo", steps(f"{{id: x, node: set, params: {{t: {template}}}}}"))
    assert project.json("validate")["problems"] == []
    assert value(project.json("run", "demo")) == {"t": "1 2 3 {4} {c-d} {"}


def test_an_empty_path_does_not_exist(project: Project) -> None:
    flow(
        project,
        "demo",
        "params: {p: ''}\n"
        + steps(
            "{id: x, node: set, when: {exists: '${params.p}'}}",
            "{id: y, node: set, when: {exists: ''}}",
            "{id: z, node: file-check, params: {path: '${params.p}'}}",
        ),
    )
    run = project.json("run", "demo")
    assert [step["status"] for step in run["phases"][0]["steps"]] == ["skipped", "skipped", "done"]
    assert value(run) == {"exists": False}


def test_a_reference_to_an_item_has_no_leading_zero(project: Project) -> None:
    flow(project, "demo", "params: {l: [a, b]}\n" + steps("{id: x, node: set, params: {t: '${params.l.1}'}}"))
    assert value(project.json("run", "demo")) == {"t": "b"}
    flow(project, "demo", "params: {l: [a, b]}\n" + steps("{id: x, node: set, params: {t: '${params.l.01}'}}"))
    assert "there is no `01`" in project.json("run", "demo", code=1)["error"]


def test_require_file_in_a_flow_may_name_a_folder_and_a_file_outside_the_project(project: Project) -> None:
    project.write("docs/a.md", "")
    project.write("../outside", "")
    paths = "[{kind: require-file, path: docs}, {kind: require-file, path: ../outside}]"
    flow(project, "demo", steps(f"{{id: x, node: set, expect: {paths}}}"))
    assert project.json("validate")["problems"] == []
    assert project.json("run", "demo")["status"] == "completed"


def test_what_a_step_does_not_have_is_not_null(project: Project) -> None:
    null = "{equals: ['${steps.a.x.outputs}', null]}"
    flow(
        project,
        "demo",
        steps(
            "{id: x, node: set, when: false}",
            f"{{id: y, node: set, when: {null}}}",
            "{id: z, node: set, when: {differs: ['${steps.a.x.outputs}', null]}}",
            "{id: n, node: set, when: {equals: ['${params.n}', null]}}",
        ),
    )
    run = project.json("run", "demo", "--param", "n=null")
    assert [step["status"] for step in run["phases"][0]["steps"]] == ["skipped", "skipped", "done", "done"]
    rows = project.json("run", "demo", "--param", "n=null", "--dry-run")["rows"]
    assert [row["verdict"] for row in rows[1:]] == ["skipped", "skipped", "runs", "runs"]


POLL = """\
phases:
- repeat: {var: i, max: 4, until: '${steps.poll.look.outputs.result.ready}'%s}
  phases:
  - id: poll-${i}
    steps:
    - {id: look, node: command, params: {argv: [sh, look]}}
    - {id: say, node: set, params: {ready: '${steps.poll.look.outputs.result.ready}'}}
- id: after
  steps: [{id: x, node: set, params: {}}]
"""
LOOK = "echo . >> looks; test $(wc -l < looks) -ge {} && echo '{{\"ready\": true}}' || echo '{{\"ready\": false}}'"


def statuses(run: dict[str, Any]) -> dict[str, str]:
    return {phase["id"]: phase["status"] for phase in run["phases"]}


def test_inside_a_repeat_a_phase_is_named_without_its_round(project: Project) -> None:
    flow(project, "demo", POLL % "")
    project.write("look", LOOK.format(2))
    assert project.json("validate")["problems"] == []
    run = project.json("run", "demo")
    assert statuses(run) == {
        "poll-1": "done", "poll-2": "done", "poll-3": "skipped", "poll-4": "skipped", "after": "done",
    }  # fmt: skip
    assert [phase["steps"][1]["value"] for phase in run["phases"][:2]] == [{"ready": False}, {"ready": True}]


@pytest.mark.whole
def test_a_repeat_that_never_ends_as_wanted_fails_unless_the_flow_says_otherwise(project: Project) -> None:
    project.write("look", LOOK.format(99))
    flow(project, "demo", POLL % "")
    run = project.json("run", "demo", code=1)
    assert run["error"] == "demo.yaml:2:35: `until` did not hold after 4 rounds (`onExhausted: continue` allows this)"
    assert statuses(run)["poll-4"] == "done"
    assert statuses(run)["after"] == "pending"
    assert project.json("resume", run["run"], code=1)["error"] == run["error"]
    flow(project, "demo", POLL % ", onExhausted: continue")
    assert statuses(project.json("run", "demo"))["after"] == "done"


def test_a_repeat_whose_last_round_ends_it_does_not_fail(project: Project) -> None:
    project.write("look", LOOK.format(4))
    flow(project, "demo", POLL % "")
    assert statuses(project.json("run", "demo"))["poll-4"] == "done"


@pytest.mark.parametrize("more", ["", ", parallel: true"])
def test_a_list_that_is_too_long_fails_before_its_first_round(project: Project, more: str) -> None:
    text = "phases:\n- repeat: {over: '${params.l}', max: 2%s}\n  phases:\n  - id: e-${index}\n    steps:\n%s"
    step = "    - {id: x, node: command, params: {argv: [touch, '${repeat.item}']}}\n"
    flow(project, "demo", text % (more, step))
    run = project.json("run", "demo", "--param", "l=[1,2,3]", code=1)
    assert run["error"].startswith("demo.yaml:2:18: the list has 3 items, but the repeat has at most 2 rounds")
    assert not (project.folder / "1").exists()
    assert "fails, demo.yaml:2:18" in project.run("run", "demo", "--param", "l=[1,2,3]", "--dry-run").out
    project.json("run", "demo", "--param", "l=[1,2]")
    flow(project, "demo", text % (f"{more}, onExhausted: continue", step))
    project.json("run", "demo", "--param", "l=[7,8,9]")
    assert [(project.folder / name).exists() for name in "789"] == [True, True, False]


def test_null_is_no_value(project: Project) -> None:
    """`required` needs a value. Without it a parameter may be null, and null replaces a default."""
    show = "{id: x, node: set, params: {r: '${params.r}', o: '${params.o}', n: '${params.n}', d: '${params.d}'}}"
    flow(project, "demo", "params: {r: {required: true}, o: {}, n: {default: null}, d: 3}\n" + steps(show))
    assert value(project.json("run", "demo", "--param", "r=1")) == {"r": 1, "o": None, "n": None, "d": 3}
    assert value(project.json("run", "demo", "--param", "r=1", "--param", "d=null"))["d"] is None
    assert value(project.json("run", "demo", "--param", 'r="null"'))["r"] == "null"
    assert "has no value for `r`" in project.run("run", "demo").err
    refused = project.run("run", "demo", "--param", "r=null")
    assert (refused.code, "it is required, and null is no value" in refused.err) == (2, True)


def test_a_default_of_null_is_optional_and_the_author_is_told(project: Project) -> None:
    flow(project, "demo", "params: {x: null}\n" + steps("{id: x, node: set, params: {t: 'v${params.x}'}}"))
    (problem,) = project.json("validate")["problems"]
    assert (problem["code"], problem["severity"], problem["line"], problem["column"]) == (
        "param-null",
        "warning",
        1,
        10,
    )
    assert value(project.json("run", "demo")) == {"t": "v"}
