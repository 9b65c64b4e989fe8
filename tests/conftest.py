"""Options of the test run, and how Hypothesis behaves in it: nothing is written into the tree."""

from __future__ import annotations

import shutil
import signal
import tempfile

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir

FUZZ_INPUTS = 10_000


def pytest_addoption(parser: pytest.Parser) -> None:
    about = f"how many inputs the fuzz tests try, all targets together (default {FUZZ_INPUTS})"
    parser.addoption("--fuzz-inputs", type=int, default=FUZZ_INPUTS, metavar="N", help=about)


def pytest_configure(config: pytest.Config) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it may be ignored, also by children
    folder = tempfile.mkdtemp(prefix="handrail-hypothesis-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    set_hypothesis_home_dir(folder)
    slow = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
    settings.register_profile("tests", deadline=None, database=None, print_blob=True, suppress_health_check=slow)
    settings.load_profile("tests")
    settings.register_profile("fuzz", settings.get_profile("tests"), max_examples=config.getoption("--fuzz-inputs"))
