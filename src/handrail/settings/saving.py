"""Writes routes into the user's settings file. Everything else in it stays as it is."""

from __future__ import annotations

import os
from collections.abc import Mapping

from handrail import SETTINGS_FILE
from handrail.errors import RefusedError
from handrail.source.yamledit import entry_lines, put_entry
from handrail.state.files import make_private, mode_of, write_whole


def save_entry(config: str, section: str, name: str, entry: Mapping[str, str]) -> str:
    """Put an entry into a section of the settings. Returns the file. Raises `RefusedError` if it cannot be edited."""
    path = os.path.realpath(os.path.join(config, SETTINGS_FILE))
    try:
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
    except FileNotFoundError:
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        raise _refusal(path, section, name, entry, "it cannot be read") from error
    try:
        edited = put_entry(text, section, name, entry)
    except ValueError as error:
        raise _refusal(path, section, name, entry, str(error)) from error
    make_private(os.path.dirname(path))
    write_whole(path, edited.encode(), durable=True, mode=mode_of(path))
    return path


def _refusal(path: str, section: str, name: str, entry: Mapping[str, str], why: str) -> RefusedError:
    line = entry_lines({name: entry})[0]
    return RefusedError(f"`{path}` cannot be edited: {why}", f"write below `{section}:` yourself: {line}")
