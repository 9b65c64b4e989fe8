"""`handrail web`: runs and sessions in a browser on this machine."""

from __future__ import annotations

import importlib.util
import json
import webbrowser
from typing import TYPE_CHECKING

import click

from handrail.app import App
from handrail.cli.common import command
from handrail.cli.output import Shell, echo
from handrail.errors import NotFound

if TYPE_CHECKING:
    from handrail.web.server import Address


@click.command()
@click.option("--port", type=int, metavar="N", help="The port; without this the one of the last time, else any.")
@click.option("--no-open", is_flag=True, help="Do not open a browser.")
@command
def web(app: App, shell: Shell, *, port: int | None, no_open: bool) -> None:
    """Show runs and sessions in a browser.

    The page is served on this machine only. The printed link works once; press Enter for a new one. Ctrl-C ends the
    server; runs go on.
    """
    if importlib.util.find_spec("uvicorn") is None or importlib.util.find_spec("starlette") is None:
        raise NotFound("the web page needs packages that are not installed", "run `pip install 'handrail[ui]'`")
    from handrail.web.listening import serve

    def ready(link: str, address: Address) -> None:
        if shell.as_json:
            echo(json.dumps({"url": link, "host": address.host, "port": address.port}))
            return
        echo(link)
        shell.talk("The link works once and for ten minutes. Enter: a new link. Ctrl-C: end; runs go on.")
        if not no_open:
            webbrowser.open(link)

    serve(app, port, ready, lambda link, _: shell.talk(link))
