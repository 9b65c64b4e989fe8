"""Tells a person once that a run or session needs them, or that a run has ended: by bell, program, webhook or phone.

The first process marks an alert as told, beside the question. A channel that it cannot use is left to another process.
What cannot be sent becomes a notice of the run, and never fails it. An alert never has what an agent or a program
wrote: it goes to other programs and machines. The address of a webhook may be a secret, so messages name its host only.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

from handrail.base.dataclasses import dataclass
from handrail.base.errors import HandrailError
from handrail.base.processes import Task, run_task
from handrail.driven.runs import run_events
from handrail.driven.runs.request import LoadedRun
from handrail.driven.runs.runs import Runs
from handrail.driven.runs.state import ENDED, RERUN
from handrail.driven.runs.summary import given_in
from handrail.extensions.contracts import NodeError
from handrail.guided.sessions.store import SessionReport
from handrail.settings.folders import UserFolders, has_settings
from handrail.settings.secrets import SecretRules, without_secrets
from handrail.settings.sections import Channel
from handrail.settings.settings import read_settings
from handrail.source.output_text import clean
from handrail.source.plain_text import counted
from handrail.steps.services.addresses import host_of
from handrail.steps.services.chat import send_telegram, telegram_bot
from handrail.steps.services.http import HttpLimits, Service

MAX_TEXT = 120
LONG_RUN = 60.0
"""In seconds: only the end of a run that took longer is told."""
_END_WORDS = {"completed": "is completed", "stopped": "stopped", "failed": "failed", "cancelled": "was cancelled"}


@dataclass(frozen=True)
class Alert:
    """`key` says what it is about: of all alerts of a run with the same key, one is sent per channel.

    An alert of a guided session has no `run`.
    """

    run: str
    key: str
    kind: Literal["need", "end"]
    name: str
    words: str
    session: str = ""

    @property
    def text(self) -> str:
        """The whole line, of at most `MAX_TEXT` characters. The name is cut first: the question says what to do."""
        name = _shorten(self.name, max(MAX_TEXT - len(self.words) - 2, 20))
        return _shorten(f"{name}: {self.words}", MAX_TEXT)

    def to_json(self) -> dict[str, Any]:
        about = {"session": self.session} if self.session else {"run": self.run}
        return {"kind": self.kind, **about, "name": self.name, "text": self.text}


def question_alert(run: str, name: str, question: str, path: str, form: Mapping[str, Any]) -> Alert:
    """A question is open. `question` is its id, `path` the step that asks, `form` what it asks."""
    title = clean_line(str(form.get("title") or "a question"))
    if form.get("formId") == RERUN:  # its title quotes why a check failed
        title = f"may `{clean_line(path)}` run again?"
    return Alert(run, f"need.{question}", "need", clean_line(name), title)


def end_alert(run: str, name: str, resumes: int, status: str, path: str | None) -> Alert:
    """A run has ended, after so many resumes in this attempt. `path` is the step that made it fail."""
    where = f" at {clean_line(path)}" if path and status == "failed" else ""
    return Alert(run, f"end.{resumes}", "end", clean_line(name), f"{_END_WORDS.get(status, status)}{where}")


def clean_line(text: str) -> str:
    return clean(" ".join(text.split()))


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


SEND_SECONDS = 5.0
_APPLE = "on run words\ndisplay notification (item 1 of words) with title (item 2 of words)\nend run"


class NotSent(Exception):
    """An alert could not be sent. The message is a sentence for people."""


def program_of_desktop(env: Mapping[str, str]) -> str | None:
    """The program that shows notifications on this machine; None if there is none."""
    return next((name for name in ("notify-send", "osascript") if shutil.which(name, path=env.get("PATH"))), None)


def channel_name(channel: Channel) -> str:
    """The channel for people. It also tells apart the channels of one kind."""
    match channel.kind:
        case "command":
            return f"the command `{channel.argv[0]}`"
        case "webhook" | "ntfy":
            return f"the {'webhook' if channel.kind == 'webhook' else 'topic'} at `{host_of(channel.url)}`"
        case _:
            return f"`{channel.kind}`"


async def send_alert(channel: Channel, alert: Alert, env: Mapping[str, str], rules: SecretRules) -> None:
    """Send an alert, but not by bell. Raises `NotSent`."""
    argv, data = [*channel.argv, alert.text], None
    try:
        async with asyncio.timeout(SEND_SECONDS):
            if channel.kind == "webhook":
                return await _post(channel, channel.url, alert.to_json())
            if channel.kind == "ntfy":
                server, _, topic = channel.url.rstrip("/").rpartition("/")
                message = {"topic": topic, "title": "Handrail", "message": alert.text}
                return await _post(channel, f"{server}/", message | ({"priority": 4} if alert.kind == "need" else {}))
            if channel.kind == "telegram":
                await send_telegram(telegram_bot(env), alert.text)
                return None
            if channel.kind == "command":
                data = json.dumps(alert.to_json(), ensure_ascii=False).encode("utf-8", "replace")
            elif program_of_desktop(env) == "notify-send":
                argv = ["notify-send", "--app-name=Handrail", "--", "Handrail", alert.text]
            else:  # a word must not begin with a dash
                argv = ["osascript", "-e", _APPLE, f" {alert.text}", "Handrail"]
            await _run_program(argv, data, alert, without_secrets(env, rules=rules))
    except NodeError as error:
        raise NotSent(error.message) from None
    except TimeoutError:
        raise NotSent(f"{channel_name(channel)} took more than {counted(SEND_SECONDS, 'second')}") from None


async def _run_program(argv: list[str], stdin: bytes | None, alert: Alert, env: Mapping[str, str]) -> None:
    """Run a program. It is not a person: `HANDRAIL_RUN` keeps it from answering in place of one."""
    words = [word.encode("utf-8", "replace").decode().replace("\0", "") for word in argv]
    home, own = env.get("HOME", ""), {**env, "HANDRAIL_RUN": alert.run or alert.session}
    cwd = home if os.path.isdir(home) else "/"
    try:
        result = await run_task(Task(argv=words, cwd=cwd, env=own, timeout=SEND_SECONDS, stdin=stdin))
    except OSError as error:
        raise NotSent(f"`{argv[0]}` cannot be started: {error.strerror}") from None
    if result.timed_out:
        raise NotSent(f"`{argv[0]}` took more than {counted(SEND_SECONDS, 'second')}")
    if result.exit_code != 0:
        raise NotSent(f"`{argv[0]}` ended with {result.exit_code}")


async def _post(channel: Channel, url: str, content: Mapping[str, Any]) -> None:
    limits = HttpLimits(seconds=SEND_SECONDS, connect=SEND_SECONDS, tries=1, longest_pause=0.0, size=64 * 1024)
    path = channel.url.partition("://")[2].partition("/")[2]
    secrets = tuple(secret for secret in (channel.url, path) if len(secret) > 1)
    service = Service(name=channel_name(channel), base=url, headers={}, secrets=secrets, limits=limits)
    async with service:
        await service.deliver("", content)


Ring = Callable[[], None]
OPEN_FOR = 1.0
"""In seconds: how long a question stays open until a person is told while the run goes on."""


class Notifier:
    """Tells a person about runs, by the channels of the user's settings.

    `ring` rings a bell; None if this process has no terminal.
    """

    def __init__(self, runs: Runs, ring: Ring | None = None) -> None:
        self.runs = runs
        self.env = runs.site.env
        self.ring = ring

    async def tell(self, alert: Alert) -> list[str]:
        """Send an alert by every channel by which nobody sent it yet. Returns the kinds of those that were used.

        A channel that this process cannot use is left to another one.
        """
        can_use = {"bell": self.ring is not None, "desktop": program_of_desktop(self.env) is not None}
        channels = [one for one in self.runs.settings.notify or () if can_use.get(one.kind, True)]
        new_channels = [one for one in channels if self.is_first(alert, one)]
        await asyncio.gather(*(self._send(channel, alert) for channel in new_channels))
        return [channel.kind for channel in new_channels]

    async def tell_needs(self, id_: str) -> None:
        """Tell of every open question of a run. Raises `HandrailError` if the run cannot be read."""
        if self.runs.settings.notify:
            for alert in open_question_alerts(await asyncio.to_thread(self.runs.load, id_)):
                await self.tell(alert)

    def is_first(self, alert: Alert, channel: Channel) -> bool:
        """True if nobody sent this alert by this channel yet. The caller sends it then, and nobody else does."""
        digest = hashlib.sha256(repr((channel.argv, channel.url)).encode("utf-8", "replace")).hexdigest()[:8]
        try:
            return self.runs.engine.tell_once(alert.run, f"{alert.key}.{channel.kind}.{digest}")
        except (HandrailError, LookupError):
            return False

    async def _send(self, channel: Channel, alert: Alert) -> None:
        if channel.kind == "bell":
            return self.ring() if self.ring is not None else None
        try:
            await send_alert(channel, alert, self.env, self.runs.site.secrets)
        except NotSent as error:
            with contextlib.suppress(HandrailError, LookupError, OSError):
                await self.runs.engine.notice(alert.run, f"`notify` could not tell you: {error}")


def tell_of_session(project: str, env: Mapping[str, str], report: SessionReport) -> None:
    """Tell a person that a session of theirs asks something. What cannot be sent is left out: the surfaces show it.

    A session of a run is left out, because the run asks.
    """
    places = UserFolders(env)
    if report.run is not None or report.plan is None or not has_settings(places, project):
        return
    settings, _ = read_settings(places.config, project)
    is_cancel = report.state.asks_to_cancel
    words = "the agent asks to cancel the workflow" if is_cancel else "the agent is blocked and asks you"
    name = clean_line(f"{report.plan.name} {report.state.task}")
    alert = Alert("", f"need.{report.state.exchanges}", "need", name, words, report.session)
    can_use = {"bell": False, "desktop": program_of_desktop(env) is not None}
    channels = [one for one in settings.notify or () if can_use.get(one.kind, True)]
    rules = SecretRules(settings.secrets, settings.not_secret)

    async def send_all() -> None:
        await asyncio.gather(*(send_alert(one, alert, env, rules) for one in channels), return_exceptions=True)

    asyncio.run(send_all())


class OpenQuestions:
    """The open questions of a run while it is driven: a person is told although other steps still work.

    If the run waits for nothing else, it parks at once, and whoever drives it tells then.
    """

    def __init__(self, teller: Notifier, run: LoadedRun) -> None:
        self.teller = teller
        self.run, self.name = run.id, run_name(run)
        self._open: dict[str, tuple[float, run_events.Asked]] = {}

    def observe(self, event: run_events.Event) -> None:
        match event:
            case run_events.Asked():
                self._open[event.path] = (time.monotonic(), event)
            case run_events.Answered() | run_events.StepDone() | run_events.StepFailed() | run_events.StepSkipped():
                self._open.pop(event.path, None)

    async def follow(self, is_over: asyncio.Event) -> None:
        """Tell of questions that stay open, until the run is not driven any more."""
        while not is_over.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(is_over.wait(), OPEN_FOR)
            alerts = list(self._open.values()) if not is_over.is_set() else []
            for at, alert in alerts:
                if time.monotonic() - at >= OPEN_FOR:
                    await self.teller.tell(question_alert(self.run, self.name, alert.id, alert.path, alert.question))


def open_question_alerts(run: LoadedRun) -> list[Alert]:
    """An alert for each open question of a run that waits."""
    name = run_name(run)
    return [question_alert(run.id, name, one.id, one.path, one.question) for one in run.state.questions.values()]


def ended_run_alert(run: LoadedRun) -> Alert | None:
    """An alert for the end of a run that took long enough; None if there is nothing to tell."""
    state = run.state
    if state.status not in ENDED or state.clock.seconds <= LONG_RUN:
        return None
    resumes = sum(isinstance(event, run_events.RunResumed) for _, event in run.records)
    step = run.failed_step
    return end_alert(run.id, run_name(run), resumes, state.status, None if step is None else step.path)


def run_name(run: LoadedRun) -> str:
    """The name of a run for people: its flow, and its task or its parameters."""
    params = given_in(run.about.to_text())[1]
    name = run.plan.id.removeprefix("workflow:")
    return f"{name} {params}" if params else name
