"""`notify` and `telegram-notify`: send a message to people. They never fail the run, and never send a message twice.

If the run is interrupted while the message is sent, the outputs say that the result is not known.
"""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from handrail.base.processes import Task, run_task, tail
from handrail.extensions.contracts import LastingError, Node, NodeContext, NodeError, OneNode, Preview, Work
from handrail.settings.secrets import Secrets, without_secrets
from handrail.source.fields import ANYTHING, SCALARS, Field
from handrail.source.output_text import clean
from handrail.source.plain_text import command_line, counted
from handrail.source.values import as_text, shown
from handrail.steps.nodes.params import unused_param
from handrail.steps.nodes.programs import refuse_missing_program
from handrail.steps.services import chat
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
        raise LastingError("program-missing", "neither `notify-send` nor `osascript` is installed")
    await _run_program(argv, None, message, context)


async def _command(message: Message, context: NodeContext) -> None:
    """A program of the user's own: it gets the message on its standard input."""
    argv = list(message.argv)
    if not argv:
        raise LastingError("params", "the channel `command` needs `command`, a program and its arguments")
    refuse_missing_program(argv[0], context.project, context.env)
    await _run_program(argv, message.whole, message, context)


async def _run_program(argv: list[str], stdin: str | None, message: Message, context: NodeContext) -> None:
    env = without_secrets(context.env, context.pass_env, context.secrets)
    env |= {"HANDRAIL_RUN": context.run, "HANDRAIL_KEY": context.key, "HANDRAIL_TITLE": message.title}
    data = None if stdin is None else stdin.encode("utf-8", "replace")
    plain = [word.encode("utf-8", "replace").decode().replace("\0", "") for word in argv]
    task = Task(argv=plain, cwd=context.project, env=env, timeout=message.seconds, stdin=data, hold=context.hold())
    try:
        ended = await run_task(task)
    except OSError as error:
        raise LastingError("program-missing", f"`{argv[0]}` cannot be started: {error.strerror}") from None
    if ended.timed_out:
        raise NodeError("timeout", f"`{argv[0]}` was not done after {counted(message.seconds, 'second')}")
    if ended.exit_code != 0:
        last = tail(clean(ended.output), 3)
        raise NodeError("exit-code", f"`{argv[0]}` ended with {ended.exit_code}{f': {last}' if last else ''}")


def _telegram_chat(context: NodeContext) -> str:
    return f"the chat of TELEGRAM_CHAT_ID, by `{host_of(chat.telegram_bot(context.env).api)}`"


class Delivery(NamedTuple):
    """`target` says for people where it sends to. The address of a webhook is a secret, so it only says the host."""

    send: Callable[[Message, NodeContext], Awaitable[object]]
    target: Callable[[Message, NodeContext], str]


CHANNELS = {
    "telegram": Delivery(
        lambda message, context: chat.send_telegram(chat.telegram_bot(context.env), message.whole),
        lambda _, context: _telegram_chat(context),
    ),
    "webhook": Delivery(
        lambda message, context: chat.send_to_webhook(chat.webhook_address(context.env), message.whole),
        lambda _, context: f"at `{host_of(chat.webhook_address(context.env))}`",
    ),
    "desktop": Delivery(_desktop, lambda *_: "on this machine"),
    "command": Delivery(_command, lambda message, _: command_line(*message.argv)),
}


LONGEST_TITLE = 200
_INTERRUPTED = "the run was interrupted while the message was sent; whether it arrived is not known"
_NOTIFY = Node(
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
    unknown={"success": False, "sent": [], "reasons": {}, "reason": _INTERRUPTED},
    where=("channels",),
)


async def _notify(work: Work, context: NodeContext) -> Any:
    channels, message = _channels(work.params["channels"]), _message(work, context)
    sent: list[str] = []
    reasons: dict[str, str] = {}
    for name in channels:
        try:
            _refuse_blank(message.text)
            await CHANNELS[name].send(message, context)
            sent.append(name)
        except NodeError as error:
            reasons[name] = error.message
    return {"success": not reasons, "sent": sent, "reasons": reasons, "reason": next(iter(reasons.values()), None)}


async def _preview_notify(work: Work, context: NodeContext) -> Preview:
    channels, message = _channels(work.params["channels"]), _message(work, context)
    _refuse_blank(message.text)
    facts = [("Channel", f"{name}: {CHANNELS[name].target(message, context)}") for name in channels]
    facts += [("Title", message.title)] if message.title else []
    names = ", ".join(channels)
    where = {"channels": names}
    return Preview(title=f"Send a message by {names}", facts=(*facts, ("Text", message.text)), where=where)


def _refuse_blank(text: str) -> None:
    if not text.strip():
        raise LastingError("params", "`message` is blank")


def _channels(names: list[str]) -> list[str]:
    """The channels, each once. An unknown one is a mistake in the flow, so it fails the step."""
    for name in names:
        if name not in CHANNELS:
            choices = ", ".join(f"`{channel}`" for channel in CHANNELS)
            raise LastingError("params", f"an item of `channels` has to be one of {choices}, found `{shown(name, 40)}`")
    return list(dict.fromkeys(names))


def _message(work: Work, context: NodeContext) -> Message:
    title = work.params.get("title")
    masked_title = "" if title is None else Secrets(context.env, context.secrets).mask(as_text(title))
    return Message(
        title=" ".join(masked_title.split())[:LONGEST_TITLE],
        text=_masked_text(work, context),
        argv=tuple(map(as_text, work.params.get("command") or ())),
        seconds=float(work.timeout or PROGRAM_SECONDS),
    )


def _masked_text(work: Work, context: NodeContext) -> str:
    return Secrets(context.env, context.secrets).mask(as_text(work.params["message"]))


_TELEGRAM_NOTIFY = Node(
    about="Sends a message of your Telegram bot to your chat. If that is not possible, the run continues.",
    params=(
        Field("message", ANYTHING, "the text; more than 4096 characters are cut", required=True),
        unused_param("label"),
    ),
    others="ignored",
    outputs={
        "success": "true if Telegram has confirmed the message",
        "messageId": "the id of the message; null if there is none",
        "reason": "why it was not sent or not confirmed; null if it was",
    },
    rerun="never",
    unknown={"success": False, "messageId": None, "reason": _INTERRUPTED},
    where=(),
)


async def _notify_by_telegram(work: Work, context: NodeContext) -> Any:
    text = _masked_text(work, context)
    try:
        _refuse_blank(text)
        id_ = await chat.send_telegram(chat.telegram_bot(context.env), text)
    except NodeError as error:
        return {"success": False, "messageId": None, "reason": error.message}
    return {"success": True, "messageId": id_, "reason": None}


async def _preview_telegram(work: Work, context: NodeContext) -> Preview:
    text = _masked_text(work, context)
    _refuse_blank(text)
    facts = (("Channel", _telegram_chat(context)), ("Text", chat.telegram_text(text)))
    return Preview(title="Send a message to your Telegram chat", facts=facts)


NOTIFY = OneNode(_NOTIFY, _notify, _preview_notify)
TELEGRAM_NOTIFY = OneNode(_TELEGRAM_NOTIFY, _notify_by_telegram, _preview_telegram)
