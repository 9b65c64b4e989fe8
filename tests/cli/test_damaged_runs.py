"""Damaged runs: each one stands for itself, and there is always a way to put one aside."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from handrail.base import jsonlite
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


def test_an_about_file_without_a_checksum_is_read(project: Project, three: list[str]) -> None:
    path = folder(project, three[0]) / "1" / "about"
    path.write_bytes(path.read_bytes()[9:-1])
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
    assert project.json("runs")["runs"][-1]["status"] == "running"


def test_a_row_has_its_times(project: Project, three: list[str]) -> None:
    row = project.json("runs")["runs"][0]
    assert row["run"] == three[2]
    assert row["started"] <= row["ended"]
    assert row["seconds"] >= 0
    assert (row["waitingFor"], row["name"]) == (None, "demo")
