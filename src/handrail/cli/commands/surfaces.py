"""`handrail ui`, `web` and `view`: runs and sessions in this terminal, in a browser, as rows for programs.

`handrail` alone does the same as `handrail ui` if it has a terminal.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from typing import TYPE_CHECKING

import click

from handrail.app import App
from handrail.base.dataclasses import replace
from handrail.base.errors import NotFound, UsageError
from handrail.cli.main import write_report
from handrail.cli.options import command
from handrail.cli.output import Shell, echo, has_reader, has_terminal

if TYPE_CHECKING:
    from handrail.web.access import Address


@click.command()
@command
def ui(app: App, shell: Shell) -> None:
    """Show runs and guided sessions in this terminal: what needs you comes first.

    Runs go on when you quit. `?` shows every key.
    """
    del shell
    if not has_terminal(os.environ):
        raise UsageError("`handrail ui` needs a terminal", "`handrail runs` and `handrail view home` work without one")
    if importlib.util.find_spec("textual") is None:
        raise NotFound("the terminal surface needs a package that is not installed", "run `pip install textual`")
    from handrail.tui.app import HandrailApp

    surface = HandrailApp(app)
    surface.run()
    if surface.bug is not None:
        raise surface.bug


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
    from handrail.web.access import PASSWORD, USER, exposure
    from handrail.web.server import serve

    access = exposure(host, tls_cert, tls_key, behind_proxy, app.env)
    access = replace(access, port=port, is_read_only=read_only)
    app.env = {name: value for name, value in app.env.items() if name not in (USER, PASSWORD)}  # not for runs

    def ready(link: str, address: Address) -> None:
        if shell.as_json:
            echo(json.dumps({"url": link, "host": address.host, "port": address.port}))
            return
        echo(link)
        shell.talk("The link works once and for ten minutes. Enter: a new link. Ctrl-C: end; runs go on.")
        if not no_open:
            import webbrowser

            webbrowser.open(link)

    serve(app, access, ready, lambda link, _: shell.talk(link), lambda error: write_report(error, ["web"]))


LOOK_AGAIN = 0.2
HEARTBEAT = 15.0
_ENDED = ("completed", "stopped", "failed", "cancelled", "done", "none")


@click.command()
@click.argument("topic")
@click.option("--follow", is_flag=True, help="Print what changes, until the run or the session ends.")
@command
def view(app: App, shell: Shell, topic: str, *, follow: bool) -> None:
    """Print a project, its definitions, a run or a session as rows, for programs.

    TOPIC is `home` (all runs and sessions), `catalog` (all definitions), `run:ID` or `session:ID`. Each line is a
    message in JSON: the first one has all rows, each later one has the rows that changed. Every row has an id, and `v`,
    the number of the event that last changed it.
    """
    from handrail.view.live.hub import open_topic
    from handrail.view.live.run import seq_of, with_tail

    del shell
    live = open_topic(app, topic)
    epoch, base, tail, silence = "", 0, 0, 0.0
    while True:
        rows = live.topic.rows
        if (epoch, base, tail) != (rows.epoch, rows.seq, seq_of(live)) or silence >= HEARTBEAT:
            for message in with_tail(live, list(live.messages(epoch, base, app.clock())), epoch, tail):
                if not echo(json.dumps(message, ensure_ascii=False)):
                    return
            epoch, base, tail, silence = rows.epoch, rows.seq, seq_of(live), 0.0
        if not follow or rows.head.get("status") in _ENDED or not has_reader(sys.stdout):
            return
        time.sleep(LOOK_AGAIN)
        silence += LOOK_AGAIN
        live.refresh()
