"""Turns for a scripted model: moves of the workflow, tool calls, and the traces of such calls."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from handrail.agents.claude.offline import STEP
from handrail.doctor import notes_server
from real.claude import Claude
from real.model import Turn

NOTES = Path(notes_server.__file__)


def call(tool: str, **arguments: Any) -> Turn:
    return Turn(f"I call {tool}.", tools=((tool, arguments),))


def step(action: str, summary: str = "") -> Turn:
    return call(STEP, action=action, **({"summary": summary} if summary else {}))


def write(claude: Claude, name: str = "written.txt") -> Turn:
    return call("Write", file_path=str(claude.project / name), content="by Write\n")


def bash(command: str) -> Turn:
    return call("Bash", command=command, description="a command")


class Deed(NamedTuple):
    """Tool calls that leave a trace: after them, `file` contains `word`."""

    turns: tuple[Turn, ...]
    file: Path
    word: str

    @property
    def is_done(self) -> bool:
        return self.file.exists() and self.word in self.file.read_text()


def deeds(claude: Claude) -> dict[str, Deed]:
    """One call of each kind, by tool name. `Edit` requires that the file was read before."""
    old = claude.write("old.txt", "before\n")
    read = call("Read", file_path=str(old))
    edit = call("Edit", file_path=str(old), old_string="before", new_string="edited")
    shell, added = claude.project / "bash.txt", claude.project / "added.txt"
    return {
        "Edit": Deed((read, edit), old, "edited"),
        "Write": Deed((write(claude),), claude.project / "written.txt", "by Write"),
        "Bash": Deed((bash(f"echo ran > {shell}"),), shell, "ran"),
        "mcp__notes__add": Deed((call("mcp__notes__add", text="a note"),), added, "a note"),
    }


def notes(claude: Claude, *, listed: bool = True) -> tuple[str, ...]:
    """Options that add a foreign MCP server to the program. `listed`: its tools are always shown."""
    server = {"command": sys.executable, "args": [str(NOTES), str(claude.project / "added.txt")], "alwaysLoad": listed}
    path = claude.home / "notes.json"
    path.write_text(json.dumps({"mcpServers": {"notes": server}}))
    return ("--mcp-config", str(path))
