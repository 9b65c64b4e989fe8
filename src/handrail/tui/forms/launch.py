"""A launch: resume, continue or restart the last run, or begin a new one with params, routes, scope and limits.

Nothing begins before everything is valid: what is wrong stands next to its field. The result is the id of the run,
or None. The run is driven by another process, as `handrail run --detach` does.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.css.query import NoMatches
from textual.css.styles import RulesMap
from textual.screen import ModalScreen
from textual.widget import MountError, Widget
from textual.widgets import Static

from handrail.base.errors import HandrailError
from handrail.tui.forms.controls import Changed, Press, footer_keys, keys_of, safe_line, safe_text
from handrail.tui.forms.launch_options import NEW, Offered
from handrail.view.actions import Actions, LaunchForm, ResumeMode, WrongFields
from handrail.view.launch import offer_launch, preview_launch, save_routes
from handrail.view.text.columns import FAILED

WIDE = 116
"""From this width on, the preview stands beside the fields, which need 76 columns."""
Begin = Callable[[], Awaitable[str]]


class LaunchScreen(ModalScreen[str | None]):
    """The launch of one flow or workflow; its name may begin with its kind, as in `workflow:ship`.

    `offered` is what `offer_launch` says, if it is known already. `trusting` begins the run, and asks for trust
    if that is missing.
    """

    DEFAULT_CSS = """
    LaunchScreen { align: center middle; }
    LaunchScreen #box {
        width: 78; max-width: 100%; height: auto; max-height: 100%; border: solid $border; background: $background;
    }
    LaunchScreen.-wide #box { width: 96%; height: 90%; }
    LaunchScreen #panes { height: auto; }
    LaunchScreen.-wide #panes { height: 1fr; }
    LaunchScreen #rows { width: 1fr; height: auto; max-height: 100%; scrollbar-size-vertical: 1; }
    LaunchScreen #preview {
        width: 1fr; height: auto; min-height: 3; max-height: 100%; display: none; scrollbar-size-vertical: 1;
        border-left: solid $border-blurred; padding: 0 1;
    }
    LaunchScreen.-wide #preview, LaunchScreen.-shows-preview #preview { display: block; }
    LaunchScreen.-shows-preview #rows { display: none; }
    LaunchScreen.-shows-preview #preview { border-left: none; }
    LaunchScreen.-wide.-shows-preview #rows { display: block; }
    LaunchScreen.-wide #rows { width: 76; height: 100%; }
    LaunchScreen.-wide #preview { height: 100%; }
    LaunchScreen #wrong { height: auto; color: $text-error; display: none; }
    LaunchScreen.-wrong #wrong { display: block; }
    LaunchScreen #buttons { height: 1; align-horizontal: center; }
    """
    BINDINGS = [
        Binding("ctrl+s", "launch", "launch"),
        Binding("ctrl+d", "preview", "preview", priority=True),
        Binding("escape", "cancel", "cancel"),
        Binding("pageup", "page(-1)", "scroll", show=False, priority=True),
        Binding("pagedown", "page(1)", "scroll", show=False, priority=True),
    ]
    AUTO_FOCUS = ""

    def __init__(
        self,
        actions: Actions,
        name: str,
        offered: Mapping[str, Any] | None = None,
        now: Callable[[], float] = time.time,
        trusting: Callable[[Begin], Awaitable[str]] | None = None,
    ) -> None:
        super().__init__()
        self.actions = actions
        self.called = name
        self.offered = offered
        self.now = now
        self.trusting = trusting
        self.rows: Offered | None = None
        self._is_busy = False
        self._before: Widget | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            name = self.called.removeprefix("flow:").removeprefix("workflow:")
            box.border_title = cast("str", Content.assemble("Launch ", safe_line(name)))
            with Horizontal(id="panes"):
                with VerticalScroll(id="rows", can_focus=False):
                    yield Static(Content(" Reading the definition…"), id="reading")
                with VerticalScroll(id="preview", can_focus=False):
                    yield Static(Content.styled("^D shows what would happen, step by step.", "dim"), id="lines")
            yield Static(id="wrong")
            with Horizontal(id="buttons"):
                yield Press("Launch ^S", id="launch", disabled=True)
                yield Press("Preview ^D", id="show")
                yield Press("Cancel Esc", id="cancel")

    async def on_mount(self) -> None:
        if self.offered is None:
            self.run_worker(self._read())
        else:
            await self._show(self.offered)

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width >= WIDE, "-wide")
        self._fit(0)

    def _fit(self, lines: int) -> None:
        """Keep the buttons on the screen: what is above them, below these lines of problems, is scrolled."""
        is_wide = self.has_class("-wide")
        self.query_one("#panes", Horizontal).styles.max_height = None if is_wide else self.size.height - 3 - lines

    async def _read(self) -> None:
        try:
            found = await asyncio.to_thread(offer_launch, self.actions.app, self.called)
        except HandrailError as error:
            self._say(_words(error))
            self.query_one("#reading", Static).update(Content("It cannot be launched."))
            self.query_one("#cancel", Press).focus()
        else:
            await self._show(found)

    async def _show(self, offered: Mapping[str, Any]) -> None:
        self.offered = offered
        self.rows = Offered(offered, self.now())
        with contextlib.suppress(NoMatches, MountError):  # the screen may be closed meanwhile
            await self.query_one("#reading", Static).remove()
            await self.query_one("#rows", VerticalScroll).mount(self.rows)
            self.query_one("#launch", Press).disabled = False
            self._mode_changed()
            self.rows.first().focus(scroll_visible=False)

    def _mode_changed(self) -> None:
        assert self.rows is not None
        self.query_one("#launch", Press).say(f"{self.rows.verb} ^S")
        self.query_one("#show", Press).display = self.rows.mode == NEW

    @on(Changed)
    def _changed(self) -> None:
        self.remove_class("-wrong")
        self._fit(0)
        if self.rows is not None:
            self._mode_changed()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Say at the lower edge what the keys do in the focused field, and what the field is for."""
        about = self.rows.about_field(event.widget) if self.rows is not None else ""
        told = footer_keys([("", about)] if about else keys_of(event.widget))
        self.query_one("#box", Vertical).border_subtitle = cast("str", told)

    def go_on(self, source: Widget) -> None:
        """Enter: the next field or button."""
        del source
        self.focus_next()

    @on(Press.Pressed)
    async def _pressed(self, event: Press.Pressed) -> None:
        event.stop()
        match event.button.id:
            case "launch":
                self.action_launch()
            case "show":
                self.action_preview()
            case "cancel":
                self.action_cancel()

    def action_launch(self) -> None:
        """Begin what was chosen, in the background. What is wrong is said, and then nothing has begun."""
        if self.rows is not None and not self._is_busy:
            self._is_busy = True
            self.run_worker(self._launch(self.rows))

    async def _launch(self, rows: Offered) -> None:
        wanted = rows.mode, rows.run, rows.start, rows.wanted(self.called)

        async def begin() -> str:
            return await asyncio.to_thread(self._begin, *wanted)

        rows.say({})
        self.remove_class("-wrong")
        try:
            run = await (self.trusting(begin) if self.trusting is not None else begin())
        except WrongFields as error:
            self._say_wrong(rows, error)
        except HandrailError as error:
            self._say(_words(error))
        else:
            self.dismiss(run)
        finally:
            self._is_busy = False

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

    def _say_wrong(self, rows: Offered, error: WrongFields) -> None:
        others = rows.say({problem.field: problem.message for problem in error.problems})
        self.remove_class("-shows-preview")
        if others:
            self._say("\n".join(f"{field} {message}" for field, message in others.items()))
        rows.first_wrong().focus()

    def _say(self, text: str) -> None:
        told = Content.assemble(f" {FAILED.char} ", safe_text(text))
        self.add_class("-wrong")
        self.query_one("#wrong", Static).update(told)
        self._fit(told.get_height(RulesMap(), max(20, min(76, self.size.width - 2))))

    def action_preview(self) -> None:
        """Show what a new run would do, step by step."""
        if self.rows is not None and self.rows.mode == NEW and not self._is_busy:
            if self._covers:
                self._show_fields()
                return
            self._is_busy = True
            self.run_worker(self._preview(self.rows))

    async def _preview(self, rows: Offered) -> None:
        rows.say({})
        self.remove_class("-wrong")
        try:
            found = await asyncio.to_thread(preview_launch, self.actions.app, rows.wanted(self.called))
        except WrongFields as error:
            self._say_wrong(rows, error)
        except HandrailError as error:
            self._say(_words(error))
        else:
            lines = [*found["lines"], "", str(found["estimate"]), *found["warnings"]]
            self.query_one("#lines", Static).update(safe_text("\n".join(map(str, lines))))
            self._before = self.focused
            self.add_class("-shows-preview")
            self.query_one("#show", Press).say("Fields ^D" if self._covers else "Preview ^D")
        finally:
            self._is_busy = False

    def action_cancel(self) -> None:
        """Close. What was sent is not taken back: while it begins, the screen stays."""
        if self._is_busy:
            return
        if self._covers:
            self._show_fields()
        else:
            self.dismiss(None)

    @property
    def _covers(self) -> bool:
        """True if the preview covers the fields."""
        return self.has_class("-shows-preview") and not self.has_class("-wide")

    def _show_fields(self) -> None:
        self.remove_class("-shows-preview")
        self.query_one("#show", Press).say("Preview ^D")
        if self._before is not None:
            self._before.focus(scroll_visible=False)

    def action_page(self, by: int) -> None:
        shows = self.has_class("-shows-preview")
        pane = self.query_one("#preview" if shows else "#rows", VerticalScroll)
        pane.scroll_relative(y=by * max(1, pane.size.height - 1), animate=False)


def _words(error: HandrailError) -> str:
    return f"{error.message}\nhint: {error.hint}" if error.hint else error.message
