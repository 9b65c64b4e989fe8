"""The paths that a command line changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.source.shell import changes


def changed(line: str) -> set[str]:
    return {change.path for change in changes(line, "/project", "/home/ada")}


@pytest.mark.parametrize(
    "line",
    [
        "echo x > a.txt",
        "echo x>>a.txt",
        "echo x 2> a.txt",
        "printf 1 | tee a.txt",
        "true && cp /tmp/b a.txt",
        "cd sub; cd ..; touch a.txt",
        "sed -i s/a/b/ 'a.txt'",
        'rm -f "a.txt"',
        "sudo rm a.txt",
        "X=1 rm a.txt",
        "dd if=/dev/zero of=a.txt",
        "python edit.py a.txt",
        "(cd /project && mv a.txt b.txt)",
        "git checkout -- a.txt",
        "cat <<END >a.txt\nhello\nEND",
        "cp -l a.txt b.txt",
        "sed -ni /x/p a.txt",
        "find a.txt -delete",
        "python -c 1 a.txt",
    ],
)
def test_a_write_is_found(line: str) -> None:
    assert "/project/a.txt" in changed(line)


@pytest.mark.parametrize(
    "line",
    [
        "cat a.txt",
        "grep -n x a.txt | head",
        "ls -l a.txt",
        "git diff a.txt",
        "diff a.txt b.txt",
        "cat < a.txt",
        "cp -r a.txt b.txt",
        "sed -n 1,3p a.txt",
        "awk 'NR > 1' a.txt",
        "find a.txt -name x",
        "python3 a.txt --out b.txt",
    ],
)
def test_a_read_is_not_a_change(line: str) -> None:
    assert "/project/a.txt" not in changed(line)


@pytest.mark.parametrize("home", ["~", "$HOME", "${HOME}"])
def test_the_home_folder_is_expanded(home: str) -> None:
    assert changed(f"rm -rf {home}/.config") == {"/home/ada/.config"}


def test_a_path_is_relative_to_the_folder_after_cd() -> None:
    assert "/home/ada/.x/settings.json" in changed("cd ~/.x && echo {} > settings.json")


def test_only_removing_and_moving_change_everything_below_a_path() -> None:
    assert [change.is_whole for change in changes("rm -rf d", "/p", "/h")] == [True]
    assert [change.is_whole for change in changes("pytest d", "/p", "/h")] == [False]


@given(st.text(alphabet="ab ;|&<>()'\"\\\n$~/=-", max_size=60))
def test_any_line_can_be_parsed(line: str) -> None:
    for change in changes(line, "/p", "/h"):
        assert change.path.startswith("/")
