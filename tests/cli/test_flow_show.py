"""Stories about inspecting a flow before it runs: `show` and `run --dry-run`."""

from __future__ import annotations

import pytest

from driven.flows.everyflow import CHILD, EVERY
from support import Project

TREE = """\
every (flow)
  Everything that a flow can say
  param go (whether to): required
  param files: ["a.txt", "b.txt"]
  constant word: hi
  environment: TOKEN
  time limit: 3600 s
  continue: from-stop
  1. first
     when: ${params.go} and (not ("stop.txt" exists))
     time limit: 60 s
     - fetch: command
       argv: ["git", "fetch", ${params.files}, ${context.env.TOKEN}]
       tried up to 3 times, 2 s apart, × 2
       time limit: 10 s
       if interrupted: ask a person
       expects require-file: path out.md; if not: it has to be there
       expects step-output: value ${steps.first.fetch.outputs.result}, equals true, when "x" exists
       makes out.md
       makes plan-${flow.word}.json as plan, if it exists
       then set-summary-from-file: path out.md
     - ask: llm-prompt
       when: ${steps.first.fetch.outputs.exitCode}
       routing group: planning
       labelText: think
       prompt: Do ${flow.word} for ${steps.first.fetch.value}  and ${params.go}
       stops the flow (stopped) if: ${steps.first.ask.outputs.result}
  in parallel, up to 2, and all finish even if one fails:
    for each of ${params.files}, at most 3:
      2. each-N
         - show: read-file
           path: ${repeat.file}
  up to 2 rounds, until ${steps.rN.t.outputs.n} = true, or the flow fails:
    3. rN
       steps in parallel, up to 2
       - t: set
         n: ${repeat.i + 1}
       - u: flow-run
         fileName: child
         who: ${flow.word}
         runs child:
           1. c
              when: ${params.who}
              - x: set
                got: ${params.who}
  4. last
     when: "out.md" exists
     - sub: flow-run
       fileName: child
       who: ${steps.r1.t.value}
       runs child:
         1. c
            when: ${params.who}
            - x: set
              got: ${params.who}
"""

DIAGRAM = """\
flowchart TD
  subgraph p0["a when ${params.n} #lt; 3"]
    p0s0["x: set"]
    p0s1[["y: runs child"]]
    p0s0 --> p0s1
  end
  subgraph p1["in parallel, up to 2"]
    subgraph p2["b #quot;1#quot;"]
      p2s0["z: set"]
    end
    subgraph p3["for each of ${[1]}, at most 1"]
      subgraph p4["c"]
        p4s0["z: set"]
      end
      subgraph p5["d"]
        p5s0["z: set"]
      end
    end
  end
  p6["e"]
  done([done])
  p4 --> p5
  p0 --> p1
  p1 --> p6
  p6 --> done
"""


def flow(project: Project, name: str, text: str) -> None:
    project.write(f".handrail/flows/{name}.yaml", text)


def test_show_prints_every_part_of_a_flow(project: Project) -> None:
    flow(project, "child", CHILD)
    flow(project, "every", EVERY)
    said = project.run("show", "every")
    assert said.out == TREE
    assert said.err == ""


def test_show_prints_a_flows_plan_as_json(project: Project) -> None:
    flow(project, "child", CHILD)
    flow(project, "every", EVERY)
    data = project.json("show", "every")
    assert (data["id"], data["file"]) == ("every", ".handrail/flows/every.yaml")
    step = data["phases"][0]["steps"][0]
    assert step["params"] == {"argv": ["git", "fetch", "${params.files}", "${context.env.TOKEN}"]}
    assert step["retry"] == {"attempts": 3, "wait": 2.0, "factor": 2.0}


def test_show_draws_a_flow(project: Project) -> None:
    step = "steps: [{id: z, node: set}]"
    flow(project, "child", CHILD)
    flow(
        project,
        "demo",
        "phases:\n- id: a\n  when: {less: ['${params.n}', 3]}\n  steps:\n  - {id: x, node: set}\n"
        "  - {id: y, node: flow-run, params: {fileName: child, who: me}}\n"
        f"- parallel: 2\n  phases:\n  - {{id: 'b \"1\"', {step}}}\n"
        f"  - {{repeat: {{over: [1], max: 1}}, phases: [{{id: c, {step}}}, {{id: d, {step}}}]}}\n"
        "- {id: e, steps: []}\n",
    )
    drawn = project.run("show", "demo", "--mermaid").out
    assert drawn == DIAGRAM


def test_show_prefers_a_workflow_and_mentions_the_flow_with_the_same_name(project: Project) -> None:
    project.workflow("both", ["a"])
    flow(project, "both", CHILD)
    said = project.run("show", "both")
    assert said.out == "Both (both)\n  1. • A\n"
    assert said.err == "there is also a flow `both`: `handrail show flow:both`\n"
    assert project.run("show", "flow:both").out.startswith("both (flow)\n")
    assert project.run("show", "both", "--quiet").err == ""


def test_an_unknown_name_gets_a_suggestion(project: Project) -> None:
    flow(project, "release", CHILD)
    said = project.run("show", "relaese")
    assert said.code == 1
    assert said.err == (
        "error: there is no workflow and no flow `relaese`\nhint: did you mean `release`?\n"
    )  # fmt: skip
    assert project.run("show", "flow:relaese").code == 1


def test_a_flow_with_errors_is_reported(project: Project) -> None:
    flow(project, "bad", "phases: 3\n")
    said = project.run("show", "bad")
    assert said.code == 2
    assert "flow `bad` cannot be used: `.handrail/flows/bad.yaml` has 1 error" in said.err


def test_texts_of_a_flow_cannot_control_the_terminal(project: Project) -> None:
    flow(project, "bad", 'description: "\\e[2J"\nphases:\n- {id: "a\\e]0;x\\a", steps: [{id: "x\\r", node: set}]}\n')
    for argv in (["show", "bad"], ["show", "bad", "--mermaid"], ["run", "bad", "--dry-run"], ["run", "bad"]):
        said = project.run(*argv)
        assert said.code == 0
        assert not set(said.out + said.err) & set("\x1b\a\r")


def test_a_dry_run_prints_what_would_happen_and_runs_no_step(project: Project) -> None:
    flow(
        project,
        "demo",
        "params: {name: world}\nphases:\n- id: greet\n  steps:\n"
        "  - {id: write, node: write-file, params: {path: HELLO.md, text: 'Hello, ${params.name}.'}}\n"
        "- id: check\n  when: '${steps.greet.write.outputs.path}'\n  steps: [{id: look, node: set}]\n",
    )
    said = project.run("run", "demo", "--dry-run", "--param", "name=Ada")
    assert said.out == (
        "● greet\n"
        "  ● write: write-file\n"
        "      path: HELLO.md\n"
        "      text: Hello, Ada.\n"
        "? check: depends on `steps.greet.write`: ${steps.greet.write.outputs.path}\n"
        "  ● look: set\n"
    )  # fmt: skip
    assert said.err == (
        "this was a dry run: no step was run\n"
        "estimate: unknown; no past run of `demo` in this project is like this one\n"
    )
    assert not (project.folder / "HELLO.md").exists()
    assert project.json("runs")["runs"] == []
    rows = project.json("run", "demo", "--dry-run")["rows"]
    assert [(row["path"], row["verdict"]) for row in rows] == [
        ("greet", "runs"),
        ("greet/write", "runs"),
        ("check", "depends"),
        ("check/look", "runs"),
    ]


@pytest.mark.parametrize(("more", "count"), [("", 1), (", onExhausted: continue", 0)])
def test_a_repeat_that_may_fail_after_its_last_round_says_so(project: Project, more: str, count: int) -> None:
    until = "until: '${steps.poll.x.outputs.done}'"
    step = "{id: x, node: set, params: {done: false}}"
    project.write(
        ".handrail/flows/f.yaml",
        f"phases:\n- repeat: {{var: i, max: 3, {until}{more}}}\n  phases:\n"
        f"  - {{id: 'poll-${{i}}', steps: [{step}]}}\n",
    )
    lines = project.run("show", "f").out.splitlines()
    assert sum(line.endswith("until ${steps.poll-N.x.outputs.done}, or the flow fails:") for line in lines) == count


def test_a_node_and_a_check_show_what_they_take_and_give(project: Project) -> None:
    told = project.run("show", "command").out
    assert told.startswith("command (node)\n  Runs ")
    assert "\n  argv " in told
    assert "required" in told
    assert "\n  exitCode " in told
    check = project.run("show", "file").out
    assert check.startswith("file (check)\n")
    assert "Outputs" not in check
    data = project.json("show", "command")
    assert (data["kind"], data["params"]["required"], "exitCode" in data["outputs"]) == ("node", ["argv"], True)


def test_a_node_with_the_name_of_a_flow_is_shown_by_its_mark(project: Project) -> None:
    assert project.run("show", "git-commit").out.startswith("git-commit (flow)")
    assert project.run("show", "node:git-commit").out.startswith("git-commit (node)")
    assert project.json("show", "check:run")["kind"] == "check"
    assert project.run("show", "check:git-commit").code == 1


def test_all_nodes_and_checks_are_listed(project: Project) -> None:
    told = project.run("list", "--nodes").out
    assert "user-input " in told
    assert "require-structured-artifacts " in told
    data = project.json("list", "--nodes")
    assert {(row["name"], row["kind"]) for row in data["parts"]} >= {("command", "node"), ("file", "check")}
    assert all(row["about"] for row in data["parts"])


@pytest.mark.parametrize(("items", "rounds"), [("[a, b, c]", 3), ("[]", 1), ("['${params.x}', b]", 2)])
def test_a_repeat_over_a_list_that_is_written_in_the_file_needs_no_max(
    project: Project, items: str, rounds: int
) -> None:
    steps = "[{id: x, node: set, params: {v: '${repeat.item}'}}]"
    phase = f"{{id: 'a-${{index}}', steps: {steps}}}"
    text = f"params: {{x: 1}}\nphases:\n- repeat: {{over: {items}}}\n  phases: [{phase}]\n"
    project.write(".handrail/flows/each.yaml", text)
    phases = project.json("run", "each")["phases"]
    assert len(phases) == rounds
    assert sum(phase["status"] == "done" for phase in phases) == (0 if items == "[]" else rounds)


def test_a_repeat_over_a_value_of_the_run_says_why_it_needs_max(project: Project) -> None:
    text = "params: {x: [1]}\nphases:\n- repeat: {over: '${params.x}'}\n  phases:\n  - {id: 'a-${index}', steps: []}\n"
    project.write(".handrail/flows/each.yaml", text)
    said = project.run("validate")
    assert (said.code, "write `max: 20`; only of a list that is written here" in said.out) == (2, True), said
