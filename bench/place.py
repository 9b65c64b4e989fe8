"""A throw-away project, home and catalog to measure in. On the project's own disk: a record has to reach one."""

from __future__ import annotations

import time
from pathlib import Path

from handrail.app import App
from handrail.sessions.store import Session
from handrail.workflows.cache import FRESH_NS

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
    """A workflow of some phases, each with a gate and so many characters of instructions."""
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
    """A project with so many workflows where both Handrail and the seed look; the folder that holds them."""
    folder = project / ".pi" / "workflows"
    for number in range(workflows):
        write_workflow(folder / f"w{number:04d}", number)
    return folder


def settle() -> None:
    """Wait until files that were just written are old enough for the cache to believe their stamps."""
    time.sleep(1.2 * FRESH_NS / 1e9)


def environment(home: Path) -> dict[str, str]:
    """All that a process in here knows of the world."""
    return {"HOME": str(home), "HANDRAIL_HOME": str(home / "handrail"), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


def started(project: Path, home: Path, session: str = "s-1") -> Session:
    """A session in its first phase, begun as a surface begins it."""
    if not project.exists():
        write_catalog(project, 1)
    app = App(str(project), environment(home))
    app.start(KEY, TASK, session)
    return app.sessions.session(session)
