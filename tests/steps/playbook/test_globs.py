"""Globs of a playbook."""

from __future__ import annotations

import pytest

from handrail.steps.playbook.spec import glob_matches


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("src/**", "src/a/b.py"),
        ("src/**", "src/b.py"),
        ("**/*.py", "a.py"),
        ("**/*.py", "x/y/a.py"),
        ("src/**/test_*.py", "src/test_a.py"),
        ("src/**/test_*.py", "src/x/y/test_a.py"),
        ("*.{ts,tsx}", "a.tsx"),
        ("src/?.go", "src/a.go"),
        ("a**b", "a/x/b"),
        ("[a].py", "[a].py"),
        ("", ""),
    ],
)
def test_a_glob_matches(glob: str, path: str) -> None:
    assert glob_matches(glob, path)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("src/*", "src/a/b.py"),
        ("*.py", "x/a.py"),
        ("src/**/a.py", "src/xa.py"),
        ("src/**", "srcs/a"),
        ("*.{ts,tsx}", "a.js"),
        ("src/?.go", "src//.go"),
        ("a.py", "abpy"),
    ],
)
def test_a_glob_does_not_match(glob: str, path: str) -> None:
    assert not glob_matches(glob, path)


def test_a_hostile_glob_is_matched_in_short_time() -> None:
    assert not glob_matches("*a" * 200 + "b", "a" * 400)
    assert not glob_matches("**/" * 100 + "b", "a/" * 300)
    assert not glob_matches("{a,b}" * 40, "c" * 40)
