"""A temporary project, home and catalog for the benchmarks. On the repository's disk, not in memory."""

from __future__ import annotations

import time
from pathlib import Path

from handrail.app import App
from handrail.guided.sessions.store import Session
from handrail.guided.workflows.catalog import FRESH_NS

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "bench"
PHASES = ("plan", "design", "build", "test", "review", "release")
KEY = "w0000"
TASK = "make the login page remember who was there"
DENIED = "edit"
BODY_CHARS = 400

_WORDS = (
    "Read what the task asks for and the code that it touches. Write down what is known, what is not, and how to "
    "find out. Keep to what this phase is for; the next one has its own time. "
)


def write_workflow(folder: Path, number: int, phases: tuple[str, ...] = PHASES, chars: int = BODY_CHARS) -> None:
    """Write a workflow. Each phase has a gate and `chars` characters of instructions."""
    folder.mkdir(parents=True)
    files = [f"{place}-{phase}.md" for place, phase in enumerate(phases, 1)]
    head = f"name: Workflow {number}\ncommandName: {folder.name}\ninitialMessage: Begin with {{firstPhaseName}}.\n"
    listed = "".join(f"  - {file}\n" for file in files)
    (folder / "workflow.yaml").write_text(f"{head}loopable: true\nphases:\n{listed}", encoding="utf-8")
    body = (_WORDS * (1 + chars // len(_WORDS)))[:chars].strip()
    for file, phase in zip(files, phases, strict=True):
        front = f'id: {phase}\nname: {phase.title()}\nemoji: "🔧"\ntools:\n  blacklist:\n    - {DENIED}\n    - write\n'
        (folder / file).write_text(f"---\n{front}---\n{body}\n", encoding="utf-8")


def write_catalog(project: Path, workflows: int) -> Path:
    """Write workflows where both Handrail and pi-workflows find them. Returns their folder."""
    folder = project / ".pi" / "workflows"
    for number in range(workflows):
        write_workflow(folder / f"w{number:04d}", number)
    return folder


def settle() -> None:
    """Wait until new files are old enough for the cache to trust their time stamps."""
    time.sleep(1.2 * FRESH_NS / 1e9)


def environment(home: Path) -> dict[str, str]:
    """The whole environment of a benchmark process."""
    return {"HOME": str(home), "HANDRAIL_HOME": str(home / "handrail"), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


def started(project: Path, home: Path, session: str = "s-1") -> Session:
    """A session in its first phase, started as a surface starts it."""
    if not project.exists():
        write_catalog(project, 1)
    app = App(str(project), environment(home))
    app.start(KEY, TASK, session)
    return app.sessions.session(session)
