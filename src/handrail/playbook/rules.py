"""Practices from the facts of a survey, for a playbook that is made without an agent. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from handrail.playbook.survey import PURPOSES, Fact

_WHEN = {
    "test": "Run it before you say that the work is done, and make it pass.",
    "lint": "Run it on what you changed, and fix what it reports.",
    "format": "Run it on what you changed.",
    "types": "Run it on what you changed, and fix what it reports.",
    "build": "Make sure that it still works.",
}
_MUST = ("test", "lint")


def rules_of(facts: Iterable[Fact]) -> list[dict[str, Any]]:
    """The rules that the facts support, in the format of `playbook-draft/v1` with `applies_to` and `severity`."""
    every = list(facts)
    rules = [_command(fact) for fact in every if fact.kind in PURPOSES]
    rules += [rule for rule in (_layout(every), _conventions(every), _ci(every)) if rule is not None]
    return _with_own_ids(rules)


def _command(fact: Fact) -> dict[str, Any]:
    language = f" ({fact.language})" if fact.language else ""
    rule = {
        "id": "-".join(filter(None, ("run", fact.kind, fact.language))),
        "title": f"{PURPOSES[fact.kind]}{language}: {fact.value}",
        "rule": f"The command is `{fact.value}`. {_WHEN[fact.kind]}",
        "evidence_paths": [fact.evidence],
        "severity": "must" if fact.kind in _MUST else "should",
        "phases": ["implement", "review", "repair"]
        if fact.kind != "test"
        else ["plan", "implement", "review", "repair"],
    }
    return {**rule, "applies_to": {"languages": [fact.language]}} if fact.language else rule


def _layout(facts: list[Fact]) -> dict[str, Any] | None:
    code, tests = ([fact for fact in facts if fact.kind == kind] for kind in ("code", "tests"))
    if not code and not tests:
        return None
    lines = [f"- {noun}: {', '.join(map(_folder, some))}" for noun, some in (("code", code), ("tests", tests)) if some]
    text = "Put new files where files of their kind already are:\n\n" + "\n".join(lines)
    evidence = [fact.evidence for fact in (*code, *tests)]
    return {"id": "layout", "title": "Where files are", "rule": text, "evidence_paths": evidence, "severity": "should"}


def _folder(fact: Fact) -> str:
    return "the top folder" if fact.value == "." else f"`{fact.value}/`"


def _conventions(facts: list[Fact]) -> dict[str, Any] | None:
    found = [fact for fact in facts if fact.kind == "convention"]
    if not found:
        return None
    text = "Read these files and follow them:\n\n" + "\n".join(f"- `{fact.value}`" for fact in found)
    title, evidence = "What people wrote down already", [fact.evidence for fact in found]
    return {"id": "conventions", "title": title, "rule": text, "evidence_paths": evidence, "severity": "must"}


def _ci(facts: list[Fact]) -> dict[str, Any] | None:
    found = [fact for fact in facts if fact.kind == "ci"]
    if not found:
        return None
    text = "Every change has to pass what these files run:\n\n" + "\n".join(f"- `{fact.value}`" for fact in found)
    evidence = [fact.evidence for fact in found]
    rule = {"id": "ci", "title": "What CI checks", "rule": text, "evidence_paths": evidence, "severity": "should"}
    return {**rule, "phases": ["implement", "review", "repair"]}


def _with_own_ids(rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rules with ids that differ."""
    seen: dict[str, int] = {}
    for rule in rules:
        number = seen[rule["id"]] = seen.get(rule["id"], 0) + 1
        if number > 1:
            rule["id"] = f"{rule['id']}-{number}"
    return rules
