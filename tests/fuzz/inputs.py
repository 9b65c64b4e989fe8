"""The number of inputs per target, and strategies that create and mutate inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st

Test = TypeVar("Test", bound=Callable[..., Any])
SHARES = {  # in percent
    "yaml: any text": 4,
    "yaml: nearly yaml": 15,
    "yaml: the same values as json": 7,
    "front matter": 5,
    "load: any bytes": 5,
    "load: nearly a workflow": 15,
    "templates": 10,
    "journal: any bytes": 5,
    "journal: nearly a journal": 10,
    "json: any text": 5,
    "json: values": 5,
    "patterns: as in python": 5,
    "patterns: any text": 5,
    "runs: hostile values": 4,
}


def share(target: str) -> Callable[[Test], Test]:
    """A decorator: the test tries the share of `--fuzz-inputs` that its target has."""
    fuzz = settings.get_profile("fuzz")
    own = settings(fuzz, max_examples=max(1, fuzz.max_examples * SHARES[target] // 100))
    return lambda test: pytest.mark.explores(own(test))


def pieces(*texts: str, most: int = 30) -> st.SearchStrategy[str]:
    """Texts made of these parts and of short random texts."""
    return st.lists(st.one_of(st.sampled_from(texts), st.text(max_size=3)), max_size=most).map("".join)


@st.composite
def mutated(draw: st.DrawFn, valid: st.SearchStrategy[bytes], noise: st.SearchStrategy[bytes]) -> bytes:
    """Valid bytes with up to four mutations: a part is removed, repeated, overwritten or moved."""
    data = draw(valid)
    for _ in range(draw(st.integers(0, 4))):
        begin = draw(st.integers(0, len(data)))
        end = draw(st.integers(begin, min(len(data), begin + 60)))
        put = draw(st.one_of(noise, st.just(b""), st.just(data[begin:end] * 2), st.just(data[end : end + 40])))
        data = data[:begin] + put + data[end:]
    return data
