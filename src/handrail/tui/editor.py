"""Opens a file in the editor of the person, at a line. The command is a list of arguments; no shell is involved."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from textual.app import SuspendNotSupported

from handrail.errors import HandrailError
from handrail.process.child import attend
from handrail.tui.top import Top

_COLON = ("hx", "helix", "subl", "zed")
_GOTO = ("code", "code-insiders", "codium")


def command_at(editor: str, path: str, at: int | None) -> list[str]:
    """The command that opens a file, at a line. An unknown editor gets `+LINE`, as most of them understand it."""
    words = shlex.split(editor)
    if at is None:
        return [*words, path]
    name = os.path.basename(words[0]) if words else ""
    if name in _GOTO:
        return [*words, "--wait", "--goto", f"{path}:{at}"]
    return [*words, f"{path}:{at}"] if name in _COLON else [*words, f"+{at}", path]


def edit_at(top: Top, path: str, at: int | None = None) -> None:
    """Open a file of the project, at a line. The screen comes back afterwards."""
    editor = top.project.env.get("VISUAL") or top.project.env.get("EDITOR") or ""
    real = os.path.join(top.project.project, path)
    try:
        command: Sequence[str] = command_at(editor, real, at)
    except ValueError:
        top.tell("✗ EDITOR has a quote that is not closed")
        return
    if not editor.strip():
        top.tell("set EDITOR to open files")
    elif not os.path.isfile(real):
        top.tell(f"`{path}` is not there any more")
    else:
        try:
            with top.suspend():
                attend(command, top.project.project)
        except SuspendNotSupported:
            top.tell("✗ this terminal cannot be left for an editor")
        except (OSError, HandrailError) as error:
            top.tell(f"✗ `{command[0]}` could not be started: {error}")
