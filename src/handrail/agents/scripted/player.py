"""Plays a script against the same gate and tool as a real agent, and the format of a script.

For demonstrations and tests; it needs no model. Every tool call asks the hook in a new process, every step runs the
command line, and the tools really change the working folder. It prints one JSON event per line. A script is a YAML list
of lines, each with one action; or `prompts`, a list of `{match, play}`: the first entry whose `match` is part of the
prompt is played, and an entry without `match` fits every prompt. The reference page is made from the table of actions.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import handrail
from handrail.base.dataclasses import dataclass
from handrail.base.errors import HandrailError
from handrail.base.files import Unreadable, read_limited, real_inside
from handrail.base.processes import run
from handrail.source.definition_files import MAX_BYTES, Source, decode
from handrail.source.diagnostics import Diagnostic, sorted_problems
from handrail.source.field_checks import check_fields, plain_data
from handrail.source.fields import ANYTHING, SCALARS, Field, MappingReader, Shape, found, shape
from handrail.source.suggestions import did_you_mean
from handrail.source.tree import TreeNode
from handrail.source.yaml_text import read_yaml

USED = ("inputTokens", "outputTokens", "cachedTokens", "usd")
STEPS = ("next", "loop", "status", "blocked", "cancel")


def _refuse_step(reader: MappingReader, node: TreeNode) -> None:
    if node.value.endswith("workflow_step"):
        reader.on(node, "script", f"`{node.value}` is not called as a tool", "write `step: next`")


def _check_usage(reader: MappingReader, node: TreeNode) -> None:
    for name, child in node.value.items():
        if name not in USED:
            hint = did_you_mean(name, USED) or f"its numbers: {', '.join(USED)}"
            reader.on(child, "script", f"`usage` has no number `{name}`", hint)
        elif child.kind not in ("integer", "number", "null"):
            reader.on(child, "script", f"`{name}` has to be a number, found {found(child)}")


ACTIONS: dict[str, Shape] = {
    row.title: row
    for row in (
        shape("say", "Says something.", Field("say", SCALARS, "the text", required=True)),
        shape(
            "tool",
            "Calls a tool, if the gate allows it.",
            Field("tool", ("text",), "`bash`, `read`, `write` or `edit`", required=True, check=_refuse_step),
            Field(
                "input",
                ("mapping",),
                "its arguments: `command`; `path`; `path` and `content`; `path`, `old` and `new`",
            ),
        ),
        shape(
            "step",
            "Does what a real agent does with `workflow_step`.",
            Field("step", ("text",), "the action", required=True, choices=STEPS),
            Field("summary", SCALARS, "what it did in this phase, for `next`; the reason, for `blocked`"),
        ),
        shape(
            "stop", "Ends the turn early. If told to continue, it plays the rest.", Field("stop", ANYTHING, "`true`")
        ),
        shape("interrupt", "Ends the turn as a person does with Esc.", Field("interrupt", ANYTHING, "`true`")),
        shape(
            "hang",
            "Does nothing for a while.",
            Field("hang", ("integer", "number"), "how long", required=True, least=0, unit="seconds"),
        ),
        shape("crash", "Its program dies.", Field("crash", ANYTHING, "`true`")),
        shape(
            "usage",
            "Reports tokens and cost.",
            Field(
                "usage",
                ("mapping",),
                "what it used so far: `inputTokens`, `outputTokens`, `cachedTokens`, `usd`; each is optional",
                required=True,
                check=_check_usage,
            ),
        ),
        shape(
            "retry",
            "Reports that its service failed and that it tries again.",
            Field("retry", SCALARS, "what it says about it", required=True),
        ),
        shape(
            "fail",
            "Fails as an agent does.",
            Field("fail", ("text",), "the outcome, such as `rate-limit` or `auth`", required=True),
            Field("message", SCALARS, "what the agent says about it"),
            Field("resetsIn", ("integer", "number"), "after which time the limit resets", unit="seconds"),
            Field("unless", ("text",), "a path; if it exists, this line does nothing"),
        ),
        shape("print", "Prints a line that is not part of its protocol.", Field("print", SCALARS, "the line")),
    )
}
CHOICE = shape(
    "prompt",
    "What is played for which prompt.",
    Field("match", SCALARS, "a part of the prompt"),
    Field("play", ("list",), "the lines to play", required=True),
)


@dataclass(frozen=True)
class ScriptLine:
    """One line of a script: an action, its value and its other keys."""

    kind: str
    value: Any
    rest: dict[str, Any]


def read_script(path: str, prompt: str = "") -> list[ScriptLine]:
    """The lines to play for a prompt. Raises `HandrailError` with the places of all mistakes in the script."""
    try:
        source, problems = decode(path, read_limited(path, MAX_BYTES))
    except Unreadable as error:
        raise HandrailError(f"the script `{path}` {error.message}") from error
    reading = _ScriptReader(source, problems)
    tree, troubles = read_yaml(source.text)
    for t in troubles:
        problems.append(source.problem(t.code, t.place, t.message, t.hint))
    lines = reading.lines_for(tree, prompt) if not problems else []
    if problems:
        mistakes = [(f"{p.file}:{p.line}:{p.column}: {p.message}", p.hint) for p in sorted_problems(problems)]
        raise HandrailError("\n".join(f"{line} ({hint})" if hint else line for line, hint in mistakes))
    return lines


class _ScriptReader:
    def __init__(self, source: Source, problems: list[Diagnostic]) -> None:
        self.source = source
        self.problems = problems

    def wrong(self, node: TreeNode | None, message: str, hint: str) -> None:
        place = (1, 1, 1) if node is None else node.place
        self.problems.append(self.source.problem("script", place, message, hint))

    def reader(self, node: TreeNode, shape: Shape) -> MappingReader:
        return MappingReader(self.source, node, shape, self.problems.append)

    def lines_for(self, tree: TreeNode | None, prompt: str) -> list[ScriptLine]:
        """The lines for a prompt. All other lines are checked, too."""
        if tree is None or tree.kind != "mapping" or "prompts" not in tree.value:
            return self.lines(tree)
        choices = tree.value["prompts"]
        script: list[ScriptLine] | None = None
        for choice in choices.value if choices.kind == "list" else ():
            if choice.kind != "mapping":
                message = f"an entry of `prompts` has to be a mapping, found {found(choice)}"
                self.wrong(choice, message, "`match`, `play`")
                continue
            reader = self.reader(choice, CHOICE)
            match, play = reader.child("match"), reader.child("play")
            lines = self.lines(play) if play is not None else []
            if script is None and ("match" not in choice.value or (match is not None and str(match.value) in prompt)):
                script = lines
        if script is None:
            self.wrong(choices, "no entry fits the prompt", "add one without `match`")
        return script or []

    def lines(self, node: TreeNode | None) -> list[ScriptLine]:
        if node is None or node.kind != "list":
            kind = "nothing" if node is None else found(node)
            self.wrong(node, f"a script has to be a list of lines, found {kind}", "begin with `- say: ...`")
            return []
        return [line for item in node.value if (line := self.line(item)) is not None]

    def line(self, item: TreeNode) -> ScriptLine | None:
        actions = f"actions: {', '.join(ACTIONS)}"
        if item.kind != "mapping":
            self.wrong(item, f"a line has to be a mapping with one action, found {found(item)}", actions)
            return None
        kinds = [kind for kind in ACTIONS if kind in item.value]
        if len(kinds) != 1:
            near = next(filter(None, (did_you_mean(name, ACTIONS) for name in item.value)), None)
            problem = f"this line has {len(kinds)} actions: {', '.join(kinds)}" if kinds else "this line has no action"
            self.wrong(item, f"{problem}; a line has exactly one", near if near and not kinds else actions)
            return None
        check_fields(self.reader(item, ACTIONS[kinds[0]]))
        data = plain_data(item)
        return ScriptLine(kinds[0], data.pop(kinds[0]), data)


TOOL_SECONDS = 60.0
HOOK = os.path.join(handrail.__path__[0], "hook.py")


class ToolRefused(Exception):
    """A tool refused a call."""


class ScriptedAgent:
    def __init__(self, project: str, session: str) -> None:
        self.project = project
        self.session = session
        self.progress = False

    async def play(self, script: list[ScriptLine]) -> int:
        """Play the script until its end, until the agent may stop, or until an interrupt."""
        self.emit("started", session=self.session)
        for line in script:
            if not await self.act(line):
                return 0
        reply = await self.ask({"event": "stop", "progress": self.progress})
        self.emit("finished", **reply)
        return 0

    async def act(self, line: ScriptLine) -> bool:
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
        result = await run(argv, self.project, os.environ, TOOL_SECONDS, stdin=body.encode())
        reply: dict[str, Any] = json.loads(result.output)
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
        except (ToolRefused, OSError, KeyError) as error:
            self.emit("result", tool=tool, ok=False, output=str(error))

    async def use(self, tool: str, arguments: dict[str, Any]) -> str:
        """Run a tool. It works only inside the working folder."""
        if tool == "bash":
            result = await run(["/bin/sh", "-c", arguments["command"]], self.project, os.environ, TOOL_SECONDS)
            return result.output
        path = Path(self.inside(arguments["path"]))
        if tool == "read":
            return path.read_text(encoding="utf-8")
        if tool == "write":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(arguments["content"], encoding="utf-8")
            return f"wrote {arguments['path']}"
        if tool != "edit":
            raise ToolRefused(f"no tool {tool}")
        text = path.read_text(encoding="utf-8")
        if text.count(arguments["old"]) != 1:
            raise ToolRefused("the file has to contain the text to replace exactly once")
        path.write_text(text.replace(arguments["old"], arguments["new"]), encoding="utf-8")
        return f"edited {arguments['path']}"

    def inside(self, path: str) -> str:
        real = real_inside(self.project, path)
        if real is None:
            raise ToolRefused(f"{path} is outside the working folder")
        return real

    async def step(self, action: str, summary: str) -> None:
        """Do what `workflow_step` does, through the command line."""
        argv = [sys.executable, "-m", "handrail", "--project", self.project]
        argv += [action, "--session", self.session, "--json"]
        if action == "next" and summary:
            argv += ["--summary", summary]
        elif action == "blocked":
            argv.append(summary)
        self.emit("step", action=action, summary=summary)
        result = await run([*argv, "--quiet"], self.project, os.environ, 600)
        objects = [line for line in result.output.splitlines() if line.startswith("{")]
        view = json.loads(objects[-1]) if objects else {"message": result.output}
        self.progress = self.progress or not view.get("refused")
        names = ("message", "status", "statusLine", "refused", "phase", "checks")
        self.emit("stepped", action=action, **{name: view.get(name) for name in names})

    async def stop(self, *, aborted: bool) -> bool:
        """End the turn early. True if the agent was told to continue; it then plays the rest of its script."""
        reply = await self.ask({"event": "stop", "aborted": aborted, "progress": self.progress})
        self.progress = False
        self.emit("stopped", aborted=aborted, **reply)
        return reply["sendOn"] is not None


def main(argv: list[str]) -> int:
    try:
        script, project, session, *prompt = argv
    except ValueError:
        sys.stderr.write("usage: python -m handrail.agents.scripted SCRIPT PROJECT SESSION [-]\n")
        return 2
    try:
        play = read_script(script, sys.stdin.read() if prompt == ["-"] else "")
    except (HandrailError, OSError) as error:
        failure = {"outcome": "refused", "message": f"the script has mistakes: {error}", "resetsAt": None}
        for event in ({"event": "error", "text": str(error)}, {"event": "failed", **failure}):
            sys.stdout.write(json.dumps(event, ensure_ascii=False) + "\n")
        sys.stderr.write(f"error: {error}\n")
        return 1
    return asyncio.run(ScriptedAgent(os.path.realpath(project), session).play(play))
