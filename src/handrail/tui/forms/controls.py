"""What a person fills in: a line, a text of several lines, choices, and buttons. Each works by keyboard alone.

The focused control has the sign `▌`, so that it can be found without colour. Foreign text is cleaned, bounded, and
never markup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from textual import events
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.css.styles import RulesMap
from textual.geometry import Region, Size
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Button, Input, Static, TextArea

from handrail.source.output_text import MAX_LINE_LENGTH, clean, clean_line

MOST_LINES = 5_000
"""Lines of one text that are shown."""


def safe_text(text: object, style: str = "") -> Content:
    """Text with line breaks, as it is safe to show. What is left out is counted."""
    full_text = "" if text is None else str(text)
    lines = full_text.split("\n", MOST_LINES)
    if len(lines) > MOST_LINES:
        remainder = lines.pop()
        lines.append(f"… ({remainder.count(chr(10)) + 1} more lines)")
    return Content.styled(clean("\n".join(lines)), style)


def safe_line(text: object, style: str = "") -> Content:
    return Content.styled(clean(" ".join(str(text or "").split())), style)


def at_both_ends(start: Content, end: Content, width: int) -> Content:
    """Two texts at both ends of a line. The left one is cut if there is no room."""
    room = max(0, width - end.cell_length - 2)
    start = start.truncate(room, ellipsis=True)
    return Content.assemble(start, " " * max(1, width - start.cell_length - end.cell_length), end)


def footer_keys(pairs: Iterable[tuple[str, str]]) -> Content:
    parts: list[Content | tuple[str, str] | str] = []
    for key, words in pairs:
        parts += ["  "] * bool(parts) + [(key, "bold"), f" {words}"]
    return Content.assemble(*parts)


HERE = "▌"
_ROWS = 3


class Changed(Message):
    """A control has another value."""

    def __init__(self, source: Widget) -> None:
        super().__init__()
        self.source = source


@runtime_checkable
class Goes(Protocol):
    """A screen in which Enter goes from one control to the next.

    It is called at once, not by a message: keys that follow quickly have to reach the next control.
    """

    def go_on(self) -> None: ...


def keys_of(control: Widget | None) -> list[tuple[str, str]]:
    """What keys do in a control, for a footer."""
    match control:
        case Lines():
            return [("Enter", "new line"), ("Tab", "next")]
        case Choices(is_multiple=True, choices=(_,)):
            return [("Space", "toggle"), ("Enter", "next")]
        case Choices(is_multiple=True):
            return [("↑ ↓", "move"), ("Space", "toggle"), ("Enter", "next")]
        case Choices():
            return [("↑ ↓", "choose"), ("Enter", "next")]
        case Press():
            return [("Enter", "press it"), ("Tab", "next")]
        case _:
            return [("Enter", "next")]


def go_on(source: Widget) -> None:
    """Go from a control, in which Enter was pressed, to the next one."""
    if isinstance(source.screen, Goes):
        source.screen.go_on()


class Line(Input):
    """Text in one line. Unless it is edited, `start` is sent unchanged, also if it cannot be shown unchanged."""

    DEFAULT_CSS = "Line { width: 1fr; &.-textual-compact { height: 1; } }"
    BINDINGS = [
        Binding("down", "leave(1)", "next field", show=False),
        Binding("up", "leave(-1)", "previous field", show=False),
    ]

    def __init__(self, start: str = "", placeholder: str = "", *, compact: bool = False) -> None:
        self.start = start
        self.start_shown = clean_line(start)
        hint = clean_line(placeholder)
        super().__init__(self.start_shown, hint, compact=compact, select_on_focus=False)
        self.cursor_blink = False

    @property
    def answer(self) -> str:
        return self.start if self.value == self.start_shown else self.value

    def on_paste(self, event: events.Paste) -> None:
        event.text = clean(event.text)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(Changed(self))

    async def action_submit(self) -> None:
        go_on(self)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """↑ and ↓ are left to a screen without further fields."""
        del parameters
        return action != "leave" or isinstance(self.screen, Goes)

    def action_leave(self, by: int) -> None:
        if by > 0:
            self.screen.focus_next()
        else:
            self.screen.focus_previous()


class Label(Static):
    """A label. It has the sign of focus while a control beside it or below it is focused."""

    def __init__(self, text: Content) -> None:
        super().__init__(Content.assemble(" ", text), classes="label")
        self.text = text

    def on_mount(self) -> None:
        self.watch(self.screen, "focused", self._focus_moved)

    def _focus_moved(self, focused: Widget | None) -> None:
        is_here = focused is not None and self.parent in focused.ancestors
        self.update(Content.assemble(HERE if is_here else " ", self.text))


class Slot(Horizontal):
    """A line with its label before it, in brackets, in one row."""

    DEFAULT_CSS = """
    Slot { height: 1; width: 1fr; }
    Slot Static { width: auto; }
    """

    def __init__(self, label: str, line: Line, *, id: str | None = None) -> None:  # noqa: A002 - of Textual
        super().__init__(Label(Content.assemble(safe_line(label), " [")), line, Static(Content("]")), id=id)


class Lines(TextArea):
    """Text in several lines. A text that is too long cannot be edited: it is shown in part, and sent unchanged."""

    DEFAULT_CSS = "Lines { width: 1fr; border: solid $border-blurred; &:focus { border: solid $border; } }"

    def __init__(self, start: str = "", rows: int | None = None, placeholder: str = "") -> None:
        self.start = start
        self.start_shown = clean(start)
        is_long = any(len(line) > MAX_LINE_LENGTH for line in start.split("\n"))
        super().__init__(
            self.start_shown, soft_wrap=True, show_line_numbers=False, placeholder=clean(placeholder), read_only=is_long
        )
        self.cursor_blink = False
        self.styles.height = 2 + min(12, max(_ROWS, rows or 0))

    @property
    def answer(self) -> str:
        return self.start if self.text == self.start_shown else self.text

    def on_paste(self, event: events.Paste) -> None:
        event.text = clean(event.text)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self.post_message(Changed(self))


class ChoiceItem(NamedTuple):
    value: str
    label: str
    about: str = ""


class Choices(Widget, can_focus=True):
    """One or several of some choices. In one line if they fit, otherwise one line each.

    With `is_required`, one of them is always chosen.
    """

    DEFAULT_CSS = "Choices { width: 1fr; height: auto; }"
    BINDINGS = [
        Binding("left,up", "move(-1)", "previous", show=False),
        Binding("right,down", "move(1)", "next", show=False),
        Binding("home", "move(-1000000)", "first", show=False),
        Binding("end", "move(1000000)", "last", show=False),
        Binding("space", "choose", "toggle", show=False),
        Binding("enter", "done", "next field", show=False),
    ]

    def __init__(
        self,
        choices: Sequence[ChoiceItem],
        values: Sequence[str] = (),
        *,
        is_multiple: bool = False,
        is_required: bool = False,
    ) -> None:
        super().__init__()
        self.is_required = is_required
        self.choices = tuple(choices)
        self.is_multiple = is_multiple
        self._selected_values = list(values)
        self.cursor = next((place for place, one in enumerate(self.choices) if one.value in self._selected_values), 0)

    @property
    def values(self) -> list[str]:
        return [one.value for one in self.choices if one.value in self._selected_values]

    def offer(self, choices: Sequence[ChoiceItem]) -> None:
        """Show other choices. What was chosen among those that are gone is remembered, in case they return."""
        if tuple(choices) != self.choices:
            self.choices = tuple(choices)
            self.cursor = min(self.cursor, max(0, len(choices) - 1))
            self.refresh(layout=True)

    def action_move(self, by: int) -> None:
        if not self.choices:
            return
        has_begun = self.is_multiple or bool(self.values)
        self.cursor = min(max(0, self.cursor + (by if has_begun or abs(by) > 1 else 0)), len(self.choices) - 1)
        if not self.is_multiple:
            self._choose([self.choices[self.cursor].value])
        self.refresh()
        self._reveal()

    def action_choose(self) -> None:
        if not self.choices:
            return
        value, values = self.choices[self.cursor].value, self.values
        other_values = [one for one in values if one != value] if self.is_multiple else []
        is_cleared = value in values and not (self.is_required and not other_values)
        self._choose(other_values if is_cleared else [*other_values, value])

    def action_done(self) -> None:
        go_on(self)

    def _choose(self, values: list[str]) -> None:
        if values != self.values:
            self._selected_values = values
            self.refresh(layout=True)
            self.post_message(Changed(self))

    def on_click(self, event: events.Click) -> None:
        if (place := self._place_at(event.x, event.y)) is not None:
            self.cursor = place
            self.refresh()
            self.action_choose()

    def _place_at(self, x: int, y: int) -> int | None:
        edge = 0
        for place, part in enumerate(self._parts(self.content_size.width)):
            size = part.cell_length if self._is_flat(self.content_size.width) else self._height(part)
            edge += size
            if (x if self._is_flat(self.content_size.width) else y) < edge:
                return place
        return None

    def render(self) -> Content:
        return self._content(self.content_size.width)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - of Textual
        return self._content(width).get_height(RulesMap(), max(1, width))

    def _is_flat(self, width: int) -> bool:
        is_short = not any(one.about for one in self.choices) and len(self.choices) <= 8
        return is_short and sum(safe_line(one.label).cell_length + 7 for one in self.choices) - 2 <= width

    def _parts(self, width: int) -> list[Content]:
        values = self.values
        return [self._part(place, one, one.value in values, width) for place, one in enumerate(self.choices)]

    def _part(self, place: int, one: ChoiceItem, is_chosen: bool, width: int) -> Content:
        marks = ("[x]", "[ ]") if self.is_multiple else ("(•)", "( )")
        is_here = self.has_focus and place == self.cursor
        label = Content.assemble(f"{marks[not is_chosen]} ", safe_line(one.label))
        if is_here:
            label = label.stylize("reverse")
        if self._is_flat(width):
            return Content.assemble(HERE if is_here else " ", label, "  ")
        widest = max((safe_line(other.label).cell_length for other in self.choices if other.about), default=0)
        gap = " " * (2 + max(0, min(widest, 24) - safe_line(one.label).cell_length)) if one.about else ""
        return Content.assemble(HERE if is_here else " ", label, gap, safe_line(one.about, "dim"))

    def _content(self, width: int) -> Content:
        if not self.choices:
            return Content.styled(" nothing to choose from", "dim")
        parts = self._parts(width)
        if self._is_flat(width):
            count = len(self.values)
            line = Content.assemble(*parts)
            note = f"  {count} chosen" if self.is_multiple and len(self.choices) > 1 else ""
            return line.append_text(note, "dim") if line.cell_length + len(note) <= width else line.rstrip()
        return Content("\n").join(parts)

    def _height(self, part: Content) -> int:
        return part.get_height(RulesMap(), max(1, self.content_size.width))

    def _reveal(self) -> None:
        """Scroll so that the choice at the cursor can be seen."""
        scroll = next((one for one in self.ancestors if isinstance(one, VerticalScroll)), None)
        if scroll is not None and not self._is_flat(self.content_size.width):
            offset = sum(self._height(part) for part in self._parts(self.content_size.width)[: self.cursor])
            y = self.region.y - scroll.region.y + int(scroll.scroll_y) + offset
            scroll.scroll_to_region(Region(0, y, 1, 1), animate=False)


class Press(Button):
    """A button in one line that does some work. Only Enter presses it, or a click."""

    DEFAULT_CSS = """
    Press, Press:focus, Press:hover {
        width: auto; min-width: 0; height: 1; border: none; padding: 0; margin: 0 2 0 0;
        background: transparent; color: $foreground; text-style: none; text-align: left; content-align: left middle;
    }
    Press:focus { text-style: bold reverse; }
    Press:ansi.-style-default:disabled { text-style: dim; border: none !important; }
    """

    def __init__(self, id: str, text: str, work: Callable[[], None], *, disabled: bool = False) -> None:  # noqa: A002 - of Textual
        self.work = work
        self.text = self.first_text = text
        super().__init__(self._words(is_here=False), id=id, disabled=disabled, compact=True)
        self.styles.line_pad = 0

    def _words(self, *, is_here: bool) -> Content:
        return Content(f"{HERE if is_here else ' '}[ {clean_line(self.text)} ]")

    def get_content_width(self, container: Size, viewport: Size) -> int:  # noqa: ARG002 - of Textual
        return self._words(is_here=False).cell_length

    def say(self, text: str) -> None:
        self.text = text
        self.label = self._words(is_here=self.has_focus)
        self.refresh(layout=True)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.work()

    def on_focus(self) -> None:
        self.label = self._words(is_here=True)

    def on_blur(self) -> None:
        self.label = self._words(is_here=False)


_WIDEST = 24


class Pick(Choices):
    """Values with labels in one line, of which only the chosen one is shown."""

    DEFAULT_CSS = "Pick { width: auto; height: 1; margin: 0 2 0 0; }"

    def __init__(self, label: str, values: Sequence[tuple[str, str]], value: str = "") -> None:
        start = value if value in dict(values) else next((one for one, _ in values), "")
        super().__init__([ChoiceItem(*one) for one in values], [start], is_required=True)
        self.label = label

    @property
    def value(self) -> str:
        return self.choices[self.cursor].value if self.choices else ""

    @value.setter
    def value(self, value: str) -> None:
        self._go(next((place for place, one in enumerate(self.choices) if one.value == value), self.cursor))

    def action_choose(self) -> None:
        self.action_move(1)

    def on_key(self, event: events.Key) -> None:
        letter = event.character or ""
        if len(letter) == 1 and letter.isalnum():
            order = [*range(self.cursor + 1, len(self.choices)), *range(self.cursor + 1)]
            fits = (place for place in order if self.choices[place].label.casefold().startswith(letter.casefold()))
            self._go(next(fits, self.cursor))
            event.stop()

    def on_click(self, event: events.Click) -> None:
        event.prevent_default()
        self._go((self.cursor + 1) % max(1, len(self.choices)))

    def _go(self, place: int) -> None:
        self.action_move(place - self.cursor)

    def _is_flat(self, width: int) -> bool:
        del width
        return True

    def render(self) -> Content:
        text = self.choices[self.cursor].label if self.choices else "–"
        value = Content.assemble("[", safe_line(text).truncate(_WIDEST, ellipsis=True), " ▾]")
        value = value.stylize("reverse") if self.has_focus else value
        label = Content.assemble(safe_line(self.label), " " if self.label else "")
        return Content.assemble(HERE if self.has_focus else " ", label, value)

    def get_content_width(self, container: Size, viewport: Size) -> int:  # noqa: ARG002 - of Textual
        return self.render().cell_length
