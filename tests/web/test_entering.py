"""A link works once, also if many requests with it arrive at the same moment."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser.site import HANDRAIL, Site
from web.wire import PATIENCE, Answered, request

ROUNDS, AT_ONCE = 12, 8
LINK = re.compile(r"http://(?P<host>127\.0\.0\.1:(?P<port>\d+))(?P<target>/enter\?token=[^\s\x1b]+)\s")


@pytest.fixture
def links(tmp_path: Path) -> Iterator[list[re.Match[str]]]:
    """Links of the real server, which prints a new one for each Enter in its terminal."""
    site = Site(tmp_path)
    ours, theirs = pty.openpty()
    argv = [HANDRAIL, "web", "--no-open"]
    server = subprocess.Popen(argv, cwd=site.folder, env=site.env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said, asked = "", 0
    found: list[re.Match[str]] = []
    try:
        while len(found) < ROUNDS:
            said += os.read(ours, 65536).decode()
            found = list(LINK.finditer(said))
            if "Ctrl-C" in said and len(found) > asked:
                asked = len(found)
                os.write(ours, b"\n")
        yield found[:ROUNDS]
    finally:
        server.terminate()
        server.wait(30)
        os.close(ours)


def at_once(port: int, data: bytes, count: int) -> list[Answered]:
    """The answers to the same request on several connections, whose last bytes are sent at the same moment."""
    together, answers = threading.Barrier(count), [Answered(b"")] * count
    with contextlib.ExitStack() as stack:
        wires = [stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE)) for _ in range(count)]
        for wire in wires:
            wire.sendall(data[:-1])

        def end(number: int) -> None:
            together.wait(PATIENCE)
            wires[number].sendall(data[-1:])
            found = b""
            while chunk := wires[number].recv(65536):
                found += chunk
            answers[number] = Answered(found)

        threads = [threading.Thread(target=end, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return answers


def test_of_many_simultaneous_requests_with_a_link_exactly_one_gets_a_cookie(links: list[re.Match[str]]) -> None:
    for link in links:
        data = request("GET", link["target"], {"Host": link["host"], "Connection": "close"})
        answers = at_once(int(link["port"]), data, AT_ONCE)
        statuses = sorted(status for answer in answers for status in answer.statuses)
        assert statuses == [303, *[401] * (AT_ONCE - 1)]
        assert sum(b"set-cookie:" in answer.data.lower() for answer in answers) == 1
