"""Who works on a launch: a preset, the agent and model of each group of steps, and where a choice is saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from handrail.source.plain import some
from handrail.topics.signs import ROUNDS
from handrail.tui.dialogs.controls import Changed, Line, Press, Slot
from handrail.tui.dialogs.picks import Pick
from handrail.tui.dialogs.texts import in_line

NONE = "none chosen"
RUN, FLOW, PRESET = "run", "flow", "preset"
_SAVED = ((RUN, "this run"), (FLOW, "this flow"), (PRESET, "a preset"))


class Routes(Vertical):
    """The routes of a launch. Nothing is saved here: `saving` says what is to be saved."""

    DEFAULT_CSS = """
    Routes, Routes > Horizontal, Routes #groups { height: auto; }
    Routes > Horizontal > .title { width: 13; }
    Routes #edited, Routes #edited > Horizontal { height: auto; display: none; }
    Routes.-edits #edited, Routes.-edits #edited > Horizontal { display: block; }
    Routes.-edits #edited > Horizontal { layout: horizontal; }
    Routes.-edits #groups { display: none; }
    Routes #edited .group { width: 13; }
    Routes #saved { width: 1fr; display: none; }
    Routes.-names #saved { display: block; }
    """

    def __init__(
        self, groups: Sequence[Mapping[str, Any]], presets: Mapping[str, Mapping[str, str]], agents: Sequence[str]
    ) -> None:
        super().__init__()
        self.groups = groups
        self.presets = presets
        known = [("", "flow default"), *((name, name) for name in presets)]
        self.preset = Pick("preset", known)
        choices = [("", NONE), *((name, name) for name in agents)]
        self.agents = {str(row["group"]): Pick("", choices, str(row.get("agent") or "")) for row in groups}
        self.models = {str(row["group"]): Line(str(row.get("model") or ""), compact=True) for row in groups}
        self.where = Pick("for", _SAVED)
        self.called = Line(compact=True)

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Static(Content(" Agents"), classes="title")
            if not self.groups:
                yield Static(Content.styled(" no step has an agent to choose", "dim"))
            else:
                yield self.preset
                yield Press("edit", id="edit")
        if not self.groups:
            return
        yield Static(self._words(), id="groups")
        with Vertical(id="edited"):
            for group, pick in self.agents.items():
                with Horizontal():
                    yield Static(Content.assemble("   ", in_line(group)), classes="group")
                    yield pick
                    yield Slot("model", self.models[group])
            with Horizontal():
                yield Static(Content("   Use it"), classes="group")
                yield self.where
                yield Slot("name", self.called, id="saved")

    @property
    def is_edited(self) -> bool:
        return self.has_class("-edits")

    @property
    def chosen(self) -> dict[str, str]:
        """The routes that were edited, by group; empty if the preset or the flow decides."""
        if not self.is_edited:
            return {}
        found = {}
        for group, pick in self.agents.items():
            model = self.models[group].answer.strip()
            if pick.value:
                found[group] = f"{pick.value}:{model}" if model else pick.value
        return found

    @property
    def saving(self) -> tuple[str, str] | None:
        """Where the edited routes are to be saved: `flow`, or `preset` and its name; None for this run only."""
        if not self.is_edited or self.where.value == RUN:
            return None
        return self.where.value, self.called.answer.strip()

    @on(Press.Pressed, "#edit")
    def _edit(self, event: Press.Pressed) -> None:
        event.stop()
        self.toggle_class("-edits")
        self.query_one("#edit", Press).say("do not edit" if self.is_edited else "edit")
        if self.is_edited and self.agents:
            next(iter(self.agents.values())).focus()

    @on(Changed)
    def _changed(self, event: Changed) -> None:
        if event.source is self.preset:
            self.query_one("#groups", Static).update(self._words())
            for group, pick in self.agents.items():
                agent, _, model = self._route(group).partition(":")
                pick.value = agent
                self.models[group].value = model
        self.set_class(self.where.value == PRESET, "-names")

    def _route(self, group: str) -> str:
        """The route of a group under the chosen preset."""
        own = next((str(row.get("route") or "") for row in self.groups if row["group"] == group), "")
        preset = self.presets.get(self.preset.value, {})
        return str(preset.get(group) or preset.get("default") or own)

    def _words(self) -> Content:
        rows = [
            Content.assemble(
                "   ",
                in_line(row["group"]).pad_right(max(0, 10 - len(str(row["group"])))),
                in_line(self._route(str(row["group"])) or NONE).pad_right(
                    max(1, 18 - len(self._route(str(row["group"])) or NONE))
                ),
                in_line(_steps(row.get("steps") or ()), "dim"),
            )
            for row in self.groups
        ]
        return Content("\n").join(rows)


def _steps(steps: Sequence[Mapping[str, Any]]) -> str:
    """`look, verdict (↻3)`."""
    names = []
    for step in steps:
        rounds = int(step.get("rounds") or 1)
        name = str(step["step"]).rpartition("/")[2]
        names.append(f"{name} ({ROUNDS.char}{rounds})" if rounds > 1 else name)
    return some(names, 6)
