"""`notify`: sends one message to people. It never fails the run, and never sends a message twice.

If the run is interrupted while the message is sent, its outputs say that the result is not known.
"""

from __future__ import annotations

from typing import Any

from handrail.contracts import Node, NodeContext, NodeError, Preview, Work
from handrail.nodes.notify.channels import CHANNELS, SECONDS, Message, place_of
from handrail.secrets.redaction import Secrets
from handrail.source.fields import ANYTHING, SCALARS, Field
from handrail.source.values import as_text, shown

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
    facts = [("Channel", place_of(name, message, context)) for name in wanted]
    facts += [("Title", message.title)] if message.title else []
    named = ", ".join(wanted)
    title = f"Send a message by {named}"
    return Preview(title=title, facts=(*facts, ("Text", message.text)), where={"channels": named})


def _channels(given: Any) -> list[str]:
    """The channels, each once. An unknown one is a mistake in the flow, so it fails the step."""
    listed = given if isinstance(given, list) else []
    for name in listed:
        if not isinstance(name, str) or name not in CHANNELS:
            known = ", ".join(f"`{channel}`" for channel in CHANNELS)
            message = f"an item of `channels` has to be one of {known}, found `{shown(name, 40)}`"
            raise NodeError("params", message, transient=False)
    if not listed:
        raise NodeError("params", "`channels` has to be a list with at least one channel", transient=False)
    return list(dict.fromkeys(listed))


def _message(work: Work, context: NodeContext) -> Message:
    hidden = Secrets(context.env, context.secrets)
    given, argv = work.params.get("title"), work.params.get("command") or []
    title = "" if given is None else " ".join(hidden.mask(as_text(given)).split())[:LONGEST_TITLE]
    if not isinstance(argv, list) or any(part is None for part in argv):
        raise NodeError("params", f"`command` has to be a list of texts, found {shown(argv, 80)}", transient=False)
    return Message(
        title=title,
        text=hidden.mask(as_text(work.params["message"])),
        argv=tuple(as_text(part) for part in argv),
        seconds=float(work.timeout or SECONDS),
    )
