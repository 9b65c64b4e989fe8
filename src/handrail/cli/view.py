"""`handrail view`: a project, its definitions, a run or a session as rows, as the other surfaces get them."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import click

from handrail.app import App
from handrail.cli.common import command
from handrail.cli.output import Shell, echo, has_reader
from handrail.live.tail import seq_of, with_tail
from handrail.live.topics import open_topic

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
    the number of the event that last changed it. `docs/reference/view.md` describes the rows.
    """
    del shell
    found = open_topic(app, topic)
    epoch, base, tail, quiet = "", 0, 0, 0.0
    while True:
        rows = found.topic.rows
        if (epoch, base, tail) != (rows.epoch, rows.seq, seq_of(found)) or quiet >= HEARTBEAT:
            for message in with_tail(found, list(found.messages(epoch, base, app.clock())), epoch, tail):
                if not echo(json.dumps(message, ensure_ascii=False)):
                    return
            epoch, base, tail, quiet = rows.epoch, rows.seq, seq_of(found), 0.0
        head: dict[str, Any] = rows.get("head", "") or {}
        if not follow or head.get("status") in _ENDED or not has_reader(sys.stdout):
            return
        time.sleep(LOOK_AGAIN)
        quiet += LOOK_AGAIN
        found.refresh()
