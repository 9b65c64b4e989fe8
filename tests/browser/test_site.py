"""The flows of the browser tests do what the tests expect of them."""

from __future__ import annotations

import pytest

from browser.site import Site


@pytest.mark.parametrize(
    ("flow", "params", "status"),
    [
        ("release", {"version": "1.2"}, "waiting"),
        ("rounds", {}, "completed"),
        ("nightly", {}, "failed"),
        ("quick", {}, "completed"),
    ],
)
def test_a_flow_ends_as_it_should(site: Site, flow: str, params: dict[str, str], status: str) -> None:
    run = site.made(flow, **params)
    assert site.handrail("runs", run)["status"] == status
    assert site.journal(run)
