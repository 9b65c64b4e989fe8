"""Which code of plugins a person trusts, by its content: the digest of all files, and a copy of them.

The copy shows later what changed. The records are in Handrail's state folder, beside those of trusted projects.
"""

from __future__ import annotations

import base64
import difflib
import json
import os
from collections.abc import Iterator
from typing import Any

from handrail.errors import StateError
from handrail.plugins.content import Content
from handrail.project import file_name
from handrail.state.files import make_private, read_regular, replace
from handrail.state.private import refuse_shared
from handrail.trust.store import FOLDER, TrustStore


class TrustedCode:
    """The records of trusted plugin folders. `state` is Handrail's state folder."""

    def __init__(self, state: str) -> None:
        self.state = state
        self.folder = os.path.join(state, FOLDER, "plugins")

    def project_is_trusted(self, project: str) -> bool:
        return TrustStore(self.state).find(project) is not None

    def find(self, plugin: str) -> Content | None:
        """The files of a plugin's folder as they were trusted; None if they never were."""
        refuse_shared(self.state, self.folder)
        try:
            data: Any = json.loads(read_regular(self._file(plugin)))
            if data["folder"] != os.path.realpath(plugin):
                return None
            return Content({str(name): base64.b64decode(text) for name, text in data["files"].items()})
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def grant(self, plugin: str, content: Content, at: float) -> None:
        refuse_shared(self.state, self.folder)
        make_private(self.folder)
        files = {name: base64.b64encode(data).decode() for name, data in content.files.items()}
        record = {"folder": os.path.realpath(plugin), "digest": content.digest, "at": at, "files": files}
        replace(self._file(plugin), json.dumps(record).encode() + b"\n", durable=True)

    def revoke(self, plugin: str) -> bool:
        """Remove the record of a folder. False if there was none."""
        refuse_shared(self.state, self.folder)
        try:
            os.unlink(self._file(plugin))
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StateError(f"`{self._file(plugin)}` cannot be removed: {error.strerror}") from error
        return True

    def _file(self, plugin: str) -> str:
        return os.path.join(self.folder, f"{file_name(os.path.realpath(plugin))}.json")


def difference(before: Content, now: Content) -> Iterator[str]:
    """What changed between two states of a folder, as lines of a unified diff."""
    for name in sorted(before.files.keys() | now.files.keys()):
        old, new = before.files.get(name), now.files.get(name)
        if old == new:
            continue
        first, second = _lines(old), _lines(new)
        if first is None or second is None:
            yield f"binary file {name} differs"
            continue
        begin = os.devnull if old is None else f"a/{name}"
        end = os.devnull if new is None else f"b/{name}"
        yield from difflib.unified_diff(first, second, begin, end, lineterm="")


def _lines(data: bytes | None) -> list[str] | None:
    """The lines of a text; None if it is no text."""
    try:
        return (data or b"").decode("utf-8").splitlines()
    except UnicodeDecodeError:
        return None
