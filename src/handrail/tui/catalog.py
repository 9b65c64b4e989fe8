"""The catalog: every definition by source and kind, what is wrong with it, and the launch of one."""

from __future__ import annotations

import os
from collections.abc import Iterable

from textual import on
from textual.widget import Widget

from handrail.base.files import Unreadable, read_limited
from handrail.tui import keys
from handrail.tui.context import Feed
from handrail.tui.frame import Frame, bindings_of
from handrail.tui.lines import catalog
from handrail.tui.lines.words import Piece, line, spread
from handrail.tui.reader import LARGEST, ReaderScreen, edit_at
from handrail.tui.widgets import Bar, Listing
from handrail.view.rows.rows import Row


class CatalogScreen(Frame):
    """All definitions. Enter launches the selected one."""

    NAME = keys.CATALOG
    COUNTS = False
    BINDINGS = bindings_of(keys.CATALOG)
    DEFAULT_CSS = """
    CatalogScreen #panes { layout: vertical; }
    CatalogScreen #detail { height: 8; }
    CatalogScreen.-wide #panes { layout: horizontal; }
    CatalogScreen.-wide #detail { height: 1fr; width: 45%; border-left: solid $border-blurred; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.only_problems = False
        self.toggled_ids: set[str] = set()
        self.feed = Feed("catalog", self.mark_stale)
        self.has_begun = False

    def on_mount(self) -> None:
        self.run_worker(self.feed.run(self.top.hub, self.top.project.clock))

    def panes(self) -> Iterable[Widget]:
        yield Listing("entries")
        yield Listing("detail")

    @property
    def entries(self) -> Listing:
        return self.query_one("#entries", Listing)

    @property
    def rows(self) -> list[Row]:
        rows = sorted(self.feed.section("entries"), key=lambda row: row.get("order") or 0)
        return catalog.listed_rows(rows, only_problems=self.only_problems)

    @property
    def row(self) -> Row | None:
        return next((row for row in self.rows if row["id"] == self.entries.selected), None)

    def is_folded(self, id_: str) -> bool:
        """Sources start folded, except the project; kinds start unfolded. With only problems, nothing is folded."""
        is_source = "/" not in id_
        starts_folded = is_source and id_ != catalog.group_id("project") and not self.only_problems
        return starts_folded != (id_ in self.toggled_ids)

    def draw(self, *, is_held: bool = False) -> None:
        width = self.size.width
        rows, feed = self.rows, self.feed
        prefix = "only problems · " if self.only_problems else ""
        self.query_one("#head", Bar).show(spread("Catalog", f"{prefix}{catalog.head_words(rows)} ", width, "bold"))
        room = self.entries.room(width)
        lines = feed.instead("the definitions", width)
        if not lines:
            for problem in feed.head.get("settings") or ():  # with an error in them, nothing can be launched
                lines += catalog.problem_lines(problem, room, "")
            lines += catalog.catalog_lines(rows, self.is_folded, room)
        self.entries.show(lines or [line(None, Piece("   nothing", "dim"))], is_held=is_held)
        if feed.is_ready and not self.has_begun:
            ids = {str(row["id"]) for row in rows}
            self.has_begun = self.entries.select(next((one.id for one in lines if one.id in ids), None))
        self._draw_detail()

    def _draw_detail(self) -> None:
        pane, row = self.query_one("#detail", Listing), self.row
        pane.show(list(catalog.detail_lines(row, pane.room(self.size.width))) if row is not None else [])

    @on(Listing.Moved, "#entries")
    def _draw_selected(self) -> None:
        self._draw_detail()
        self._draw_keys()

    def is_usable(self, action: str) -> bool:
        row = self.row
        if action in ("edit", "show"):
            return row is not None and bool(row.get("file"))
        if action == "open":
            return row is None or catalog.is_launchable(row)
        return super().is_usable(action)

    def label(self, action: str) -> str:
        if action != "open" or self.row is not None:
            return ""
        return "unfold" if self.is_folded(self.entries.selected or "") else "fold"

    def action_open(self) -> None:
        row, selected_id = self.row, self.entries.selected
        if row is None and selected_id is not None:
            self._turn(selected_id)
        elif row is not None and catalog.is_launchable(row):
            self.top.launch(f"{row['kind']}:{row['key']}")  # a flow and a workflow may have the same name
        elif row is not None:
            self.top.tell(f"{row.get('name')} cannot be launched: see what is wrong with it")

    def _turn(self, id_: str) -> None:
        self.toggled_ids ^= {id_}
        self.redraw()

    def action_fold(self, is_folded: bool) -> None:
        """Fold or unfold the selected group; from what cannot be folded any more, go to the group that it is in."""
        selected_id, row = self.entries.selected or "", self.row
        if row is None and selected_id and self.is_folded(selected_id) != is_folded:
            self._turn(selected_id)
        elif is_folded and row is not None:
            self.entries.select(catalog.group_id(str(row.get("source")), str(row.get("kind"))))
        elif is_folded:
            self.entries.select(selected_id.partition("/")[0])

    def action_problems(self) -> None:
        self.only_problems = not self.only_problems
        self.toggled_ids.clear()
        self.redraw()

    def find_from(self, listing: Listing, by: int) -> None:
        """Find also in what is folded."""
        sources = {catalog.group_id(str(row.get("source"))) for row in self.rows}
        self.toggled_ids = set() if self.only_problems else sources - {catalog.group_id("project")}
        self.redraw()
        super().find_from(listing, by)
        self.call_after_refresh(lambda: listing.select(listing.selected))  # what was unfolded can be scrolled only then

    def _place(self, row: Row) -> tuple[str, int]:
        """The file and the line that a person wants to see: the first problem, else the beginning."""
        problems = row.get("problems") or ()
        problem = next((one for one in problems if one.get("severity") == "error"), None) or next(iter(problems), None)
        if problem is None:
            return str(row["file"]), 1
        return str(problem.get("file") or row["file"]), int(problem.get("line") or 1)

    def action_edit(self) -> None:
        if row := self._with_file():
            edit_at(self.top, *self._place(row))

    def _with_file(self) -> Row | None:
        row = self.row
        if row is None or not row.get("file"):
            self.top.tell("select a definition first")
            return None
        return row

    def action_show(self) -> None:
        row = self._with_file()
        if row is None:
            return
        file, _ = self._place(row)
        try:
            data = read_limited(os.path.join(self.top.project.project, file), LARGEST)
        except Unreadable as error:
            self.top.tell(f"`{file}` {error.message}")
            return
        text = data.decode("utf-8", "replace")
        lines = list(catalog.text_lines(text, row.get("problems") or (), file, self.size.width))
        self.top.push_screen(ReaderScreen(file, lines, file))
