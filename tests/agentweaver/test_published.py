"""The flow files of AgentWeaver are found in every folder in which a person may have them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentweaver.published import copy_flows

IDS = ("plan", "review/review", "review/review-loop", "design-review/design-review-loop")
FLOW = json.dumps({"kind": "x", "version": 1, "phases": []})


def lay(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{FLOW} ")


@pytest.mark.parametrize("root", ["", "dist/pipeline/flow-specs/", "node_modules/agentweaver/dist/flow-specs/"])
def test_in_their_own_folders(tmp_path: Path, root: str) -> None:
    folder, target = tmp_path / "given", tmp_path / "target"
    lay(folder, *(f"{root}{id_}.json" for id_ in IDS), f"{root}review/more.json")
    for name, text in {"package.json": "{}", "manifest.json": "[]", "tsconfig.json": "// no", "README.md": "#"}.items():
        (folder / name).write_text(text)
    copy_flows(folder, target, IDS)
    assert {path.relative_to(target).as_posix() for path in target.rglob("*.json")} == {f"{id_}.json" for id_ in IDS}
    assert (target / "plan.json").read_text() == f"{FLOW} "


def test_side_by_side(tmp_path: Path) -> None:
    lay(tmp_path / "given", *(f"{id_.rpartition('/')[2]}.json" for id_ in IDS))
    copy_flows(tmp_path / "given", tmp_path / "target", IDS)
    assert (tmp_path / "target/review/review.json").is_file()


def test_in_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "given"
    lay(folder, *(f"{id_}.json" for id_ in IDS))
    places = [folder, *folder.rglob("*")]
    for path in places:
        path.chmod(0o555 if path.is_dir() else 0o444)
    copy_flows(folder, tmp_path / "target", IDS)
    for path in places:
        path.chmod(0o755)
    (tmp_path / "target/review/own.json").write_text("{}")
    (tmp_path / "target/plan.json").write_text("{}")


def test_missing_ones_are_named(tmp_path: Path) -> None:
    lay(tmp_path, "plan.json")
    with pytest.raises(AssertionError, match=r"review/review\.json"):
        copy_flows(tmp_path, tmp_path / "target", IDS)
