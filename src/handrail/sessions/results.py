"""The result of an exit check, and where it ran. Pure."""

from __future__ import annotations

from handrail.source.record import Record


class Place(Record):
    """Where the agent works, and the folder in which the checks of its phase ran; empty texts if it is not known."""

    cwd: str = ""
    folder: str = ""


class Result(Record):
    """The result of a check. `held` is None if the check could not run; it then counts as failed.

    `mark` is the digest of a failure without what differs each time, such as times; two failures with the same mark
    are the same. It is empty if the check held, and in journals of 0.1.0.
    """

    name: str
    kind: str
    held: bool | None
    detail: str
    seconds: float
    mark: str = ""
