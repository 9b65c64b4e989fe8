"""Measures what a tool call costs in each agent: the installed hook as a process, or a message to the running child.

The messages are those that the tested versions of the agents send for `git status --short` (`recorded.json`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench.measure import BenchError, Job, interleave, spawn
from bench.place import KEY, TASK, environment, write_catalog
from bench.rows import Bound, Part, Row, rarely, slower
from handrail.app import App
from handrail.guided.sessions.sessions import Conversation

ROUNDS = 151
PYTHON = "`python -I -c pass`"
HOOK_BOUND, CHILD_BOUND = Bound(2, aim=1.6), Bound(0.5)
ACTIVE, STRICT = "11111111-2222-4333-8444-555555555555", "11111111-2222-4333-8444-777777777777"
CALL, MODEL = "tool call", "request to the model"
RECORDED: dict[str, dict[str, dict[str, Any]]] = json.loads(
    Path(__file__).with_name("recorded.json").read_text(encoding="utf-8")
)
ABOUT = f"""\
An allowed tool call in each agent, with an active workflow, as the agent asks Handrail about it. The messages are
recorded ones of the tested versions: a shell call of `git status --short`. *A hook*: one shell with the command that
`install` wrote into the agent's settings, which starts one Python. Codex and Copilot CLI allow a call if a hook takes
too long, so there the shell also starts a program that ends the hook in time. *A child*: a message and its answer over
the pipes of one `handrail serve`, which the plugin keeps running. {ROUNDS} of each, in turn with Python. Three agents
also ask Handrail before each request to their model; that is a row of its own."""


class Hooked(NamedTuple):
    """Where an agent that runs hooks has its settings, and what its hooks are called there."""

    settings: str
    events: dict[str, str]
    find: Callable[[dict[str, Any], str], str]


def _nested(settings: dict[str, Any], event: str) -> str:
    return str(settings["hooks"][event][-1]["hooks"][0]["command"])


def _flat(settings: dict[str, Any], event: str) -> str:
    return str(settings["hooks"][event][-1]["bash"])


HOOKED = {
    "claude": Hooked(".claude/skills/handrail/hooks/hooks.json", {CALL: "PreToolUse"}, _nested),
    "codex": Hooked(".codex/hooks.json", {CALL: "PreToolUse"}, _nested),
    "copilot": Hooked(".copilot/hooks/handrail.json", {CALL: "preToolUse"}, _flat),
    "gemini": Hooked(".gemini/settings.json", {CALL: "BeforeTool", MODEL: "BeforeModel"}, _nested),
}
SERVED = {"opencode": ".config/opencode/handrail/handrail.js", "pi": ".pi/agent/extensions/handrail/handrail.json"}


class _Agent:
    """An agent with Handrail installed, one conversation with a workflow, and one whose workflow denies the call."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.home, self.project = folder / "home", folder / "project"
        self.home.mkdir(parents=True)
        catalog = write_catalog(self.project, 2)
        for phase in (catalog / "w0001").glob("*.md"):
            phase.write_text(phase.read_text(encoding="utf-8").replace("- write", "- bash"), encoding="utf-8")
        self.env = {k: v for k, v in environment(self.home).items() if k != "HANDRAIL_HOME"}
        argv = [sys.executable, "-I", "-m", "handrail", "install", name]
        subprocess.run(argv, cwd=self.project, env=self.env, stdout=subprocess.DEVNULL, check=True)
        app = App(str(self.project), self.env)
        app.start(KEY, TASK, conversation=Conversation(name, ACTIVE))
        app.start("w0001", TASK, conversation=Conversation(name, STRICT))

    def message(self, what: str, conversation: str) -> str:
        """A recorded message in this project, as one line of JSON."""
        text = json.dumps(RECORDED[self.name][what], separators=(",", ":"), ensure_ascii=False)
        places = {"@PROJECT@": str(self.project), "@HOME@": str(self.home)}
        for mark, value in {**places, "@CONVERSATION@": conversation, "@START@": conversation[:8]}.items():
            text = text.replace(mark, value)
        return text

    def hook(self, what: str, conversation: str = ACTIVE) -> Callable[[], float]:
        """The installed command of a hook, run as the agent runs it, with the answer in a file."""
        how = HOOKED[self.name]
        command = how.find(json.loads((self.home / how.settings).read_text(encoding="utf-8")), how.events[what])
        root = str(self.home / ".claude/skills/handrail")
        env = {**self.env, "CLAUDE_PLUGIN_ROOT": root, "CLAUDE_CODE_SESSION_ID": conversation}
        env["GEMINI_SESSION_ID"] = conversation
        question = self.folder / f"{what}.{conversation}.request"
        question.write_text(self.message(what, conversation), encoding="utf-8")
        argv = ["/bin/sh", "-c", command.replace("${CLAUDE_PLUGIN_ROOT}", root)]
        return lambda: spawn(argv, env, str(question), str(self.answer))

    @property
    def answer(self) -> Path:
        return self.folder / "answer"

    @contextmanager
    def child(self) -> Iterator[Callable[[str, str], Any]]:
        """One running child, as a function: message, conversation → answer."""
        text = (self.home / SERVED[self.name]).read_text(encoding="utf-8")
        begin = text.index("{", text.index("const STUBS = ")) if self.name == "opencode" else 0
        config = json.JSONDecoder().raw_decode(text[begin:])[0]
        process = subprocess.Popen(
            config["command"],
            cwd=self.project,
            env={**self.env, **config["env"]},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        given, taken = process.stdin, process.stdout

        def ask(what: str, conversation: str) -> Any:
            params = self.message(what, conversation)
            given.write(f'{{"jsonrpc":"2.0","id":1,"method":"hook","params":{params}}}\n')
            given.flush()
            return json.loads(taken.readline())["result"]["reply"]

        try:
            yield ask
        finally:
            process.stdin.close()
            process.wait(10)
            process.stdout.close()


def _expect(said: str, *, denied: bool) -> None:
    if ('"deny"' in said or '"allow": false' in said) != denied:
        raise BenchError(f"the answer was {said!r}, expected {'a denial' if denied else 'no denial'}")


def _hook_jobs(agent: _Agent) -> dict[str, Job]:
    jobs: dict[str, Job] = {what: agent.hook(what) for what in HOOKED[agent.name].events}
    for conversation in (STRICT, ACTIVE):
        agent.hook(CALL, conversation)()
        _expect(agent.answer.read_text(encoding="utf-8"), denied=conversation == STRICT)
    return jobs


def _child_jobs(agent: _Agent, ask: Callable[[str, str], Any]) -> dict[str, Job]:
    for conversation in (STRICT, ACTIVE):
        said = ask(CALL, conversation)
        _expect(json.dumps(said), denied=conversation == STRICT)

    def job(what: str) -> Job:
        def run() -> float:
            begin = time.perf_counter()
            ask(what, ACTIVE)
            return time.perf_counter() - begin

        return run

    return {what: job(what) for what in RECORDED[agent.name]}


def measure(folder: Path) -> Part:
    env = environment(folder / "home")
    jobs: dict[str, Job] = {"python": lambda: spawn([sys.executable, "-I", "-c", "pass"], env)}
    with ExitStack() as children:
        for name in sorted(RECORDED):
            agent = _Agent(folder / name, name)
            is_served = name in SERVED
            found = _child_jobs(agent, children.enter_context(agent.child())) if is_served else _hook_jobs(agent)
            jobs |= {f"{name}: {what}": job for what, job in found.items()}
        times = interleave("agents", jobs, ROUNDS)
    rows: list[Row] = []
    for job in (job for job in jobs if job != "python"):
        name, _, what = job.partition(": ")
        how = "a child" if name in SERVED else "a hook"
        bound = (CHILD_BOUND if name in SERVED else HOOK_BOUND) if what == CALL else None
        rows.append(slower(f"{name}, {what}, {how}, p50", PYTHON, times[job], times["python"], bound))
        rows.append(rarely(f"{name}, {what}, {how}, p95", PYTHON, times[job], times["python"]))
    return Part("A tool call in each agent", ABOUT, rows)
