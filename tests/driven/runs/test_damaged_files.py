"""Every file of a run's folder, damaged in every way: nothing is repeated, and nothing goes wrong in silence.

A run has paid, made a file and a large value, and waits for a person. One file is damaged; then the run is listed and
resumed with the answer. Either it is refused, and the message says what to do; or it ends as if nothing had happened.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from crash.accounts import none_of
from depth import Depth
from support import Project, without_times

FLOW = """phases:
- id: a
  steps:
  - {id: pay, node: command, params: {argv: [/bin/sh, -c, 'echo paid | tee -a paid']}}
  - {id: big, node: command, params: {argv: [/bin/sh, -c, 'echo big >> paid; yes | head -c 20000']}}
  - {id: made, node: write-file, params: {path: made.md, text: hello}, makes: [made.md]}
- id: b
  steps:
  - {id: ask, node: user-input, params: {formId: f, title: Who, fields: [{id: who, type: text, label: Who}]}}
  - id: use
    node: command
    params: {argv: [/bin/sh, -c, 'printf %s "$1" | wc -c >> paid', sh, "${steps.a.big.outputs.output}"]}
"""
PAID = ["paid", "big", "20000"]
BEFORE = PAID[:2]
GROUPS = ("journal", "about", "summary")


class Damage(NamedTuple):
    """What is done to a file. `other` is the same file of another run."""

    name: str
    do: Callable[[Path, Path], None]


def _changed(name: str, change: Callable[[bytes], bytes]) -> Damage:
    def do(path: Path, _: Path) -> None:
        path.write_bytes(change(path.read_bytes()))

    return Damage(name, do)


def _is_foreign(path: Path, other: Path) -> None:
    path.write_bytes(other.read_bytes())


def _instead(make: Callable[[Path], object]) -> Callable[[Path, Path], None]:
    def do(path: Path, _: Path) -> None:
        path.unlink()
        make(path)

    return do


def ways(data: bytes) -> Iterator[Damage]:
    """All kinds of damage to a file with this content."""
    yield Damage("it is missing", lambda path, _: path.unlink())
    yield Damage("it is a dangling link", _instead(lambda path: path.symlink_to("nowhere")))
    yield Damage("it is a link to itself", _instead(lambda path: path.symlink_to(path)))
    yield Damage("it is a folder", _instead(Path.mkdir))
    yield Damage("it is that of another run", _is_foreign)
    yield _changed("it has windows line ends", lambda old: old.replace(b"\n", b"\r\n"))
    yield _changed("it is UTF-16", lambda old: old.decode("latin-1").encode("utf-16"))
    yield _changed("it is all zeros", lambda old: bytes(len(old)))
    for text in (b"", b"\n", b"{}", b"null", b"x" * 5000, b'{"a":' * 3000):
        yield _changed(f"it is {text[:8]!r}", partial(_text, text))
    lines = [at + 1 for at, byte in enumerate(data) if byte == 10]
    for at in sorted({1, *(len(data) * part // 8 for part in range(1, 8)), *lines[:-1], len(data) - 1} - {len(data)}):
        yield _changed(f"it ends at byte {at}", partial(_cut, at))
        yield _changed(f"it has zeros from byte {at}", partial(_zeros, at))
        yield _changed(f"bytes are missing at byte {at}", partial(_gap, at))
        yield _changed(f"a bit is another at byte {at}", partial(_flip, at))


def _text(text: bytes, _: bytes) -> bytes:
    return text


def _cut(at: int, data: bytes) -> bytes:
    return data[:at]


def _zeros(at: int, data: bytes) -> bytes:
    return data[:at] + bytes(len(data) - at)


def _gap(at: int, data: bytes) -> bytes:
    return data[:at] + data[at + 3 :]


def _flip(at: int, data: bytes) -> bytes:
    return data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :] if data else b"x"


class Ground:
    """A project with two waiting runs. The first one is damaged, and put back after that."""

    def __init__(self, project: Project, folder: Path) -> None:
        self.project = project
        self.kept = folder / "kept"
        project.write(".handrail/flows/pay.yaml", FLOW)
        self.answers = str(project.write("answers.json", '{"f": {"who": "Ada"}}'))
        runs = [project.json("run", "pay", code=4)["run"] for _ in range(2)]
        self.run, self.other = (next((project.home / "state" / "runs").rglob(run)) for run in runs)
        self.paid, self.made = project.folder / "paid", project.folder / "made.md"
        shutil.copytree(self.run, self.kept)
        end = project.json("resume", self.run.name, "--answers", self.answers)
        self.wanted = self.account(end)

    def account(self, end: dict[str, Any]) -> str:
        return without_times(
            str([(phase["id"], phase["status"], [_told(step) for step in phase["steps"]]) for phase in end["phases"]])
        )

    def put_back(self) -> None:
        shutil.rmtree(self.run)
        shutil.copytree(self.kept, self.run)
        self.paid.write_text("".join(f"{line}\n" for line in BEFORE))

    def files(self) -> list[Path]:
        return sorted(path.relative_to(self.kept) for path in self.kept.rglob("*") if path.is_file())

    def flaws(self, name: Path, damage: Damage, *, is_killed: bool = False) -> list[str]:
        """What is wrong after one file was damaged. `is_killed`: the driver was killed, so there is no summary."""
        self.put_back()
        if is_killed:
            (self.run / "summary").unlink()
        other = self.other / name
        damage.do(self.run / name, other if other.is_file() else self.kept / name)
        project, wrong = self.project, []
        listed = project.run("runs", "--json")
        if listed.code or {row["run"] for row in listed.data["runs"]} < {self.other.name}:
            wrong.append(f"`runs` says {listed}")
        said = project.run("resume", self.run.name, "--json", "--answers", self.answers)
        paid = self.paid.read_text().split()
        if said.code == 0:
            if paid != PAID or self.account(said.data) != self.wanted:
                wrong.append(f"it ended otherwise: {paid}")
        elif said.code != 1 or paid != BEFORE:
            wrong.append(f"it ended with {said.code} and paid {paid}")
        elif "hint: " not in said.err or self.run.name not in said.err:
            wrong.append(f"the message does not help: {said.err}")
        return [f"{name}: {damage.name}{' (killed)' * is_killed}: {flaw}" for flaw in wrong]


def _told(step: dict[str, Any]) -> Any:
    return step["id"], step["status"], {**step["value"], "seconds": 0} if step["value"] else None


@pytest.mark.explores
@pytest.mark.parametrize("group", ["journal", "about", "summary", ""])
def test_a_damaged_file_of_a_run_repeats_nothing_and_is_never_silent(
    project: Project, tmp_path: Path, depth: Depth, group: str
) -> None:
    ground = Ground(project, tmp_path)
    names = [name for name in ground.files() if group == (name.name if name.name in GROUPS else "")]
    cases = [(name, damage) for name in names for damage in ways((ground.kept / name).read_bytes())]
    assert len(cases) >= 50
    none_of([flaw for name, damage in depth.places(cases, every=5) for flaw in ground.flaws(name, damage)])


@pytest.mark.explores
def test_after_a_kill_a_journal_that_is_destroyed_as_a_whole_repeats_nothing(
    project: Project, tmp_path: Path, depth: Depth
) -> None:
    ground = Ground(project, tmp_path)
    name = Path("1/journal")
    cases = [damage for damage in ways((ground.kept / name).read_bytes()) if "byte" not in damage.name]
    none_of([flaw for damage in depth.places(cases, every=2) for flaw in ground.flaws(name, damage, is_killed=True)])
