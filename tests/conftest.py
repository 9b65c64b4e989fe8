"""Options of the test run, and settings of Hypothesis, which must not write files into the repository."""

from __future__ import annotations

import shutil
import signal
import tempfile

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.internal.conjecture import providers

from depth import SHARE, Depth

FEW_INPUTS, ALL_INPUTS = 2_000, 10_000


def pytest_addoption(parser: pytest.Parser) -> None:
    about = "also the tests marked `whole`, and ten times as many places and inputs: what `make verify` runs"
    parser.addoption("--whole", action="store_true", help=about)
    about = "tests marked `explores` try all places, or one in N, and many more inputs"
    parser.addoption("--thorough", nargs="?", type=int, const=1, default=0, metavar="N", help=about)
    about = f"the total number of inputs of all fuzz tests (with --whole {FEW_INPUTS}, with --thorough {ALL_INPUTS})"
    parser.addoption("--fuzz-inputs", type=int, metavar="N", help=about)


def is_whole(config: pytest.Config) -> bool:
    return bool(config.getoption("--whole") or config.getoption("--thorough"))


def pytest_configure(config: pytest.Config) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # may be ignored in the background
    folder = tempfile.mkdtemp(prefix="handrail-hypothesis-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    set_hypothesis_home_dir(folder)
    thorough = config.getoption("--thorough")
    slow = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
    settings.register_profile(
        "tests",
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=slow,
        derandomize=not thorough,  # only `make test-long` looks for new inputs
    )
    settings.load_profile("tests")
    few = max(FEW_INPUTS, ALL_INPUTS // thorough) if thorough else FEW_INPUTS
    inputs = config.getoption("--fuzz-inputs") or (few if is_whole(config) else few // SHARE)
    settings.register_profile("fuzz", settings.get_profile("tests"), max_examples=inputs)
    _leave_constants_of_modules_out()


def _leave_constants_of_modules_out() -> None:
    """Hypothesis takes inputs from the constants of all imported modules: slow, and different in each worker."""
    if hasattr(providers, "_get_local_constants"):
        none = providers._local_constants
        providers._get_local_constants = lambda: none


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests marked `whole`, unless `--whole`, and what `spread(every)` and `rarely(value)` say."""
    seen: dict[tuple[str, str], list[str]] = {}
    named = {item.partition("[")[0] for item in config.args if "::" in item}
    left_out = {item.nodeid for item in items if _is_left_out(item, config, seen)}
    left_out -= {item.nodeid for item in items if any(item.nodeid.startswith(name) for name in named)}
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
        items[:] = [item for item in items if item.nodeid not in left_out]


def _is_left_out(item: pytest.Item, config: pytest.Config, seen: dict[tuple[str, str], list[str]]) -> bool:
    whole = item.get_closest_marker("whole")
    if whole is not None and not is_whole(config):
        every = whole.args[0] if whole.args else 0
        cases = seen.setdefault((item.nodeid.partition("[")[0], ""), [])
        cases.append(item.nodeid)
        if not every or len(cases) % every != 1:
            return True
    return not config.getoption("--thorough") and _is_rare(item, seen)


def _is_rare(item: pytest.Item, seen: dict[tuple[str, str], list[str]]) -> bool:
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


@pytest.fixture
def depth(request: pytest.FixtureRequest) -> Depth:
    assert request.node.get_closest_marker("explores"), "a test that uses `depth` must be marked `explores`"
    return Depth(request.config.getoption("--thorough"), is_whole(request.config))
