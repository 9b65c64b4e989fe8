"""The result of an exit check, and where it ran. Pure."""

from __future__ import annotations

from handrail.source.record import Record


class Place(Record):
    """Where the agent works, and the folder in which the checks of its phase ran; empty texts if it is not known."""

    cwd: str = ""
    folder: str = ""


class Result(Record):
    """The result of a check. `held` is None if the check could not run; it then counts as failed."""

    name: str
    kind: str
    held: bool | None
    detail: str
    seconds: float
