"""What a refused request gets: a status, one sentence and what helps. Nothing of the request is repeated."""

from __future__ import annotations

from enum import Enum
from html import escape

from starlette.responses import HTMLResponse, JSONResponse, Response

import handrail

_NEW_LINK = "Press Enter in the terminal that runs `handrail web` to get a new link. A link works once."

_PAGE = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Handrail: refused</title>
<link rel="stylesheet" href="/static/{handrail.__version__}/style.css">
</head>
<body>
<main>
<h1>Refused</h1>
<p role="alert" class="banner">✗ {{sentence}}</p>
<p>{{help}}</p>
</main>
</body>
</html>
"""


class Refusal(Enum):
    """A reason to refuse: (status, code, sentence, what helps)."""

    HOST = (
        421,
        "host",
        "This address is not the one that the page is served under.",
        "Use the link from the terminal.",
    )
    ORIGIN = (403, "origin", "The request came from another page.", "Open the page itself and do it there.")
    COOKIE = (401, "signed-out", "You are not signed in.", _NEW_LINK)
    LINK = (401, "link", "This link was used already, or it is older than ten minutes.", _NEW_LINK)
    METHOD = (405, "method", "This address does not take such a request.", "Open the page itself.")
    FORM = (400, "form", "The request does not have the form that the page gives it.", "Reload the page.")
    LENGTH = (411, "length", "The request does not say how long it is.", "Reload the page.")
    SIZE = (413, "size", "This is too much text for one request.", "Shorten it; at most 256 KB fit.")
    STREAMS = (429, "streams", "Too many pages are open.", "Close some of them, then reload this one.")
    MISSING = (404, "missing", "There is nothing here.", "Go back to the first page.")
    BUG = (
        500,
        "bug",
        "This is a bug in Handrail.",
        "The terminal that runs `handrail web` names a report; please send it.",
    )
    STATE = (
        503,
        "state",
        "A file cannot be read or written.",
        "Look at the disk and at the permissions of the state folder, then try again.",
    )
    READ_ONLY = (403, "read-only", "This page only shows things.", "Start `handrail web` without `--read-only`.")

    @property
    def status(self) -> int:
        return self.value[0]

    @property
    def code(self) -> str:
        return self.value[1]

    @property
    def sentence(self) -> str:
        return self.value[2]

    @property
    def help(self) -> str:
        return self.value[3]


def refusal_page(refused: Refusal, path: str) -> Response:
    """The answer: JSON for the page's own requests, else a small page."""
    if path.startswith("/api/"):
        return JSONResponse(refusal_json(refused), refused.status)
    return HTMLResponse(_PAGE.format(sentence=escape(refused.sentence), help=escape(refused.help)), refused.status)


def refusal_json(refused: Refusal) -> dict[str, dict[str, str]]:
    return {"error": {"code": refused.code, "message": refused.sentence, "hint": refused.help}}
