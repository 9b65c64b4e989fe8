"""The status line: what the card of the conversation's session says. Standard library only."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def status_line(agent: str, body: str, env: Mapping[str, str]) -> str:
    """One line to show; empty when no workflow is active or anything is amiss. A status line never fails."""
    from handrail.hosts.tools import card_of
    from handrail.project import Places
    from handrail.sessions import links
    from handrail.state import jsonlite

    try:
        conversation = str(jsonlite.loads(body)["session_id"])
        seat = links.read(links.path(Places(env), agent, conversation))
        line = str(card_of(seat).get("statusLine") or "") if seat else ""
        return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)
    except links.Unsettled:
        return ""
    except Exception as error:  # noqa: BLE001 - shown where people look, instead of a traceback nobody sees
        return f"handrail: {type(error).__name__}"
