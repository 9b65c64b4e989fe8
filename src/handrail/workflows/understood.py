"""Names in `tools` that mean nothing to an agent: a list that names only another agent's tools limits nothing there.

Handrail's own names and `mcp:SERVER/TOOL` mean the same to every agent, also if it has no such tool.
"""

from __future__ import annotations

import os

from handrail import STEP_TOOL, registry
from handrail.source.diagnostics import Diagnostic, of_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from handrail.source.yamltree import Node
    from handrail.workflows.spec import PhaseSpec

VOCABULARY: dict[str, str] = {
    "read": "read a file",
    "write": "write a whole file",
    "edit": "change a part of a file",
    "bash": "run a program",
    "search": "look for files or for text in files",
    "fetch": "read the web",
    "agent": "start another agent",
}
"""Handrail's own names of tools, and what such a tool does."""


def not_understood(phases: Iterable[PhaseSpec], agents: Sequence[str]) -> list[Diagnostic]:
    """A warning for each name in a list of these phases that means nothing to one of the agents."""
    found = []
    for phase in phases:
        for names in (phase.deny, phase.allow):
            for name in dict.fromkeys(names or ()):
                strangers = [agent for agent in agents if _is_nothing(name, names or (), agent)]
                if strangers:
                    found.append(_warning(phase, name, strangers))
    return found


def _is_nothing(name: str, names: Iterable[str], agent: str) -> bool:
    """True if an agent has no tool of this name, and the list has no other name for the same tool that it knows."""
    if name in VOCABULARY or name == STEP_TOOL or name.startswith("mcp:"):
        return False
    now, former = registry.tool_names(agent)
    if name.startswith("mcp__"):
        general = _general(name)
        return general not in names and general not in registry.host(agent).aliases(name)
    if name in now or name in former or name not in registry.known_tools():
        return False
    same = _same_tools(name)
    return not any(other in same and (other in VOCABULARY or other in now | former) for other in names)


def _general(name: str) -> str:
    """`mcp__SERVER__TOOL` as every agent understands it."""
    server, _, tool = name.removeprefix("mcp__").partition("__")
    return f"mcp:{server}/{tool}"


def _same_tools(name: str) -> frozenset[str]:
    """All names of the tools that some agent calls so."""
    groups = [group for agent in registry.hosts() for group in registry.tool_groups(agent) if name in group]
    return frozenset().union(*groups)


def _warning(phase: PhaseSpec, name: str, agents: list[str]) -> Diagnostic:
    message = f"`{name}` means nothing to {', '.join(f'`{agent}`' for agent in agents)}"
    general = [_general(name)] if name.startswith("mcp__") else sorted(VOCABULARY.keys() & _same_tools(name))
    instead = " or ".join(f"`{other}`" for other in general)
    hint = f"write {instead}, which means the same to every agent" if general else "add that agent's name for it"
    warning = of_file("tool-elsewhere", phase.file, message, hint, "warning")
    return _located(warning, name)


def _located(warning: Diagnostic, name: str) -> Diagnostic:
    """The warning at the name in the file. A spec does not store the place of every name, so the file is read again."""
    from handrail.source.files import Opened, Root, decode
    from handrail.source.frontmatter import split_front_matter
    from handrail.source.simpleyaml import read_yaml
    from handrail.source.yamltree import as_text

    folder, base = os.path.split(warning.file)
    opened = Root(os.path.dirname(folder)).open(folder, base)
    if not isinstance(opened, Opened):
        return warning
    source = decode(warning.file, opened.data)[0]
    parts = split_front_matter(source.text)
    tree = read_yaml(parts[0], 2)[0] if parts is not None else None
    node = next((item for item in _listed(tree) if as_text(item) == name), None) if tree is not None else None
    if node is None:
        return warning
    return warning._replace(line=node.line, column=node.column, width=node.width, excerpt=source.line(node.line))


def _listed(tree: Node) -> list[Node]:
    """The items of both lists."""
    tools = tree.value.get("tools") if tree.kind == "mapping" else None
    if tools is None or tools.kind != "mapping":
        return []
    lists = [tools.value.get(field) for field in ("blacklist", "whitelist")]
    return [item for node in lists if node is not None and node.kind == "list" for item in node.value]
