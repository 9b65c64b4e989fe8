"""Parts of a plan as text for people. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from handrail import registry
from handrail.expressions.tree import Expression, Template
from handrail.expressions.words import in_words
from handrail.flows.plan import After, Expectation, Output, Phase, Prompt


def expectation_words(expectation: Expectation) -> str:
    message = f"; if not: {expectation.message}" if expectation.message else ""
    short = registry.check_kind(expectation.kind).CHECK.short
    return _action(expectation.kind, expectation.params, expectation.when, short) + message


def after_words(after: After) -> str:
    return _action(after.kind, after.params, after.when)


def _action(kind: str, params: Mapping[str, Expression], when: Expression | None, short: str | None = None) -> str:
    """`file: out.md`, `step-output: value 3, equals 4`. The param that the short spelling sets has no name."""
    given = ", ".join(f"{'' if name == short else f'{name} '}{in_words(value)}" for name, value in params.items())
    return f"{kind}: {given}" + ("" if when is None else f", when {in_words(when)}")


def output_words(made: Output) -> str:
    name = f" as {made.name}" if made.name else ""
    schema = f", schema {made.schema}" if made.schema else ""
    return f"{in_words(made.path)}{name}{schema}{'' if made.required else ', if it exists'}"


def prompt_words(prompt: Prompt) -> str:
    """A prompt with its references as text. For a prompt of the catalog, its name."""
    body = f"the prompt `{prompt.name}`"
    if prompt.name is None:
        body = in_words(Template(prompt.text, prompt.names, prompt.values))
    extra = "" if prompt.extra is None else in_words(prompt.extra)
    return "\n\n".join(part for part in (body, extra) if part)


def round_numbers(phase: Phase) -> dict[str, int]:
    """The round numbers of the repeats around a phase, without the derived `NAME_minus_one`."""
    derived = {f"{name}_minus_one" for name in phase.rounds}
    return {name: number for name, number in phase.rounds.items() if name not in derived}
