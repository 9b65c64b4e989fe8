"""The log-in page of a server that other machines can reach. It has no script."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from urllib.parse import parse_qs

from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

import handrail
from handrail.web.entry import Credentials, Doorkeeper
from handrail.web.guard import LOGIN, POLICY

MOST_TRIES, TRY_SECONDS = 5, 60.0
_HEADERS = {
    "content-security-policy": POLICY.replace("form-action 'none'", "form-action 'self'"),
    "referrer-policy": "same-origin",  # with `no-referrer`, a browser does not say which page sent the form
}
_PAGE = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Handrail: log in</title>
<link rel="stylesheet" href="/static/{handrail.__version__}/style.css">
</head>
<body>
<main>
<h1>Log in</h1>
PROBLEM
<form method="post" action="{LOGIN}">
<p><label>User<br><input name="user" autocomplete="username" required autofocus></label></p>
<p><label>Password<br><input name="password" type="password" autocomplete="current-password" required></label></p>
<p><button>Log in</button></p>
</form>
</main>
</body>
</html>
"""


class Login:
    """The route of the log-in page. `admit` makes the answer that sets a cookie."""

    def __init__(
        self, door: Doorkeeper, credentials: Credentials, clock: Callable[[], float], admit: Callable[[str], Response]
    ) -> None:
        self.door = door
        self.credentials = credentials
        self.clock = clock
        self.admit = admit
        self.tries: deque[float] = deque(maxlen=MOST_TRIES)
        self.route = Route(LOGIN, self.answer, methods=["GET", "POST"])

    async def answer(self, request: Request) -> Response:
        if request.method != "POST":
            return _page("", 200)
        now = self.clock()
        if len(self.tries) == MOST_TRIES and now - self.tries[0] < TRY_SECONDS:
            return _page("Too many log-ins. Wait a minute, then try again.", 429)
        self.tries.append(now)
        try:
            given = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=4)
        except (ValueError, ClientDisconnect):
            given = {}
        user, password = (given.get(name, [""])[0] for name in ("user", "password"))
        if not self.credentials.fit(user, password):
            return _page("The user or the password is wrong.", 401)
        return self.admit(self.door.new_cookie())


def _page(problem: str, status: int) -> Response:
    told = f'<p role="alert">{problem}</p>' if problem else ""
    return HTMLResponse(_PAGE.replace("PROBLEM", told), status, _HEADERS)
