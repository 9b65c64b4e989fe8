"""Makes a new playbook from the facts about a project: rules, their evidence, and the files.

A rule of a draft (`playbook-draft/v1`) may also have the keys `phases`, `severity`, `priority` and `applies_to` of
a practice. It runs nothing and writes nothing.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import Any

from handrail.base.files import Unreadable, read_limited, real_inside
from handrail.source.plain_text import counted, some
from handrail.steps.playbook.spec import BUDGETS, MANIFEST, OWN, PAGE, PHASES, SEVERITIES
from handrail.steps.playbook.survey import PURPOSES, ProjectFact

_WHEN = {
    "test": "Run it before you say that the work is done, and make it pass.",
    "lint": "Run it on what you changed, and fix what it reports.",
    "format": "Run it on what you changed.",
    "types": "Run it on what you changed, and fix what it reports.",
    "build": "Make sure that it still works.",
}
_MUST = ("test", "lint")
_FILES_RULES: dict[str, dict[str, Any]] = {
    "convention": {
        "id": "conventions",
        "title": "What people wrote down already",
        "rule": "Read these files and follow them:",
        "severity": "must",
    },
    "ci": {
        "id": "ci",
        "title": "What CI checks",
        "rule": "Every change has to pass what these files run:",
        "severity": "should",
        "phases": ["implement", "review", "repair"],
    },
}
"""Kind of fact → the rule about its files."""


def rules_of(facts: Iterable[ProjectFact]) -> list[dict[str, Any]]:
    """The rules that the facts support, in the format of `playbook-draft/v1` with `applies_to` and `severity`."""
    every = list(facts)
    rules = [_command_rule(fact) for fact in every if fact.kind in PURPOSES]
    of_files = [_files_rule(every, kind, rule) for kind, rule in _FILES_RULES.items()]
    rules += [rule for rule in (_layout_rules(every), *of_files) if rule is not None]
    counts: Counter[str] = Counter()
    for rule in rules:
        counts[rule["id"]] += 1
        if (number := counts[rule["id"]]) > 1:
            rule["id"] = f"{rule['id']}-{number}"
    return rules


def _command_rule(fact: ProjectFact) -> dict[str, Any]:
    language = f" ({fact.language})" if fact.language else ""
    rule = {
        "id": "-".join(filter(None, ("run", fact.kind, fact.language))),
        "title": f"{PURPOSES[fact.kind]}{language}: {fact.value}",
        "rule": f"The command is `{fact.value}`. {_WHEN[fact.kind]}",
        "evidence_paths": [fact.evidence],
        "severity": "must" if fact.kind in _MUST else "should",
        "phases": [*(["plan"] if fact.kind == "test" else []), "implement", "review", "repair"],
    }
    return {**rule, "applies_to": {"languages": [fact.language]}} if fact.language else rule


def _layout_rules(facts: list[ProjectFact]) -> dict[str, Any] | None:
    code, tests = ([fact for fact in facts if fact.kind == kind] for kind in ("code", "tests"))
    if not code and not tests:
        return None
    lines = [f"- {noun}: {', '.join(map(_folder, some))}" for noun, some in (("code", code), ("tests", tests)) if some]
    text = "Put new files where files of their kind already are:\n\n" + "\n".join(lines)
    evidence = [fact.evidence for fact in (*code, *tests)]
    return {"id": "layout", "title": "Where files are", "rule": text, "evidence_paths": evidence, "severity": "should"}


def _folder(fact: ProjectFact) -> str:
    return "the top folder" if fact.value == "." else f"`{fact.value}/`"


def _files_rule(facts: list[ProjectFact], kind: str, rule: dict[str, Any]) -> dict[str, Any] | None:
    """A rule with the files of a kind of fact; None if there are none."""
    files = [fact for fact in facts if fact.kind == kind]
    text = f"{rule['rule']}\n\n" + "\n".join(f"- `{fact.value}`" for fact in files)
    return {**rule, "rule": text, "evidence_paths": [fact.evidence for fact in files]} if files else None


_NOT_IN_NAME = re.compile(r"[^a-z0-9]+")


def playbook_files(draft: dict[str, Any], project: str, about: dict[str, list[str]] | None = None) -> dict[str, str]:
    """Path, relative to the project → text. The manifest is the last one. `about`: languages and frameworks."""
    rules = _rules_by_name(draft["accepted_rules"])
    practices = {f"{OWN}/practices/{name}.md": _practice_text(name, rule) for name, rule in rules.items()}
    evidence = [path for rule in rules.values() for path in rule["evidence_paths"]]
    return {
        f"{OWN}/{PAGE}": _page(draft["summary"], rules, project),
        **practices,
        f"{OWN}/{MANIFEST}": _manifest(evidence, project, bool(rules), about or {}),
    }


def _rules_by_name(rules: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The rules by the names of their files, which are their ids."""
    by_name: dict[str, dict[str, Any]] = {}
    for rule in rules:
        plain = unicodedata.normalize("NFKD", rule["id"] or rule["title"]).encode("ascii", "ignore").decode().lower()
        name = _NOT_IN_NAME.sub("-", plain).strip("-")[:60] or "practice"
        number = next(n for n in range(1, len(by_name) + 2) if (name if n == 1 else f"{name}-{n}") not in by_name)
        by_name[name if number == 1 else f"{name}-{number}"] = rule
    return by_name


def _manifest(evidence: list[str], project: str, has_practices: bool, about: dict[str, list[str]]) -> str:
    lines = ["version: 1", "project:", f"  name: {_quoted(project)}"]
    lines += [f"  {name}: {_quoted(about[name])}" for name in ("languages", "frameworks") if about.get(name)]
    lines += ["context_budgets:", *(f"  {phase}: {tokens}" for phase, tokens in BUDGETS.items())]
    lines += ['practices:\n  globs: ["practices/*.md"]'] if has_practices else []
    lines += [f"always_include:\n  - {PAGE}"]
    paths = sorted({path_and_line(path)[0] for path in evidence})
    lines += ["evidence_paths:", *(f"  - {_quoted(path)}" for path in paths)] if paths else []
    return "\n".join(lines) + "\n"


def _quoted(value: Any) -> str:
    """A text, or a list of texts, for YAML."""
    return json.dumps(value, ensure_ascii=False)


def _page(summary: str, rules: dict[str, dict[str, Any]], project: str) -> str:
    listed = "\n".join(f"- {_one_line(rule['title'])} (`practices/{name}.md`)" for name, rule in rules.items())
    return f"# {_one_line(project)}\n\n{summary.strip()}\n\n## Practices\n\n{listed or 'There are no practices yet.'}\n"


def _practice_text(name: str, rule: dict[str, Any]) -> str:
    head = [f"id: {name}", f"title: {_quoted(_one_line(rule['title']))}"]
    phases = [phase for phase in _texts(rule.get("phases")) if phase in PHASES]
    head += [f"phases: {_quoted(phases)}"] if phases else []
    applies = rule.get("applies_to")
    if isinstance(applies, dict):
        rows = {key: _texts(applies.get(key)) for key in ("languages", "frameworks", "globs", "keywords")}
        lines = [f"  {key}: {_quoted(values)}" for key, values in rows.items() if values]
        head += ["applies_to:", *lines] if lines else []
    priority = rule.get("priority")
    head += [f"priority: {priority}"] if isinstance(priority, int) and 0 <= priority <= 1000 else []
    severity = rule.get("severity")
    head += [f"severity: {severity if severity in SEVERITIES else 'should'}"]
    evidence = ", ".join(f"`{path}`" for path in rule["evidence_paths"])
    front = "\n".join(head)
    return f"---\n{front}\n---\n\n{rule['rule'].strip()}\n\nEvidence: {evidence}\n"


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str) and text.strip()] if isinstance(value, list) else []


def _one_line(text: str) -> str:
    return " ".join(text.split())


def path_and_line(evidence: str) -> tuple[str, int | None]:
    """`Makefile:3` is a path and a line; `Makefile` is a path."""
    match = re.fullmatch(r"(?s)(.+):([0-9]{1,8})", evidence)
    return (evidence, None) if match is None else (match[1], int(match[2]))


LARGEST_EVIDENCE = 4 * 1_048_576


def languages_and_frameworks(facts: Iterable[ProjectFact]) -> dict[str, list[str]]:
    every = list(facts)
    kinds = {"languages": "language", "frameworks": "framework"}
    return {name: [fact.value for fact in every if fact.kind == kind] for name, kind in kinds.items()}


def draft_from(facts: list[ProjectFact], project: str) -> dict[str, Any]:
    """A draft of a playbook from the facts alone."""
    about = languages_and_frameworks(facts)
    built = f", with {some(about['frameworks'], 6)}" if about["frameworks"] else ""
    languages = some(about["languages"], 6) if about["languages"] else "files"
    rules = rules_of(facts)
    count = f"{counted(len(rules), 'practice')} from the files of the project" if rules else "No practices were found"
    return {"summary": f"{project}: {languages}{built}.\n\n{count}.", "accepted_rules": rules}


def wrong_evidence(project: str, rules: Iterable[dict[str, Any]]) -> list[str]:
    """What is wrong with the evidence of rules: a path outside, a file or a line that does not exist."""
    return [
        f"the evidence `{evidence}` of `{rule['title']}` {reason}"
        for rule in rules
        for evidence in rule["evidence_paths"]
        if (reason := _why_no_evidence(project, evidence)) is not None
    ]


def _why_no_evidence(project: str, evidence: str) -> str | None:
    """Why a text is no evidence; None if its file and its line exist. A file's own name may end with `:3`."""
    if os.path.isabs(evidence):
        return "is an absolute path"
    path, line = path_and_line(evidence)
    if line is not None and _exists(project, evidence):
        return None
    real = real_inside(project, path)
    if real is None:
        return "leads out of the project"
    if not _exists(project, path):
        return "does not exist"
    if line is None:
        return None
    try:
        count = len(read_limited(real, LARGEST_EVIDENCE).splitlines())
    except Unreadable as error:
        return error.message
    return None if 1 <= line <= max(1, count) else f"does not exist: the file has {counted(count, 'line')}"


def _exists(project: str, path: str) -> bool:
    real = real_inside(project, path)
    return real is not None and os.path.exists(real)
