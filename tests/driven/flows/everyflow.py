"""A flow that uses every key of a flow file, and a nested flow. Both are read without files."""

from __future__ import annotations

from handrail.driven.flows.load import flow_resources, load_flow
from handrail.driven.flows.plan import FlowPlan
from handrail.extensions.registry import Registry
from handrail.source.definition_files import Source
from handrail.source.diagnostics import has_errors

CHILD = """
params: {who: {required: true}}
phases:
- id: c
  when: ${params.who}
  steps:
  - {id: x, node: set, params: {got: '${params.who}'}}
"""

EVERY = """
description: Everything that a flow can say
params:
  go: {required: true, about: whether to}
  files: {default: [a.txt, b.txt]}
constants: {word: hi}
env: [TOKEN]
timeout: 3600
continue: from-stop
phases:
- id: first
  when: {all: [{ref: params.go}, {not: {exists: stop.txt}}]}
  timeout: 60
  steps:
  - id: fetch
    node: command
    params: {argv: [git, fetch, '${params.files}', '${context.env.TOKEN}']}
    retry: {attempts: 3, wait: 2}
    timeout: 10
    rerun: ask
    expect:
    - {kind: require-file, path: out.md, message: it has to be there}
    - {kind: step-output, value: '${steps.first.fetch.outputs.result}', equals: true, when: {exists: x}}
    makes: [out.md, {path: 'plan-${flow.word}.json', name: plan, required: false}]
    after: [{kind: set-summary-from-file, path: out.md}]
  - id: ask
    node: llm-prompt
    routingGroup: planning
    when: '${steps.first.fetch.outputs.exitCode}'
    params: {labelText: think}
    prompt:
      inlineTemplate: "Do {what}\\nfor {who}"
      vars: {what: '${flow.word}', who: '${steps.first.fetch.value}'}
      extraPrompt: 'and ${params.go}'
    stopFlowIf: '${steps.first.ask.outputs.result}'
    stopFlowOutcome: stopped
- repeat: {over: '${params.files}', item: file, max: 3, parallel: {limit: 2, onFailure: finish}}
  phases:
  - id: 'each-${index}'
    steps:
    - {id: show, node: read-file, params: {path: '${repeat.file}'}}
- repeat: {var: i, max: 2, until: {equals: ['${steps.r${i}.t.outputs.n}', true]}}
  phases:
  - id: 'r${i}'
    parallel: 2
    steps:
    - {id: t, node: set, params: {n: {add: ['${repeat.i}', 1]}}}
    - {id: u, node: flow-run, params: {fileName: child, who: '${flow.word}'}}
- id: last
  when: {exists: out.md}
  steps:
  - {id: sub, node: flow-run, params: {fileName: child, who: '${steps.r1.t.value}'}}
"""


def flow(text: str, id_: str = "flow") -> FlowPlan:
    plan, problems = load_flow(Source(f"{id_}.yaml", text), id_, flow_resources(Registry()))
    assert plan is not None, problems
    assert not has_errors(problems), problems
    return plan
