"""Runs one turn of OpenCode through its server, and prints the events as JSON lines.

`opencode run` waits silently for as long as a service demands, even for days, and stops if it has to ask a person. The
server reports each wait, and this driver answers its questions. The job is read from stdin. The lines are those of
`opencode run --format json`, and a few more.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import http.client
import json
import os
import secrets
import sys
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from handrail import STEP_TOOL
from handrail.agents.outcomes import total
from handrail.base.jsonlite import within
from handrail.base.processes import GRACE, Task, run, start
from handrail.source.values import shown

LISTENS = b"listening on "
LONGEST_WAIT = 60.0
LONGEST_ANSWER = 300.0
LONGEST_COMPLAINT = 10_000
LONGEST_HOOK = 20.0
REPORTED = ("status", "input", "output", "error")
"""Members of a call. Its metadata for display can be large."""
OUTSIDE = "external_directory"
NOT_OUTSIDE = "this path is outside of the project's folder and is not allowed"
EVERYTHING = {"permission": "*", "pattern": "*", "action": "deny"}
QUIET = [{"permission": name, "pattern": "*", "action": "deny"} for name in ("question", "plan_enter", "plan_exit")]
STEP = {"permission": STEP_TOOL, "pattern": "*", "action": "allow"}
READ = [
    EVERYTHING,
    *(
        {"permission": name, "pattern": "*", "action": "allow"}
        for name in ("read", "glob", "grep", "list", "lsp", "skill", "todowrite", "StructuredOutput")
    ),
    {"permission": "read", "pattern": "*.env", "action": "deny"},
    {"permission": "read", "pattern": "*.env.*", "action": "deny"},
    {"permission": "read", "pattern": "*.env.example", "action": "allow"},
]


class ServerClient:
    def __init__(self, url: str, password: str) -> None:
        self.address = urlsplit(url)
        token = base64.b64encode(f"opencode:{password}".encode()).decode()
        self.headers = {"Authorization": f"Basic {token}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The server's response. Raises `OSError` for an HTTP error."""
        connection = self._connect(LONGEST_ANSWER)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), self.headers)
            response = connection.getresponse()
            data = response.read()
            if response.status >= 400:
                complaint = shown(data.decode("utf-8", "replace"), LONGEST_COMPLAINT)
                raise OSError(f"{method} {path}: {response.status} {complaint}")
            return json.loads(data) if data else None
        finally:
            connection.close()

    def events(self) -> Iterator[dict[str, Any]]:
        """All events from now on. The first one says that the stream is connected."""
        connection = self._connect(None)
        try:
            connection.request("GET", "/event", headers=self.headers)
            for line in connection.getresponse():
                if line.startswith(b"data:"):
                    yield json.loads(line[5:])
        finally:
            connection.close()

    def _connect(self, timeout: float | None) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(str(self.address.hostname), self.address.port, timeout=timeout)


class OpenCodeTurn:
    """One prompt in a session, until the session is idle again."""

    def __init__(self, server: ServerClient, job: dict[str, Any]) -> None:
        self.server = server
        self.job = job
        self.session = ""
        self.begun_ids: set[str] = set()

    def take(self) -> bool:
        """Run the turn. True if it reached its end."""
        self.session = self._open()
        say("session", sessionID=self.session)
        events = self.server.events()
        next(events)
        self._prompt([{"type": "text", "text": self.job["prompt"]}])
        for event in events:
            about = within(event, "properties")
            if event.get("type") == "session.status" and within(about, "status").get("type") == "idle":
                if about.get("sessionID") == self.session and self._has_ended():
                    return True
            else:
                self._on_event(str(event.get("type")), about)
        return False

    def _prompt(self, parts: list[dict[str, Any]]) -> None:
        options = {name: self.job[name] for name in ("model", "format") if self.job.get(name)}
        self.server.ask("POST", f"/session/{self.session}/prompt_async", {"parts": parts, **options})

    def _open(self) -> str:
        """Open the session and return its id. A session keeps its rules, so denials of an earlier turn are removed."""
        rules = READ if self.job["permissions"] == "read" else []
        if rules and self.job.get("guide") is not None:
            rules = [*rules, STEP]
        if self.job["session"] is None:
            created = self.server.ask("POST", "/session", {"title": self.job["title"], "permission": [*rules, *QUIET]})
            return str(created["id"])
        path = f"/session/{self.job['session']}"
        session = self.server.ask("GET", path)
        if not rules and EVERYTHING in (session.get("permission") or []):
            name = self.server.ask("GET", "/config").get("default_agent") or "build"
            rules = next(agent["permission"] for agent in self.server.ask("GET", "/agent") if agent["name"] == name)
        self.server.ask("PATCH", path, {"permission": [*rules, *QUIET]})
        return str(session["id"])

    def _on_event(self, kind: str, about: dict[str, Any]) -> None:
        match kind:
            case "message.part.updated":
                self._on_part(within(about, "part"))
            case "session.error" if about.get("sessionID") == self.session:
                say("error", error=about.get("error"))
            case "session.status" if within(about, "status").get("type") == "retry":
                self._on_wait(within(about, "status"))
            case "permission.asked":
                is_fine = about.get("permission") != OUTSIDE or self.job["permissions"] == "full"
                answer = {"reply": "once"} if is_fine else {"reply": "reject", "message": NOT_OUTSIDE}
                self.server.ask("POST", f"/permission/{about.get('id')}/reply", answer)
                if not is_fine:
                    say("denied", permission=OUTSIDE, patterns=about.get("patterns"), reason=NOT_OUTSIDE)
            case "tui.toast.show" if about.get("title") == "Handrail" and about.get("variant") == "warning":
                denial = json.loads(str(about.get("message")))
                say("denied", permission=denial["tool"], reason=denial["reason"])
            case "question.asked":
                self.server.ask("POST", f"/question/{about.get('id')}/reject")

    def _on_part(self, part: dict[str, Any]) -> None:
        """A part of a message. Usage and tools of subagents are reported, but not their text."""
        is_ours = part.get("sessionID") == self.session
        match part.get("type"):
            case "text" if is_ours and within(part, "time").get("end"):
                say("text", part=part)
            case "step-finish":
                say("step_finish", part=part)
            case "tool":
                state, key = within(part, "state"), str(part.get("callID"))
                call = {**part, "state": {name: state[name] for name in REPORTED if name in state}}
                if state.get("status") == "running" and key not in self.begun_ids:
                    self.begun_ids.add(key)
                    say("tool_start", part=call)
                elif state.get("status") in ("completed", "error"):
                    say("tool_use", part=call)

    def _on_wait(self, status: dict[str, Any]) -> None:
        """OpenCode waits before a retry. If the wait is long, abort the turn: the flow can wait without a process."""
        seconds = total(status, "next") / 1000 - time.time()
        say("retry" if seconds <= LONGEST_WAIT else "gave_up", message=status.get("message"), seconds=seconds)
        if seconds > LONGEST_WAIT:
            self.server.ask("POST", f"/session/{self.session}/abort")

    def _has_ended(self) -> bool:
        """True if the turn is over; False if the agent stopped and Handrail sends it on."""
        messages = self.server.ask("GET", f"/session/{self.session}/message?limit=1")
        info = messages[-1]["info"] if messages else {}
        if self.job.get("guide") is not None:
            was_aborted = bool(info.get("error")) or info.get("finish") == "tool-calls"
            if (more := stop_policy(self.job["guide"], self.session, was_aborted)) is not None:
                part = {"type": "text", "text": more, "synthetic": True, "metadata": {"handrail": {"isReminder": True}}}
                self._prompt([part])
                return False
        say("end", **{name: info.get(name) for name in ("role", "finish", "error", "structured")})
        return True


def stop_policy(guide: dict[str, Any], session: str, was_aborted: bool) -> str | None:
    """What Handrail tells an agent that stopped; None if it may stop. A plugin could not keep this process waiting."""
    message = json.dumps({"type": "stop", "session": session, "cwd": os.getcwd(), "wasAborted": was_aborted})
    env = {**os.environ, **guide["env"]}
    result = asyncio.run(run(guide["argv"], os.getcwd(), env, LONGEST_HOOK, message.encode()))
    try:
        answer = json.loads(result.output or "{}")
    except ValueError:
        sys.stderr.write(f"the hook that decides about a stop failed: {result.output}\n")
        return None
    return str(answer["prompt"]) if answer.get("prompt") else None


def say(kind: str, **members: Any) -> None:
    sys.stdout.write(json.dumps({"type": kind, **members}) + "\n")
    sys.stdout.flush()


async def start_server(
    program: str, hold: int | None = None, *, own_group: bool = True
) -> tuple[asyncio.subprocess.Process, ServerClient | None]:
    """OpenCode's server, and a client of it; None if it ended before it listened. Its other output goes to stderr."""
    password = secrets.token_urlsafe(24)
    env = {**os.environ, "OPENCODE_SERVER_USERNAME": "opencode", "OPENCODE_SERVER_PASSWORD": password}
    argv = (program, "serve", "--hostname", "127.0.0.1", "--port", "0")
    task = Task(argv=argv, cwd=os.getcwd(), env=env, timeout=0.0, hold=hold)
    process = await start(task, own_group=own_group)
    assert process.stdout is not None
    while line := await process.stdout.readline():
        if LISTENS in line:
            return process, ServerClient(line.split(LISTENS)[1].decode().strip(), password)
        sys.stderr.write(line.decode("utf-8", "replace"))
    return process, None


async def main() -> int:
    job = json.load(sys.stdin)
    process, server = await start_server(job["program"], job["hold"])
    assert process.stdout is not None
    rest = asyncio.ensure_future(_forward(process.stdout))
    try:
        has_ended = server is not None and await asyncio.to_thread(OpenCodeTurn(server, job).take)
        return 0 if has_ended else 1
    except (OSError, http.client.HTTPException) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), GRACE)
            process.kill()
        rest.cancel()


async def _forward(output: asyncio.StreamReader) -> None:
    while line := await output.readline():
        sys.stderr.write(line.decode("utf-8", "replace"))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
