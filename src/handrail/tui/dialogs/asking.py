"""Short questions with a few answers: stop a run, quit, resume. The first answer is preselected; Esc is the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen

from handrail.tui.drawing.words import Piece, line, wrapped
from handrail.tui.listing import Bar, Listing

KEEP, STOP, LEAVE, STAY, RELOAD, CREATE, TRUST = "keep", "stop", "leave", "stay", "reload", "create", "trust"
Choice = tuple[str, str]
"""The word that is returned, and the text of the button."""


class Question(ModalScreen[str]):
    """Some lines and a row of answers. ←, → and Tab choose, Enter takes the chosen one."""

    DEFAULT_CSS = """
    Question { align: center middle; background: $background; }
    Question > Vertical { width: 64; max-width: 100%; height: auto; padding: 0 1;
                          border: solid $border; background: $background; }
    """
    BINDINGS = [
        Binding("left,shift+tab", "choose(-1)"),
        Binding("right,tab", "choose(1)"),
        Binding("enter", "take"),
        Binding("escape", "first"),
    ]

    def __init__(self, text: str, choices: Sequence[Choice]) -> None:
        super().__init__()
        self.text = text
        self.choices = list(choices)
        self.chosen = 0

    def compose(self) -> ComposeResult:
        with Vertical():
            for number, line in enumerate(wrapped(self.text, 58)):
                bar = Bar(f"line-{number}")
                bar.show((Piece(line),))
                yield bar
            yield Bar("gap")
            yield Bar("answers")

    def on_mount(self) -> None:
        self._draw()

    def _draw(self) -> None:
        pieces: list[Piece] = []
        actions: dict[int, Callable[[], None]] = {}
        for number, (_, label) in enumerate(self.choices):
            actions[len(pieces)] = partial(self._take, number)
            mark = "▸" if number == self.chosen else " "
            pieces += [Piece(f"{mark}[ {label} ]", "match" if number == self.chosen else ""), Piece(" ")]
        self.query_one("#answers", Bar).show(pieces, actions)

    def _take(self, number: int) -> None:
        self.dismiss(self.choices[number][0])

    def action_choose(self, by: int) -> None:
        self.chosen = (self.chosen + by) % len(self.choices)
        self._draw()

    def action_take(self) -> None:
        self._take(self.chosen)

    def action_first(self) -> None:
        self._take(0)


class StopScreen(Question):
    """Whether to stop a run. Returns `keep` or `stop`."""

    def __init__(self, name: str) -> None:
        text = f"Stop {name}? Finished steps are kept; r resumes."
        super().__init__(text, [(KEEP, "Keep running"), (STOP, "Stop")])


class QuitScreen(Question):
    """What becomes of the runs that were launched here. Returns `leave`, `stop` or `stay`."""

    def __init__(self, count: int) -> None:
        runs = "1 run continues" if count == 1 else f"{count} runs continue"
        stop = {1: "Stop it", 2: "Stop both"}.get(count, "Stop all")
        super().__init__(
            f"{runs} without this screen.",
            [(LEAVE, "Leave them running" if count > 1 else "Leave it running"), (STOP, stop), (STAY, "Stay")],
        )

    def action_first(self) -> None:
        self.dismiss(STAY)


class CancelScreen(Question):
    """Whether to cancel the workflow of a session. Returns `keep` or `stop`."""

    def __init__(self, name: str) -> None:
        text = f"Cancel {name}? The agent is no longer kept to the workflow; its conversation goes on."
        super().__init__(text, [(KEEP, "Keep it"), (STOP, "Cancel the workflow")])


class ReloadScreen(Question):
    """Whether to load the files of a workflow again. Returns `keep` or `reload`."""

    def __init__(self, name: str) -> None:
        text = f"Load the files of {name} again? The session stays in its phase and gets the new text and gate."
        super().__init__(text, [(KEEP, "Keep as it is"), (RELOAD, "Load again")])


class InitScreen(Question):
    """Whether to create the example in a project that has runs. Returns `keep` or `create`."""

    def __init__(self) -> None:
        text = "Create an example flow and workflow in .handrail/? Files that are there are kept."
        super().__init__(text, [(KEEP, "Not now"), (CREATE, "Create")])


class TrustScreen(Question):
    """Whether to trust a project: why something was refused, and what it would run. Returns `keep` or `trust`."""

    LATER = "With trust it may run programs, now and later. `handrail distrust` takes it back."
    WIDEST = 100
    DEFAULT_CSS = f"TrustScreen > Vertical {{ width: {WIDEST}; }}"
    BINDINGS = [
        Binding("up", "scroll(-1)"),
        Binding("down", "scroll(1)"),
        Binding("pageup", "scroll(-10)"),
        Binding("pagedown", "scroll(10)"),
    ]

    def __init__(self, refusal: str, would_run: str) -> None:
        super().__init__("\n".join([refusal, "", would_run, "", self.LATER]), [(KEEP, "Not now"), (TRUST, "Trust")])

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Listing("told", takes_focus=False)
            yield Bar("gap")
            yield Bar("answers")

    def on_resize(self) -> None:
        """Show all lines; those that do not fit can be scrolled."""
        told = self.query_one("#told", Listing)
        lines = [line(None, part) for part in wrapped(self.text, min(self.WIDEST, self.size.width) - 5)]
        told.styles.height = max(1, min(len(lines), self.size.height - 4))
        told.show(lines)

    def action_scroll(self, by: int) -> None:
        self.query_one("#told", Listing).move(by)


class AgainScreen(Question):
    """How a run goes on. Returns one of the modes, or `stay`."""

    LABELS = {"resume": "Resume", "continue": "Continue", "restart": "Restart"}
    ABOUT = {
        "resume": "Resume keeps the finished steps and goes on where it stopped.",
        "continue": "Continue goes on after its end, with the files that it made.",
        "restart": "Restart begins again with the current definitions. Files that it made are removed; a copy is kept.",
    }

    def __init__(self, name: str, modes: Sequence[str]) -> None:
        labels = [(mode, self.LABELS.get(mode, mode)) for mode in modes]
        told = [self.ABOUT[mode] for mode in modes if mode in self.ABOUT]
        super().__init__("\n".join([f"Run {name} again?", *told]), [*labels, (STAY, "Not now")])

    def action_first(self) -> None:
        self.dismiss(STAY)
