"""A launch: resume, continue or restart the last run, or begin a new one with params, routes, scope and limits.

Nothing begins before everything is valid: what is wrong stands next to its field. The result is the id of the run,
or None. The run is driven by another process, as `handrail run --detach` does.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.css.query import NoMatches
from textual.widget import MountError, Widget
from textual.widgets import Static

from handrail.base.errors import HandrailError
from handrail.tui.decisions import with_trust
from handrail.tui.forms.controls import Press, footer_keys, keys_of, safe_line, safe_text
from handrail.tui.forms.launch_options import NEW, Offered
from handrail.tui.forms.screen import LATER, SHOW, FormAction, FormParts, FormScreen
from handrail.view.actions import Actions, LaunchForm, ResumeMode, WrongFields
from handrail.view.launch import offer_launch, preview_launch, save_routes

if TYPE_CHECKING:
    from handrail.tui.app import HandrailApp

T = TypeVar("T")


class LaunchScreen(FormScreen):
    """The launch of one flow or workflow; its name may begin with its kind, as in `workflow:ship`.

    `offered` is what `offer_launch` says, if it is known already.
    """

    DEFAULT_CSS = """
    LaunchScreen { align: center middle; background: $background 60%; }
    LaunchScreen #box {
        width: 78; max-width: 100%; height: auto; max-height: 100%; border: solid $border; background: $background;
    }
    LaunchScreen.-wide #box { width: 96%; height: 90%; }
    LaunchScreen #head, LaunchScreen #foot { display: none; }
    LaunchScreen #panes { height: auto; }
    LaunchScreen.-wide #panes { height: 1fr; }
    LaunchScreen #fields, LaunchScreen #beside { height: auto; max-height: 100%; }
    LaunchScreen #beside { min-height: 3; }
    LaunchScreen.-wide #fields { width: 76; height: 100%; }
    LaunchScreen.-wide #beside { height: 100%; }
    LaunchScreen #buttons { align-horizontal: center; }
    """
    BINDINGS = [Binding("ctrl+s", "launch", "launch"), Binding("ctrl+d", "preview", "preview", priority=True)]
    WIDE = 116
    """The fields need 76 columns."""
    TO_FIELDS = "Fields ^D"

    def __init__(
        self,
        actions: Actions,
        name: str,
        offered: Mapping[str, Any] | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self.actions = actions
        self.called = name
        self.offered = offered
        self.now = now
        self.rows: Offered | None = None
        self._is_busy = False

    def parts(self) -> FormParts:
        return FormParts(
            [Static(Content(" Reading the definition…"), id="reading")],
            [Static(Content.styled("^D shows what would happen, step by step.", "dim"), id="lines")],
            [
                FormAction("launch", "Launch ^S", self.action_launch, disabled=True),
                FormAction(SHOW, "Preview ^D", self.action_preview),
                FormAction(LATER, "Cancel Esc", self.action_later),
            ],
        )

    async def on_mount(self) -> None:
        name = self.called.removeprefix("flow:").removeprefix("workflow:")
        self.query_one("#box", Vertical).border_title = cast("str", Content.assemble("Launch ", safe_line(name)))
        if self.offered is None:
            self.run_worker(self._read())
        else:
            await self._show(self.offered)

    async def _read(self) -> None:
        try:
            found = await asyncio.to_thread(offer_launch, self.actions.app, self.called)
        except HandrailError as error:
            self.say_wrong(_words(error))
            self.query_one("#reading", Static).update(Content("It cannot be launched."))
            self.query_one(f"#{LATER}", Press).focus()
        else:
            await self._show(found)

    async def _show(self, offered: Mapping[str, Any]) -> None:
        self.offered = offered
        self.rows = Offered(offered, self.now())
        with contextlib.suppress(NoMatches, MountError):  # the screen may be closed meanwhile
            await self.query_one("#reading", Static).remove()
            await self.query_one("#fields", VerticalScroll).mount(self.rows)
            self.query_one("#launch", Press).disabled = False
            self._mode_changed()
            self.rows.first().focus(scroll_visible=False)

    def _mode_changed(self) -> None:
        assert self.rows is not None
        self.query_one("#launch", Press).say(f"{self.rows.verb} ^S")
        self.query_one(f"#{SHOW}", Press).display = self.rows.mode == NEW

    def changed(self, source: Widget) -> None:
        del source
        if self.rows is not None:
            self._mode_changed()
        self.draw(self.focused)

    def draw(self, control: Widget | None) -> None:
        """Say at the lower edge what the keys do in the focused field, and what the field is for.

        The buttons stay on the screen: what is above them and the problems is scrolled.
        """
        about = self.rows.about_field(control) if self.rows is not None else ""
        keys = footer_keys([("", about)] if about else keys_of(control) if control is not None else ())
        self.query_one("#box", Vertical).border_subtitle = cast("str", keys)
        wrong, width = self.query_one("#wrong", Static), max(20, min(76, self.size.width - 2))
        lines = wrong.get_content_height(self.size, self.size, width) if self.has_class("-wrong") else 0
        most = None if self.has_class("-wide") else self.size.height - 3 - lines
        self.query_one("#panes", Horizontal).styles.max_height = most

    def go_on(self, source: Widget) -> None:
        """Enter: the next field or button."""
        del source
        self.focus_next()

    def action_launch(self) -> None:
        """Begin what was chosen, in the background. What is wrong is said, and then nothing has begun."""
        if self.rows is not None and not self._is_busy:
            self._is_busy = True
            self.run_worker(self._launch(self.rows))

    async def _launch(self, rows: Offered) -> None:
        wanted = rows.mode, rows.run, rows.start, rows.wanted(self.called)

        async def begin() -> str:
            return await asyncio.to_thread(self._begin, *wanted)

        run = await self._tried(rows, with_trust(cast("HandrailApp", self.app), begin))
        if run is not None:
            self.dismiss(run)

    async def _tried(self, rows: Offered, work: Awaitable[T]) -> T | None:
        """The result of some work on what is filled in. If it is refused, say why: the result is None."""
        rows.say({})
        self.remove_class("-wrong")
        try:
            return await work
        except WrongFields as error:
            others = rows.say({problem.field: problem.message for problem in error.problems})
            self.cover(is_covered=False)
            if others:
                self.say_wrong("\n".join(f"{field} {message}" for field, message in others.items()))
            rows.first_wrong().focus()
        except HandrailError as error:
            self.say_wrong(_words(error))
        finally:
            self._is_busy = False
        return None

    def _begin(self, mode: str, run: str, start: str | None, wanted: LaunchForm) -> str:
        if mode != NEW:
            self.actions.again(run, cast("ResumeMode", mode), start)
            return run
        saving = self.rows.routes.saving if self.rows is not None else None
        if saving is not None:
            preview_launch(self.actions.app, wanted)  # nothing is saved for a launch that is refused
            where, name = saving
            known = self.offered["id"] if self.offered is not None else self.called
            save_routes(self.actions.app, "flow" if where == "flow" else "preset", name or str(known), wanted.routes)
        return self.actions.launch(wanted)

    def action_preview(self) -> None:
        """Show what a new run would do, step by step."""
        if self.is_covered:
            self.cover(is_covered=False)
        elif self.rows is not None and self.rows.mode == NEW and not self._is_busy:
            self._is_busy = True
            self.run_worker(self._preview(self.rows))

    async def _preview(self, rows: Offered) -> None:
        work = asyncio.to_thread(preview_launch, self.actions.app, rows.wanted(self.called))
        found = await self._tried(rows, work)
        if found is not None:
            lines = [*found["lines"], "", str(found["estimate"]), *found["warnings"]]
            self.query_one("#lines", Static).update(safe_text("\n".join(map(str, lines))))
            self.cover(is_covered=True)

    def action_later(self) -> None:
        """Close. What was sent is not taken back: while it begins, the screen stays."""
        if not self._is_busy:
            super().action_later()


def _words(error: HandrailError) -> str:
    return f"{error.message}\nhint: {error.hint}" if error.hint else error.message
