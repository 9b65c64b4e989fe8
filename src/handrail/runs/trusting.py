"""A run is driven only in a project that a person trusts, unless it starts nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from handrail import registry
from handrail.flows.programs import programs_of
from handrail.runs.loaded import LoadedRun
from handrail.runs.machine import Cause
from handrail.source.plain import command_line
from handrail.state.locks import PROBE_SECONDS, acquire
from handrail.trust.guard import Trust
from handrail.trust.programs import Program
from handrail.worktrees.record import Tree

SETUP = "the worktree"


def programs_of_run(run: LoadedRun) -> list[Program]:
    """What a run would run, by the flows that were stored when it began."""
    return [*programs_of_setup(run.about.request.worktree), *programs_of(run.plan, run.find, registry.checks())]


def programs_of_setup(tree: Tree | None) -> list[Program]:
    """The commands that prepare the worktree of a run."""
    commands = () if tree is None or tree.is_shared else tree.setup
    return [Program("program", command_line(*words), SETUP, "") for words in commands]


@contextmanager
def trusted(trust: Trust, run: LoadedRun, mode: Cause, is_driven: Callable[[str], bool]) -> Iterator[None]:
    """Drive a run inside. Raises `UntrustedError` if its project is not trusted.

    While it is driven by a call that is trusted for itself only, the run has a mark, and the mark is locked: the agents
    of the run and a driver in the background need it. It counts only for the first drive, because to resume a run is
    another call.
    """
    trust.refuse(lambda: programs_of_run(run), run.id if mode == "run" else None)
    trust.mark(run.id)
    try:
        with held(trust, run.id):
            yield
    finally:
        if not is_driven(run.id):
            trust.unmark(run.id)


@contextmanager
def held(trust: Trust, run: str) -> Iterator[None]:
    """Lock the mark of a run inside, if this call is what the mark is for. Without the lock, a mark trusts nothing."""
    handle = acquire(trust.mark_of(run), PROBE_SECONDS) if trust.is_marked(run) and trust.is_for_call else None
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)
