"""What the home screen shows beside its list: the selected run or session in short. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from handrail.topics.rows import Row
from handrail.tui.drawing.session import phase_lines
from handrail.tui.drawing.tree import Tree, tree_lines
from handrail.tui.drawing.views import artifact_lines, at_work, tail_lines, why_lines
from handrail.tui.drawing.words import Line, Piece, Times, line, money, path_words, rule, sign, spell, word

Sections = Callable[[str], list[Row]]


def run_detail(head: Row, sections: Sections, tail: Iterable[Row], times: Times, width: int) -> Iterator[Line]:
    """Status, figures, the tree, the files, the last lines."""
    status = str(head.get("status") or "pending")
    tree = Tree(sections("nodes"))
    first = tree.first()
    at = f" at {path_words(first)}" if first and status not in ("completed",) else ""
    yield line(None, "   ", sign(status), f" {word(status)}{at}")
    took = f"{spell(at_work(head, sections('bars'), times.now))} at work"
    yield line(None, f"   {head.get('done') or 0}/{head.get('total') or 0} steps · {took} · {money(head.get('usage'))}")
    yield from why_lines(head, width)
    folds = {
        id_: True
        for id_, row in tree.rows.items()
        if row.get("status") in ("done", "skipped") and tree.is_foldable(id_)
    }
    for one in tree_lines(tree, folds, times, width, asked(sections("needs"))):
        yield one._replace(id=None)
    artifacts = sections("artifacts")
    if artifacts:
        yield rule("artifacts", width)
        yield from (one._replace(id=None) for one in artifact_lines(artifacts, times, width))
    last = list(tail)[-8:]
    if last:
        yield rule("tail", width)
        yield from tail_lines(last, times, width)


def asked(needs: Iterable[Row]) -> dict[str, str]:
    """The open question of each step, by its path."""
    return {str(row.get("path")): str(row.get("title") or "") for row in needs if not row.get("answered")}


def session_detail(head: Row, sections: Sections, times: Times, width: int) -> Iterator[Line]:
    """Where the agent is, and its phases."""
    status = str(head.get("status") or "none")
    yield line(None, "   ", sign(status), f" {word(status)}  {head.get('statusLine') or ''}")
    yield line(None, Piece(f"   step {head.get('steps') or 0} · sent on {head.get('sentOn') or 0}", "dim"))
    for one in phase_lines(sections("stops"), sections("checks"), {}, head, times, width):
        yield one._replace(id=None)
