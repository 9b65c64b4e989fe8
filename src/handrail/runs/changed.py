"""Which definitions of a run have changed since it began. The run itself uses them as they were."""

from __future__ import annotations

import os

from handrail.flows.library import is_made_from
from handrail.runs.request import About
from handrail.source.files import decode


def changed_files(about: About) -> list[str]:
    """The files of the run's flows and prompts whose text is another one now. If a file is gone, it has not changed."""
    flows = [file for file, text in about.flows.values() if _text(file) not in (text, None)]
    prompts = [(file, text, _text(file)) for file, text in about.prompts.values()]
    changed = [file for file, text, now in prompts if now is not None and not is_made_from(text, now)]
    return [file for file in (*flows, *changed) if os.path.isabs(file)]


def _text(file: str) -> str | None:
    try:
        with open(file, "rb") as opened:
            return decode(file, opened.read())[0].text
    except OSError:
        return None
