"""The pages of docs/reference about what comes with Handrail as data: prompts and schemas."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from handrail.driven.artifacts.schemas import artifact_table, schema_ids
from handrail.driven.flows.prompts import optional_names
from handrail.source.templates import placeholders

sys.path.insert(0, str(Path(__file__).parent))
from examples import library, shown

_SCHEMA = re.compile(r"^<!-- schema: (\S+) -->$", re.MULTILINE)
_WRITES = re.compile(r"(?:Write|Markdown to) `\{(\w+)\}`")


def prompts() -> str:
    """Every shipped prompt: what it reads and writes, and a step that uses it."""
    about = (
        "The prompts that come with Handrail. A step uses one by its name, with `templateRef`. A file "
        "`.handrail/prompts/NAME.md` of the project, or one of the user, replaces it. Every variable is the path of a "
        "file; the agent reads it, or writes it. What it writes as JSON matches the [schema](schemas.md). In the text "
        "of a prompt, a line with `{name?}` is left out if the variable is missing, null, empty or `not provided`; a "
        "line with `{..._file?}` also if there is no such file.\n"
    )
    return f"# Prompts\n\n{about}\n" + "\n".join(_prompt(name) for name in library())


def _prompt(name: str) -> str:
    prompt = library()[name]
    raw, text = Path(prompt.file).read_text("utf-8"), prompt.text
    optional = optional_names(text)
    names = list(dict.fromkeys(found for found, _ in placeholders(text)))
    written = dict.fromkeys(_WRITES.findall(raw))
    read = [found for found in names if found not in written]
    schemas = [f"[{id_}](schemas.md#{anchor(id_)})" for id_ in _SCHEMA.findall(raw)]
    rows = [
        ("reads", [f"`{found}`" for found in read]),
        ("reads, if it exists", [f"`{found}`" for found in optional]),
        ("writes", [f"`{found}`" for found in written]),
        ("as", schemas),
    ]
    told = "\n".join(f"| {word} | {', '.join(found)} |" for word, found in rows if found)
    return f"## {name}\n\n| | |\n|---|---|\n{told}\n\n{shown('prompts', name)}"


def schemas() -> str:
    """Every shipped schema with a document, and what is said if one of its members is missing."""
    kinds = artifact_table().kinds
    about = (
        "JSON Schemas that come with Handrail, for `schemaId` of "
        "[`require-structured-artifacts`](checks.md#require-structured-artifacts), `schema` of `makes`, and prompts. "
        "`.handrail/schemas/NAME.json` is a schema of the project.\n"
    )
    parts = [f"# Schemas\n\n{about}"]
    for id_ in sorted(schema_ids()):
        files = sorted(f"`{kind.file}`" for kind in kinds.values() if kind.schema == id_)
        where = f"Artifacts of AgentWeaver: {', '.join(files)}.\n\n" if files else ""
        parts.append(f"## {id_}\n\n{where}{shown('schemas', id_)}")
    return "\n".join(parts)


def anchor(title: str) -> str:
    return title.replace("/", "").replace(".", "")
