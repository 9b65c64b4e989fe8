"""Damaged runs: each one stands for itself, and there is always a way to put one aside."""

from __future__ import annotations

import errno
import os
from binascii import crc32
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handrail.app import App
from handrail.base import jsonlite
from handrail.driven.runs.request import RunRequest
from handrail.view.live.home import LiveHome
from support import Project

BIG = "node: command, params: {argv: [/bin/sh, -c, 'yes | head -c 20000']}"


@pytest.fixture
def three(project: Project) -> list[str]:
    """Three runs, the oldest first."""
    project.write(".handrail/flows/demo.yaml", f"phases:\n- {{id: a, steps: [{{id: x, {BIG}}}]}}\n")
    return [str(project.json("run", "demo")["run"]) for _ in range(3)]


def folder(project: Project, run: str) -> Path:
    return next((project.home / "state" / "runs").rglob(run))


def damage_journal(run: Path) -> None:
    path = run / "1" / "journal"
    data = path.read_bytes()
    path.write_bytes(data[:20] + b"#" + data[21:])


def damage_about(run: Path) -> None:
    path = run / "1" / "about"
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"flow": "demo"', b'"flow": "dema"'))
    assert path.read_bytes() != data


def damage_old_about(run: Path) -> None:
    (run / "1" / "about").write_bytes(b"{")


def remove_about(run: Path) -> None:
    (run / "1" / "about").unlink()


def journal_is_a_fifo(run: Path) -> None:
    (run / "1" / "journal").unlink()
    os.mkfifo(run / "1" / "journal")


def unknown_event(run: Path) -> None:
    (run / "1" / "journal").write_bytes(jsonlite.encode_line({"n": 0, "events": [7]}))


DAMAGES = (damage_journal, damage_about, damage_old_about, remove_about, journal_is_a_fifo, unknown_event)


@pytest.mark.whole(4)
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_run_hides_no_other_and_can_be_put_aside(
    project: Project, three: list[str], damage: Callable[[Path], None]
) -> None:
    damage(folder(project, three[1]))
    rows = {row["run"]: row for row in project.json("runs")["runs"]}
    assert {id_: rows[id_]["status"] for id_ in three} == dict(
        zip(three, ("completed", "failed", "completed"), strict=True)
    )
    assert rows[three[1]]["damaged"]
    assert rows[three[1]]["error"]
    said = project.run("runs", three[1])
    assert said.code == 1
    assert "handrail prune --damaged --yes" in said.err
    told = project.json("prune", "--damaged", "--yes")
    assert [row["id"] for row in told["removed"]] == [three[1]]
    assert {row["run"] for row in project.json("runs")["runs"]} == {three[0], three[2]}
    assert (project.home / "state" / "aside" / f"{three[1]}.1").is_dir()


def test_a_damaged_payload_breaks_no_list(project: Project, three: list[str]) -> None:
    (payload,) = (folder(project, three[0]) / "1" / "payloads").iterdir()
    payload.write_text("x")
    assert [row["status"] for row in project.json("runs")["runs"]] == ["completed"] * 3
    said = project.run("runs", three[0], "--json")
    assert (said.code, "is damaged" in said.err) == (1, True)
    assert f"handrail restart {three[0]}" in said.err
    assert project.json("restart", three[0])["status"] == "completed"


def test_an_about_file_without_a_checksum_is_read(project: Project, three: list[str]) -> None:
    path = folder(project, three[0]) / "1" / "about"
    path.write_bytes(path.read_bytes().splitlines()[0][9:])
    assert path.read_bytes().startswith(b"{")
    assert project.json("runs", three[0])["status"] == "completed"


@pytest.mark.usefixtures("three")
def test_an_unreadable_state_folder_is_an_error(project: Project) -> None:
    runs = next((project.home / "state" / "runs").iterdir())
    runs.rename(project.home / "elsewhere")
    runs.symlink_to(runs)
    for more in ([], ["--json"]):
        said = project.run("runs", *more)
        assert said.code == 1
        assert "symbolic link" in said.err
    runs.unlink()
    (project.home / "state").chmod(0o777)
    assert "other users can change it" in project.run("runs").err


def test_a_summary_that_is_older_than_the_journal_is_replaced(project: Project, three: list[str]) -> None:
    summary = folder(project, three[0]) / "summary"
    known = summary.read_bytes()
    for content in (b"", b"junk\n", known.replace(b"completed", b"cancelled"), None):
        summary.unlink()
        if content is not None:
            summary.write_bytes(content)
        assert project.json("runs")["runs"][-1]["status"] == "completed"
        assert summary.read_bytes() == known
    journal = folder(project, three[0]) / "1" / "journal"
    data = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(data[:-1]))
    assert project.json("runs")["runs"][-1]["damaged"]
    summary.unlink()
    assert project.json("runs")["runs"][-1]["status"] == "running"


def test_a_row_has_its_times(project: Project, three: list[str]) -> None:
    row = project.json("runs")["runs"][0]
    assert row["run"] == three[2]
    assert row["started"] <= row["ended"]
    assert row["seconds"] >= 0
    assert (row["waitingFor"], row["name"]) == (None, "demo")


def summary_with(run: Path, **changed: Any) -> None:
    """Give a summary other fields, with a valid checksum."""
    known = jsonlite.decode_line((run / "summary").read_bytes().rstrip())
    assert known is not None
    glance = {**known["run"]["glance"], **changed.pop("glance", {})}
    known["run"] = {**known["run"], "glance": glance, **changed}
    (run / "summary").write_bytes(jsonlite.encode_line(known))


OTHER_TYPES: list[dict[str, Any]] = [
    {"seconds": "long"},
    {"started": "today"},
    {"flow": 7},
    {"questions": [7]},
    {"questions": {}},
    {"glance": {"place": [7]}},
    {"glance": {"delay": {}}},
    {"glance": {"need": 7}},
    {"unknown": 1},
]


@pytest.mark.parametrize("changed", OTHER_TYPES, ids=str)
def test_a_summary_with_other_types_breaks_no_list(project: Project, three: list[str], changed: dict[str, Any]) -> None:
    summary_with(folder(project, three[1]), **changed)
    home = LiveHome(App(str(project.folder), os.environ))
    home.refresh()
    assert [row["status"] for row in home.topic.rows.section("entries")] == ["completed"] * 3
    assert [row["status"] for row in project.json("runs")["runs"]] == ["completed"] * 3
    assert project.run("runs").out.count("✓ completed") == 3


NEWER: dict[str, Callable[[dict[str, Any]], object]] = {
    "an event": lambda event: event.update(type="Teleported"),
    "a field": lambda event: event.update(warp=9),
}


@pytest.mark.parametrize("change", NEWER)
def test_a_run_of_a_newer_version_is_no_damage(project: Project, three: list[str], change: str) -> None:
    journal = folder(project, three[0]) / "1" / "journal"
    *lines, last = journal.read_bytes().splitlines(keepends=True)
    record = jsonlite.decode_line(last.rstrip())
    assert record is not None
    NEWER[change](record["events"][0])
    journal.write_bytes(b"".join(lines) + jsonlite.encode_line(record) + bytes(100))
    for command in ("runs", "resume", "restart", "log"):
        said = project.run(command, three[0])
        assert said.code == 1
        assert "was written by a newer Handrail" in said.err
        assert "the version of Handrail that wrote it" in said.err
    assert project.json("prune", "--damaged", "--yes")["removed"] == []


def test_a_request_of_a_newer_version_is_no_damage(project: Project, three: list[str]) -> None:
    about = folder(project, three[0]) / "1" / "about"
    body, names = about.read_bytes().splitlines(keepends=True)
    text = body[9:].rstrip().replace(b"{", b'{"warp": 9, ', 1)
    about.write_bytes(b"%08x %s\n%s" % (crc32(text), text, names))
    said = project.run("resume", three[0])
    assert (said.code, "was written by a newer Handrail" in said.err) == (1, True)


FILES = (
    "1/litter",
    "1/stop",
    "1/inbox/q1",
    "1/notices/x",
    "1/activity",
    "1/created",
    "1/driver.log",
    "lock",
    "summary",
)


@pytest.mark.parametrize("name", [*FILES, "1/journal", "1/about"])
def test_a_pipe_in_the_folder_of_a_run_blocks_nothing(project: Project, paid: Path, name: str) -> None:
    path = paid / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    assert project.run("runs", "--json").code == 0
    for command in ("log", "resume"):
        assert project.run(command, paid.name).code in (0, 1)
    assert (project.folder / "paid").read_text() == "paid\n"


PAY = """phases:
- id: a
  steps:
  - {id: pay, node: command, params: {argv: [/bin/sh, -c, 'echo paid | tee -a paid']}}
- id: b
  steps:
  - {id: ready, node: command, params: {argv: [test, -e, ready]}}
"""


@pytest.fixture
def paid(project: Project) -> Path:
    """The folder of a run whose first step has paid, and whose second step failed."""
    project.write(".handrail/flows/pay.yaml", PAY)
    run = project.json("run", "pay", code=1)["run"]
    assert (project.folder / "paid").read_text() == "paid\n"
    project.write("ready", "")
    return folder(project, run)


def is_missing(path: Path) -> None:
    path.unlink()


def is_a_dangling_link(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.with_name("elsewhere"))


def is_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def has_lost_its_last_record(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "is empty": lambda data: data[:0],
    "is zeros": lambda data: bytes(len(data)),
    "ends with zeros": lambda data: data[: len(data) // 2] + bytes(len(data) - len(data) // 2),
    "has windows line ends": lambda data: data.replace(b"\n", b"\r\n"),
    "is UTF-16": lambda data: data.decode().encode("utf-16"),
    "is a line end": lambda data: data[-1:],
}


def refuses_to_pay_again(project: Project, run: Path) -> None:
    for command in ("resume", "restart", "answer"):
        said = project.run(command, run.name)
        assert said.code == 1, said
        assert "damaged" in said.err or "cannot be read" in said.err
        assert "handrail prune --damaged --yes" in said.err
    assert (project.folder / "paid").read_text() == "paid\n"
    assert project.json("runs")["runs"][-1]["damaged"]
    assert [row["id"] for row in project.json("prune", "--damaged", "--yes")["removed"]] == [run.name]


WAYS = (is_missing, is_a_dangling_link, is_a_folder, has_lost_its_last_record)


@pytest.mark.parametrize("damage", WAYS, ids=lambda damage: damage.__name__)
def test_a_run_with_a_lost_journal_does_not_begin_anew(
    project: Project, paid: Path, damage: Callable[[Path], None]
) -> None:
    damage(paid / "1" / "journal")
    refuses_to_pay_again(project, paid)


@pytest.mark.parametrize("change", CHANGES)
def test_a_run_with_a_destroyed_journal_does_not_begin_anew(project: Project, paid: Path, change: str) -> None:
    journal = paid / "1" / "journal"
    journal.write_bytes(CHANGES[change](journal.read_bytes()))
    refuses_to_pay_again(project, paid)


@pytest.mark.parametrize("name", ["journal", "about"])
def test_the_files_of_another_run_are_refused_and_named(project: Project, paid: Path, name: str) -> None:
    project.write(".handrail/flows/pay.yaml", PAY.replace("tee -a paid", "cat"))
    other = folder(project, project.json("run", "pay")["run"])
    (paid / "1" / name).write_bytes((other / "1" / name).read_bytes())
    said = project.run("resume", paid.name)
    assert f"is that of attempt 1 of run `{other.name}`" in said.err
    refuses_to_pay_again(project, paid)


def without_names(run: Path) -> None:
    """Make the run one of an earlier version: its files do not name it."""
    journal, about, summary = run / "1" / "journal", run / "1" / "about", run / "summary"
    records = [decoded for line in journal.read_bytes().split(b"\n") if (decoded := jsonlite.decode_line(line))]
    lines = [jsonlite.encode_line({**record, "n": number}) for number, record in enumerate(records[1:])]
    journal.write_bytes(b"".join(lines))
    about.write_bytes(about.read_bytes().splitlines(keepends=True)[0])
    known = jsonlite.decode_line(summary.read_bytes().rstrip())
    assert known is not None
    old = {name: value for name, value in known.items() if name not in ("id", "end")}
    summary.write_bytes(jsonlite.encode_line({**old, "format": 4}))


def test_a_run_of_an_earlier_version_goes_on(project: Project, paid: Path) -> None:
    without_names(paid)
    assert project.json("runs")["runs"][0]["status"] == "failed"
    assert project.json("resume", paid.name)["status"] == "completed"
    assert project.json("restart", paid.name)["status"] == "completed"
    assert (project.folder / "paid").read_text() == "paid\n" * 2


@pytest.mark.parametrize("trace", ["summary", "activity"])
def test_a_run_of_an_earlier_version_with_a_lost_journal_does_not_begin_anew(
    project: Project, paid: Path, trace: str
) -> None:
    without_names(paid)
    (paid / "1" / "journal").unlink()
    for other in {"summary", "1/activity"} - {trace, f"1/{trace}"}:
        (paid / other).unlink()
    refuses_to_pay_again(project, paid)


def test_a_run_that_was_not_begun_can_be_resumed(project: Project) -> None:
    project.write(".handrail/flows/pay.yaml", PAY)
    project.write("ready", "")
    app = App(str(project.folder), os.environ)
    app.runs.begin(app.flows, app.flows.find("pay"), RunRequest(params={}), "r-new")
    assert project.json("runs")["runs"][0]["status"] == "running"
    assert project.json("resume", "r-new")["status"] == "completed"


@pytest.mark.parametrize("command", ["rm $J", "mv $J $J.away", "cp $J $J.new; mv $J.new $J", "rm -r $(dirname $J)"])
def test_a_driver_notices_that_its_journal_was_removed_or_replaced(project: Project, command: str) -> None:
    find = f"J=$(find {project.home} -name journal)"
    steps = [f"{{id: lose, node: command, params: {{argv: [/bin/sh, -c, '{find}; {command}']}}}}"]
    steps += ["{id: pay, node: command, params: {argv: [/bin/sh, -c, 'echo paid >> paid']}}"]
    project.write(".handrail/flows/pay.yaml", f"phases: [{{id: a, steps: [{', '.join(steps)}]}}]\n")
    said = project.run("run", "pay")
    assert said.code == 1
    assert "was removed or replaced while process" in said.err
    assert not (project.folder / "paid").exists()
    run = project.json("runs")["runs"]
    assert [row["damaged"] for row in run] in ([True], [], [False])


WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
READING = (
    ["runs"],
    ["runs", "last"],
    ["log", "last"],
    ["log", "last", "--events"],
    ["artifacts"],
    ["artifacts", "last"],
)


@pytest.fixture
def is_read_only(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state is on a file system that is mounted read-only."""

    def refused(call: Callable[..., Any], names: Callable[..., bool]) -> Callable[..., Any]:
        def guarded(*args: Any, **named: Any) -> Any:
            paths = [os.fspath(part) for part in args if isinstance(part, str | os.PathLike)]
            if names(*args) and any(path.startswith(str(project.home)) for path in paths):
                raise OSError(errno.EROFS, os.strerror(errno.EROFS), paths[0])
            return call(*args, **named)

        return guarded

    for name in ("mkdir", "rename", "replace", "unlink", "link", "utime", "chmod"):
        monkeypatch.setattr(f"os.{name}", refused(getattr(os, name), lambda *_: True))
    monkeypatch.setattr("os.open", refused(os.open, lambda _path, flags, *_: bool(flags & WRITING)))


@pytest.mark.usefixtures("three", "is_read_only")
@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_state_that_nobody_may_write_to_is_read(project: Project, command: list[str]) -> None:
    said = project.run(*command, "--json") if "--events" not in command else project.run(*command)
    assert said.code == 0, said
    assert "cannot" not in said.out + said.err
    assert '"damaged": true' not in said.out
