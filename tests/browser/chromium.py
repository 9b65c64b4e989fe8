"""Debian's Chromium, driven through its debugging pipe. No package is needed for it."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import tempfile
import threading
import time
from typing import Any

from browser.tab import Tab

ARGUMENTS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-default-browser-check"),
    *("--disable-dev-shm-usage", "--remote-debugging-pipe"),
)
ANSWER = 30.0
"""Seconds in which Chromium has to answer."""


class Chromium:
    """A running browser. Each `context` has cookies of its own."""

    def __init__(self) -> None:
        program = shutil.which("chromium")
        assert program is not None, "Chromium is not installed; run `apt-get install -y chromium`"
        self.profile = tempfile.mkdtemp(prefix="handrail-chromium-")
        self._said = threading.Condition()
        self._answers: dict[int, dict[str, Any]] = {}
        self._tabs: dict[str, Tab] = {}
        self._last = 0
        self._is_gone = False
        reads, self._writes = os.pipe()
        self._reads, writes = os.pipe()
        theirs = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, 10) for one in (reads, writes)]
        actions = [(os.POSIX_SPAWN_DUP2, one, number) for one, number in zip(theirs, (3, 4), strict=True)]
        actions += [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]  # type: ignore[misc]
        argv = [program, *ARGUMENTS, f"--user-data-dir={self.profile}", "about:blank"]
        env = {**os.environ, "HOME": self.profile}
        self.pid = os.posix_spawn(program, argv, env, file_actions=actions, setpgroup=0)
        for one in (reads, writes, *theirs):
            os.close(one)
        self._listening = threading.Thread(target=self._listen, daemon=True)
        self._listening.start()

    def context(self) -> str:
        """A new set of cookies, as in a private window."""
        found: str = self.call("Target.createBrowserContext")["browserContextId"]
        return found

    def end_context(self, context: str) -> None:
        self.call("Target.disposeBrowserContext", {"browserContextId": context})

    def tab(self, context: str, base: str) -> Tab:
        """A new tab. Addresses that start with `/` are below `base`."""
        wanted = {"url": "about:blank", "browserContextId": context}
        target = self.call("Target.createTarget", wanted)["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        tab = Tab(self, session, target, base)
        self._tabs[session] = tab
        tab.begin()
        return tab

    def tabs(self) -> list[Tab]:
        """All tabs since the last call, also those that are closed."""
        found = list(self._tabs.values())
        self._tabs = {session: tab for session, tab in self._tabs.items() if not tab.is_closed}
        return found

    def call(self, method: str, params: dict[str, Any] | None = None, session: str | None = None) -> dict[str, Any]:
        """Tell Chromium to do something, and wait until it has done it."""
        with self._said:
            self._last += 1
            number = self._last
            message: dict[str, Any] = {"id": number, "method": method, "params": params or {}}
            if session is not None:
                message["sessionId"] = session
            os.write(self._writes, json.dumps(message).encode() + b"\0")
            answered = self._said.wait_for(lambda: number in self._answers or self._is_gone, ANSWER)
            assert answered, f"Chromium did not answer {method} within {ANSWER:.0f} seconds"
            assert number in self._answers, "Chromium has ended"
            answer = self._answers.pop(number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        result: dict[str, Any] = answer["result"]
        return result

    def _listen(self) -> None:
        rest = b""
        while chunk := os.read(self._reads, 1 << 20):
            *whole, rest = (rest + chunk).split(b"\0")
            for one in whole:
                message = json.loads(one)
                with self._said:
                    if "id" in message:
                        self._answers[message["id"]] = message
                    elif (tab := self._tabs.get(message.get("sessionId", ""))) is not None:
                        tab.heard(message["method"], message["params"])
                    self._said.notify_all()
        with self._said:
            self._is_gone = True
            self._said.notify_all()

    def end(self) -> None:
        """End Chromium and all its processes."""
        try:
            self.call("Browser.close")
        except (AssertionError, OSError):
            os.killpg(self.pid, signal.SIGKILL)
        deadline = time.monotonic() + ANSWER
        while os.waitpid(self.pid, os.WNOHANG)[0] == 0:
            if time.monotonic() > deadline:
                os.killpg(self.pid, signal.SIGKILL)
            time.sleep(0.02)
        self._listening.join(ANSWER)
        os.close(self._writes)
        os.close(self._reads)
        shutil.rmtree(self.profile, ignore_errors=True)
