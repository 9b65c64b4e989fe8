"""What all screens share: head, panes, one line of news, the keys; moving, finding, help, the size that is needed.

A screen is drawn at most five times a second, and less often on a terminal that is slow to write. News are shown for
some seconds, on the screen on which they were told, and only while they are true.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Set
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input

from handrail.tui import keys
from handrail.tui.context import Feed
from handrail.tui.decisions import answer_question, is_asked
from handrail.tui.keys import HelpScreen, PaletteScreen
from handrail.tui.lines.words import Piece, TextLine, Times, cell, line, wrapped
from handrail.tui.widgets import Bar, Listing
from handrail.view.rows.home import nodes_with_interruption, with_interruption
from handrail.view.rows.rows import Row
from handrail.view.rows.run_tree import NODES
from handrail.view.text.columns import columns

if TYPE_CHECKING:
    from handrail.tui.app import HandrailApp

FASTEST, SLOWEST = 0.2, 1.0
SLOW = 0.1
"""In seconds: a drawing that took longer halves the rate."""


class Pace:
    """The interval between two drawings."""

    def __init__(self) -> None:
        self.interval = FASTEST
        self._last_start = float("-inf")

    def wait(self, now: float) -> float:
        """How long to wait until the next drawing may begin."""
        return max(0.0, self._last_start + self.interval - now)

    def begin(self, now: float) -> None:
        self._last_start = now

    def note_duration(self, seconds: float) -> None:
        """Take note of how long a drawing took until it was written."""
        if seconds > SLOW:
            self.interval = min(SLOWEST, self.interval * 2)


LEAST = (60, 16)
HOLD = 1.0
"""In seconds after a key press: no line moves in this time."""
TWO_PANES, THREE_PANES = 100, 140
FIND, FIND_NEXT = "find", "find_again(1)"
MODIFIERS = ("shift", "control", "alt", "super", "hyper", "meta", "lock")
"""How the names of keys end that are nothing by themselves."""


def bindings_of(screen: str) -> list[BindingType]:
    """The bindings of a screen, as Textual wants them.

    A key goes to the list first, and its binding is run later; a key that has priority is done at once. The field for
    `find` has to have the focus before the next key is given to somebody.
    """
    return [Binding(key.keys, key.id, show=False, priority=key.id == FIND) for key in keys.keys_of_screen(screen)]


class Frame(Screen[None], inherit_bindings=False):
    """A screen with a head, panes, a line of news and its keys. `draw` shows everything as it is now.

    It has only the keys of the table, none of Textual's.
    """

    NAME: ClassVar[str] = keys.HOME
    HAS_TABS: ClassVar[bool] = False
    COUNTS: ClassVar[bool] = True
    wraps = False
    AUTO_FOCUS = "Listing"
    DEFAULT_CSS = """
    Frame { layout: vertical; overflow: hidden; background: $background; }
    Frame #panes { height: 1fr; }
    Frame .pane { height: 1fr; width: 1fr; }
    Frame Input { display: none; height: 1; border: none; padding: 0; background: $background; }
    Frame.-finding Input { display: block; }
    Frame.-finding #notice { display: none; }
    Frame #small { display: none; }
    Frame.-small #small { display: block; }
    Frame #tabs { display: none; }
    Frame.-tabs #tabs { display: block; }
    Frame.-small > *, Frame.-small #tabs { display: none; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.pace = Pace()
        self.needle = ""
        self._draw_timer: Timer | None = None
        self._search_list: Listing | None = None
        self._clock: Timer | None = None
        self._counts = False

    @property
    def top(self) -> HandrailApp:
        return cast("HandrailApp", self.app)

    @property
    def times(self) -> Times:
        return self.top.times

    def compose(self) -> ComposeResult:
        yield Listing("small", takes_focus=False)
        yield Bar("head")
        yield Bar("tabs")
        with Horizontal(id="panes"):
            yield from self.panes()
        yield Bar("notice")
        yield Input(id="find", placeholder="find", compact=True)
        yield Bar("keys")

    def panes(self) -> Iterable[Widget]:
        """The widgets between head and keys."""
        raise NotImplementedError

    def draw(self, *, is_held: bool = False) -> None:
        """Show everything as it is now. If held, no line moves."""
        raise NotImplementedError

    def on_mount(self) -> None:
        self.set_class(self.HAS_TABS, "-tabs")
        self._arm()
        self.redraw()

    def on_screen_resume(self) -> None:
        self.redraw()

    def on_resize(self) -> None:
        self.call_after_refresh(self.redraw)

    def _fit(self) -> bool:
        """False if the terminal is too small: then one sentence says so, and nothing else is shown."""
        size = self.app.size
        is_small = size.width < LEAST[0] or size.height < LEAST[1]
        self.set_class(is_small, "-small")
        if is_small:
            text = f"handrail needs {LEAST[0]}×{LEAST[1]}, this is {size.width}×{size.height}. "
            count = self.top.need_count
            parts = wrapped(f"{text}{count} {'needs' if count == 1 else 'need'} you. q quits", size.width - 1)
            self.query_one("#small", Listing).show([line(None, part) for part in parts])
        return not is_small

    def mark_stale(self) -> None:
        """Something changed: draw soon, but not more often than the terminal can take."""
        if self._draw_timer is not None or not self.is_mounted or self.app.screen is not self:
            return
        wait = self.pace.wait(time.monotonic())
        if wait <= 0:
            self._draw_stale()
        else:
            self._draw_timer = self.set_timer(wait, self._draw_stale)

    def _draw_stale(self) -> None:
        self._draw_timer = None
        start = time.monotonic()
        self.pace.begin(start)
        self.redraw(is_held=self.top.is_held(HOLD))
        self.call_after_refresh(lambda: self.pace.note_duration(time.monotonic() - start))

    @property
    def goes_on(self) -> bool:
        """True if something on this screen is counted in seconds."""
        return self.COUNTS

    @property
    def _is_counting(self) -> bool:
        """True if the screen may change within a second although nothing happens: a count, or news that go away."""
        return self.goes_on or bool(self.top.news_on(self))

    def _arm(self) -> None:
        """Draw again in a second if something may change by then, else when the minute changes."""
        if self._clock is not None:
            self._clock.stop()
        self._counts = self._is_counting
        self._clock = self.set_timer(1.0 if self._counts else 60.0 - self.times.now % 60.0, self._tick)

    def _tick(self) -> None:
        self._arm()
        self.mark_stale()

    def redraw(self, *, is_held: bool = False) -> None:
        if self.app.is_running and self.is_mounted and self.size.width and self._fit():
            self.set_class(self.size.width >= TWO_PANES, "-wide")
            self.draw(is_held=is_held)
            self.query_one("#notice", Bar).show((Piece(cell(self.notice, self.size.width)),))
            self._draw_keys()
            if self._is_counting != self._counts:
                self._arm()

    @property
    def notice(self) -> str:
        return self.top.news_on(self) or self.top.standing_notice

    def _draw_keys(self) -> None:
        """The keys that fit, those at the left of the table first; help and quit always."""
        pieces: list[Piece] = []
        usable_keys = [key for key in keys.keys_of_screen(self.NAME) if self.is_usable(key.id)]
        footer_keys = [key for key in usable_keys if key.id == FIND_NEXT or key.short]
        footer_keys.sort(key=lambda key: key.id != FIND_NEXT)  # while something is searched, its key is first
        ends = [key for key in footer_keys if key.id in ("help", "quit")]
        room = self.size.width - sum(columns(f"{key.label} {key.short}  ") for key in ends)
        for key in [*(key for key in footer_keys if key not in ends), *ends]:
            label = self.label(key.id) or key.short or "next"
            width = columns(f"{self.top.look.key(key.label)} {label}  ")
            if key not in ends:
                if room < width:
                    continue
                room -= width
            pieces += [Piece(self.top.look.key(key.label), "bold", key.id), Piece(f" {label}  ")]
        self.query_one("#keys", Bar).show(pieces)

    def _do(self, action: str) -> None:
        self.run_worker(self.run_action(action), exclusive=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """In a terminal that is too small nothing is seen, so no key does anything but quit.

        While text to find is typed, `/` is a part of it.
        """
        del parameters
        if action == FIND and self.has_class("-finding"):
            return False
        return action == "quit" or not self.has_class("-small")

    def ignores(self, key: str) -> bool:
        """True if a key does nothing here and a person should know. Shift and the like are only a part of a key."""
        is_part = key.endswith(MODIFIERS)
        return not is_part and not self.has_class("-small") and key not in self.active_bindings

    def is_usable(self, action: str) -> bool:
        """False if a key would do nothing now, so the footer leaves it out."""
        return action != FIND_NEXT or bool(self.needle)

    def label(self, action: str) -> str:
        """What the footer calls a key now; empty for its usual name."""
        del action
        return ""

    @property
    def listing(self) -> Listing:
        """The list that the keys move: the focused one, else the first that is shown."""
        focused = self.focused
        if isinstance(focused, Listing):
            return focused
        return next(one for one in self.query(Listing) if one.display)

    def action_move(self, by: int) -> None:
        self.listing.move(by)

    def action_page(self, by: int) -> None:
        self.listing.page(by)

    def action_pane(self, by: int) -> None:
        if by > 0:
            self.focus_next(Listing)
        else:
            self.focus_previous(Listing)

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self.NAME))

    def action_palette(self) -> None:
        def do_action(action: str | None) -> None:
            if action is not None:
                self._do(action)

        self.app.push_screen(PaletteScreen(self.NAME), do_action)

    def action_catalog(self) -> None:
        self.top.catalog()

    def action_wrap(self) -> None:
        self.wraps = not self.wraps
        self.redraw()

    async def action_quit(self) -> None:
        await self.top.leave()

    def action_clear(self) -> None:
        self.refresh(layout=True)
        self.redraw()

    def action_back(self) -> None:
        self.dismiss()

    def action_escape(self) -> None:
        if not self.close_find():
            self.action_back()

    def action_find(self) -> None:
        self._search_list = self.listing
        self.add_class("-finding")
        field = self.query_one("#find", Input)
        field.value = ""
        self.set_focus(field)

    def close_find(self) -> bool:
        """End the search. False if there is none."""
        was_open = bool(self.needle) or self.has_class("-finding")
        self.needle = ""
        self.remove_class("-finding")
        if was_open:
            self.listing.focus()
        return was_open

    @on(Input.Submitted, "#find")
    def _find(self, event: Input.Submitted) -> None:
        self.remove_class("-finding")
        self.needle = event.value
        target = self._search_list or self.listing
        target.focus()
        if self.needle:
            self.find_from(target, 1)

    @on(Input.Changed, "#find")
    def _take_needle(self, event: Input.Changed) -> None:
        self.needle = event.value

    def find_from(self, listing: Listing, by: int) -> None:
        if not listing.find(self.needle, by):
            self.top.tell(f"`{self.needle}` is not in this list")

    def action_find_again(self, by: int) -> None:
        if self.needle:
            self.find_from(self.listing, by)
        else:
            self.top.tell("nothing is searched: / finds")

    @on(Listing.Opened)
    def _open_clicked(self, event: Listing.Opened) -> None:
        event.stop()
        self._do("open")


class Views(Frame):
    """A run or session with numbered views.

    `view` is the number of the one that is shown, `topic` what is followed, `folds` what the person folded, by id.
    """

    HAS_TABS = True
    TITLES: ClassVar[tuple[str, ...]] = ()

    def __init__(self, topic: str) -> None:
        super().__init__()
        self.topic = topic
        self.view = 1
        self.folds: dict[str, bool] = {}
        self.feed = Feed(topic, self.mark_stale)

    def on_mount(self) -> None:
        self.run_worker(self.feed.run(self.top.hub, self.top.project.clock))

    @property
    def id_there(self) -> str:
        return self.topic.partition(":")[2]

    @property
    def head(self) -> Row:
        return with_interruption(self.feed.head, self._entry)

    @property
    def _entry(self) -> Row | None:
        """The row of home about the same run or session."""
        return next((row for row in self.top.entries if row["id"] == self.topic), None)

    @property
    def topic_name(self) -> str:
        return str(self.head.get("name") or self.id_there)

    def section(self, name: str) -> list[Row]:
        rows = self.feed.section(name)
        return nodes_with_interruption(rows, self._entry) if name == NODES else rows

    def pane(self, id_: str) -> Listing:
        return self.query_one(f"#{id_}", Listing)

    def instead(self, subject: str, hint: str = "") -> list[TextLine]:
        return self.feed.instead(subject, self.size.width, f"{self.id_there} cannot be read: ", hint)

    def action_view(self, number: int) -> None:
        raise NotImplementedError

    def draw_tabs(self, counts: Mapping[int, object]) -> None:
        """The titles of all views, with what is counted in them."""
        pieces = [Piece(" ")]
        for number, name in enumerate(self.TITLES, 1):
            text = f"{number} {name} {counts.get(number) or ''}".rstrip()
            pieces += [Piece(text, "on" if number == self.view else "", f"view({number})"), Piece("  ")]
        self.query_one("#tabs", Bar).show(pieces)

    def is_usable(self, action: str) -> bool:
        if action == "answer":
            return is_asked(self.top) or any(not row.get("answered") for row in self.section("needs"))
        return super().is_usable(action)

    def action_answer(self) -> None:
        answer_question(self.top, self.topic)

    def action_neighbour(self, by: int) -> None:
        self.top.neighbour(self.topic, by)


NEWS_SECONDS = 10.0
"""In seconds, of the clock of the project."""
NeedKey = tuple[str, object]
"""What needs a person: the id of a run or session, and since when its question is open."""


def need_key(row: Row) -> NeedKey:
    return str(row["id"]), (row.get("need") or {}).get("since")


class News(NamedTuple):
    """`about`: the news are true as long as this needs a person. None if they do not depend on that."""

    text: str
    at: float
    screen: object
    about: NeedKey | None = None

    def is_shown(self, screen: object, now: float, needs: Set[NeedKey]) -> bool:
        is_true = self.about is None or self.about in needs
        return screen is self.screen and now < self.at + NEWS_SECONDS and is_true
