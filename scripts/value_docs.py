"""The page of docs/reference about the values and conditions of flows."""

from __future__ import annotations

from handrail.driven.expressions.parser import CONDITIONS, VALUES, ArtifactKinds, ExpressionForm, ExpressionReader
from handrail.driven.expressions.tree import SCOPES, ExpressionScope
from handrail.driven.flows.load import flow_resources
from handrail.driven.flows.references import CONTEXT
from handrail.extensions.registry import Registry
from handrail.source.definition_files import Source
from handrail.source.diagnostics import Diagnostic
from handrail.source.values import as_json
from handrail.source.yaml_text import read_yaml


def values() -> str:
    """The forms of values and conditions. Each example is resolved here, so the page shows what it really is."""
    plain = (
        "Params of steps, `vars` of prompts and paths of `makes` are values. Numbers, true, false, null, text and "
        "lists are themselves. `${params.x}` alone is a reference, and keeps the kind of what it refers to; in longer "
        "text it is inserted. A mapping whose only key is one of the names below is that form; the names from `const` "
        "to `list` count also beside other keys. Any other mapping with several keys is an object.\n"
    )
    paths = (
        "A reference is a path with dots: names of members, and places in lists, counted from 0. An item of a list "
        "that has an `id` is also found by it: `phases.build` is the item with the id `build`, unless the name is a "
        "number.\n"
    )
    truths = (
        "`when`, `until`, `stopFlowIf` and `when` of an expectation are conditions: true, false, `${...}` alone, or "
        "one of these forms. What they compare are values.\n"
    )
    sample = f"In the examples, the params are `{as_json(SAMPLE)}`, and there is a file `NOTES.md`.\n"
    scopes = "\n".join(f"| `{name}` | {about} |" for name, about in SCOPES.items())
    context = "\n".join(f"| `context.{name}` | {about} |" for name, about in CONTEXT.items())
    return (
        f"# Values and conditions of flows\n\n{plain}\n{sample}\n{_forms(VALUES, is_condition=False)}\n"
        f"## Conditions\n\n{truths}\n{_forms(CONDITIONS, is_condition=True)}\n"
        f"## References\n\n{paths}\n| scope | path |\n|---|---|\n{scopes}\n\n"
        f"## Context\n\n| reference | value |\n|---|---|\n{context}\n"
    )


SAMPLE = {"title": 'Say "hi"', "count": 3, "files": ["a.md", "b.md"], "none": None}


def _forms(forms: dict[str, ExpressionForm], *, is_condition: bool) -> str:
    rows = "\n".join(
        f"| `{name}` | {form.about} | `{form.example}` | `{_resolved(form.example, is_condition)}` |"
        for name, form in forms.items()
    )
    return f"| form | {'holds if' if is_condition else 'value'} | example | is |\n|---|---|---|---|\n{rows}\n"


def _resolved(example: str, is_condition: bool) -> str:
    """What an example is, as JSON."""
    source, known = Source("example.yaml", example), flow_resources(Registry())
    problems: list[Diagnostic] = []
    reader = ExpressionReader(source, problems.append, {}, ArtifactKinds(known.artifact_kinds, known.artifact_lists))
    tree, troubles = read_yaml(source.text)
    expression = reader.condition(tree) if is_condition else reader.value(tree)
    assert [problems, troubles] == [[], []], example
    known_values = {"params": SAMPLE, "context": {"scope": "main"}}
    path, paths = lambda wanted: f"…/{wanted.name}.{wanted.extension}", lambda wanted: [f"…/{wanted.kind}"]
    return as_json(expression.resolve(ExpressionScope(known_values, lambda path: path == "NOTES.md", path, paths)))
