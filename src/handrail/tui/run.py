"""A run: the tree of its steps, and seven views. One pane below 100 columns, two from there, three from 140."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from textual import on
from textual.containers import Vertical
from textual.widget import Widget

from handrail.base.errors import NotFound
from handrail.tui import keys
from handrail.tui.decisions import mark_opened, resume_words, run_again, stop_run
from handrail.tui.frame import THREE_PANES, Views, bindings_of
from handrail.tui.lines import run
from handrail.tui.lines.home import question_by_path
from handrail.tui.lines.run_tree import FoldedTree, timeline_lines, tree_lines
from handrail.tui.lines.words import OVER, Piece, TextLine, line, rule
from handrail.tui.reader import LogScreen, edit_file, show_artifact, show_diff, show_step
from handrail.tui.widgets import Bar, Listing
from handrail.view.rows.rows import Row

PROGRESS, TAIL, SUMMARY, ARTIFACTS, CHECKS, TIMELINE, LOG = range(1, 8)


class RunScreen(Views):
    """One run. `view` is the number of the view; `folds` is what the person folded, by id."""

    TITLES = ("Progress", "Tail", "Summary", "Artifacts", "Checks", "Timeline", "Log")
    NAME = keys.RUN
    BINDINGS = bindings_of(keys.RUN)
    DEFAULT_CSS = """
    RunScreen #tree-pane, RunScreen #side-pane { width: 1fr; }
    RunScreen #third { width: 34%; display: none; border-left: solid $border-blurred; }
    RunScreen.-wide #side-pane { border-left: solid $border-blurred; }
    RunScreen.-three #third { display: block; }
    RunScreen #bottom { height: 7; }
    RunScreen #why { display: none; }
    """

    def __init__(self, topic: str) -> None:
        super().__init__(topic)
        self._cleared_to = 0
        self._has_opened = False
        self._placed_id: str | None = None
        self._status: object = None
        self.steps = FoldedTree(())

    def panes(self) -> Iterable[Widget]:
        with Vertical(id="tree-pane"):
            yield Listing("why", takes_focus=False)
            yield Listing("tree")
            yield Bar("tail-title")
            yield Listing("bottom", follows=True)
        with Vertical(id="side-pane"):
            yield Listing("step", takes_focus=False)
            yield Listing("side", follows=True)
        yield Listing("third")

    def draw(self, *, is_held: bool = False) -> None:
        width = self.size.width
        self.set_class(width >= THREE_PANES, "-three")
        self._arrange()
        is_gone = isinstance(self.feed.error, NotFound)
        hint = "" if is_gone else f"`handrail log {self.id_there}` shows the readable part"
        if lines := self.instead("the run", hint):
            self.query_one("#head", Bar).show((Piece(self.id_there, "bold"),))
            self.pane("tree").show(lines)
            return
        head = run.head_pieces(self.head, self.id_there, self.times, width)
        self.query_one("#head", Bar).show(head)
        failed_count = sum(1 for row in self.section("checks") if row.get("held") is False)
        self.draw_tabs({ARTIFACTS: len(self.section("artifacts")), CHECKS: f"✗{failed_count}" if failed_count else ""})
        self.steps = FoldedTree(self.section("nodes"))
        if not self._has_opened:
            self._open_first_step()
        elif not is_held:
            self._go_to_failure()
        self._draw_tree(is_held=is_held)
        self._draw_side(is_held=is_held)

    def _draw_tree(self, *, is_held: bool) -> None:
        """The tree; above it, where it is not scrolled away, why the run ended."""
        tree, reason_pane = self.pane("tree"), self.pane("why")
        width = tree.room(self.size.width)
        reasons = list(run.reason_lines(self.head, width, max(run.MOST_WHY, self.size.height // 4)))
        reason_pane.display, reason_pane.styles.height = bool(reasons), len(reasons)
        reason_pane.show(reasons)
        steps = tree_lines(self.steps, self.folds, self.times, width, question_by_path(self.section("needs")))
        tree.show(list(steps), is_held=is_held)

    def _arrange(self) -> None:
        """Which panes are there: in one pane, the tree with the tail below it, or one other view."""
        is_wide = self.has_class("-wide")
        self.query_one("#tree-pane").display = is_wide or self.view == PROGRESS
        self.query_one("#side-pane").display = is_wide or self.view != PROGRESS
        self.pane("step").display = is_wide and not self.has_class("-three") and self.view in (PROGRESS, TAIL)
        has_bottom = not is_wide and self.view == PROGRESS and self.size.height >= 20
        self.query_one("#tail-title").display = self.pane("bottom").display = has_bottom
        focused = self.focused
        if focused is None or not focused.display or not all(one.display for one in focused.ancestors_with_self):
            self._focus_view()

    def _focus_view(self) -> None:
        self.set_focus(self.pane("tree" if self.view == PROGRESS else "side"))

    def _open_first_step(self) -> None:
        """Open at the question, else the failed step, else the running one, else at the summary.

        A run that has only just begun has none of these: it is opened as soon as it has, unless the person has moved.
        """
        first_step, is_over = self.steps.first_step(), self.head.get("status") in OVER
        tree = self.pane("tree")
        has_moved = tree.selected is not None and tree.selected != next(iter(self.steps.rows), None)
        self._has_opened = first_step is not None or is_over or has_moved
        self._status = self.head.get("status")
        if is_over:
            mark_opened(self.top, self.topic, is_seen=True)
        if has_moved:
            return
        if first_step is not None:
            self._place(first_step)
        elif is_over and self.head.get("summary"):
            self.action_view(SUMMARY)

    def _go_to_failure(self) -> None:
        """If the run fails while it is watched, go to the step that failed, unless the person has moved.

        What a person sees end is nothing new on home.
        """
        status, old_status = self.head.get("status"), self._status
        self._status = status
        if status in OVER and old_status not in OVER and self.is_current:
            mark_opened(self.top, self.topic, is_seen=True)
        first_step, has_moved = self.steps.first_step(), self.pane("tree").selected != self._placed_id
        if status == "failed" and old_status != "failed" and first_step is not None and not has_moved:
            self._place(first_step)

    def _place(self, id_: str) -> None:
        """Select a step for the person, and remember that it was not the person who did it."""
        self._unfold_above(id_)
        self._draw_tree(is_held=False)
        self.pane("tree").select(id_)
        self._placed_id = id_

    def _unfold_above(self, id_: str) -> None:
        parent = self.steps.parent(id_)
        while parent is not None:
            self.folds[parent] = False
            parent = self.steps.parent(parent)

    def _draw_side(self, *, is_held: bool) -> None:
        view = TAIL if self.view == PROGRESS else self.view
        about, side, bottom, third = map(self.pane, ("step", "side", "bottom", "third"))
        if about.display:
            room = about.room(self.size.width)
            is_failed = self.steps.rows.get(self.pane("tree").selected or "", {}).get("status") == "failed"
            max_lines = self.size.height * (2 if is_failed else 1) // 3
            lines = [*list(self._step(room))[:max_lines], self._title(side, room)]
            about.styles.height = len(lines)
            about.show(lines)
        if self.query_one("#side-pane").display:
            side.follows = side.follows if view == TAIL else False
            side.show(list(self._lines(view, side.room(self.size.width))), is_held=is_held and view != TAIL)
        if bottom.display:
            room = bottom.room(self.size.width)
            self.query_one("#tail-title", Bar).show(self._title(bottom, room).pieces)
            bottom.show(list(self._tail(room)))
        if third.display:
            third.show(list(self._step(third.room(50))))

    def _title(self, pane: Listing, width: int) -> TextLine:
        """The heading of the tail: of which step its last line is, and whether it follows."""
        path = self.feed.tail[-1].get("node") if self.feed.tail else None
        title = f"─ tail: {self.steps.place(str(path))}" if path else "─ tail"
        return rule(title, width, "following" if pane.follows else "held: f follows")

    def _lines(self, view: int, width: int) -> Iterable[TextLine]:
        if view == TAIL:
            return self._tail(width)
        if view == SUMMARY:
            return run.summary_lines(self.head, width)
        if view == ARTIFACTS:
            return run.artifact_lines(self.section("artifacts"), self.times, width)
        if view == CHECKS:
            return run.check_lines(self.section("checks"), self.times, width)
        return timeline_lines(self.steps, self.section("bars"), self.folds, self.times, width)

    def _tail(self, width: int) -> Iterable[TextLine]:
        rows = [row for row in self.feed.tail if row.get("n", 0) > self._cleared_to]
        if not rows:
            return [line(None, Piece("   no output yet", "dim"))]
        return run.tail_lines(rows, self.times, width, wraps=self.wraps, lost_count=self.feed.received.lost_count)

    def _step(self, width: int, id_: str | None = None) -> Iterable[TextLine]:
        parts = {name: self.section(name) for name in ("checks", "artifacts")}
        return run.step_lines(self.steps, id_ or self.pane("tree").selected, parts, self.times, width)

    def action_view(self, number: int) -> None:
        if number == LOG:
            self._log()
            return
        self.view = number
        if number in (PROGRESS, TAIL):
            self.pane("side").follows = True
        self.redraw()
        self._focus_view()

    def _log(self) -> None:
        def go_to_path(path: Any) -> None:
            if isinstance(path, str) and path:
                self.go_to(path)

        self.app.push_screen(LogScreen(self.topic, self.topic_name), go_to_path)

    def go_to(self, path: str) -> None:
        self._unfold_above(path)
        self.action_view(PROGRESS)
        self.pane("tree").select(path)

    @on(Listing.Moved, "#tree")
    def _draw_selected(self) -> None:
        self._draw_side(is_held=False)

    def is_usable(self, action: str) -> bool:
        if action == "stop":
            return self.head.get("status") not in OVER
        if action == "open":
            return self._is_at_tree or (self.listing.id == "side" and self.view in (ARTIFACTS, CHECKS))
        if action == "again":
            return bool(self.head.get("modes")) and not self._driver
        return super().is_usable(action)

    def label(self, action: str) -> str:
        if action == "again":
            return resume_words(self.head.get("modes") or ())
        return "show" if action == "open" and self._is_at_artifacts else ""

    @property
    def _driver(self) -> int | None:
        """The process that drives the run; None if there is none."""
        return self.feed.live.get("driver")

    @property
    def _is_at_tree(self) -> bool:
        return self.listing.id == "tree" or (self.listing.id == "side" and self.view == TIMELINE)

    @property
    def _is_at_artifacts(self) -> bool:
        return self.listing.id == "side" and self.view == ARTIFACTS

    @property
    def _step_of_line(self) -> str | None:
        """The step that the selected line is about: a line of the tree, or a check."""
        selected_id = self.listing.selected
        if self.listing.id == "side" and self.view == CHECKS:
            return next((str(row["node"]) for row in self.section("checks") if row["id"] == selected_id), None)
        return selected_id if self._is_at_tree else None

    def action_fold(self, is_folded: bool) -> None:
        """Fold or unfold the selected row; if it is folded already, go to the row above."""
        id_ = self.listing.selected if self._is_at_tree else None
        if id_ is None:
            return
        if self.steps.is_foldable(id_) and self.steps.is_folded(id_, self.folds) != is_folded:
            self.folds[id_] = is_folded
            self.redraw()
        elif is_folded:
            self.listing.select(self.steps.parent(id_))

    def action_open(self) -> None:
        if self._is_at_artifacts:
            self.action_show()
            return
        id_ = self._step_of_line
        if id_ is None:
            return
        if self.steps.is_foldable(id_):
            self.action_fold(not self.steps.is_folded(id_, self.folds))
        else:
            width = self.size.width - 2
            show_step(self.top, self.id_there, id_, self.steps.place(id_), list(self._step(width, id_)), width)

    def action_again(self) -> None:
        if self._driver:
            self.top.tell(f"{self.topic_name} is running")
        else:
            run_again(self.top, self.id_there, self.head)

    def action_stop(self) -> None:
        if self.head.get("status") in OVER:
            self.top.tell(f"{self.topic_name} is over")
        else:
            stop_run(self.top, self.id_there, self.head)

    def action_escape(self) -> None:
        """Close what is open; on a running run, ask whether to stop it; else back."""
        if self.close_find():
            return
        if self.view != PROGRESS:
            self.action_view(PROGRESS)
        elif self._driver and self.head.get("status") not in OVER:
            stop_run(self.top, self.id_there, self.head)
        else:
            self.action_back()

    def action_follow(self) -> None:
        for id_ in ("side", "bottom"):
            self.pane(id_).follows = not self.pane(id_).follows
        self.redraw()

    def action_clear(self) -> None:
        if self.feed.tail:
            self._cleared_to = self.feed.tail[-1].get("n", 0)
        super().action_clear()

    def _artifact(self) -> Row | None:
        selected_id = self.pane("side").selected if self.view == ARTIFACTS else None
        row = next((row for row in self.section("artifacts") if row["id"] == selected_id), None)
        if row is None:
            self.top.tell("select a file in 4 Artifacts first")
        return row

    def action_show(self) -> None:
        if row := self._artifact():
            show_artifact(self.top, row, self.size.width - 2)

    def action_diff(self) -> None:
        if row := self._artifact():
            show_diff(self.top, row, self.size.width - 2)

    def action_edit(self) -> None:
        if row := self._artifact():
            edit_file(self.top, str(row.get("path") or ""))
