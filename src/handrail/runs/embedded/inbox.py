"""Answers and stop requests for a run: any process writes them here, and the driver reads them."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from typing import Any

from handrail.forms import form as forms
from handrail.forms import read as formspec
from handrail.project import file_name
from handrail.secrets.redaction import Secrets
from handrail.source.values import Unresolved
from handrail.state import files
from handrail.state.files import make_private

FOLDER = "inbox"
STOP = "stop"


class Inbox:
    """The inbox of one run: an answer for each step that waits, and a request to stop. Answers are in stored form."""

    def __init__(self, folder: str, secrets: Secrets) -> None:
        self.run = folder
        self.secrets = secrets
        self.folder = os.path.join(folder, FOLDER)

    def _file(self, path: str) -> str:
        return os.path.join(self.folder, file_name(path))

    def put(self, path: str, values: Mapping[str, Any]) -> None:
        make_private(self.folder)
        text = json.dumps(self.secrets.for_storage(dict(values)), ensure_ascii=False)
        files.replace(self._file(path), text.encode(), durable=True)

    def holds(self, path: str) -> bool:
        return os.path.exists(self._file(path))

    def take(self, path: str, question: dict[str, Any]) -> dict[str, Any] | None:
        """The answer to a question, or None if there is no valid one. It stays here until the journal has it."""
        try:
            with open(self._file(path), "rb") as file:
                given = self.secrets.from_storage(json.loads(file.read()))
            return forms.accept(formspec.from_json(question), given)
        except (OSError, ValueError, Unresolved, forms.WrongAnswers):
            self.clear(path)  # invalid, so it must not be read again
            return None

    def clear(self, path: str) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._file(path))

    def request_stop(self) -> None:
        make_private(self.run)
        files.replace(os.path.join(self.run, STOP), b"", durable=False)

    def is_stop_requested(self) -> bool:
        return os.path.exists(os.path.join(self.run, STOP))

    def clear_stop(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(self.run, STOP))
