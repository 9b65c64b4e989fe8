"""A record behaves like the named tuple that type checkers take it for."""

from __future__ import annotations

import copy
import pickle
from typing import Any, NamedTuple

import pytest

from handrail.base.record import Record


class Ours(Record):
    """Two fields, one with a default."""

    name: str
    size: int = 3

    @property
    def doubled(self) -> int:
        return self.size * 2


class Theirs(NamedTuple):
    """The same with the standard library."""

    name: str
    size: int = 3


@pytest.mark.parametrize(
    ("values", "named"),
    [(("a",), {}), (("a", 5), {}), ((), {"name": "a"}), ((), {"size": 1, "name": "a"}), (("a",), {"size": 9})],
)
def test_the_same_arguments_give_the_same_values(values: Any, named: Any) -> None:
    ours, theirs = Ours(*values, **named), Theirs(*values, **named)
    assert tuple(ours) == tuple(theirs)
    assert (ours.name, ours.size, ours.doubled) == (theirs.name, theirs.size, theirs.size * 2)
    assert ours._asdict() == theirs._asdict()
    assert Ours._make(tuple(theirs)) == ours
    assert repr(ours) == repr(theirs).replace("Theirs", "Ours")
    assert hash(ours) == hash(theirs)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((), {}),
        ((), {"size": 1}),
        (("a", 1, 2), {}),
        (("a",), {"name": "b"}),
        (("a", 1), {"size": 2}),
        (("a",), {"sise": 2}),
        (("a", 1), {"sise": 2}),
    ],
)
def test_the_same_wrong_arguments_are_refused(values: Any, named: Any) -> None:
    for kind in (Ours, Theirs):
        with pytest.raises(TypeError):
            kind(*values, **named)


def test_a_record_is_replaced_copied_and_matched_but_never_changed() -> None:
    given = Ours("a")
    assert given._replace(size=4) == Ours("a", 4)
    with pytest.raises((TypeError, ValueError)):
        given._replace(sise=4)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        given.size = 4  # type: ignore[misc]
    assert copy.deepcopy(given) == given
    assert pickle.loads(pickle.dumps(given)) == given
    match given:
        case Ours(name, size):
            assert (name, size) == ("a", 3)
