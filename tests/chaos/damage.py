"""Damages one file of Handrail's state, looks at what every command says, and repairs it again."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chaos.world import LIMIT, World
from support import Said

CONVERSATION = "11111111-2222-4333-8444-555555555555"
NO_STATE = ("lock", ".lock")


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randint(0, max(len(data) - 1, 0))]


def _flip(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data)) if data else 0
    return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :] if data else b"x"


def _zeros(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + b"\0" * (len(data) - at)


def _garbage(data: bytes, chance: random.Random) -> bytes:
    return chance.randbytes(chance.choice([0, 1, 40, 4000]))


def _other_json(data: bytes, chance: random.Random) -> bytes:
    return chance.choice([b"{}", b"[]", b"null", b'"x"', b'{"folder": 5}', b"0", b'{"a":' * 3000])


def _longer(data: bytes, chance: random.Random) -> bytes:
    return data + chance.choice([b"\n", b"{}", data[-200:], chance.randbytes(50)])


WAYS: tuple[Callable[[bytes, random.Random], bytes], ...] = (_cut, _flip, _zeros, _garbage, _other_json, _longer)


def files_of(world: World) -> list[Path]:
    """All files of the state, without locks and caches."""
    found = [path for path in (world.state / "state").rglob("*") if path.is_file() and not path.is_symlink()]
    return sorted(path for path in found if not path.name.endswith(NO_STATE))


@contextmanager
def damaged(path: Path, chance: random.Random) -> Iterator[str]:
    """The file damaged in a random way, and repaired afterwards. Yields what was done to it."""
    before, mode = path.read_bytes(), path.stat().st_mode
    way = chance.choice(WAYS)
    after = way(before, chance)
    path.write_bytes(after)
    try:
        yield f"{way.__name__.strip('_')} of {path.name} ({len(before)} → {len(after)} bytes)"
    finally:
        path.write_bytes(before)
        path.chmod(mode)


class Guided:
    """A conversation of Claude Code with an active workflow whose phase denies `edit`."""

    def __init__(self, world: World) -> None:
        self.world = world
        folder = world.project / ".handrail" / "workflows" / "guard"
        folder.mkdir(parents=True)
        (folder / "workflow.yaml").write_text(
            "name: Guard\ncommandName: guard\nshowInWorkflowCommands: user\ninitialMessage: Begin.\n"
            "phases: [look.md, act.md]\n"
        )
        for name in ("look", "act"):
            head = f"id: {name}\nname: {name.title()}\nemoji: x\ntools:\n  blacklist: [edit]\n"
            (folder / f"{name}.md").write_text(f"---\n{head}---\n\nDo it.\n")
        command = {"command_name": "handrail:workflow", "command_args": "guard the task"}
        said = self.hook("UserPromptExpansion", command)
        assert "additionalContext" in said.out, said

    def hook(self, event: str, more: dict[str, Any]) -> Said:
        import handrail

        program = str(Path(handrail.__file__).with_name("hook.py"))
        message = {"session_id": CONVERSATION, "cwd": str(self.world.project), "hook_event_name": event, **more}
        done = subprocess.run(
            [sys.executable, "-I", "-S", program, "claude"],
            input=json.dumps(message),
            env={**self.world.env, "CLAUDE_CODE_SESSION_ID": CONVERSATION},
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def edit_is_denied(self) -> bool:
        """True if the gate denies an edit. The stub denies, too, if the hook fails."""
        said = self.hook("PreToolUse", {"tool_name": "Edit", "tool_input": {"file_path": "a", "old_string": "b"}})
        return said.code != 0 or '"deny"' in said.out
