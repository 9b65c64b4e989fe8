"""Our `dataclass` behaves as that of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from handrail.base.dataclasses import asdict, dataclass, field, fields, replace


@dataclass(frozen=True)
class Base:
    """Two values, of which the second is not compared."""

    name: str
    line: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True)
class More(Base):
    """A third value, made for each instance."""

    found: list[int] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Named:
    """Values that are given by name."""

    first: int
    second: int = 2


@dataclass(frozen=True)
class Nothing:
    """No value at all."""


@dataclass
class Counter:
    """A class that may change."""

    count: int = 0


def twin(cls: Any) -> Any:
    """The same class, made by the standard library."""
    made = type(cls.__name__, (), {"__annotations__": {}, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__})
    for one in fields(cls):
        made.__annotations__[one.name] = one.type
        setattr(made, one.name, copy.copy(one))
    return dataclasses.dataclass(frozen=True)(made)


@pytest.mark.parametrize(
    ("cls", "values", "named"),
    [
        (Base, ("a",), {}),
        (Base, ("a", 3), {}),
        (Base, (), {"line": 1, "name": "a"}),
        (More, ("a", 3, [1]), {}),
        (More, ("a",), {"found": [2]}),
        (More, ("a",), {}),
        (Named, (), {"first": 1}),
        (Named, (), {"first": 1, "second": 3}),
        (Nothing, (), {}),
    ],
)
def test_instances_are_those_of_the_standard_library(cls: Any, values: tuple[Any, ...], named: dict[str, Any]) -> None:
    ours, theirs = cls(*values, **named), twin(cls)(*values, **named)
    assert repr(ours) == repr(theirs)
    assert asdict(ours) == dataclasses.asdict(theirs)
    assert cls.__match_args__ == type(theirs).__match_args__
    assert ours == cls(*values, **named)
    assert ours != theirs
    assert pickle.loads(pickle.dumps(ours)) == copy.deepcopy(ours) == replace(ours)


@pytest.mark.parametrize(
    ("cls", "values", "named"),
    [(Base, (), {}), (Base, ("a", 1, 2), {}), (Base, ("a",), {"other": 1}), (Named, (1,), {}), (Nothing, (1,), {})],
)
def test_wrong_arguments_are_errors(cls: Any, values: tuple[Any, ...], named: dict[str, Any]) -> None:
    with pytest.raises(TypeError) as ours:
        cls(*values, **named)
    with pytest.raises(TypeError) as theirs:
        twin(cls)(*values, **named)
    assert str(ours.value).partition("__init__")[2] == str(theirs.value).partition("__init__")[2]


def test_a_class_below_may_have_an_init_of_its_own() -> None:
    class Named(Base):
        def __init__(self, name: str) -> None:
            super().__init__(name.upper(), 7)

    assert [Named("a").name, Named("b").name, Named("c").line] == ["A", "B", 7]
    assert Base("a", 1).line == 1


def test_what_is_not_compared_is_not_hashed() -> None:
    assert Base("a", 1) == Base("a", 2) != Base("b", 1)
    assert hash(Base("a", 1)) == hash(Base("a", 2))
    assert {Base("a", 1), Base("a", 2)} == {Base("a")}
    with pytest.raises(TypeError, match="unhashable"):
        hash(More("a"))


def test_each_instance_gets_a_list_of_its_own() -> None:
    assert More("a").found is not More("a").found


def test_frozen_means_frozen() -> None:
    one = Base("a")
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'name'"):
        one.name = "b"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'name'"):
        del one.name
    changing = Counter()
    changing.count += 1
    assert changing == Counter(1)
