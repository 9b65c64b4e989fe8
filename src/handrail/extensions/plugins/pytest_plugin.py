"""`pytest --handrail-plugin ID`: the contract tests for a plugin.

Without the option, this imports and does nothing. Every pytest that runs where Handrail is installed loads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

OPTION = "--handrail-plugin"


def pytest_addoption(parser: pytest.Parser) -> None:
    about = "run the contract tests of Handrail for the plugin with this id, or in this folder"
    parser.addoption(OPTION, action="append", default=[], metavar="ID", help=about)


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[Any]) -> None:
    for name in config.getoption(OPTION):
        items[:0] = _contract_items(session, name)


def _contract_items(session: pytest.Session, name: str) -> list[Any]:
    import pytest

    from handrail.extensions.plugins.contract_tests import find_plugin, tests_of

    class Contract(pytest.Item):
        """One test: it fails if its function returns a problem."""

        check: Callable[[], list[str]]

        def runtest(self) -> None:
            if problems := self.check():
                pytest.fail("\n".join(problems), pytrace=False)

        def reportinfo(self) -> tuple[str, None, str]:
            return file, None, self.name

    plugin = find_plugin(name, str(session.config.invocation_params.dir))
    if plugin is None:
        raise pytest.UsageError(f"there is no plugin `{name}`, and no folder with a `plugin.toml` of this name")
    file, items = plugin.file, []
    for title, check in tests_of(plugin):
        item = Contract.from_parent(session, name=title)
        item.check = check
        items.append(item)
    return items
