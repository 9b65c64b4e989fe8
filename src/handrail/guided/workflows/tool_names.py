"""Reads `tools` of a phase and checks its names: a name that no agent has does nothing.

In Handrail's own files, `tools` that limit nothing are an error, because their author relies on them. A list that names
only another agent's tools limits nothing in an agent. Handrail's own names and `mcp:SERVER/TOOL` mean the same to every
agent, also if it has no such tool.
"""

from __future__ import annotations

from collections.abc import Iterable

from handrail import STEP_TOOL
from handrail.guided.workflows.keys import TOOLS
from handrail.guided.workflows.spec import VOCABULARY
from handrail.source.diagnostics import Diagnostic, file_problem
from handrail.source.fields import MappingReader
from handrail.source.suggestions import nearest
from handrail.source.tree import TreeNode, node_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from handrail.extensions.registry import Registry
    from handrail.guided.workflows.spec import PhaseSpec

SUPPORTED = "supported: Handrail's names (`bash`), an agent's own names (`Bash`), and `mcp:SERVER/TOOL`"

LISTS = {"deny": ("deny", "blacklist"), "allow": ("allow", "whitelist")}
"""The names of both lists."""
LISTS_HINT = "write `deny: [TOOL]` or `allow: [TOOL]`"
SYNONYMS = {
    "deny": ("deny", "denied", "block", "forbid", "disallow", "exclude", "except", "not"),
    "allow": ("allow", "permit", "only", "include", "enable"),
}
READING = frozenset(
    ["read", "search", "grep", "find", "ls", "fetch", STEP_TOOL, "Read", "Grep", "Glob", "LS", "WebFetch", "WebSearch"]
)
_SERVERS = (("mcp:", "/"), ("mcp__", "__"))
"""How the name of a server's tool begins, and what is between the server and the tool."""
WRITING_HINT = "add `write`, `edit` or `bash` to `allow`, or remove the check"


def can_write(allow: tuple[str, ...] | None) -> bool:
    """True if a phase that allows only these tools may allow a tool that writes files. Most tools might."""
    return allow is None or not READING.issuperset(allow)


def read_tools(phase: MappingReader, registry: Registry) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """(denied, allowed) tools of a phase; both None if it limits nothing."""
    node = phase.child("tools", f"{LISTS_HINT} below `tools:`")
    if node is None:
        return None, None
    problems: list[Diagnostic] = []
    tools = MappingReader(phase.source, node, TOOLS, problems.append)
    written = {of: [name for name in names if name in node.value] for of, names in LISTS.items()}
    deny, allow = (tools.texts(names[0]) if names else None for names in written.values())
    if not any(written.values()) and not phase.source.is_foreign and not tools.misspelt & TOOLS.by_name.keys():
        problems = [_no_list(phase, node)]
    for (of, given), names in zip(written.items(), (deny, allow), strict=True):
        is_known = VOCABULARY.keys() >= set(names or ()) or registry.known_tools().issuperset(names or ())
        if names and (of == "allow" or not is_known):
            _check_names(tools, of, given[0], registry)
        if len(given) > 1:
            hint = f"keep one: `{given[0]}` and `{given[1]}` mean the same"
            _refuse_both(phase, node, given, hint)
    for problem in problems:
        phase.report(problem)
    if deny is not None and allow is not None:
        given = [names[0] for names in written.values()]
        _refuse_both(phase, node, given, f"keep one: `{given[0]}` denies its tools, `{given[1]}` denies all others")
    return deny, allow


def _refuse_both(phase: MappingReader, node: TreeNode, names: Sequence[str], hint: str) -> None:
    place = phase.source.key_place(names[1], node.keys[names[1]])
    phase.at(place, "tools-both", f"`{names[0]}` and `{names[1]}` are both given", hint)


def _no_list(phase: MappingReader, node: TreeNode) -> Diagnostic:
    """The problem of a `tools` mapping without a list. If it has a key with a list, that list is probably meant."""
    name = next((name for name, child in node.value.items() if child.kind == "list"), next(iter(node.value), None))
    if name is None:
        message = "`tools` has no list, so it limits nothing"
        return phase.source.problem("tools-open", node.place, message, LISTS_HINT)
    list_name = next((field for field, beginnings in SYNONYMS.items() if name.casefold().startswith(beginnings)), None)
    place = phase.source.key_place(name, node.keys[name])
    message = f"unknown key `{name}`, so `tools` limits nothing"
    hint = f"did you mean `{list_name}`?" if list_name else LISTS_HINT
    return phase.source.problem("tools-open", place, message, hint)


def _check_names(tools: MappingReader, of: str, field: str, registry: Registry) -> None:
    """Report forms that are not supported, names that no agent has, and a list that matches nothing in an agent."""
    node: TreeNode = tools.node.value[field]
    items = [(item, node_text(item)) for item in node.value if item.kind not in ("list", "mapping")]
    doubtful = [(item, name) for item, name in items if name not in registry.known_tools()]
    wrong = [item for item, name in doubtful if _has_wrong_form(tools, item, name)]
    if of == "deny" and not wrong and _denies_nothing(tools, node, field, registry):
        return
    for item, name in doubtful:
        hint = unknown_tool(name, registry.hosts(), registry) if item not in wrong else None
        if hint is not None:
            tools.at(item.place, "tool-unknown", f"there is no tool `{name}`", hint, "warning")
    if of == "allow" and not wrong:
        _check_hosts(tools, node, [name for _, name in items], registry)


def _denies_nothing(tools: MappingReader, node: TreeNode, field: str, registry: Registry) -> bool:
    """Report a list of denied tools without a single name that an agent has."""
    names = [node_text(item) for item in node.value if item.kind not in ("list", "mapping")]
    if tools.source.is_foreign or not registry.known_tools().isdisjoint(names):
        return False
    hints = [unknown_tool(name, registry.hosts(), registry) or "" for name in names]
    if not all(hints):
        return False
    begin = "did you mean "
    suggestions = dict.fromkeys(hint[len(begin) : -1] for hint in hints if hint.startswith(begin))
    hint = (
        f"{begin}{', '.join(suggestions)}?"
        if suggestions
        else f"no agent that Handrail knows has these tools; {SUPPORTED}"
    )
    tools.on(node, "tools-open", f"`{field}` has no tool that an agent has, so it denies nothing", hint)
    return True


def _has_wrong_form(tools: MappingReader, item: TreeNode, name: str) -> bool:
    if "(" in name:
        message = f"`{name}` limits the arguments of a tool, which is not supported"
        hint = f"write the name of the tool: `{name.partition('(')[0].strip()}`; {SUPPORTED}"
    elif "*" in name or "?" in name:
        message, hint = f"`{name}` is a pattern, which is not supported", f"write each tool by its name; {SUPPORTED}"
    elif any(name.startswith(begin) and not all(name[len(begin) :].partition(end)[::2]) for begin, end in _SERVERS):
        message, hint = f"`{name}` names no tool of a server", "write `mcp:SERVER/TOOL`"
    elif not name.strip():
        message, hint = "the name of a tool is blank", SUPPORTED
    else:
        return False
    tools.on(item, "tool-form", message, hint)
    return True


def unknown_tool(name: str, hosts: Iterable[str], registry: Registry) -> str | None:
    """A hint for a tool that none of these hosts has; None if one of them may have it."""
    if name.startswith(("mcp:", "mcp__")):
        return None
    names = [names for host in hosts for names in registry.tool_names(host)]
    if name == STEP_TOOL or any(name in group for group in names):
        return None
    known_names = {STEP_TOOL}.union(*names)
    alike = sorted(other for other in known_names if other[:1].islower() is name[:1].islower())
    same_names = [other for other in sorted(known_names) if other.casefold() == name.casefold()]
    suggestions = same_names or nearest(name, alike) or nearest(name, sorted(known_names))
    return f"did you mean `{suggestions[0]}`?" if suggestions else f"no agent that Handrail knows has it; {SUPPORTED}"


def _check_hosts(tools: MappingReader, node: TreeNode, names: list[str], registry: Registry) -> None:
    """Warn if an agent has none of the tools that are allowed: every call would be denied there."""
    if any(name.startswith(("mcp:", "mcp__")) for name in names):
        return
    for host in registry.installable():
        now, former = registry.tool_names(host)
        if not now.isdisjoint(names) or (former | now).isdisjoint(names):
            continue
        message = f"`{host}` has none of these tools, so every call would be denied there"
        hint = "add a tool that it has, such as `read` or `bash`"
        tools.at(node.place, "tool-nowhere", message, hint, "warning")


def not_understood(phases: Iterable[PhaseSpec], agents: Sequence[str], registry: Registry) -> list[Diagnostic]:
    """A warning for each name in a list of these phases that means nothing to one of the agents."""
    warnings = []
    for phase in phases:
        for names in (phase.deny, phase.allow):
            for name in dict.fromkeys(names or ()):
                if name in VOCABULARY or name == STEP_TOOL or name.startswith("mcp:"):
                    continue
                strangers = [agent for agent in agents if _is_nothing(name, names or (), agent, registry)]
                if strangers:
                    warnings.append(_warning(phase, name, strangers, registry))
    return warnings


def _is_nothing(name: str, names: Iterable[str], agent: str, registry: Registry) -> bool:
    """True if an agent has no tool of this name, and the list has no other name for the same tool that it knows."""
    now, former = registry.tool_names(agent)
    if name.startswith("mcp__"):
        return _general(name) not in names and _general(name) not in registry.host(agent).aliases(name)
    if name in now or name in former or name not in registry.known_tools():
        return False
    same_tools = _same_tools(name, registry)
    return not any(other in same_tools and (other in VOCABULARY or other in now | former) for other in names)


def _general(name: str) -> str:
    """`mcp__SERVER__TOOL` as every agent understands it."""
    server, _, tool = name.removeprefix("mcp__").partition("__")
    return f"mcp:{server}/{tool}"


def _same_tools(name: str, registry: Registry) -> frozenset[str]:
    """All names of the tools that some agent calls so."""
    groups = [group for agent in registry.hosts() for group in registry.tool_groups(agent) if name in group]
    return frozenset().union(*groups)


def _warning(phase: PhaseSpec, name: str, agents: list[str], registry: Registry) -> Diagnostic:
    message = f"`{name}` means nothing to {', '.join(f'`{agent}`' for agent in agents)}"
    same_tools = VOCABULARY.keys() & _same_tools(name, registry)
    general = [_general(name)] if name.startswith("mcp__") else sorted(same_tools)
    replacement = " or ".join(f"`{other}`" for other in general)
    hint = f"write {replacement}, which means the same to every agent" if general else "add that agent's name for it"
    return _at_name(file_problem("tool-elsewhere", phase.file, message, hint, "warning"), name)


def _at_name(warning: Diagnostic, name: str) -> Diagnostic:
    """The warning at the name in the file. A spec does not store the place of every name, so the file is read again."""
    from handrail.source.definition_files import reopen
    from handrail.source.yaml_text import read_yaml, split_front_matter

    source = reopen(warning.file)
    parts = split_front_matter(source.text) if source is not None else None
    tree = read_yaml(parts[0], 2)[0] if parts is not None else None
    node = next((item for item in _list_items(tree) if node_text(item) == name), None)
    if source is None or node is None:
        return warning
    return warning._replace(line=node.line, column=node.column, width=node.width, excerpt=source.line(node.line))


def _list_items(tree: TreeNode | None) -> list[TreeNode]:
    """The items of all lists."""
    tools = tree.value.get("tools") if tree is not None and tree.kind == "mapping" else None
    if tools is None or tools.kind != "mapping":
        return []
    lists = [tools.value.get(field) for field in TOOLS.by_name]
    return [item for node in lists if node is not None and node.kind == "list" for item in node.value]
