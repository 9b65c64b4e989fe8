"""The check of the project's playbook."""

from __future__ import annotations

from handrail.doctor.checkup import Checkup
from handrail.playbook.load import read_playbook
from handrail.project import shown_path
from handrail.source.diagnostics import as_line
from handrail.source.plain import counted

SHOW = "run `handrail playbook check`"


def playbook_checkup(project: str) -> Checkup:
    """Whether the playbook can be used. A project needs none."""
    found = read_playbook(project)
    if found.folder is None:
        return Checkup("playbook", "skipped", "the project has no playbook; `handrail playbook init` makes one")
    if not found.problems:
        practices = counted(len(found.playbook.practices) if found.playbook else 0, "practice")
        return Checkup("playbook", "ok", f"`{found.folder}` has {practices}")
    worst = min(found.problems, key=lambda problem: problem.severity != "error")
    message = as_line(worst._replace(file=shown_path(worst.file, project)))
    return Checkup("playbook", "error" if found.playbook is None else "warning", message, SHOW)
