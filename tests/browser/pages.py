"""All pages of a site: those that its links lead to, one of each kind."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlsplit

from browser.tab import Tab

MOST = 40
SHOWN = "document.querySelector('h1') && !/connecting …|Reading ([a-z ]+)?…/.test(document.body.innerText)"
"""True once a page has its content."""
_LINKS = "[...document.querySelectorAll('a[href]')].map(a => a.href).filter(h => h.startsWith(location.origin))"
_ID = re.compile(r"(?<=/)(runs?|sessions?|needs|artifacts)/[^/]+")
_FLOW = re.compile(r"(?<=/)(catalog|launch)/([^/]+)/[^/]+")


def kind_of(address: str) -> str:
    """What kind of page an address shows: ids are left out, and so are values that choose a row."""
    parts = urlsplit(address)
    path = _FLOW.sub(r"\1/\2/ID", _ID.sub(r"\1/ID", parts.path))
    query = [f"{name}={value if name in ('view', 'mode') else ''}" for name, value in sorted(parse_qsl(parts.query))]
    return path + ("?" + "&".join(query) if query else "")


def pages(tab: Tab, first: list[str]) -> dict[str, str]:
    """Kind → address of every page that can be reached from these addresses."""
    found: dict[str, str] = {}
    waiting = list(first)
    while waiting and len(found) < MOST:
        address = waiting.pop(0)
        if kind_of(address) in found or address.startswith(("/static/", "/api/")):
            continue
        found[kind_of(address)] = address
        tab.open(address)
        tab.wait(SHOWN)
        links = [urlsplit(link) for link in tab.evaluate(_LINKS)]
        waiting += [link.path + (f"?{link.query}" if link.query else "") for link in links]
    return found
