"""`telegram-notify`: sends a message to a chat. It never fails the run, and never sends a message twice.

If the run is interrupted while the message is sent, its outputs say that the result is not known.
"""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, NodeError, Preview, Work
from handrail.settings.secrets import Secrets
from handrail.source.fields import ANYTHING, SCALARS, Field
from handrail.source.values import as_text
from handrail.steps.services.addresses import host_of

NODE = Node(
    about="Sends a message of your Telegram bot to your chat. If that is not possible, the run continues.",
    params=(
        Field("message", ANYTHING, "the text; more than 4096 characters are cut", required=True),
        Field("label", SCALARS, "accepted because AgentWeaver's flows have it; not used"),
    ),
    others="ignored",
    outputs={
        "success": "true if Telegram has confirmed the message",
        "messageId": "the id of the message; null if there is none",
        "reason": "why it was not sent or not confirmed; null if it was",
    },
    rerun="never",
    unknown={
        "success": False,
        "messageId": None,
        "reason": "the run was interrupted while the message was sent; whether it arrived is not known",
    },
    where=(),
)


async def run(work: Work, context: NodeContext) -> Any:
    from handrail.steps.services.chat import send_telegram, telegram_bot

    try:
        text = _text(work, context)
        id_ = await send_telegram(telegram_bot(context.env), text)
    except NodeError as error:
        return {"success": False, "messageId": None, "reason": error.message}
    return {"success": True, "messageId": id_, "reason": None}


async def preview(work: Work, context: NodeContext) -> Preview:
    from handrail.steps.services.chat import telegram_bot, telegram_text

    text = telegram_text(_text(work, context))
    place = host_of(telegram_bot(context.env).api)
    facts = (("Channel", f"the chat of TELEGRAM_CHAT_ID, by `{place}`"), ("Text", text))
    return Preview(title="Send a message to your Telegram chat", facts=facts)


def _text(work: Work, context: NodeContext) -> str:
    text = Secrets(context.env, context.secrets).mask(as_text(work.params["message"]))
    if not text.strip():
        raise NodeError("params", "`message` is blank", transient=False)
    return text
