"""Shared fixtures of the crash tests: a few drivers, the flow, and how it ends without a fault."""

from __future__ import annotations

import itertools
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from crash.accounts import TOLD_WHEN_SAFE, account
from crash.cases import Case, catalog_of
from crash.pool import Pool
from handrail.driven.flows.catalog import FlowCatalog
from handrail.driven.runs.request import RunRequest

MEMORY = "/dev/shm"


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    drivers = Pool()
    yield drivers
    drivers.close()


class Whole(NamedTuple):
    """A run without a fault: how it ended, how often each step ran, how often it wrote and synced.

    `least` is the smallest possible number of records: an event that is not durable may share a record with others.
    """

    wanted: dict[str, Any]
    logged: Counter[str]
    writes: int
    syncs: int
    least: int
    journal: bytes


class Stage:
    """Makes cases of the shared flow."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.catalog: FlowCatalog = catalog_of(folder / "flows")
        self.numbers = itertools.count(1)

    def case(self) -> Case:
        number = next(self.numbers)
        return Case(self.folder / str(number), number).begin(self.catalog)

    def small(self, phases: str) -> Case:
        """A case with its own flow, which is stored in its project."""
        number = next(self.numbers)
        case = Case(self.folder / str(number), number)
        return case.begin(
            catalog_of(case.project, {"main": f"phases:\n{phases}"}), request=RunRequest(params={}, scope="crash")
        )


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    """Uses a folder in memory if the system has one: the tests check which calls are made, not the disk."""
    with tempfile.TemporaryDirectory(
        prefix="handrail-crash-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None
    ) as at:
        yield Stage(Path(os.path.realpath(at)))


@pytest.fixture(scope="session")
def whole(pool: Pool, stage: Stage) -> Whole:
    case = stage.case()
    said = pool.run(case, "resume", "--events", "--answers", str(case.answers))
    assert said.code == 0, said
    layer = json.loads((case.folder / "layer").read_text())
    safe = sum(event["type"] in TOLD_WHEN_SAFE for event in case.events())
    published = len(case.paths_of("ArtifactPublished"))
    least = safe + published + len(["the begin of `careful`", "the end"])
    return Whole(account(case), case.logged(), layer["writes"], layer["syncs"], least, case.journal.read_bytes())
