"""A launch: resume, continue or restart the last run, or begin a new one with params, routes, scope and limits.

Nothing begins before everything is valid: what is wrong stands next to its field. The result is the id of the run,
or None. The run is driven by another process, as `handrail run --detach` does.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.css.query import NoMatches
from textual.widget import MountError, Widget
from textual.widgets import Static

from handrail.base.errors import HandrailError
from handrail.source.output_text import clean_line
from handrail.source.plain_text import some
from handrail.source.values import shown
from handrail.tui.decisions import with_trust
from handrail.tui.forms.controls import (
    Changed,
    ChoiceItem,
    Choices,
    Line,
    Pick,
    Press,
    Slot,
    footer_keys,
    keys_of,
    safe_line,
    safe_text,
)
from handrail.tui.forms.form import LABEL, LATER, SHOW, FormParts, FormScreen, ParamField
from handrail.tui.lines.words import UNKNOWN, age
from handrail.view.actions import TASK, Actions, LaunchForm, ResumeMode, WrongFields
from handrail.view.launch import offer_launch, preview_launch, save_routes
from handrail.view.text.columns import NOTICE, ROUNDS

if TYPE_CHECKING:
    from handrail.tui.app import HandrailApp

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
                yield Press("edit", "edit", self._edit)
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
        models = {group: line.answer.strip() for group, line in self.models.items()}
        agents = {group: pick.value for group, pick in self.agents.items() if pick.value}
        return {group: f"{agent}:{models[group]}" if models[group] else agent for group, agent in agents.items()}

    @property
    def saving(self) -> tuple[str, str] | None:
        """Where the edited routes are to be saved: `flow`, or `preset` and its name; None for this run only."""
        if not self.is_edited or self.where.value == RUN:
            return None
        return self.where.value, self.called.answer.strip()

    def _edit(self) -> None:
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
        rows = [(str(row["group"]), row.get("steps") or ()) for row in self.groups]
        lines = (
            Content.assemble(
                f"   {clean_line(group):<10}{clean_line(self._route(group) or NONE):<17} ",
                safe_line(_steps(steps), "dim"),
            )
            for group, steps in rows
        )
        return Content("\n").join(lines)


def _steps(steps: Sequence[Mapping[str, Any]]) -> str:
    """`look, verdict (↻3)`."""
    names = []
    for step in steps:
        rounds = int(step.get("rounds") or 1)
        name = str(step["step"]).rpartition("/")[2]
        names.append(f"{name} ({ROUNDS.char}{rounds})" if rounds > 1 else name)
    return some(names, 6)


NEW = "new"
_VERBS = {"resume": "Resume", "continue": "Continue", "restart": "Restart", NEW: "Launch"}
ABOUT_SCOPE = "runs of one scope share their files; by default the branch"
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
        modes = [mode for mode in _VERBS if mode in offered.get("modes", (NEW,))]
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
        abouts = {
            "resume": f"keeps finished steps; continues at {at}" if at else "keeps finished steps",
            "continue": "begins another round with what the run has made",
            "restart": f"changed since: {'; '.join(map(str, changed))}" if changed else "repeats finished steps",
        }
        label = "New run" if mode == NEW else f"{_VERBS[mode]} it"
        return ChoiceItem(mode, label, abouts.get(mode, "") if len(self.offered.get("modes", ())) > 1 else "")

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
        for warning in self.offered.get("warnings") or ():
            yield Static(Content.assemble(f" {NOTICE.char} ", safe_line(warning)))

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

    def first(self) -> Widget:
        """Where a person begins: at the choice if there is something to go on with, else at the first field."""
        if self.about and self.mode != NEW:
            return self.modes
        return self.params[0].control if self.params else self.scope

    def say(self, wrong: Mapping[str, str]) -> dict[str, str]:
        """Say next to each param what is wrong with it. Returns what is about other fields, by their labels."""
        for row in self.params:
            row.say(wrong.get(row.param, ""))
        params = {row.param: ("", row.control) for row in self.params}
        limits = {f"limits.{name}": (f"Limits {_LIMITS[name]}", line) for name, line in self.limits.items()}
        fields: dict[str, tuple[str, Widget]] = {
            **params,
            "preset": ("preset", self.routes.preset),
            **{f"routes.{group}": (f"Agents {group}", pick) for group, pick in self.routes.agents.items()},
            "scope": ("Scope", self.scope),
            "start": ("from", self.first_phase),
            "until": ("until", self.last_phase),
            **limits,
            **params,
        }
        self._wrong = [control for name, (_, control) in fields.items() if name in wrong]
        return {fields[name][0] if name in fields else name: wrong[name] for name in wrong if name not in params}

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
                Press("launch", "Launch ^S", self.action_launch, disabled=True),
                Press(SHOW, "Preview ^D", self.action_preview),
                Press(LATER, "Cancel Esc", self.action_later),
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
        self.query_one("#launch", Press).say(f"{_VERBS[self.rows.mode]} ^S")
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
        about = ABOUT_SCOPE if self.rows is not None and control is self.rows.scope else ""
        keys = footer_keys([("", about)] if about else keys_of(control) if control is not None else ())
        self.query_one("#box", Vertical).border_subtitle = cast("str", keys)
        wrong, width = self.query_one("#wrong", Static), max(20, min(76, self.size.width - 2))
        lines = wrong.get_content_height(self.size, self.size, width) if self.has_class("-wrong") else 0
        most = None if self.has_class("-wide") else self.size.height - 3 - lines
        self.query_one("#panes", Horizontal).styles.max_height = most

    def go_on(self) -> None:
        """Enter: the next field or button."""
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
            self.actions.resume(run, cast("ResumeMode", mode), start)
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
