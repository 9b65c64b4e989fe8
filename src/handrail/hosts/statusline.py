"""The status line of a conversation, read from its card. Standard library only."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from handrail.contracts import Host


def status_line(host: Host, agent: str, body: str, env: Mapping[str, str]) -> str:
    """One line to show; empty if no workflow is active. Raises nothing: an error is shown by its name.

    If the agent was allowed to stop, the line says why, until the next prompt.
    """
    from handrail.project import Places
    from handrail.sessions import links, marks
    from handrail.sessions.current import current_card
    from handrail.state import jsonlite

    try:
        conversation = host.conversation(jsonlite.loads(body))
        ref = links.read(links.path(Places(env), agent, conversation))
        card = current_card(ref) if ref else None
        line = (card["statusLine"] or "") if card else ""
        if ref and line and (why := marks.content(ref.folder, marks.LET_GO)):
            line = f"{line} · {why}"
        return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)
    except links.Unsettled:
        return ""
    except Exception as error:  # noqa: BLE001 - people see the status line, but not a traceback
        return f"handrail: {type(error).__name__}"
