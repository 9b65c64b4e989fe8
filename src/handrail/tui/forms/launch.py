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
    """The routes of a launch. Nothing is saved here: `save_target` says what is to be saved."""

    DEFAULT_CSS = """
    Routes, Routes > Horizontal, Routes #groups { height: auto; }
    Routes > Horizontal > .title { width: 13; }
    Routes #edited, Routes #edited > Horizontal { height: auto; display: none; }
    Routes.-edits #edited, Routes.-edits #edited > Horizontal { display: block; }
    Routes.-edits #edited > Horizontal { layout: horizontal; }
    Routes.-edits #groups { display: none; }
    Routes #edited .group { width: auto; min-width: 13; padding-right: 1; }
    Routes #saved { width: 1fr; display: none; }
    Routes.-names #saved { display: block; }
    """

    def __init__(
        self, groups: Sequence[Mapping[str, Any]], presets: Mapping[str, Mapping[str, str]], agents: Sequence[str]
    ) -> None:
        super().__init__()
        self.groups = groups
        self.presets = presets
        preset_choices = [("", "flow default"), *((name, name) for name in presets)]
        self.preset = Pick("preset", preset_choices)
        choices = [("", NONE), *((name, name) for name in agents)]
        self.agents = {str(row["group"]): Pick("", choices, str(row.get("agent") or "")) for row in groups}
        self.models = {str(row["group"]): Line(str(row.get("model") or ""), compact=True) for row in groups}
        self.target = Pick("for", _SAVED)
        self.preset_name = Line(compact=True)

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
                yield self.target
                yield Slot("name", self.preset_name, id="saved")

    @property
    def is_edited(self) -> bool:
        return self.has_class("-edits")

    @property
    def edited_routes(self) -> dict[str, str]:
        """The routes that were edited, by group; empty if the preset or the flow decides."""
        if not self.is_edited:
            return {}
        models = {group: line.answer.strip() for group, line in self.models.items()}
        agents = {group: pick.value for group, pick in self.agents.items() if pick.value}
        return {group: f"{agent}:{models[group]}" if models[group] else agent for group, agent in agents.items()}

    @property
    def save_target(self) -> tuple[str, str] | None:
        """Where the edited routes are to be saved: `flow`, or `preset` and its name; None for this run only."""
        if not self.is_edited or self.target.value == RUN:
            return None
        return self.target.value, self.preset_name.answer.strip()

    def _edit(self) -> None:
        self.toggle_class("-edits")
        self.query_one("#edit", Press).say("do not edit" if self.is_edited else "edit")
        if self.is_edited and self.agents:
            next(iter(self.agents.values())).focus()

    @on(Changed)
    def _take_change(self, event: Changed) -> None:
        if event.source is self.preset:
            self.query_one("#groups", Static).update(self._words())
            for group, pick in self.agents.items():
                agent, _, model = self._route(group).partition(":")
                pick.value = agent
                self.models[group].value = model
        self.set_class(self.target.value == PRESET, "-names")

    def _route(self, group: str) -> str:
        """The route of a group under the chosen preset."""
        flow_route = next((str(row.get("route") or "") for row in self.groups if row["group"] == group), "")
        preset = self.presets.get(self.preset.value, {})
        return str(preset.get(group) or preset.get("default") or flow_route)

    def _words(self) -> Content:
        rows = [(str(row["group"]), row.get("steps") or ()) for row in self.groups]
        width = max((len(clean_line(group)) for group, _ in rows), default=0)
        lines = (
            Content.assemble(
                f"   {clean_line(group):<{width}}  {clean_line(self._route(group) or NONE):<17} ",
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
_VERBS = {NEW: "Launch", "resume": "Resume", "continue": "Continue", "restart": "Restart"}
ABOUT_SCOPE = "runs of one scope share their files; by default the branch"
_LIMITS = {"usd": "$", "minutes": "minutes", "tokens": "tokens"}


class LaunchFields(Vertical):
    """The fields of a launch. `offer` is the result of `offer_launch`."""

    DEFAULT_CSS = """
    LaunchFields, LaunchFields > Static, LaunchFields > Vertical, LaunchFields > Horizontal { height: auto; }
    LaunchFields #new, LaunchFields #again, LaunchFields #start { display: none; }
    LaunchFields.-new #new, LaunchFields.-again #again { display: block; }
    LaunchFields.-restart #start { display: block; }
    LaunchFields .rule { height: 1; border-top: solid $border-blurred; }
    LaunchFields #new > Horizontal { height: 1; }
    LaunchFields #new > Static, LaunchFields #again { height: auto; }
    LaunchFields .title { width: 13; }
    LaunchFields #scope { min-width: 20; }
    """

    def __init__(self, offer: Mapping[str, Any], now: float) -> None:
        super().__init__()
        self.offer = offer
        self.now = now
        self.about: Mapping[str, Any] = offer.get("run") or {}
        modes = [mode for mode in _VERBS if mode in offer.get("modes", (NEW,))]
        self.modes = Choices([self._choice(mode) for mode in modes], [str(offer.get("mode") or NEW)], is_required=True)
        self.params = [ParamField(field) for field in _params(offer)]
        self.routes = Routes(offer.get("groups") or (), offer.get("presets") or {}, offer.get("agents") or ())
        phases = [(name, name) for name in offer.get("phases") or ()]
        starts = [(name, name) for name in self.about.get("from") or ()]
        self.again_from = Pick("restart from", [("", "the first phase"), *starts])
        self.scope = Line(placeholder=str(offer.get("scope") or ""), compact=True)
        self.first_phase = Pick("from", [("", "first"), *phases])
        self.last_phase = Pick("until", [("", "last"), *phases])
        limits = offer.get("limits") or {}
        self.limits = {name: Line(_number(limits.get(name)), compact=True) for name in _LIMITS}
        self._wrong_controls: list[Widget] = []

    def _choice(self, mode: str) -> ChoiceItem:
        step = str(self.about.get("next") or "").replace("/", " › ")
        changes = self.about.get("changed") or ()
        abouts = {
            "resume": f"keeps finished steps; continues at {step}" if step else "keeps finished steps",
            "continue": "begins another round with what the run has made",
            "restart": f"changed since: {'; '.join(map(str, changes))}" if changes else "repeats finished steps",
        }
        label = "New run" if mode == NEW else f"{_VERBS[mode]} it"
        return ChoiceItem(mode, label, abouts.get(mode, "") if len(self.offer.get("modes", ())) > 1 else "")

    def compose(self) -> ComposeResult:
        if self.about:
            yield Static(self._run_words(), id="last")
            yield self.modes
            with Horizontal(id="start"):
                yield self.again_from
            yield Static(classes="rule")
        with Vertical(id="new"):
            yield from self._new_run_fields()
        yield Static(safe_text("\n".join(self._run_facts())), id="again")
        for warning in self.offer.get("warnings") or ():
            yield Static(Content.assemble(f" {NOTICE.char} ", safe_line(warning)))

    def _new_run_fields(self) -> ComposeResult:
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
        estimate = safe_line(self.offer.get("estimate") or UNKNOWN)
        yield Static(Content.assemble(" Estimate    ", estimate))

    def _run_words(self) -> Content:
        run = self.about
        age_text = f"{age(self.now - run['at'])} ago" if run.get("at") is not None else ""
        step = str(run.get("next") or "").replace("/", " › ")
        words = f"{run.get('id')} {run.get('status')} {age_text}{f' at {step}' if step else ''}"
        reason = f": {run['why']}" if run.get("why") else ""
        return Content.assemble(" ", safe_line(words + reason))

    def _run_facts(self) -> Iterator[str]:
        """The params, routes and limits of an existing run. They cannot be changed."""
        for name, value in (self.about.get("params") or {}).items():
            yield f" {name!s:<{LABEL - 2}} {shown(value)}"
        for row in self.about.get("routes") or ():
            yield f" {row.get('group')!s:<{LABEL - 2}} {row.get('route') or UNKNOWN}"
        bounds = [f"{_LIMITS.get(name, name)} {limit:g}" for name, limit in (self.about.get("limits") or {}).items()]
        yield f" {'Limits':<{LABEL - 1}}{', '.join(bounds) or 'none'}"

    def on_mount(self) -> None:
        self._arrange()

    @on(Changed)
    def _take_change(self, event: Changed) -> None:
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
        return self.modes.values[0] if self.modes.values else NEW

    @property
    def run(self) -> str:
        """The run that is resumed, continued or restarted."""
        return str(self.about.get("id") or "")

    @property
    def start(self) -> str | None:
        """The phase from which a run is restarted; None for the first one."""
        return (self.again_from.value or None) if self.mode == "restart" else None

    def launch_form(self, name: str) -> LaunchForm:
        """A new run, as it is filled in."""
        values = {row.param: row.value for row in self.params}
        task = values.pop(TASK, None)
        return LaunchForm(
            name=name,
            task=task or "",
            params=values,
            routes=self.routes.edited_routes,
            preset=self.routes.preset.value,
            scope=self.scope.answer.strip(),
            start=self.first_phase.value or None,
            until=self.last_phase.value or None,
            limits={name: line.answer.strip() for name, line in self.limits.items()},
        )

    def first_control(self) -> Widget:
        """Where a person begins: at the choice if there is something to go on with, else at the first field."""
        if {"resume", "continue"} & set(self.offer.get("modes") or ()):
            return self.modes
        return self.params[0].control if self.params else self.scope

    def say(self, problems: Mapping[str, str]) -> dict[str, str]:
        """Say next to each param what is wrong with it. Returns what is about other fields, by their labels."""
        for row in self.params:
            row.say(problems.get(row.param, ""))
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
        self._wrong_controls = [control for name, (_, control) in fields.items() if name in problems]
        return {fields[name][0] if name in fields else name: problems[name] for name in problems if name not in params}

    def first_wrong_control(self) -> Widget:
        """The first control with something wrong: of a param, else of another field, else where a person begins."""
        return next((control for control in self._wrong_controls if control.focusable), self.first_control())


def _params(offer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The params, with a field for the task if the definition takes one and does not declare it."""
    fields = list(offer.get("fields") or ())
    if offer.get("hasTask") and not any(field["name"] == TASK for field in fields):
        fields.insert(0, {"name": TASK, "kind": "text", "about": "what is to be done", "multiline": True})
    return fields


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else ""


T = TypeVar("T")


class LaunchScreen(FormScreen):
    """The launch of one flow or workflow; its name may begin with its kind, as in `workflow:ship`.

    `offer` is the result of `offer_launch`, if it is known already.
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
        offer: Mapping[str, Any] | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self.actions = actions
        self.definition = name
        self.offer = offer
        self.now = now
        self.rows: LaunchFields | None = None
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
        name = self.definition.removeprefix("flow:").removeprefix("workflow:")
        self.query_one("#box", Vertical).border_title = cast("str", Content.assemble("Launch ", safe_line(name)))
        if self.offer is None:
            self.run_worker(self._read_offer())
        else:
            await self._show(self.offer)

    async def _read_offer(self) -> None:
        try:
            offer = await asyncio.to_thread(offer_launch, self.actions.app, self.definition)
        except HandrailError as error:
            self.say_wrong(_words(error))
            self.query_one("#reading", Static).update(Content("It cannot be launched."))
            self.query_one(f"#{LATER}", Press).focus()
        else:
            await self._show(offer)

    async def _show(self, offer: Mapping[str, Any]) -> None:
        self.offer = offer
        self.rows = LaunchFields(offer, self.now())
        with contextlib.suppress(NoMatches, MountError):  # the screen may be closed meanwhile
            await self.query_one("#reading", Static).remove()
            await self.query_one("#fields", VerticalScroll).mount(self.rows)
            self.query_one("#launch", Press).disabled = False
            self._show_mode()
            self.rows.first_control().focus(scroll_visible=False)

    def _show_mode(self) -> None:
        assert self.rows is not None
        self.query_one("#launch", Press).say(f"{_VERBS[self.rows.mode]} ^S")
        self.query_one(f"#{SHOW}", Press).display = self.rows.mode == NEW

    def after_change(self, source: Widget) -> None:
        del source
        if self.rows is not None:
            self._show_mode()
        self.draw(self.focused)

    def draw(self, control: Widget | None) -> None:
        """Say at the lower edge what the keys do in the focused field, and what the field is for.

        The buttons stay on the screen: what is above them and the problems is scrolled.
        """
        about = ABOUT_SCOPE if self.rows is not None and control is self.rows.scope else ""
        keys = footer_keys([("", about)] if about else keys_of(control) if control is not None else ())
        self.query_one("#box", Vertical).border_subtitle = cast("str", keys)
        problems, width = self.query_one("#wrong", Static), max(20, min(76, self.size.width - 2))
        lines = problems.get_content_height(self.size, self.size, width) if self.has_class("-wrong") else 0
        max_height = None if self.has_class("-wide") else self.size.height - 3 - lines
        self.query_one("#panes", Horizontal).styles.max_height = max_height

    def go_on(self) -> None:
        """Enter: the next field or button."""
        self.focus_next()

    def action_launch(self) -> None:
        """Begin what was chosen, in the background. What is wrong is said, and then nothing has begun."""
        if self.rows is not None and not self._is_busy:
            self._is_busy = True
            self.run_worker(self._launch(self.rows))

    async def _launch(self, rows: LaunchFields) -> None:
        request = rows.mode, rows.run, rows.start, rows.launch_form(self.definition)

        async def begin() -> str:
            return await asyncio.to_thread(self._begin, *request)

        run = await self._try(rows, with_trust(cast("HandrailApp", self.app), begin))
        if run is not None:
            self.dismiss(run)

    async def _try(self, rows: LaunchFields, work: Awaitable[T]) -> T | None:
        """The result of some work on what is filled in. If it is refused, say why: the result is None."""
        rows.say({})
        self.remove_class("-wrong")
        try:
            return await work
        except WrongFields as error:
            other_problems = rows.say({problem.field: problem.message for problem in error.problems})
            self.cover(is_covered=False)
            if other_problems:
                self.say_wrong("\n".join(f"{field} {message}" for field, message in other_problems.items()))
            rows.first_wrong_control().focus()
        except HandrailError as error:
            self.say_wrong(_words(error))
        finally:
            self._is_busy = False
        return None

    def _begin(self, mode: str, run: str, start: str | None, form: LaunchForm) -> str:
        if mode != NEW:
            self.actions.resume(run, cast("ResumeMode", mode), start)
            return run
        save_target = self.rows.routes.save_target if self.rows is not None else None
        if save_target is not None:
            preview_launch(self.actions.app, form)  # nothing is saved for a launch that is refused
            target, name = save_target
            id_ = self.offer["id"] if self.offer is not None else self.definition
            save_routes(self.actions.app, "flow" if target == "flow" else "preset", name or str(id_), form.routes)
        return self.actions.launch(form)

    def action_preview(self) -> None:
        """Show what a new run would do, step by step."""
        if self.is_covered:
            self.cover(is_covered=False)
        elif self.rows is not None and self.rows.mode == NEW and not self._is_busy:
            self._is_busy = True
            self.run_worker(self._preview(self.rows))

    async def _preview(self, rows: LaunchFields) -> None:
        work = asyncio.to_thread(preview_launch, self.actions.app, rows.launch_form(self.definition))
        if (preview := await self._try(rows, work)) is not None:
            lines = [*preview["lines"], "", str(preview["estimate"]), *preview["warnings"]]
            self.query_one("#lines", Static).update(safe_text("\n".join(map(str, lines))))
            self.cover(is_covered=True)

    def action_later(self) -> None:
        """Close. What was sent is not taken back: while it begins, the screen stays."""
        if not self._is_busy:
            super().action_later()


def _words(error: HandrailError) -> str:
    return f"{error.message}\nhint: {error.hint}" if error.hint else error.message
