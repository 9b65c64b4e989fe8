"""Measures the gate decision as hosts get it, a new process per tool call, compared with starting Python."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from bench.measure import BenchError, Job, interleave, spawn
from bench.place import DENIED, environment, started
from bench.rows import Bound, Part, Row, slower
from handrail import hook
from handrail.base import jsonlite
from handrail.guided.sessions.hook_files import CARD, SessionRef
from handrail.guided.sessions.machine import Loop
from handrail.guided.sessions.store import Session

ROUNDS = 151
BOUND = Bound(1.6, aim=1.3)
PYTHON = "`python -I -c pass`"
BARE = "`python -I -S -c pass`"
LONG = "p" * 190
ABOUT = f"""\
`python -I -S hook.py scripted` with one request on its standard input and a session on disk, as a host runs it for
each tool call; {ROUNDS} processes of each. *For information*: a card that lacks the last record of its journal (the
hook then folds the rest of the journal), a project whose path is so long that its session folder is named after a
digest, a comparison with Python without `site`, and the command that people type."""


class _Call:
    """One tool call that the hook answers in a new process. `stale` is a card that is written before the call."""

    def __init__(self, folder: Path, name: str, session: Session, tool: str) -> None:
        self.card = Path(session.folder) / CARD
        self.stale: bytes | None = None
        self.env = environment(folder / "home")
        self.question, self.answer = str(folder / f"{name}.request"), str(folder / f"{name}.answer")
        request = {"event": "tool", "project": session.ref.project, "session": session.id, "tool": tool}
        Path(self.question).write_text(jsonlite.dumps(request), encoding="utf-8")

    def __call__(self) -> float:
        if self.stale is not None:  # the hook writes a fresh one
            self.card.write_bytes(self.stale)
        argv = [sys.executable, "-I", "-S", hook.__file__, "scripted"]
        return spawn(argv, self.env, self.question, self.answer)

    def expect(self, allow: bool, rule: str) -> None:
        """Raise `BenchError` if the hook does not give this answer."""
        self()
        answer = jsonlite.loads(Path(self.answer).read_text(encoding="utf-8"))
        if (answer["allow"], answer["rule"]) != (allow, rule):
            raise BenchError(f"the hook answered {answer}, expected allow={allow} by `{rule}`")


def measure(folder: Path) -> Part:
    calls = _calls(folder)
    env = environment(folder / "home")
    handrail = shutil.which("handrail", path=str(Path(sys.executable).parent))
    command = [handrail] if handrail else [sys.executable, "-m", "handrail"]
    jobs: dict[str, Job] = {
        "python": lambda: spawn([sys.executable, "-I", "-c", "pass"], env),
        "bare": lambda: spawn([sys.executable, "-I", "-S", "-c", "pass"], env),
        **calls,
        "command": lambda: spawn([*command, "--project", str(folder / "active"), "gate", DENIED], env),
    }
    for job in jobs.values():
        job()
    times = interleave("gate", jobs, ROUNDS)

    def row(what: str, name: str, bound: Bound | None = None) -> Row:
        return slower(what, PYTHON, times[name], times["python"], bound)

    return Part(
        "The gate decision, as a process",
        ABOUT,
        [
            row("hook, tool allowed", "allowed", BOUND),
            row("hook, tool denied", "denied", BOUND),
            row("hook, no active workflow", "none", BOUND),
            row("hook, stale card", "stale", None),
            row("hook, very long project path", "long", None),
            row(f"`handrail gate {DENIED}`", "command", None),
            slower("hook, tool allowed", BARE, times["allowed"], times["bare"]),
        ],
    )


def _calls(folder: Path) -> dict[str, _Call]:
    home = folder / "home"
    active = started(folder / "active", home)
    absent = Session(SessionRef(active.folder + "-absent", active.ref.project, "absent"), active.clock)
    expected = {
        "allowed": (active, "read", True, "unlisted"),
        "denied": (active, DENIED, False, "blacklist"),
        "none": (absent, DENIED, True, "no-workflow"),
        "stale": (started(folder / "stale", home), "read", True, "unlisted"),
        "long": (started(folder / LONG, home), "read", True, "unlisted"),
    }
    calls: dict[str, _Call] = {}
    for name, (session, tool, allow, rule) in expected.items():
        calls[name] = _Call(folder, name, session, tool)
        if name == "stale":
            calls[name].stale = calls[name].card.read_bytes()
            session.do(Loop())
        calls[name].expect(allow, rule)
    return calls
