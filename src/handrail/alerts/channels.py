"""Sends an alert by one channel. An error is a text for people; it never fails a run.

Programs get argument lists, and no secrets of the environment. The address of a webhook may be a secret, so messages
name its host only.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Mapping

from handrail.alerts.alert import Alert
from handrail.contracts import NodeError
from handrail.process.child import Task, perform
from handrail.secrets.rules import SecretRules, without_secrets
from handrail.services.addresses import host_of
from handrail.services.http import Limits, Service
from handrail.settings.notify import Channel
from handrail.source.plain import counted

SECONDS = 5.0
_APPLE = "on run words\ndisplay notification (item 1 of words) with title (item 2 of words)\nend run"


class NotSent(Exception):
    """An alert could not be sent. The message is a sentence for people."""


def program_of_desktop(env: Mapping[str, str]) -> str | None:
    """The program that shows notifications on this machine; None if there is none."""
    return next((name for name in ("notify-send", "osascript") if shutil.which(name, path=env.get("PATH"))), None)


def can_send(channel: Channel, env: Mapping[str, str], *, has_bell: bool) -> bool:
    """True if this process can use the channel. If not, another one may, and nothing is said."""
    match channel.kind:
        case "bell":
            return has_bell
        case "desktop":
            return program_of_desktop(env) is not None
        case _:
            return True


def name_of(channel: Channel) -> str:
    """The channel for people. It also tells apart the channels of one kind."""
    match channel.kind:
        case "command":
            return f"the command `{channel.argv[0]}`"
        case "webhook":
            return f"the webhook at `{host_of(channel.url)}`"
        case _:
            return f"`{channel.kind}`"


async def send(channel: Channel, alert: Alert, env: Mapping[str, str], rules: SecretRules) -> None:
    """Send an alert. Raises `NotSent`. The bell is the caller's."""
    try:
        async with asyncio.timeout(SECONDS):
            match channel.kind:
                case "desktop":
                    await _run(_desktop(alert, env), None, alert, without_secrets(env, rules=rules))
                case "command":
                    data = json.dumps(alert.to_json(), ensure_ascii=False).encode("utf-8", "replace")
                    await _run([*channel.argv, alert.text], data, alert, without_secrets(env, rules=rules))
                case "webhook":
                    await _post(channel.url, alert)
                case "bell":
                    raise AssertionError("the caller rings")
    except TimeoutError:
        raise NotSent(f"{name_of(channel)} took more than {counted(SECONDS, 'second')}") from None


def _desktop(alert: Alert, env: Mapping[str, str]) -> list[str]:
    if program_of_desktop(env) == "notify-send":
        return ["notify-send", "--app-name=Handrail", "--", "Handrail", alert.text]
    return ["osascript", "-e", _APPLE, f" {alert.text}", "Handrail"]  # a word must not begin with a dash


async def _run(argv: list[str], stdin: bytes | None, alert: Alert, env: Mapping[str, str]) -> None:
    """Run a program. It is not a person: `HANDRAIL_RUN` keeps it from answering in place of one."""
    words = [word.encode("utf-8", "replace").decode().replace("\0", "") for word in argv]
    home = env.get("HOME", "")
    given = {**env, "HANDRAIL_RUN": alert.run}
    cwd = home if os.path.isdir(home) else "/"
    try:
        ended = await perform(Task(argv=words, cwd=cwd, env=given, timeout=SECONDS, stdin=stdin))
    except OSError as error:
        raise NotSent(f"`{argv[0]}` cannot be started: {error.strerror}") from None
    if ended.timed_out:
        raise NotSent(f"`{argv[0]}` took more than {counted(SECONDS, 'second')}")
    if ended.exit_code != 0:
        raise NotSent(f"`{argv[0]}` ended with {ended.exit_code}")


async def _post(url: str, alert: Alert) -> None:
    limits = Limits(seconds=SECONDS, connect=SECONDS, tries=1, longest_pause=0.0, size=64 * 1024)
    path = url.partition("://")[2].partition("/")[2]
    secrets = tuple(secret for secret in (url, path) if len(secret) > 1)
    service = Service(name=f"the webhook at `{host_of(url)}`", base=url, headers={}, secrets=secrets, limits=limits)
    try:
        async with service:
            await service.deliver("", alert.to_json())
    except NodeError as error:
        raise NotSent(error.message) from None
