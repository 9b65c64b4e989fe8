"""Plays a script against the same gate and tool as a real agent. For demonstrations and tests; it needs no model.

It runs as a program (`python -m handrail.agents.scripted SCRIPT PROJECT SESSION`). Every tool call asks the hook in a
new process, every step runs the command line, and the tools really change the working folder. It prints one JSON event
per line. Flows call it like any other agent, with the script in `HANDRAIL_SCRIPT`.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

import handrail
from handrail.agents.scripted.script import Line, read_script
from handrail.errors import HandrailError
from handrail.process.child import run
from handrail.state.files import real_inside

TOOL_SECONDS = 60.0
HOOK = os.path.join(os.path.dirname(handrail.__file__), "hook.py")


class Refused(Exception):
    """A tool refused a call."""


class ScriptedAgent:
    """An agent in one session, with five tools."""

    def __init__(self, project: str, session: str) -> None:
        self.project = project
        self.session = session
        self.progress = False

    async def play(self, script: list[Line]) -> int:
        """Play the script until its end, until the agent may stop, or until an interrupt."""
        self.emit("started", session=self.session)
        for line in script:
            go_on = await self.act(line)
            if not go_on:
                return 0
        reply = await self.ask({"event": "stop", "progress": self.progress})
        self.emit("finished", **reply)
        return 0

    async def act(self, line: Line) -> bool:
        match line.kind:
            case "say":
                self.emit("say", text=line.value)
            case "tool":
                await self.call(line.value, line.rest.get("input") or {})
            case "step":
                await self.step(line.value, line.rest.get("summary", ""))
            case "stop":
                return await self.stop(aborted=False)
            case "interrupt":
                return await self.stop(aborted=True)
            case "hang":
                await asyncio.sleep(float(line.value))
            case "usage":
                self.emit("usage", **line.value)
            case "retry":
                self.emit("retry", message=str(line.value))
            case "print":
                sys.stdout.write(f"{line.value}\n")
            case "fail" if not ("unless" in line.rest and os.path.exists(self.inside(line.rest["unless"]))):
                resets = time.time() + float(line.rest["resetsIn"]) if "resetsIn" in line.rest else None
                self.emit("failed", outcome=line.value, message=line.rest.get("message", ""), resetsAt=resets)
                return False
            case "crash":
                os.kill(os.getpid(), signal.SIGKILL)
        return True

    def emit(self, event: str, **details: Any) -> None:
        sys.stdout.write(json.dumps({"event": event, **details}, ensure_ascii=False) + "\n")
        sys.stdout.flush()

    async def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Call the hook as a host does: a new process, JSON in, JSON out."""
        body = json.dumps({**request, "project": self.project, "session": self.session})
        argv = [sys.executable, "-I", "-S", HOOK, "scripted"]
        ended = await run(argv, self.project, os.environ, TOOL_SECONDS, stdin=body.encode())
        reply: dict[str, Any] = json.loads(ended.output)
        return reply

    async def call(self, tool: str, arguments: dict[str, Any]) -> None:
        verdict = await self.ask({"event": "tool", "tool": tool, "input": arguments})
        self.emit("tool", tool=tool, input=arguments)
        if not verdict["allow"]:
            self.emit("denied", tool=tool, reason=verdict["reason"])
            return
        self.progress = True
        try:
            output = await self.use(tool, arguments)
            self.emit("result", tool=tool, ok=True, output=output)
        except (Refused, OSError, KeyError) as error:
            self.emit("result", tool=tool, ok=False, output=str(error))

    async def use(self, tool: str, arguments: dict[str, Any]) -> str:
        """Run a tool. It works only inside the working folder."""
        if tool == "bash":
            ended = await run(["/bin/sh", "-c", arguments["command"]], self.project, os.environ, TOOL_SECONDS)
            return ended.output
        path = self.inside(arguments["path"])
        if tool == "read":
            with open(path, encoding="utf-8") as file:
                return file.read()
        if tool == "write":
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(arguments["content"])
            return f"wrote {arguments['path']}"
        if tool == "edit":
            return self.edit(path, arguments)
        raise Refused(f"no tool {tool}")

    def inside(self, path: str) -> str:
        real = real_inside(self.project, path)
        if real is None:
            raise Refused(f"{path} is outside the working folder")
        return real

    def edit(self, path: str, arguments: dict[str, Any]) -> str:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if text.count(arguments["old"]) != 1:
            raise Refused("the file has to contain the text to replace exactly once")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(arguments["old"], arguments["new"]))
        return f"edited {arguments['path']}"

    async def step(self, action: str, summary: str) -> None:
        """Do what `workflow_step` does, through the command line."""
        argv = [
            sys.executable,
            "-m",
            "handrail",
            "--project",
            self.project,
            action,
            "--session",
            self.session,
            "--json",
        ]
        if action == "next" and summary:
            argv += ["--summary", summary]
        self.emit("step", action=action, summary=summary)
        ended = await run([*argv, "--quiet"], self.project, os.environ, 600)
        view = next(_objects(ended.output), {"message": ended.output})
        self.progress = self.progress or not view.get("refused")
        names = ("message", "status", "statusLine", "refused", "phase", "checks")
        self.emit("stepped", action=action, **{name: view.get(name) for name in names})

    async def stop(self, *, aborted: bool) -> bool:
        """End the turn early. True if the agent was told to continue; it then plays the rest of its script."""
        reply = await self.ask({"event": "stop", "aborted": aborted, "progress": self.progress})
        self.progress = False
        self.emit("stopped", aborted=aborted, **reply)
        return reply["sendOn"] is not None


def _objects(output: str) -> Iterator[dict[str, Any]]:
    for line in reversed(output.splitlines()):
        if line.startswith("{"):
            yield json.loads(line)


def main(argv: list[str]) -> int:
    try:
        script, project, session, *prompt = argv
    except ValueError:
        sys.stderr.write("usage: python -m handrail.agents.scripted SCRIPT PROJECT SESSION [-]\n")
        return 2
    try:
        play = read_script(script, sys.stdin.read() if prompt == ["-"] else "")
    except (HandrailError, OSError) as error:
        told = {"outcome": "refused", "message": f"the script has mistakes: {error}", "resetsAt": None}
        for event in ({"event": "error", "text": str(error)}, {"event": "failed", **told}):
            sys.stdout.write(json.dumps(event, ensure_ascii=False) + "\n")
        sys.stderr.write(f"error: {error}\n")
        return 1
    return asyncio.run(ScriptedAgent(os.path.realpath(project), session).play(play))
