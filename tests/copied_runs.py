"""Copies of a run under other ids, for tests and benchmarks with many runs.

The files of a run name it, and a plain copy of them counts as damaged: so the copies name themselves.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from handrail.base import jsonlite
from handrail.driven.engines.embedded.run_folders import ABOUT, JOURNAL, SUMMARY, first_record, read_about, write_about


def copy_run(run: Path, id_: str) -> None:
    """Copy an ended run with one attempt. Both ids have the same length, so offsets in its files stay as they are."""
    assert len(id_) == len(run.name)
    shutil.copytree(run, run.parent / id_)
    old, new = run / "1", run.parent / id_ / "1"
    write_about(str(new), read_about(str(old)))
    events = (old / JOURNAL).read_bytes().partition(b"\n")[2]
    (new / JOURNAL).write_bytes(jsonlite.encode_line(first_record(str(new))) + events)
    for name in (ABOUT, JOURNAL):
        status = (old / name).stat()
        os.utime(new / name, ns=(status.st_atime_ns, status.st_mtime_ns))
    summary = jsonlite.decode_line((run / SUMMARY).read_bytes().removesuffix(b"\n"))
    assert summary is not None
    (new.parent / SUMMARY).write_bytes(jsonlite.encode_line({**summary, "id": id_}))
