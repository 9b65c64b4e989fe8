"""Messages to people: of a Telegram bot to one chat, and to a webhook in Slack's format.

The token of the bot is part of the address, and the address of a webhook is a secret, so no message contains them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from handrail.extensions.contracts import LastingError
from handrail.steps.services.addresses import base_address, origin
from handrail.steps.services.http import HttpLimits, JsonObject, Service

TELEGRAM = "Telegram"
TELEGRAM_API = "https://api.telegram.org"
LIMITS = HttpLimits(seconds=20.0, connect=5.0, tries=3, longest_pause=30.0, size=1024 * 1024)
LONGEST_TELEGRAM = 4096
"""Telegram refuses a longer text. It counts UTF-16 units."""


class Bot(NamedTuple):
    token: str
    chat: str
    api: str


def telegram_bot(env: Mapping[str, str]) -> Bot:
    """The configured bot and chat. Raises `NodeError` if one is missing."""
    chat = _first_set(env, "TELEGRAM_CHAT_ID", "chat_id", "CHAT_ID")
    token = _first_set(env, "TELEGRAM_BOT_TOKEN", "BOT_TOKEN")
    if chat is None:
        raise LastingError("service-config", f"{TELEGRAM}: set TELEGRAM_CHAT_ID (or chat_id) to the chat")
    if token is None:
        raise LastingError("service-config", f"{TELEGRAM}: set TELEGRAM_BOT_TOKEN (or BOT_TOKEN) to the token")
    if not token.isascii() or not token.isprintable():
        raise LastingError("service-config", f"{TELEGRAM}: TELEGRAM_BOT_TOKEN contains a character that no token has")
    return Bot(
        token,
        _without_surrogates(chat),
        base_address(TELEGRAM, "TELEGRAM_API_URL", _first_set(env, "TELEGRAM_API_URL") or TELEGRAM_API),
    )


def _first_set(env: Mapping[str, str], *names: str) -> str | None:
    return next((env[name].strip() for name in names if env.get(name, "").strip()), None)


async def send_telegram(sender: Bot, text: str) -> int | None:
    """Send a message and return its id. Raises `NodeError` if Telegram does not confirm it."""
    quoted_token = quote(sender.token, safe=":")
    service = Service(
        name=TELEGRAM,
        base=f"{sender.api}bot{quoted_token}/",
        headers={},
        secrets=(sender.token, quoted_token),
        limits=LIMITS,
        reason=lambda answer: answer.data.get("description"),
        requested_pause=_requested_pause,
        advice={401: "check TELEGRAM_BOT_TOKEN", 404: "check TELEGRAM_BOT_TOKEN"},
    )
    async with service:
        answer = await service.post("sendMessage", {"chat_id": sender.chat, "text": telegram_text(text)})
    if not answer.flag("ok"):
        raise LastingError("service-failed", f"{TELEGRAM}: it does not confirm the message")
    return answer.child("result").number("message_id")


def telegram_text(text: str) -> str:
    text = _without_surrogates(text)
    data = text.encode("utf-16-le")
    if len(data) <= 2 * LONGEST_TELEGRAM:
        return text
    return data[: 2 * (LONGEST_TELEGRAM - 1)].decode("utf-16-le", "ignore") + "…"


def _without_surrogates(text: str) -> str:
    """The text with a question mark in the place of each half of a surrogate pair, which cannot be sent."""
    return text.encode("utf-8", "replace").decode()


def _requested_pause(answer: JsonObject) -> float | None:
    """The pause that Telegram asks for, in the JSON of its answer."""
    seconds = answer.child("parameters").data.get("retry_after")
    return float(seconds) if isinstance(seconds, int | float) and not isinstance(seconds, bool) else None


WEBHOOK = "The webhook"
WEBHOOK_VARIABLES = ("NOTIFY_WEBHOOK_URL", "SLACK_WEBHOOK_URL")
LONGEST_WEBHOOK = 4000


def webhook_address(env: Mapping[str, str]) -> str:
    """The configured address. Raises `NodeError` if it is missing or wrong."""
    for name in WEBHOOK_VARIABLES:
        if address := env.get(name, "").strip():
            try:
                origin(address)
                is_plain = "@" not in urlsplit(address).netloc and address.isascii() and address.isprintable()
            except ValueError:
                is_plain = False
            if not is_plain:
                message = f"{WEBHOOK}: {name} is not an address that begins with https:// and has no user"
                raise LastingError("service-address", message)
            return address
    raise LastingError("service-config", f"{WEBHOOK}: set NOTIFY_WEBHOOK_URL to its address")


async def send_to_webhook(url: str, text: str) -> None:
    """Send a message. Raises `NodeError` if the webhook does not confirm it."""
    parts = urlsplit(url)
    secrets = (url, f"{parts.path}?{parts.query}" if parts.query else parts.path)
    service = Service(
        name=WEBHOOK,
        base=url,
        headers={},
        secrets=tuple(secret for secret in secrets if len(secret) > 1),
        limits=LIMITS,
        advice=dict.fromkeys((401, 403, 404, 410), "check NOTIFY_WEBHOOK_URL"),
    )
    async with service:
        await service.deliver("", {"text": webhook_text(text)})


def webhook_text(text: str) -> str:
    """The text, cut to what such services accept, without halves of surrogate pairs."""
    whole = _without_surrogates(text)
    return whole if len(whole) <= LONGEST_WEBHOOK else f"{whole[: LONGEST_WEBHOOK - 1]}…"
