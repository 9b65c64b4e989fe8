"""The page opens by its link, shows the runs of the project, and follows them."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from browser.chromium import Chromium
from browser.site import Site
from browser.tab import Tab


@pytest.mark.smoke
def test_the_link_opens_the_page_and_leaves_the_address(chromium: Chromium, site: Site) -> None:
    context = chromium.context()
    tab = chromium.tab(context, site.base)
    tab.open("/")
    tab.wait_text("You are not signed in")
    chromium.end_context(context)


@pytest.mark.smoke
def test_a_run_is_followed_until_it_ends(site: Site, tab: Tab) -> None:
    run = site.launch("hold")
    tab.open("/")
    tab.wait_text("hold")
    assert "token" not in tab.evaluate("location.href")
    site.write("go", "")
    site.until(run, "completed")
    (site.folder / "go").unlink()
    tab.wait_text("completed")
    assert tab.errors == []


def test_the_page_reconnects_after_a_restart_of_the_server(site: Site, tab: Tab, tmp_path: Path) -> None:
    run = site.launch("hold")
    tab.open("/")
    tab.wait_text("hold")
    site.stop(signal.SIGKILL)
    site.serve()
    site.write("go", "")
    site.until(run, "completed")
    (site.folder / "go").unlink()
    tab.wait("!document.body.innerText.includes('● hold') && document.body.innerText.includes('completed')")
    tab.screenshot(tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 1_000
