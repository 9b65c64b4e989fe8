"""Draws a workflow's plan as a text tree and as a Mermaid diagram. Pure."""

from __future__ import annotations

import itertools

from handrail.sessions.words import allowed_tools
from handrail.source.plain import plain
from handrail.workflows.plan import Plan, Stop


def tree(plan: Plan) -> str:
    """Every phase with its allowed tools and exit checks, indented below its workflow."""
    lines = [plain(f"{plan.name} ({plan.key})")]
    open_levels: list[tuple[str, int]] = []
    for stop in plan.stops:
        above = [(level.key, level.position) for level in stop.levels[:-1]]
        shared = _shared(open_levels, above)
        for depth in range(shared, len(above)):
            inner = stop.levels[depth + 1]
            lines.append(plain(f"{'  ' * (depth + 1)}{above[depth][1] + 1}. {inner.name} ({inner.key})"))
        open_levels = above
        lines.extend(_phase(stop))
    return "\n".join(lines)


def _shared(left: list[tuple[str, int]], right: list[tuple[str, int]]) -> int:
    count = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        count += 1
    return count


def _phase(stop: Stop) -> list[str]:
    indent = "  " * len(stop.levels)
    lines = [f"{indent}{stop.levels[-1].position + 1}. {stop.emoji} {stop.name}"]
    if stop.deny is not None or stop.allow is not None:
        lines.append(f"{indent}   tools: {allowed_tools(stop) or 'none'}")
    lines.extend(f"{indent}   exit: {check.claim}" for check in stop.checks)
    return [plain(line) for line in lines]


def mermaid(plan: Plan) -> str:
    """A flowchart: one node per phase, one box per subworkflow."""
    lines = ["flowchart TD"]
    opened: list[tuple[str, int]] = []
    for at, stop in enumerate(plan.stops):
        above = [(level.key, level.position) for level in stop.levels[:-1]]
        shared = _shared(opened, above)
        lines.extend("  " * depth + "end" for depth in range(len(opened), shared, -1))
        for depth in range(shared, len(above)):
            inner = stop.levels[depth + 1]
            lines.append(f'{"  " * (depth + 1)}subgraph g{at}_{depth}["{_quoted(inner.name)}"]')
        opened = above
        lines.append(f'{"  " * (len(above) + 1)}p{at}["{_quoted(stop.emoji + " " + stop.name)}"]')
    lines.extend("  " * depth + "end" for depth in range(len(opened), 0, -1))
    lines.append("  done([done])")
    ids = [f"p{at}" for at in range(len(plan.stops))] + ["done"]
    lines.extend(f"  {a} --> {b}" for a, b in itertools.pairwise(ids))
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return text.replace("#", "#35;").replace('"', "#quot;").replace("\n", " ")
