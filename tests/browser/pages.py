"""All pages of a site: those that its links lead to, one of each kind."""

from __future__ import annotations

import re
import time
from urllib.parse import parse_qsl, urlsplit

from browser.tab import PATIENCE, Tab

MOST = 40
SHOWN = "document.querySelector('h1') && !/connecting …|Reading ([a-z ]+)?…/.test(document.body.innerText)"
"""True once a page has its content."""
_WORDS = r"""(main => { main.querySelectorAll('.tick, .gap').forEach(mark => mark.remove())
  return main.textContent.replace(/(\d+(\.\d)?[smhd] ?)+/g, '…') })(document.querySelector('main').cloneNode(true))"""
"""What a page shows, without durations and marks of time: they go on."""
_LINKS = "[...document.querySelectorAll('a[href]')].map(a => a.href).filter(h => h.startsWith(location.origin))"
_ID = re.compile(r"(?<=/)(runs?|sessions?|needs|artifacts)/[^/]+")
_FLOW = re.compile(r"(?<=/)(catalog|launch)/([^/]+)/[^/]+")


def reload_same(tab: Tab) -> None:
    """Load the page again: it must show the same at the same address."""
    tab.wait(SHOWN)
    address, words = tab.path, tab.evaluate(_WORDS)
    tab.reload()
    deadline = time.monotonic() + PATIENCE
    while (after := tab.evaluate(_WORDS)) != words:
        assert time.monotonic() < deadline, f"{address} showed\n{words}\nand now shows\n{after}"
        time.sleep(0.05)
    assert tab.path == address


def kind_of(address: str) -> str:
    """What kind of page an address shows: ids are left out, and so are values that choose a row.

    A step is the same beside every view of its run.
    """
    parts = urlsplit(address)
    path = _FLOW.sub(r"\1/\2/ID", _ID.sub(r"\1/ID", parts.path))
    query = dict(parse_qsl(parts.query))
    told = ("part",) if "step" in query else ("view", "mode", "as") if query.get("view") == "graph" else ("view", "as")
    named = [
        f"{name}={query[name]}" if name in told else name for name in sorted(query) if name in (*told, "step", "of")
    ]
    return path + ("?" + "&".join(named) if named else "")


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
