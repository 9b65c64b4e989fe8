"""Which definitions of a run have changed since it began. The run itself uses them as they were."""

from __future__ import annotations

import os

from handrail.runs.request import About
from handrail.source.files import decode


def changed_files(about: About) -> list[str]:
    """The files of the run's flows whose text is another one now. A file that is gone has no new text to use."""
    return [file for file, text in about.flows.values() if os.path.isabs(file) and _text(file) not in (text, None)]


def _text(file: str) -> str | None:
    try:
        with open(file, "rb") as opened:
            return decode(file, opened.read())[0].text
    except OSError:
        return None
