"""Which definitions of a run have changed since it began. The run itself uses them as they were."""

from __future__ import annotations

import os

from handrail.runs.request import About
from handrail.source.files import decode


def changed_files(about: About) -> list[str]:
    """The files of the run's flows and prompts whose text is another one now. If a file is gone, it has not changed."""
    stored = (*about.flows.values(), *about.prompts.values())
    return [file for file, text in stored if os.path.isabs(file) and _text(file) not in (text, None)]


def _text(file: str) -> str | None:
    try:
        with open(file, "rb") as opened:
            return decode(file, opened.read())[0].text
    except OSError:
        return None
