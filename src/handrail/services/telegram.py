"""Telegram: one message of a bot to one chat. The token is part of the address, so no message contains the address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from handrail.contracts import NodeError
from handrail.services.addresses import base_address
from handrail.services.http import Limits, Service

NAME = "Telegram"
API = "https://api.telegram.org"
LIMITS = Limits(seconds=20.0, connect=5.0, tries=3, longest_pause=30.0, size=1024 * 1024)
LONGEST = 4096
"""Telegram refuses a longer text. It counts UTF-16 units."""


class Bot(NamedTuple):
    token: str
    chat: str
    api: str


def bot(env: Mapping[str, str]) -> Bot:
    """The configured bot and chat. Raises `NodeError` if one is missing."""
    chat = _first(env, "TELEGRAM_CHAT_ID", "chat_id", "CHAT_ID")
    token = _first(env, "TELEGRAM_BOT_TOKEN", "BOT_TOKEN")
    if chat is None:
        raise NodeError("service-config", f"{NAME}: set TELEGRAM_CHAT_ID (or chat_id) to the chat", transient=False)
    if token is None:
        raise NodeError(
            "service-config", f"{NAME}: set TELEGRAM_BOT_TOKEN (or BOT_TOKEN) to the token", transient=False
        )
    if not token.isascii() or not token.isprintable():
        message = f"{NAME}: TELEGRAM_BOT_TOKEN contains a character that no token has"
        raise NodeError("service-config", message, transient=False)
    return Bot(token, _whole(chat), base_address(NAME, "TELEGRAM_API_URL", _first(env, "TELEGRAM_API_URL") or API))


def _first(env: Mapping[str, str], *names: str) -> str | None:
    return next((env[name].strip() for name in names if env.get(name, "").strip()), None)


async def send(sender: Bot, text: str) -> int | None:
    """Send a message and return its id. Raises `NodeError` if Telegram does not confirm it."""
    written = quote(sender.token, safe=":")
    service = Service(
        name=NAME,
        base=f"{sender.api}bot{written}/",
        headers={},
        secrets=(sender.token, written),
        limits=LIMITS,
        reason=lambda said: said.get("description"),
        asked=_asked,
        advice={401: "check TELEGRAM_BOT_TOKEN", 404: "check TELEGRAM_BOT_TOKEN"},
    )
    async with service:
        said = await service.post("sendMessage", {"chat_id": sender.chat, "text": shortened(text)})
    if not isinstance(said, dict) or said.get("ok") is not True:
        raise NodeError("service-failed", f"{NAME}: it does not confirm the message", transient=False)
    result = said["result"] if isinstance(said.get("result"), dict) else {}
    id_ = result.get("message_id")
    return id_ if isinstance(id_, int) else None


def shortened(text: str) -> str:
    """The text, cut to what Telegram accepts."""
    text = _whole(text)
    data = text.encode("utf-16-le")
    if len(data) <= 2 * LONGEST:
        return text
    return data[: 2 * (LONGEST - 1)].decode("utf-16-le", "ignore") + "…"


def _whole(text: str) -> str:
    """The text with a question mark in the place of each half of a surrogate pair, which cannot be sent."""
    return text.encode("utf-8", "replace").decode()


def _asked(said: dict[str, Any]) -> float | None:
    """The pause that Telegram asks for, in the JSON of its answer."""
    more = said.get("parameters")
    seconds = more.get("retry_after") if isinstance(more, dict) else None
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    return float(seconds) if is_number and seconds is not None else None
