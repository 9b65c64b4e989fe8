"""The pages of docs/reference about what comes with Handrail as data: prompts, schemas and flows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from handrail.artifacts.schemas import artifact_table, builtin_schema, find_schema, problems_of, schema_ids
from handrail.flows.library import Library, without_references
from handrail.flows.shipped import Shipped
from handrail.project import Places, prompt_roots, shipped_flows
from handrail.source.templates import fill, placeholders

_SCHEMA = re.compile(r"^<!-- schema: (\S+) -->$", re.MULTILINE)
_WRITES = re.compile(r"(?:Write|Markdown to) `\{(\w+)\}`")


def prompts() -> str:
    """Every shipped prompt: filled in with examples, so that a variable without a value fails here."""
    roots = prompt_roots("/nowhere", Places({"HOME": "/nowhere"}))
    library = Library(roots, lambda id_: find_schema(id_, "/nowhere"))
    about = (
        "The prompts that come with Handrail. A step uses one by its name, with `templateRef`. A file "
        "`.handrail/prompts/NAME.md` of the project, or one of the user, replaces it. Every variable is the path of a "
        "file; the agent reads it, or writes it. What it writes as JSON matches the [schema](schemas.md).\n"
    )
    return f"# Prompts\n\n{about}\n" + "\n".join(_prompt(name, library, Path(roots[-1][1])) for name in library)


def _prompt(name: str, library: Library, root: Path) -> str:
    raw, text = (root / f"{name}.md").read_text("utf-8"), library[name].text
    names = list(dict.fromkeys(found for found, _ in placeholders(text)))
    example = fill(text, dict.fromkeys(names, "FILE"))
    assert not list(placeholders(example)), name
    written = dict.fromkeys(_WRITES.findall(raw))
    read = [found for found in names if found not in written]
    schemas = [f"[{id_}](schemas.md#{anchor(id_)})" for id_ in _SCHEMA.findall(raw)]
    rows = [
        ("reads", [f"`{found}`" for found in read]),
        ("writes", [f"`{found}`" for found in written]),
        ("as", schemas),
    ]
    told = "\n".join(f"| {word} | {', '.join(found)} |" for word, found in rows if found)
    first = example.split("\n\n", 1)[0].replace("\n", " ").strip()
    use = f"prompt: {{templateRef: {name}, vars: {{{', '.join(f'{found}: FILE' for found in names)}}}}}"
    return f"## {name}\n\n{first}\n\n| | |\n|---|---|\n{told}\n\n```yaml\n{use}\n```\n"


def schemas() -> str:
    """Every shipped schema with an example, which is checked against it."""
    kinds = artifact_table().kinds
    about = (
        "JSON Schemas that come with Handrail, for `schemaId` of "
        "[`require-structured-artifacts`](checks.md#require-structured-artifacts), `schema` of `makes`, and prompts. "
        "`.handrail/schemas/NAME.json` is a schema of the project.\n"
    )
    parts = [f"# Schemas\n\n{about}"]
    for id_ in sorted(schema_ids()):
        schema = builtin_schema(id_)
        assert schema is not None
        value = example(without_references(schema))
        assert problems_of(schema, value) == [], id_
        files = sorted(f"`{kind.file}`" for kind in kinds.values() if kind.schema == id_)
        where = f"Artifacts of AgentWeaver: {', '.join(files)}.\n\n" if files else ""
        parts.append(f"## {id_}\n\n{where}```json\n{json.dumps(value, indent=2, ensure_ascii=False)}\n```\n")
    return "\n".join(parts)


def anchor(title: str) -> str:
    return title.replace("/", "").replace(".", "")


def example(schema: Mapping[str, Any]) -> Any:
    """A small value that matches a schema."""
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    if "anyOf" in schema:
        return example(schema["anyOf"][0])
    if str(schema.get("pattern")).startswith("^sha256:"):
        return "sha256:" + "0" * 64
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: example(properties.get(name, {})) for name in schema.get("required", ())}
    if kind == "array":
        return [example(schema.get("items", {}))] * max(1, schema.get("minItems", 0))
    return {"boolean": False, "number": 1, "integer": 1, "string": "text", "null": None}[kind]


def shipped() -> str:
    about = (
        "Flows that come with Handrail: `handrail run NAME`. Their ids and what they make are those of AgentWeaver's "
        "flows; the flows are our own. A flow of the project or of the user with the same id, or with the same file "
        "name inside another flow of theirs, is used instead; inside shipped flows only if it says `overrides: true`. "
        "`handrail show NAME` shows the phases and the params of one.\n"
    )
    rows = []
    for entry in Shipped(shipped_flows()).entries():
        inside = "" if entry.visible else " (only inside other flows)"
        rows.append(f"| `{entry.id}` | {entry.description}{inside} |")
    return f"# Flows that come with Handrail\n\n{about}\n| flow | what it does |\n|---|---|\n" + "\n".join(rows) + "\n"
