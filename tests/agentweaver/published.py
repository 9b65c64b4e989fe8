"""Finds the flow files that AgentWeaver publishes in a folder, however they lie there, and copies them.

The folder may be the one with the flows, the package or a checkout of its repository. All files may lie side by side.
There may be other files and several copies. The folder may be read-only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path


def copy_flows(folder: Path, target: Path, ids: Iterable[str]) -> None:
    """Copy the flows with these ids, byte for byte. Their paths below `target` are those of AgentWeaver."""
    known = list(_flow_files(folder))
    found = {id_: _file_of(id_, known) for id_ in ids}
    missing = [f"{id_}.json" for id_, file in found.items() if file is None]
    assert not missing, f"these flows are not in `{folder}`: {', '.join(missing)}"
    for id_, file in found.items():
        assert file is not None
        path = target / f"{id_}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.read_bytes())


def _flow_files(folder: Path) -> Iterator[Path]:
    """The files that hold a flow, those nearest to the folder first."""
    for file in sorted(folder.rglob("*.json"), key=lambda path: (len(path.parts), path)):
        try:
            data = json.loads(file.read_text(encoding="utf-8-sig"))
        except ValueError:
            continue
        if isinstance(data, dict) and isinstance(data.get("phases"), list):
            yield file


def _file_of(id_: str, files: list[Path]) -> Path | None:
    """The file of a flow: by its path, else by its name."""
    whole, name = f"/{id_}.json", f"/{id_}.json".rpartition("/")[2]
    by_path = [file for file in files if f"/{file.as_posix()}".endswith(whole)]
    return next(iter(by_path or [file for file in files if file.name == name]), None)
