"""Errors and exit codes. This is the only table of exit codes; the docs are generated from it.

Imports nothing, because hooks use it.
"""

EXIT_CODES: dict[int, str] = {
    0: "done",
    1: "user error, refused command, or a run that failed, was stopped or stopped itself with the outcome `stopped`",
    2: "bad usage, or a definition has errors",
    3: "timeout",
    4: "waiting for a person, or nobody has trusted the project",
    5: "`next`, `ready` or `doctor` found what does not hold, or every attempt of an agent at its work was denied",
    6: "budget spent",
    70: "a bug in Handrail; a report was written",
    130: "interrupted",
}


READ_ONLY = 30
"""The number of the error that a file system is read-only (`errno.EROFS`)."""


class HandrailError(Exception):
    """An error that the user can fix. `message` is one sentence; `hint` says what to do or run next."""

    code = "error"
    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def system_error(error: OSError) -> HandrailError:
    """An error of the operating system in plain words: which file or program, and what is wrong with it."""
    name = str(error.filename or "")
    if isinstance(error, FileNotFoundError) and name and not {"/", "."} & set(name):
        hint = "install it, then run the command again"
        return HandrailError(f"the program `{name}` is not installed or not on the PATH", hint)
    words = f"`{name}` cannot be used: {error.strerror}" if name else error.strerror or str(error)
    is_locked = isinstance(error, PermissionError) or error.errno == READ_ONLY
    return HandrailError(words, "work where you may write, or change who may write there" if is_locked else None)


class UsageError(HandrailError):
    """The command line is invalid."""

    code = "usage"
    exit_code = 2


class NotFound(HandrailError):
    """Nothing has the given name."""

    code = "not-found"


class RefusedError(HandrailError):
    """The command is valid but not allowed now."""

    code = "refused"


class OnlyPeopleError(RefusedError):
    """Only a person may do this, and an agent or a step of a run tried."""


class UntrustedError(HandrailError):
    """A person has not trusted the project, so nothing of it may be run."""

    code = "untrusted"
    exit_code = 4


class DefinitionError(HandrailError):
    """The requested definition has errors. `problems` are these errors, as far as they are known."""

    code = "definition"
    exit_code = 2

    def __init__(self, message: str, hint: str | None = None, problems: tuple[object, ...] = ()) -> None:
        super().__init__(message, hint)
        self.problems = problems


class StateError(HandrailError):
    """Handrail's state on disk cannot be read or written."""

    code = "state"
