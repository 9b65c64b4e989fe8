"""Removes old runs and ended sessions of one project, and what killed processes left of worktrees.

What is active or waits for a person is never removed. A run is kept if its worktree has work that is nowhere else.
The artifacts of a removed run, with their history, stay on the shelf of their scope: other runs refer to them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Literal

from handrail.base.dataclasses import dataclass, field
from handrail.driven.runs.runs import Runs
from handrail.driven.runs.state import ENDED
from handrail.driven.runs.summary import Summary, moment
from handrail.driven.worktrees.project_worktrees import Worktrees
from handrail.guided.sessions.sessions import Sessions, last_change, remove_session
from handrail.guided.sessions.store import LEFT

INTERRUPTED = "interrupted"
DAMAGED = "damaged"
RUN_STATUSES = (*ENDED, INTERRUPTED)
SESSION_STATUSES = ("done", "cancelled")
STATUSES = tuple(dict.fromkeys((*RUN_STATUSES, *SESSION_STATUSES)))
MONTH = 30 * 86_400.0


@dataclass(frozen=True)
class PruneRule:
    """What is removed: all that is true for it has to be true. `keep` is a number of the newest runs and sessions.

    With `damaged`, only damaged runs are chosen, and they are put aside instead of removed. With `leftovers`, what is
    left of worktrees after a kill is removed, too.
    """

    older_than: float | None = None
    keep: int | None = None
    statuses: tuple[str, ...] = ()
    damaged: bool = False
    leftovers: bool = False


@dataclass(frozen=True)
class PruneItem:
    """A run, a session, or a leftover of a worktree. `ended` is when it changed last; None if that is not known."""

    kind: Literal["run", "session", "worktree"]
    id: str
    name: str
    status: str
    ended: float | None
    run: str | None = None

    def to_json(self) -> dict[str, Any]:
        about = {"kind": self.kind, "id": self.id, "name": self.name or None}
        return {**about, "status": self.status, "ended": moment(self.ended)}


@dataclass(frozen=True)
class Pruned:
    """What was removed, or would be, and how many runs and sessions are left. `held`: leftovers that hold work."""

    removed: list[PruneItem]
    kept: int
    held: list[str] = field(default_factory=list)


def items_to_remove(items: Iterable[PruneItem], rule: PruneRule, now: float) -> list[PruneItem]:
    """The items of one kind that a rule removes. A later item is newer."""
    statuses = rule.statuses or (*ENDED, *SESSION_STATUSES)
    allowed = [item for item in items if item.status in ((DAMAGED,) if rule.damaged else STATUSES)]
    candidates = allowed[: -rule.keep or None] if rule.keep else allowed
    if rule.older_than is not None:
        before = now - rule.older_than
        candidates = [item for item in candidates if item.ended is not None and item.ended <= before]
    return candidates if rule.damaged else [item for item in candidates if item.status in statuses]


def prune(
    runs: Runs, sessions: Sessions, worktrees: Worktrees, rule: PruneRule, now: float, *, dry_run: bool
) -> Pruned:
    """Remove what a rule chooses. With `dry_run`, only say what that is."""
    all_runs = [_run_item(summary) for summary in runs.engine.summaries()]

    def has_work(item: PruneItem) -> bool:
        """True if a run has a worktree with work that is nowhere else: it is kept with its run."""
        return bool(worktrees.of_run(item.id)) and asyncio.run(worktrees.would_lose(item.id))

    ended_ids = {item.id for item in all_runs if item.status in ENDED}
    all_sessions = _session_items(sessions, ended_ids)
    items = [item for item in items_to_remove(all_runs, rule, now) if not has_work(item)]
    removed_ids = {item.id for item in items}
    if not rule.damaged:
        own_sessions = [item for item in all_sessions if item.run is not None and item.run in removed_ids]
        items += own_sessions + items_to_remove([item for item in all_sessions if item not in own_sessions], rule, now)
    if not dry_run:
        for item in items:
            for tree in worktrees.of_run(item.id) if item.kind == "run" and not rule.damaged else ():
                asyncio.run(worktrees.remove(tree, force=False))
        items = [item for item in items if _remove(runs, sessions, item, aside=rule.damaged, removed_ids=removed_ids)]
    count = len(all_runs) + len(all_sessions) - len(items)
    removed, blocked = _prune_leftovers(runs, worktrees, dry_run=dry_run) if rule.leftovers else ([], [])
    return Pruned([*items, *removed], count, blocked)


def _prune_leftovers(runs: Runs, worktrees: Worktrees, *, dry_run: bool) -> tuple[list[PruneItem], list[str]]:
    """Remove what kills left of worktrees. What holds work is kept, and named."""
    if worktrees.is_empty:
        return [], []
    ids = frozenset(runs.engine.ids())
    leftovers = asyncio.run(worktrees.leftovers(ids.__contains__))
    blocked = [leftover.words for leftover in leftovers if leftover.work is not None]
    removable = [leftover for leftover in leftovers if leftover.work is None]
    if not dry_run:
        removable = [leftover for leftover in removable if asyncio.run(worktrees.sweep(leftover))]
    return [PruneItem("worktree", one.run or one.name, one.name, one.kind, None) for one in removable], blocked


def _remove(runs: Runs, sessions: Sessions, item: PruneItem, *, aside: bool, removed_ids: set[str]) -> bool:
    """Remove a run or a session. False if it is used again by now."""
    if item.kind == "run":
        return runs.engine.remove(item.id, aside=aside)
    return remove_session(sessions.session(item.id), is_orphan=item.run in removed_ids)


def _run_item(summary: Summary) -> PruneItem:
    status = "running" if summary.driver is not None else INTERRUPTED if summary.is_interrupted else summary.status
    return PruneItem("run", summary.id, summary.flow, status, summary.ended or summary.started)


def _session_items(sessions: Sessions, run_ids: set[str]) -> list[PruneItem]:
    """The sessions, the oldest first. A session that cannot be read may be active."""
    items = []
    for report in sessions.reports():
        status: str = report.state.status if report.refusal is None else "active"
        if report.state.is_active and report.run in run_ids:
            status = LEFT
        time = last_change(sessions.session(report.session))
        name = report.plan.name if report.plan is not None else ""
        items.append(PruneItem("session", report.session, name, status, time, report.run))
    return sorted(items, key=lambda item: (item.ended or 0.0, item.id))
