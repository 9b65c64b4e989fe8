"""`handrail web`: runs and sessions in a browser on this machine."""

from __future__ import annotations

import importlib.util
import json
import webbrowser
from typing import TYPE_CHECKING

import click

from handrail.app import App
from handrail.cli.bugs import write_report
from handrail.cli.common import command
from handrail.cli.output import Shell, echo
from handrail.errors import NotFound

if TYPE_CHECKING:
    from handrail.web.server import Address


@click.command()
@click.option("--port", type=int, metavar="N", help="The port; by default the last one, else any free one.")
@click.option("--no-open", is_flag=True, help="Do not open a browser.")
@click.option("--read-only", is_flag=True, help="Only show things: nothing can be launched, answered or stopped.")
@click.option("--host", metavar="ADDRESS", help="Serve other machines too, at this address. Needs a log-in and TLS.")
@click.option("--tls-cert", type=click.Path(), metavar="FILE", help="The certificate, with its chain.")
@click.option("--tls-key", type=click.Path(), metavar="FILE", help="The key of the certificate.")
@click.option("--behind-proxy", metavar="URL", help="The address of a proxy that passes requests on. Needs a log-in.")
@command
def web(  # noqa: PLR0913  # one parameter per option
    app: App,
    shell: Shell,
    *,
    port: int | None,
    no_open: bool,
    read_only: bool,
    host: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    behind_proxy: str | None,
) -> None:
    """Show runs and guided sessions in a browser.

    The page is served on this machine only. The printed link works once; press Enter for a new one. Ctrl-C ends the
    server; runs go on.

    For a page that other machines can reach, set HANDRAIL_WEB_USER and HANDRAIL_WEB_PASSWORD in the environment, and
    give the files for TLS or the address of a proxy.
    """
    if importlib.util.find_spec("uvicorn") is None or importlib.util.find_spec("starlette") is None:
        raise NotFound("the web page needs packages that are not installed", "run `pip install starlette uvicorn`")
    from handrail.web.exposure import PASSWORD, USER, exposure
    from handrail.web.listening import Wanted, serve

    wanted = Wanted(exposure(host, tls_cert, tls_key, behind_proxy, app.env), port, read_only)
    app.env = {name: value for name, value in app.env.items() if name not in (USER, PASSWORD)}  # not for runs

    def ready(link: str, address: Address) -> None:
        if shell.as_json:
            echo(json.dumps({"url": link, "host": address.host, "port": address.port}))
            return
        echo(link)
        shell.talk("The link works once and for ten minutes. Enter: a new link. Ctrl-C: end; runs go on.")
        if not no_open:
            webbrowser.open(link)

    def report(error: Exception) -> None:
        write_report(error, ["web"])

    serve(app, wanted, ready, lambda link, _: shell.talk(link), report)
