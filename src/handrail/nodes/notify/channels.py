"""The channels of `notify`. Each sends one message, and raises `NodeError` if it could not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from handrail.contracts import NodeContext, NodeError
from handrail.process.child import Task, perform, tail
from handrail.secrets.rules import without_secrets
from handrail.services.addresses import host_of
from handrail.source.plain import command_line, counted

SECONDS = 30.0
LONGEST_ON_DESKTOP = 500
_APPLE = "on run words\ndisplay notification (item 1 of words) with title (item 2 of words)\nend run"


class Message(NamedTuple):
    """`argv` is the program of the channel `command`; `seconds` is how long a program may take."""

    title: str
    text: str
    argv: tuple[str, ...] = ()
    seconds: float = SECONDS

    @property
    def whole(self) -> str:
        return f"{self.title}\n{self.text}" if self.title else self.text


async def _telegram(message: Message, context: NodeContext) -> None:
    from handrail.services.telegram import bot, send

    await send(bot(context.env), message.whole)


async def _webhook(message: Message, context: NodeContext) -> None:
    from handrail.services.webhook import address, send

    await send(address(context.env), message.whole)


async def _desktop(message: Message, context: NodeContext) -> None:
    """A notification by `notify-send`, or by `osascript` on macOS. Words are arguments of their own."""
    text = message.text if len(message.text) <= LONGEST_ON_DESKTOP else f"{message.text[: LONGEST_ON_DESKTOP - 1]}…"
    title = message.title or "Handrail"
    path = context.env.get("PATH")
    if shutil.which("notify-send", path=path):
        argv = ["notify-send", "--app-name=Handrail", "--", title, text]
    elif shutil.which("osascript", path=path):
        argv = ["osascript", "-e", _APPLE, f" {text}", f" {title}"]  # a word must not begin with a dash
    else:
        message_ = "neither `notify-send` nor `osascript` is installed"
        raise NodeError("program-missing", message_, transient=False)
    await _run(argv, None, message, context)


async def _command(message: Message, context: NodeContext) -> None:
    """A program of the user's own: it gets the message on its standard input."""
    argv = list(message.argv)
    if not argv:
        raise NodeError("params", "the channel `command` needs `command`, a program and its arguments", transient=False)
    at = os.path.join(context.project, argv[0])
    if shutil.which(argv[0], path=context.env.get("PATH")) is None and not os.path.exists(at):
        message_ = f"the program `{argv[0]}` is not installed or not on the PATH"
        raise NodeError("program-missing", message_, transient=False)
    await _run(argv, message.whole, message, context)


async def _run(argv: list[str], stdin: str | None, message: Message, context: NodeContext) -> None:
    env = without_secrets(context.env, context.pass_env, context.secrets)
    env |= {"HANDRAIL_RUN": context.run, "HANDRAIL_KEY": context.key, "HANDRAIL_TITLE": message.title}
    given = None if stdin is None else stdin.encode("utf-8", "replace")
    plain = [word.encode("utf-8", "replace").decode().replace("\0", "") for word in argv]
    task = Task(argv=plain, cwd=context.project, env=env, timeout=message.seconds, stdin=given, hold=context.hold())
    try:
        ended = await perform(task)
    except OSError as error:
        raise NodeError(
            "program-missing", f"`{argv[0]}` cannot be started: {error.strerror}", transient=False
        ) from None
    if ended.timed_out:
        raise NodeError("timeout", f"`{argv[0]}` was not done after {counted(message.seconds, 'second')}")
    if ended.exit_code != 0:
        told = tail(ended.output, 3)
        raise NodeError("exit-code", f"`{argv[0]}` ended with {ended.exit_code}{f': {told}' if told else ''}")


def place_of(channel: str, message: Message, context: NodeContext) -> str:
    """Where a channel sends to, for people. The address of a webhook is a secret, so only its host is told."""
    match channel:
        case "telegram":
            from handrail.services.telegram import bot

            return f"telegram: the chat of TELEGRAM_CHAT_ID, by `{host_of(bot(context.env).api)}`"
        case "webhook":
            from handrail.services.webhook import address

            return f"webhook: at `{host_of(address(context.env))}`"
        case "command":
            return f"command: {command_line(*message.argv)}"
        case _:
            return f"{channel}: on this machine"


CHANNELS: dict[str, Callable[[Message, NodeContext], Awaitable[None]]] = {
    "telegram": _telegram,
    "webhook": _webhook,
    "desktop": _desktop,
    "command": _command,
}
