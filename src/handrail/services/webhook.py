"""A message to a webhook in Slack's format. The address itself is the secret, so no message contains it."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from handrail.contracts import NodeError
from handrail.services.addresses import origin
from handrail.services.http import Limits, Service

NAME = "The webhook"
VARIABLES = ("NOTIFY_WEBHOOK_URL", "SLACK_WEBHOOK_URL")
LIMITS = Limits(seconds=20.0, connect=5.0, tries=3, longest_pause=30.0, size=1024 * 1024)
LONGEST = 4000


def address(env: Mapping[str, str]) -> str:
    """The configured address. Raises `NodeError` if it is missing or wrong."""
    for name in VARIABLES:
        found = env.get(name, "").strip()
        if found:
            try:
                origin(found)
                is_plain = "@" not in urlsplit(found).netloc and found.isascii() and found.isprintable()
            except ValueError:
                is_plain = False
            if not is_plain:
                message = f"{NAME}: {name} is not an address that begins with https:// and has no user"
                raise NodeError("service-address", message, transient=False)
            return found
    raise NodeError("service-config", f"{NAME}: set NOTIFY_WEBHOOK_URL to its address", transient=False)


async def send(url: str, text: str) -> None:
    """Send a message. Raises `NodeError` if the webhook does not confirm it."""
    parts = urlsplit(url)
    secrets = (url, f"{parts.path}?{parts.query}" if parts.query else parts.path)
    service = Service(
        name=NAME,
        base=url,
        headers={},
        secrets=tuple(secret for secret in secrets if len(secret) > 1),
        limits=LIMITS,
        advice=dict.fromkeys((401, 403, 404, 410), "check NOTIFY_WEBHOOK_URL"),
    )
    async with service:
        await service.deliver("", {"text": shortened(text)})


def shortened(text: str) -> str:
    """The text, cut to what such services accept, without halves of surrogate pairs."""
    whole = text.encode("utf-8", "replace").decode()
    return whole if len(whole) <= LONGEST else f"{whole[: LONGEST - 1]}…"
