"""Whether a person has trusted the project."""

from __future__ import annotations

from handrail.doctor.checkup import Checkup, Subject
from handrail.errors import StateError
from handrail.source.plain import counted


def trust(subject: Subject) -> list[Checkup]:
    """One check. A project whose definitions run nothing needs no trust."""
    app = subject.app
    try:
        record = app.trust.record
    except StateError as error:
        return [Checkup("trust", "error", error.message, error.hint)]
    if record is not None:
        by = "" if record.path == app.project else f", because everything below `{record.path}` is"
        return [Checkup("trust", "ok", f"the project is trusted{by}")]
    programs = app.definitions.own_programs()
    if not programs:
        return [Checkup("trust", "skipped", "nobody has trusted the project, and its definitions run nothing")]
    told = f"nobody has trusted the project, so it does not run {counted(len(programs), 'thing')} of its definitions"
    return [
        Checkup(
            "trust", "warning", told, "look at `handrail trust --show`, then run `handrail trust`", "handrail trust"
        )
    ]
