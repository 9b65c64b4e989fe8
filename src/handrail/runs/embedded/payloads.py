"""Large values of a run, each in a file named after its digest. Small values stay in the journal.

A file has the value in its first line. A second line has the texts of numbers like `1.10`, if there are any.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any

from handrail.errors import StateError
from handrail.runs.memory import Kept
from handrail.source.written import restore, texts_in
from handrail.state import files, jsonlite
from handrail.state.files import make_private

LARGE = 8192
SHORT = 1024
"""What a node was given stays in the journal up to this length: nobody needs it to continue the run."""


class Payloads:
    """The payloads of one run."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.join(folder, "payloads")

    def keep(self, value: Any, text: str | None = None, *, least: int = LARGE) -> Kept:
        """Store a value. `text` is the value as JSON, if the caller already has it.

        If the text is not longer than `least`, the value is returned as it is.
        """
        text = jsonlite.dumps(value) if text is None else text
        if len(text) <= least:
            return Kept(value, None)
        if texts := texts_in(value):
            text = f"{text}\n{jsonlite.dumps(texts)}"
        data = text.encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(data).hexdigest()
        path = os.path.join(self.folder, digest)
        if not os.path.exists(path):
            make_private(self.folder)
            files.replace(path, data, durable=True)
        return Kept(None, digest)

    def value(self, kept: Kept) -> Any:
        return kept.value if kept.payload is None else self.read(kept.payload)

    def read(self, digest: str) -> Any:
        path = os.path.join(self.folder, digest)
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            raise StateError(f"a result of this run cannot be read: `{path}`: {error.strerror}") from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise StateError(f"a result of this run is damaged: `{path}`")
        text, _, texts = data.decode("utf-8", "surrogatepass").partition("\n")
        return restore(jsonlite.loads(text), jsonlite.loads(texts) if texts else {})
