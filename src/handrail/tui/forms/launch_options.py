"""The rows of a launch: what to do with the last run, params, routes, scope, phases, limits, the estimate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from handrail.source.plain_text import some
from handrail.source.values import shown
from handrail.tui.forms.controls import (
    Changed,
    ChoiceItem,
    Choices,
    Line,
    Pick,
    Press,
    Slot,
    safe_line,
    safe_text,
)
from handrail.tui.forms.fields import LABEL, ParamField
from handrail.tui.lines.words import UNKNOWN, age
from handrail.view.actions import TASK, LaunchForm
from handrail.view.text.columns import NOTICE, ROUNDS

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
                    yield Static(Content.assemble("   ", safe_line(group)), classes="group")
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
                safe_line(row["group"]).pad_right(max(0, 10 - len(str(row["group"])))),
                safe_line(self._route(str(row["group"])) or NONE).pad_right(
                    max(1, 18 - len(self._route(str(row["group"])) or NONE))
                ),
                safe_line(_steps(row.get("steps") or ()), "dim"),
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


NEW = "new"
_ORDER = ("resume", "continue", "restart", NEW)
_VERBS = {"resume": "Resume", "continue": "Continue", "restart": "Restart", NEW: "Launch"}
_SCOPE = "runs of one scope share their files; by default the branch"
_LIMITS = {"usd": "$", "minutes": "minutes", "tokens": "tokens"}


class Offered(Vertical):
    """What `offer_launch` offers, to be filled in."""

    DEFAULT_CSS = """
    Offered, Offered > Static, Offered > Vertical, Offered > Horizontal { height: auto; }
    Offered #new, Offered #again, Offered #start { display: none; }
    Offered.-new #new, Offered.-again #again { display: block; }
    Offered.-restart #start { display: block; }
    Offered .rule { height: 1; border-top: solid $border-blurred; }
    Offered #new > Horizontal { height: 1; }
    Offered #new > Static, Offered #again { height: auto; }
    Offered .title { width: 13; }
    Offered #scope { min-width: 20; }
    """

    def __init__(self, offered: Mapping[str, Any], now: float) -> None:
        super().__init__()
        self.offered = offered
        self.now = now
        self.about: Mapping[str, Any] = offered.get("run") or {}
        modes = [mode for mode in _ORDER if mode in offered.get("modes", (NEW,))]
        self.modes = Choices([self._choice(mode) for mode in modes], [str(offered.get("mode") or NEW)], must=True)
        self.params = [ParamField(given) for given in _params(offered)]
        self.routes = Routes(offered.get("groups") or (), offered.get("presets") or {}, offered.get("agents") or ())
        phases = [(name, name) for name in offered.get("phases") or ()]
        starts = [(name, name) for name in self.about.get("from") or ()]
        self.again_from = Pick("restart from", [("", "the first phase"), *starts])
        self.scope = Line(placeholder=str(offered.get("scope") or ""), compact=True)
        self.first_phase = Pick("from", [("", "first"), *phases])
        self.last_phase = Pick("until", [("", "last"), *phases])
        given = offered.get("limits") or {}
        self.limits = {name: Line(_number(given.get(name)), compact=True) for name in _LIMITS}
        self._wrong: list[Widget] = []

    def _choice(self, mode: str) -> ChoiceItem:
        at = str(self.about.get("next") or "").replace("/", " › ")
        changed = self.about.get("changed") or ()
        told = {
            "resume": f"keeps finished steps; continues at {at}" if at else "keeps finished steps",
            "continue": "begins another round with what the run has made",
            "restart": f"changed since: {'; '.join(map(str, changed))}" if changed else "repeats finished steps",
        }
        label = {"resume": "Resume it", "continue": "Continue it", "restart": "Restart it"}.get(mode, "New run")
        return ChoiceItem(mode, label, told.get(mode, "") if len(self.offered.get("modes", ())) > 1 else "")

    def compose(self) -> ComposeResult:
        if self.about:
            yield Static(self._last(), id="last")
            yield self.modes
            with Horizontal(id="start"):
                yield self.again_from
            yield Static(classes="rule")
        with Vertical(id="new"):
            yield from self._new()
        yield Static(safe_text("\n".join(self._again())), id="again")
        for told in self.offered.get("warnings") or ():
            yield Static(Content.assemble(f" {NOTICE.char} ", safe_line(told)))

    def _new(self) -> ComposeResult:
        yield from self.params
        yield self.routes
        with Horizontal():
            yield Slot("Scope", self.scope, id="scope")
            yield self.first_phase
            yield self.last_phase
        with Horizontal():
            yield Static(Content(" Limits"), classes="title")
            for name, line in self.limits.items():
                yield Slot(_LIMITS[name], line)
        estimate = safe_line(self.offered.get("estimate") or UNKNOWN)
        yield Static(Content.assemble(" Estimate    ", estimate))

    def _last(self) -> Content:
        run = self.about
        since = f"{age(self.now - run['at'])} ago" if run.get("at") is not None else ""
        at = str(run.get("next") or "").replace("/", " › ")
        words = f"{run.get('id')} {run.get('status')} {since}{f' at {at}' if at else ''}"
        why = f": {run['why']}" if run.get("why") else ""
        return Content.assemble(" ", safe_line(words + why))

    def _again(self) -> Iterator[str]:
        """What a run that exists already was given: it cannot be changed."""
        for name, value in (self.about.get("params") or {}).items():
            yield f" {name!s:<{LABEL - 1}}{shown(value)}"
        for row in self.about.get("routes") or ():
            yield f" {row.get('group')!s:<{LABEL - 1}}{row.get('route') or UNKNOWN}"
        bounds = [f"{_LIMITS.get(name, name)} {most:g}" for name, most in (self.about.get("limits") or {}).items()]
        yield f" {'Limits':<{LABEL - 1}}{', '.join(bounds) or 'none'}"

    def on_mount(self) -> None:
        self._arrange()

    @on(Changed)
    def _changed(self, event: Changed) -> None:
        row = next((row for row in self.params if row.control is event.source), None)
        if row is not None:
            row.say("")
        self._arrange()

    def _arrange(self) -> None:
        self.set_class(self.mode == NEW, "-new")
        self.set_class(self.mode != NEW, "-again")
        self.set_class(self.mode == "restart", "-restart")

    @property
    def mode(self) -> str:
        """`new`, `resume`, `continue` or `restart`."""
        return self.modes.chosen[0] if self.modes.chosen else NEW

    @property
    def verb(self) -> str:
        return _VERBS[self.mode]

    @property
    def run(self) -> str:
        """The run that is resumed, continued or restarted."""
        return str(self.about.get("id") or "")

    @property
    def start(self) -> str | None:
        """The phase from which a run is restarted; None for the first one."""
        return (self.again_from.value or None) if self.mode == "restart" else None

    def wanted(self, name: str) -> LaunchForm:
        """A new run, as it is filled in."""
        values = {row.param: row.value for row in self.params}
        task = values.pop(TASK, None)
        return LaunchForm(
            name=name,
            task=task or "",
            params=values,
            routes=self.routes.chosen,
            preset=self.routes.preset.value,
            scope=self.scope.answer.strip(),
            start=self.first_phase.value or None,
            until=self.last_phase.value or None,
            limits={name: line.answer.strip() for name, line in self.limits.items()},
        )

    def about_field(self, control: Widget | None) -> str:
        """What a field is for, if its name does not say that."""
        return _SCOPE if control is self.scope else ""

    def first(self) -> Widget:
        """Where a person begins: at the choice if there is something to go on with, else at the first field."""
        if self.about and self.mode != NEW:
            return self.modes
        return self.params[0].control if self.params else self.scope

    def say(self, wrong: Mapping[str, str]) -> dict[str, str]:
        """Say next to each param what is wrong with it. Returns what is about other fields, by their labels."""
        for row in self.params:
            row.say(wrong.get(row.param, ""))
        known = {row.param: row.control for row in self.params}
        others = self._others()
        controls = {**known, **{name: control for name, (_, control) in others.items() if name not in known}}
        self._wrong = [control for name, control in controls.items() if name in wrong]
        return {others[name][0] if name in others else name: wrong[name] for name in wrong if name not in known}

    def _others(self) -> dict[str, tuple[str, Widget]]:
        """The label and the control of each field that is no param, by the name that problems have."""
        return {
            "preset": ("preset", self.routes.preset),
            **{f"routes.{group}": (f"Agents {group}", pick) for group, pick in self.routes.agents.items()},
            "scope": ("Scope", self.scope),
            "start": ("from", self.first_phase),
            "until": ("until", self.last_phase),
            **{f"limits.{name}": (f"Limits {_LIMITS[name]}", line) for name, line in self.limits.items()},
        }

    def first_wrong(self) -> Widget:
        """The first control with something wrong: of a param, else of another field, else where a person begins."""
        return next((control for control in self._wrong if control.focusable), self.first())


def _params(offered: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The params, with a field for the task if the definition takes one and does not declare it."""
    fields = list(offered.get("fields") or ())
    if offered.get("hasTask") and not any(field["name"] == TASK for field in fields):
        fields.insert(0, {"name": TASK, "kind": "text", "about": "what is to be done", "multiline": True})
    return fields


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else ""
