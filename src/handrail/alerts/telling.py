"""Sends alerts of runs, each once: whichever process is first marks it as told, beside the question.

The driver of a run, the terminal surface and the page all call this. A channel that this process cannot use is left to
another one. What cannot be sent becomes a notice of the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from collections.abc import Callable, Iterable, Mapping

from handrail.alerts.alert import LONG_RUN, Alert, of_end, of_question
from handrail.alerts.channels import NotSent, can_send, send
from handrail.errors import HandrailError
from handrail.runs import machine
from handrail.runs.loaded import LoadedRun
from handrail.runs.runs import Runs
from handrail.runs.summary import ENDED, given_in, kind_of, seconds_in
from handrail.settings.notify import Channel

Ring = Callable[[], None]
OPEN_FOR = 1.0
"""In seconds: how long a question stays open until a person is told while the run goes on."""


def make_teller(runs: Runs, ring: Ring | None = None) -> Teller:
    """A teller that uses the channels of the user's settings. Without such a setting, it does nothing."""
    return Teller(runs, runs.settings.notify or (), runs.site.env, ring)


def claim_desktop(runs: Runs, alert: Alert) -> bool:
    """True if nobody showed this alert on the desktop yet. The caller shows it then, and nobody else does."""
    return Teller(runs, (), {}).is_first(alert, Channel("desktop"))


class Teller:
    """Tells a person about runs. `ring` rings a bell; None if this process has no terminal."""

    def __init__(
        self, runs: Runs, channels: Iterable[Channel], env: Mapping[str, str], ring: Ring | None = None
    ) -> None:
        self.runs = runs
        self.channels = list(channels)
        self.env = env
        self.ring = ring

    async def tell(self, alert: Alert) -> list[str]:
        """Send an alert by every channel by which nobody sent it yet. Returns the kinds of those that were used."""
        usable = [one for one in self.channels if can_send(one, self.env, has_bell=self.ring is not None)]
        first = [one for one in usable if self.is_first(alert, one)]
        await asyncio.gather(*(self._send(channel, alert) for channel in first))
        return [channel.kind for channel in first]

    async def tell_needs(self, id_: str) -> None:
        """Tell of every open question of a run. Raises `HandrailError` if the run cannot be read."""
        run = await asyncio.to_thread(self.runs.load, id_) if self.channels else None
        for alert in needs_in(run) if run is not None else ():
            await self.tell(alert)

    def is_first(self, alert: Alert, channel: Channel) -> bool:
        which = hashlib.sha256(repr((channel.argv, channel.url)).encode("utf-8", "replace")).hexdigest()[:8]
        try:
            return self.runs.engine.tell_once(alert.run, f"{alert.key}.{channel.kind}.{which}")
        except (HandrailError, LookupError):
            return False

    async def _send(self, channel: Channel, alert: Alert) -> None:
        if channel.kind == "bell":
            if self.ring is not None:
                self.ring()
            return
        try:
            await send(channel, alert, self.env, self.runs.site.secrets)
        except NotSent as error:
            with contextlib.suppress(HandrailError, LookupError, OSError):
                await self.runs.engine.notice(alert.run, f"`notify` could not tell you: {error}")


class Questions:
    """The open questions of a run while it is driven: a person is told although other steps still work.

    If the run waits for nothing else, it parks at once, and whoever drives it tells then.
    """

    def __init__(self, teller: Teller, run: LoadedRun) -> None:
        self.teller = teller
        self.run, self.name = run.id, name_of(run)
        self._open: dict[str, tuple[float, machine.Asked]] = {}

    def observe(self, event: machine.Event) -> None:
        match event:
            case machine.Asked():
                self._open[event.path] = (time.monotonic(), event)
            case machine.Answered() | machine.StepDone() | machine.StepFailed() | machine.StepSkipped():
                self._open.pop(event.path, None)

    async def follow(self, is_over: asyncio.Event) -> None:
        """Tell of questions that stay open, until the run is not driven any more."""
        while not is_over.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(is_over.wait(), OPEN_FOR)
            known = list(self._open.values()) if not is_over.is_set() else []
            for at, asked in known:
                if time.monotonic() - at >= OPEN_FOR:
                    await self.teller.tell(of_question(self.run, self.name, asked.id, asked.path, asked.question))


def needs_in(run: LoadedRun) -> list[Alert]:
    """An alert for each open question of a run that waits."""
    name = name_of(run)
    return [of_question(run.id, name, one.id, one.path, one.question) for one in run.state.questions.values()]


def end_of(run: LoadedRun) -> Alert | None:
    """An alert for the end of a run that took long enough; None if there is nothing to tell."""
    state = run.state
    moments = ((at, kind_of(type(event).__name__, vars(event))) for at, event in run.records)
    if state.status not in ENDED or (seconds_in(moments) or 0.0) <= LONG_RUN:
        return None
    resumes = sum(isinstance(event, machine.RunResumed) for _, event in run.records)
    return of_end(run.id, name_of(run), resumes, state.status, _failed_at(run))


def _failed_at(run: LoadedRun) -> str | None:
    """The step that failed, the innermost one of nested flows."""
    found: list[str] = []
    for _, event in run.records:
        if isinstance(event, machine.RunResumed):
            found.clear()
        elif isinstance(event, machine.StepFailed) and event.code == run.state.code:
            found.append(event.path)
    return found[0] if found else None


def name_of(run: LoadedRun) -> str:
    """The name of a run for people: its flow, and its task or its parameters."""
    given = given_in(run.about.to_text())[1]
    name = run.plan.id.removeprefix("workflow:")
    return f"{name} {given}" if given else name
