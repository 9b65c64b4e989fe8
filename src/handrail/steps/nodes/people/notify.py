"""`notify`: sends one message to people on one or several channels. It never fails the run.

It never sends a message twice: if the run is interrupted while the message is sent, its outputs say that the result
is not known.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from handrail.base.processes import Task, run_task, tail
from handrail.extensions.contracts import Node, NodeContext, NodeError, Preview, Work
from handrail.settings.secrets import Secrets, without_secrets
from handrail.source.fields import ANYTHING, SCALARS, Field
from handrail.source.plain_text import command_line, counted
from handrail.source.values import as_text, shown
from handrail.steps.services.addresses import host_of

PROGRAM_SECONDS = 30.0
LONGEST_ON_DESKTOP = 500
_APPLE_SCRIPT = "on run words\ndisplay notification (item 1 of words) with title (item 2 of words)\nend run"


class Message(NamedTuple):
    """`argv` is the program of the channel `command`; `seconds` is how long a program may take."""

    title: str
    text: str
    argv: tuple[str, ...] = ()
    seconds: float = PROGRAM_SECONDS

    @property
    def whole(self) -> str:
        return f"{self.title}\n{self.text}" if self.title else self.text


async def _telegram(message: Message, context: NodeContext) -> None:
    from handrail.steps.services.chat import send_telegram, telegram_bot

    await send_telegram(telegram_bot(context.env), message.whole)


async def _webhook(message: Message, context: NodeContext) -> None:
    from handrail.steps.services.chat import send_to_webhook, webhook_address

    await send_to_webhook(webhook_address(context.env), message.whole)


async def _desktop(message: Message, context: NodeContext) -> None:
    """A notification by `notify-send`, or by `osascript` on macOS. Words are arguments of their own."""
    text = message.text if len(message.text) <= LONGEST_ON_DESKTOP else f"{message.text[: LONGEST_ON_DESKTOP - 1]}…"
    title = message.title or "Handrail"
    path = context.env.get("PATH")
    if shutil.which("notify-send", path=path):
        argv = ["notify-send", "--app-name=Handrail", "--", title, text]
    elif shutil.which("osascript", path=path):
        argv = ["osascript", "-e", _APPLE_SCRIPT, f" {text}", f" {title}"]  # a word must not begin with a dash
    else:
        message_ = "neither `notify-send` nor `osascript` is installed"
        raise NodeError("program-missing", message_, transient=False)
    await _run_program(argv, None, message, context)


async def _command(message: Message, context: NodeContext) -> None:
    """A program of the user's own: it gets the message on its standard input."""
    argv = list(message.argv)
    if not argv:
        raise NodeError("params", "the channel `command` needs `command`, a program and its arguments", transient=False)
    at = os.path.join(context.project, argv[0])
    if shutil.which(argv[0], path=context.env.get("PATH")) is None and not os.path.exists(at):
        message_ = f"the program `{argv[0]}` is not installed or not on the PATH"
        raise NodeError("program-missing", message_, transient=False)
    await _run_program(argv, message.whole, message, context)


async def _run_program(argv: list[str], stdin: str | None, message: Message, context: NodeContext) -> None:
    env = without_secrets(context.env, context.pass_env, context.secrets)
    env |= {"HANDRAIL_RUN": context.run, "HANDRAIL_KEY": context.key, "HANDRAIL_TITLE": message.title}
    given = None if stdin is None else stdin.encode("utf-8", "replace")
    plain = [word.encode("utf-8", "replace").decode().replace("\0", "") for word in argv]
    task = Task(argv=plain, cwd=context.project, env=env, timeout=message.seconds, stdin=given, hold=context.hold())
    try:
        ended = await run_task(task)
    except OSError as error:
        raise NodeError(
            "program-missing", f"`{argv[0]}` cannot be started: {error.strerror}", transient=False
        ) from None
    if ended.timed_out:
        raise NodeError("timeout", f"`{argv[0]}` was not done after {counted(message.seconds, 'second')}")
    if ended.exit_code != 0:
        told = tail(ended.output, 3)
        raise NodeError("exit-code", f"`{argv[0]}` ended with {ended.exit_code}{f': {told}' if told else ''}")


def channel_target(channel: str, message: Message, context: NodeContext) -> str:
    """Where a channel sends to, for people. The address of a webhook is a secret, so only its host is told."""
    match channel:
        case "telegram":
            from handrail.steps.services.chat import telegram_bot

            return f"telegram: the chat of TELEGRAM_CHAT_ID, by `{host_of(telegram_bot(context.env).api)}`"
        case "webhook":
            from handrail.steps.services.chat import webhook_address

            return f"webhook: at `{host_of(webhook_address(context.env))}`"
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


LONGEST_TITLE = 200
NODE = Node(
    about="Sends a message on one or several channels: `telegram` (your bot), `webhook` (an address that takes "
    "messages in Slack's format), `desktop` (a notification on this machine) or `command` (a program of yours, which "
    "gets the message on its standard input). If that is not possible, the run continues.",
    params=(
        Field("message", ANYTHING, "the text; each channel cuts it at its own limit", required=True, also=("text",)),
        Field(
            "channels",
            ("list",),
            f"where it is sent, in this order: {', '.join(f'`{name}`' for name in CHANNELS)}",
            required=True,
            items=("text",),
            shortest=1,
            also=("channel", "to"),
        ),
        Field("title", SCALARS, "a line before the text, or the title of the notification"),
        Field("command", ("list",), "for `command`: the program and its arguments", items=SCALARS, shortest=1),
    ),
    outputs={
        "success": "true if every channel has taken the message",
        "sent": "the channels that have taken it",
        "reasons": "why the others have not, by channel",
        "reason": "the first of these reasons; null if there is none",
    },
    rerun="never",
    unknown={
        "success": False,
        "sent": [],
        "reasons": {},
        "reason": "the run was interrupted while the message was sent; whether it arrived is not known",
    },
    where=("channels",),
)


async def run(work: Work, context: NodeContext) -> Any:
    wanted, message = _channels(work.params["channels"]), _message(work, context)
    sent: list[str] = []
    reasons: dict[str, str] = {}
    for name in wanted:
        try:
            if not message.text.strip():
                raise NodeError("params", "`message` is blank", transient=False)
            await CHANNELS[name](message, context)
            sent.append(name)
        except NodeError as error:
            reasons[name] = error.message
    return {"success": not reasons, "sent": sent, "reasons": reasons, "reason": next(iter(reasons.values()), None)}


async def preview(work: Work, context: NodeContext) -> Preview:
    wanted, message = _channels(work.params["channels"]), _message(work, context)
    if not message.text.strip():
        raise NodeError("params", "`message` is blank", transient=False)
    facts = [("Channel", channel_target(name, message, context)) for name in wanted]
    facts += [("Title", message.title)] if message.title else []
    named = ", ".join(wanted)
    title = f"Send a message by {named}"
    return Preview(title=title, facts=(*facts, ("Text", message.text)), where={"channels": named})


def _channels(given: list[str]) -> list[str]:
    """The channels, each once. An unknown one is a mistake in the flow, so it fails the step."""
    for name in given:
        if name not in CHANNELS:
            known = ", ".join(f"`{channel}`" for channel in CHANNELS)
            message = f"an item of `channels` has to be one of {known}, found `{shown(name, 40)}`"
            raise NodeError("params", message, transient=False)
    return list(dict.fromkeys(given))


def _message(work: Work, context: NodeContext) -> Message:
    hidden = Secrets(context.env, context.secrets)
    given, argv = work.params.get("title"), work.params.get("command") or []
    title = "" if given is None else " ".join(hidden.mask(as_text(given)).split())[:LONGEST_TITLE]
    return Message(
        title=title,
        text=hidden.mask(as_text(work.params["message"])),
        argv=tuple(as_text(part) for part in argv),
        seconds=float(work.timeout or PROGRAM_SECONDS),
    )
