"""The record of what a person trusts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.base.errors import StateError
from handrail.settings.trust import TrustStore


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(str(tmp_path / "state"))


def test_nothing_is_trusted_at_first(store: TrustStore, tmp_path: Path) -> None:
    assert store.find(str(tmp_path)) is None
    assert store.all() == []


def test_one_folder_is_trusted_and_not_those_below_or_above(store: TrustStore, tmp_path: Path) -> None:
    project = tmp_path / "project"
    store.grant(str(project), 1.0)
    assert store.find(str(project)) is not None
    assert store.find(str(project / "vendor")) is None
    assert store.find(str(tmp_path)) is None
    assert store.find(str(tmp_path / "project-evil")) is None


def test_everything_below_a_folder_can_be_trusted(store: TrustStore, tmp_path: Path) -> None:
    store.grant(str(tmp_path), 1.0, below=True)
    found = store.find(str(tmp_path / "a" / "b"))
    assert found is not None
    assert found.path == str(tmp_path)


def test_a_link_is_trusted_by_where_it_leads(store: TrustStore, tmp_path: Path) -> None:
    good, other = tmp_path / "good", tmp_path / "other"
    good.mkdir()
    other.mkdir()
    link = tmp_path / "link"
    link.symlink_to(good)
    store.grant(str(link), 1.0)
    assert store.find(str(good)) is not None
    link.unlink()
    link.symlink_to(other)
    assert store.find(str(link)) is None


def test_a_word_is_taken_back_once(store: TrustStore, tmp_path: Path) -> None:
    store.grant(str(tmp_path), 1.0)
    assert store.revoke(str(tmp_path))
    assert not store.revoke(str(tmp_path))
    assert store.find(str(tmp_path)) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"path": "/elsewhere", "at": 1, "below": true}', '{"path": 1}'])
def test_a_damaged_record_trusts_nothing(store: TrustStore, tmp_path: Path, text: str) -> None:
    store.grant(str(tmp_path), 1.0)
    (file,) = Path(store.folder).iterdir()
    file.write_text(text)
    assert store.find(str(tmp_path)) is None


def test_a_folder_that_others_can_change_trusts_nothing(store: TrustStore, tmp_path: Path) -> None:
    store.grant(str(tmp_path), 1.0)
    os.chmod(store.folder, 0o777)
    with pytest.raises(StateError, match="other users can change it"):
        store.find(str(tmp_path))
