"""One Chromium for all tests, one project with its server per module, one tab per test that is signed in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from browser.chromium import Chromium
from browser.site import Site
from browser.tab import Tab


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    found = Chromium()
    yield found
    found.end()


@pytest.fixture(autouse=True)
def rules(chromium: Chromium) -> Iterator[None]:
    """No tab of any test may ask another host for something, or break the page's own rules."""
    yield
    for found in chromium.tabs():
        assert found.hosts <= {found.base.partition("://")[2]}
        assert found.reports == []


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    found = Site(tmp_path_factory.mktemp("site"))
    found.serve()
    yield found
    found.stop()


@pytest.fixture(scope="module")
def context(chromium: Chromium, site: Site) -> Iterator[str]:
    """Cookies of a browser that opened the printed link."""
    found = chromium.context()
    first = chromium.tab(found, site.base)
    first.open(site.link)
    first.close()
    yield found
    chromium.end_context(found)


@pytest.fixture
def tab(chromium: Chromium, site: Site, context: str) -> Iterator[Tab]:
    """A tab that is signed in."""
    found = chromium.tab(context, site.base)
    found.size(1280, 800)
    yield found
    found.close()
