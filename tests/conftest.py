"""Options of the test run, and settings of Hypothesis, which must not write files into the repository."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Iterator
from types import FrameType

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir

from depth import Depth

FEW_INPUTS, ALL_INPUTS = 2_000, 10_000
HANGS_AFTER = 600
"""In seconds. The longest tests take one minute."""


def pytest_addoption(parser: pytest.Parser) -> None:
    about = "tests marked `explores` try all places, or one in N, and many more inputs"
    parser.addoption("--thorough", nargs="?", type=int, const=1, default=0, metavar="N", help=about)
    about = f"the total number of inputs of all fuzz tests (default {FEW_INPUTS}, with --thorough {ALL_INPUTS})"
    parser.addoption("--fuzz-inputs", type=int, metavar="N", help=about)


def pytest_configure(config: pytest.Config) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # may be ignored in the background
    folder = tempfile.mkdtemp(prefix="handrail-hypothesis-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    set_hypothesis_home_dir(folder)
    slow = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
    settings.register_profile("tests", deadline=None, database=None, print_blob=True, suppress_health_check=slow)
    settings.load_profile("tests")
    thorough = config.getoption("--thorough")
    usual = max(FEW_INPUTS, ALL_INPUTS // thorough) if thorough else FEW_INPUTS
    inputs = config.getoption("--fuzz-inputs") or usual
    settings.register_profile("fuzz", settings.get_profile("tests"), max_examples=inputs)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out, unless `--thorough`, what `spread(every)` and `rarely(value)` say."""
    seen: dict[tuple[str, str], list[str]] = {}
    left_out = [] if config.getoption("--thorough") else [item for item in items if _is_left_out(item, seen)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def _is_left_out(item: pytest.Item, seen: dict[tuple[str, str], list[str]]) -> bool:
    """Of a spread, neighbours differ in one value, so every value stays in some combination.

    `seen` has the values of each argument of each test so far, in the order in which they came.
    """
    spread, rarely = item.get_closest_marker("spread"), item.get_closest_marker("rarely")
    if spread is None and rarely is None:
        return False
    values: dict[str, object] = item.callspec.params  # type: ignore[attr-defined]
    if rarely is not None and any(value in rarely.args for value in values.values()):
        return True
    places = []
    for name, value in values.items():
        known = seen.setdefault((item.nodeid.partition("[")[0], name), [])
        if repr(value) not in known:
            known.append(repr(value))
        places.append(known.index(repr(value)))
    return spread is not None and sum(places) % spread.args[0] != 0


@pytest.fixture(autouse=True)
def fail_if_it_hangs(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that waits for something that never happens fails, far above the usual time.

    A module says another number of seconds with `HANGS_AFTER`. Explorations of all places may take any time.
    """
    limit = int(getattr(request.module, "HANGS_AFTER", HANGS_AFTER))

    def give_up(_signal: int, _frame: FrameType | None) -> None:
        pytest.fail(f"not finished after {limit} seconds", pytrace=True)

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(0 if request.config.getoption("--thorough") else limit)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def depth(request: pytest.FixtureRequest) -> Depth:
    assert request.node.get_closest_marker("explores"), "a test that uses `depth` must be marked `explores`"
    return Depth(request.config.getoption("--thorough"))
