"""The shelf of published artifacts: versions, lineage, and no loss by crashes, other writers or a full disk."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handrail.base import locks
from handrail.base.errors import StateError
from handrail.base.jsonlite import encode_line
from handrail.driven.artifacts import shelf
from handrail.driven.artifacts.shelf import ArtifactVersion, Shelf
from programs import output_of, spawn

KILLS, WRITERS, TIMES = 12, 8, 40


def draft(key: str = "plan.md", **given: Any) -> ArtifactVersion:
    plain = ArtifactVersion(
        scope="s@1",
        key=key,
        name="plan",
        path=f"docs/{key}",
        run="run-1",
        step="p/x",
        schema="markdown/v1",
        family="markdown",
        created=7.5,
    )
    return replace(plain, **given)


def lines(folder: Path) -> list[bytes]:
    return (folder / "journal").read_bytes().splitlines(keepends=True)


def test_a_published_artifact_has_its_digest_its_lineage_and_its_content(tmp_path: Path) -> None:
    made = Shelf(str(tmp_path)).publish(draft(inputs=("s@1:task.md:v2", "README.md")), b"text")
    digest = hashlib.sha256(b"text").hexdigest()
    assert made == ArtifactVersion(
        id="s@1:plan.md:v1", scope="s@1", key="plan.md", version=1, name="plan", path="docs/plan.md", sha256=digest,
        size=4, run="run-1", step="p/x", schema="markdown/v1", family="markdown", created=7.5,
        inputs=("s@1:task.md:v2", "README.md"), supersedes=None,
    )  # fmt: skip
    again = Shelf(str(tmp_path))
    assert again.records() == [made]
    assert again.content(made) == (tmp_path / "content" / digest).read_bytes() == b"text"


def test_publishing_the_same_content_again_returns_the_same_record(tmp_path: Path) -> None:
    first = Shelf(str(tmp_path)).publish(draft(), b"one")
    later = Shelf(str(tmp_path))
    assert later.publish(draft(created=99.0, inputs=("x",)), b"one") == first
    assert later.publish(draft(), b"one") == first
    assert len(lines(tmp_path)) == 1


@pytest.mark.parametrize("other", [{"run": "run-2"}, {"step": "p/y"}, {}], ids=str)
def test_another_run_step_or_content_makes_the_next_version(tmp_path: Path, other: dict[str, str]) -> None:
    shelf = Shelf(str(tmp_path))
    first = shelf.publish(draft(), b"one")
    second = shelf.publish(draft(**other), b"one" if other else b"two")
    assert (second.version, second.supersedes) == (2, first.id)
    assert shelf.publish(draft(), b"one") == first
    assert shelf.publish(draft("qa.md"), b"one").version == 1
    assert len(os.listdir(tmp_path / "content")) == (1 if other else 2)


def test_artifacts_are_found_by_reference(tmp_path: Path) -> None:
    shelf = Shelf(str(tmp_path))
    one, two = shelf.publish(draft(), b"one"), shelf.publish(draft(), b"two")
    assert [shelf.find(text) for text in ("s@1:plan.md:v1", "s@1:plan.md:v2")] == [one, two]
    assert shelf.at("docs/plan.md") == two
    assert shelf.at("plan.md") is None
    for text in ("plan.md@v3", "qa.md@latest", "other:plan.md:v1", "plan.md", ""):
        assert shelf.find(text) is None


def test_a_process_sees_new_artifacts_of_another_process(tmp_path: Path) -> None:
    mine, other = Shelf(str(tmp_path)), Shelf(str(tmp_path))
    mine.publish(draft(), b"one")
    second = other.publish(draft(), b"two")
    assert mine.find(second.id) == second
    assert mine.publish(draft(), b"three").version == 3
    assert [record.version for record in other.records()] == [1, 2, 3]


def test_only_new_records_are_read(tmp_path: Path) -> None:
    """Otherwise publishing becomes slower with every artifact."""
    writer, reader = Shelf(str(tmp_path)), Shelf(str(tmp_path))
    for turn in range(5):
        writer.publish(draft(), b"%d" % turn)
    before = reader.records()
    data = (tmp_path / "journal").read_bytes()
    last = lines(tmp_path)[-1]
    (tmp_path / "journal").write_bytes(bytes(len(data) - len(last)) + last)
    made = writer.publish(draft(), b"next")
    assert made.version == 6
    assert reader.records() == [*before, made]


@pytest.mark.parametrize("others", [1, 30])
def test_a_replaced_shelf_is_read_from_the_start(tmp_path: Path, others: int) -> None:
    mine = Shelf(str(tmp_path / "shelf"))
    for turn in range(3):
        mine.publish(draft(), b"old %d" % turn)
    shutil.rmtree(tmp_path / "shelf")
    for turn in range(others):
        Shelf(str(tmp_path / "shelf")).publish(draft("qa.md"), b"new %d" % turn)
    assert all(record.key == "qa.md" for record in mine.records())
    assert mine.publish(draft(), b"new").version == 1
    assert len(Shelf(str(tmp_path / "shelf")).records()) == others + 1


@pytest.mark.whole
def test_a_journal_cut_at_any_byte_keeps_its_complete_records(tmp_path: Path) -> None:
    whole = Shelf(str(tmp_path / "whole"))
    for turn in range(3):
        whole.publish(draft(), b"%d" % turn)
    written = lines(tmp_path / "whole")
    data = b"".join(written)
    ends = [sum(map(len, written[:count])) for count in range(4)]
    for size in range(len(data)):
        folder = tmp_path / str(size)
        folder.mkdir()
        (folder / "journal").write_bytes(data[:size])
        kept = sum(end <= size for end in ends) - 1
        shelf = Shelf(str(folder))
        assert len(shelf.records()) == kept, size
        assert shelf.publish(draft(), b"next").version == kept + 1, size
        assert [record.version for record in Shelf(str(folder)).records()] == list(range(1, kept + 2)), size


def test_a_damaged_journal_is_an_error_and_is_not_truncated(tmp_path: Path) -> None:
    shelf = Shelf(str(tmp_path))
    for turn in range(3):
        shelf.publish(draft(), b"%d" % turn)
    data = (tmp_path / "journal").read_bytes()
    damaged = data[:30] + bytes([data[30] ^ 1]) + data[31:]
    (tmp_path / "journal").write_bytes(damaged)
    for act in (Shelf(str(tmp_path)).records, lambda: Shelf(str(tmp_path)).publish(draft(), b"x")):
        with pytest.raises(StateError, match="is damaged") as caught:
            act()
        assert caught.value.hint == (
            f"move `{tmp_path}` away and publish again; the published files in the project are unchanged"
        )
    assert (tmp_path / "journal").read_bytes() == damaged


@pytest.mark.parametrize("artifact", [None, {}, [], {"id": "x"}])
def test_invalid_records_count_as_damage(tmp_path: Path, artifact: object) -> None:
    (tmp_path / "journal").write_bytes(encode_line({"n": 0, "t": 1.0, "artifact": artifact}))
    with pytest.raises(StateError, match="is damaged"):
        Shelf(str(tmp_path)).records()


def test_a_record_of_a_newer_version_can_be_read(tmp_path: Path) -> None:
    made = Shelf(str(tmp_path)).publish(draft(), b"one")
    line = {"n": 0, "t": 1.0, "artifact": {**made.to_json(), "colour": "red"}}
    (tmp_path / "journal").write_bytes(encode_line(line))
    assert Shelf(str(tmp_path)).records() == [made]


def test_changed_or_missing_content_is_an_error(tmp_path: Path) -> None:
    shelf = Shelf(str(tmp_path))
    made = shelf.publish(draft(), b"one")
    place = tmp_path / "content" / made.sha256
    place.write_bytes(b"two")
    with pytest.raises(StateError, match="is damaged"):
        shelf.content(made)
    place.unlink()
    with pytest.raises(StateError, match="does not exist"):
        shelf.content(made)
    shelf.publish(draft(), b"one")
    assert shelf.content(made) == b"one"


def test_a_link_in_the_place_of_content_is_refused_and_replaced(tmp_path: Path) -> None:
    shelf = Shelf(str(tmp_path))
    made = shelf.publish(draft(), b"one")
    place, other = tmp_path / "content" / made.sha256, tmp_path / "other"
    other.write_bytes(b"two")
    place.unlink()
    place.symlink_to(other)
    with pytest.raises(StateError, match="is a link"):
        shelf.content(made)
    shelf.publish(draft(), b"one")
    assert shelf.content(made) == b"one"
    assert other.read_bytes() == b"two"


@pytest.mark.parametrize(
    ("limit", "file"), [(0, "content"), (50, "content"), (99, "content"), (100, "journal"), (600, "journal")]
)
def test_a_full_disk_leaves_the_shelf_unchanged(tmp_path: Path, limit: int, file: str) -> None:
    for turn in range(2):
        Shelf(str(tmp_path)).publish(draft(), b"%d" % turn)
    size = os.path.getsize(tmp_path / "journal")
    assert size > 600
    said = json.loads(output_of("driven/artifacts/publishing_cramped.py", tmp_path, limit))
    assert str(tmp_path / file) in said["error"]
    assert said["error"].endswith("cannot be written: File too large")
    assert said["hint"] == "free some space, then run the command again; nothing was lost"
    assert (said["added"], said["left"], said["then"]) == (0, False, 1)
    assert len(Shelf(str(tmp_path)).records()) == 3


def ids(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    with process.stdout:
        return [line.strip() for line in process.stdout if line.endswith("\n")]


def begin(*arguments: object) -> subprocess.Popen[str]:
    process = spawn("driven/artifacts/publishing.py", *arguments)
    assert process.stdin is not None
    process.stdin.close()
    return process


def test_many_processes_can_publish_at_the_same_time(tmp_path: Path) -> None:
    processes = [begin(tmp_path, f"run-{number}", TIMES) for number in range(WRITERS)]
    told = [ids(process) for process in processes]
    assert [process.wait() for process in processes] == [0] * WRITERS
    total = WRITERS * TIMES
    records = Shelf(str(tmp_path)).records()
    assert [record.id for record in records] == [f"s:plan.md:v{number + 1}" for number in range(total)]
    assert sorted(id_ for one in told for id_ in one) == sorted(record.id for record in records)
    assert [record.supersedes for record in records] == [None, *[record.id for record in records[:-1]]]
    assert {record.sha256 for record in records} == set(os.listdir(tmp_path / "content"))


@pytest.mark.whole
@pytest.mark.parametrize("size", [0, 3_000_000])
def test_acknowledged_artifacts_survive_a_kill_at_any_moment(tmp_path: Path, size: int) -> None:
    chance = random.Random(5)
    acknowledged = 0
    for run in range(KILLS):
        process = begin(tmp_path, f"run-{run}", 1_000_000, size)
        assert process.stdout is not None
        seen = [process.stdout.readline().strip() for _ in range(chance.randint(1, 6))]
        process.kill()
        seen += ids(process)
        process.wait()
        shelf = Shelf(str(tmp_path))
        records = shelf.records()
        assert [record.id for record in records] == [f"s:plan.md:v{number + 1}" for number in range(len(records))]
        assert acknowledged + len(seen) <= len(records) <= acknowledged + len(seen) + 1
        assert set(seen) <= {record.id for record in records}
        assert all(shelf.content(record) for record in records[acknowledged:])
        acknowledged = len(records)
    assert len(set(os.listdir(tmp_path / "content")) - {record.sha256 for record in records}) <= 1 + KILLS


def test_a_lock_that_is_never_released_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "LOCK_SECONDS", 0)
    mine = Shelf(str(tmp_path))
    busy = pytest.raises(StateError, match="is locked by another process")
    with locks.locked(str(tmp_path / "lock"), 1, lambda: StateError("busy")), busy:
        Shelf(str(tmp_path)).publish(draft(), b"one")
    assert mine.publish(draft(), b"one").version == 1


def test_other_users_cannot_read_the_shelf(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "shelf"
    made = Shelf(str(folder)).publish(draft(), b"one")
    assert [folder.stat().st_mode & 0o77, (folder / "content").stat().st_mode & 0o77] == [0, 0]
    assert [(folder / name).stat().st_mode & 0o77 for name in ("journal", "lock", f"content/{made.sha256}")] == [0] * 3


def test_files_in_returns_files_and_no_folders(tmp_path: Path) -> None:
    (tmp_path / "plan-1.md").touch()
    (tmp_path / "plan-2.md").mkdir()
    assert shelf.files_in(str(tmp_path)) == ["plan-1.md"]
    assert shelf.files_in(str(tmp_path / "absent")) == []
