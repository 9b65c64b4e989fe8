"""Checks the names in `tools`: a name that no agent has is probably misspelt, and then the list does nothing."""

from __future__ import annotations

from collections.abc import Iterable

from handrail import STEP_TOOL, registry
from handrail.source.fields import Reader
from handrail.source.suggest import nearest
from handrail.source.yamltree import Node, as_text

SUPPORTED = "supported: Handrail's names (`bash`), an agent's own names (`Bash`), and `mcp:SERVER/TOOL`"

READING = frozenset(
    ["read", "search", "grep", "find", "ls", "fetch", STEP_TOOL, "Read", "Grep", "Glob", "LS", "WebFetch", "WebSearch"]
)
WRITING_HINT = "add `write`, `edit` or `bash` to `whitelist`, or remove the check"


def can_write(allow: tuple[str, ...] | None) -> bool:
    """True if a phase with this whitelist may allow a tool that writes files. Most tools might."""
    return allow is None or not READING.issuperset(allow)


def check_tool_names(tools: Reader) -> None:
    """Report forms that are not supported, names that no agent has, and whitelists that match nothing in an agent."""
    for field in ("blacklist", "whitelist"):
        node: Node | None = tools.node.value.get(field)
        if node is None or node.kind != "list":
            continue
        items = [(item, as_text(item)) for item in node.value if item.kind not in ("list", "mapping")]
        known = registry.known_tools()
        doubtful = [(item, name) for item, name in items if name not in known]
        wrong = [item for item, name in doubtful if _has_wrong_form(tools, item, name)]
        for item, name in doubtful:
            if item not in wrong:
                _check_name(tools, item, name)
        if field == "whitelist" and items and not wrong:
            _check_hosts(tools, node, [name for _, name in items])


def _has_wrong_form(tools: Reader, item: Node, name: str) -> bool:
    if "(" in name:
        message = f"`{name}` limits the arguments of a tool, which is not supported"
        hint = f"write the name of the tool: `{name.partition('(')[0].strip()}`; {SUPPORTED}"
    elif "*" in name or "?" in name:
        message, hint = f"`{name}` is a pattern, which is not supported", f"write each tool by its name; {SUPPORTED}"
    elif _is_incomplete(name):
        message, hint = f"`{name}` names no tool of a server", "write `mcp:SERVER/TOOL`"
    elif not name.strip():
        message, hint = "the name of a tool is blank", SUPPORTED
    else:
        return False
    tools.on(item, "tool-form", message, hint)
    return True


def _is_incomplete(name: str) -> bool:
    """True if the name of a server's tool lacks the server or the tool."""
    for begin, between in (("mcp:", "/"), ("mcp__", "__")):
        if name.startswith(begin):
            return not all(name.removeprefix(begin).partition(between)[::2])
    return False


def _check_name(tools: Reader, item: Node, name: str) -> None:
    hint = unknown_tool(name, registry.hosts())
    if hint is not None:
        place = (item.line, item.column, item.width)
        tools.at(place, "tool-unknown", f"there is no tool `{name}`", hint, "warning")


def unknown_tool(name: str, hosts: Iterable[str]) -> str | None:
    """A hint for a tool that none of these hosts has; None if one of them may have it."""
    if name.startswith(("mcp:", "mcp__")):
        return None
    names = [names for host in hosts for names in registry.tool_names(host)]
    if name == STEP_TOOL or any(name in some for some in names):
        return None
    known = {STEP_TOOL}.union(*names)
    alike = sorted(other for other in known if other[:1].islower() is name[:1].islower())
    same = [other for other in sorted(known) if other.casefold() == name.casefold()]
    near = same or nearest(name, alike) or nearest(name, sorted(known))
    return f"did you mean `{near[0]}`?" if near else f"no agent that Handrail knows has it; {SUPPORTED}"


def _check_hosts(tools: Reader, node: Node, names: list[str]) -> None:
    """Warn if an agent has none of the tools of a whitelist: every call would be denied there."""
    if any(name.startswith(("mcp:", "mcp__")) for name in names):
        return
    for host in registry.installable():
        now, former = registry.tool_names(host)
        if not now.isdisjoint(names) or (former | now).isdisjoint(names):
            continue
        message = f"`{host}` has none of these tools, so every call would be denied there"
        hint = "add a tool that it has, such as `read` or `bash`"
        tools.at((node.line, node.column, node.width), "tool-nowhere", message, hint, "warning")
