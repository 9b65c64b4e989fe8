"""A toy agent as a host: one module and one registry row. Its messages have names that no real agent uses.

Standard library only, like the host of every agent.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

COMMANDS = {"start": ":begin", "cancel": ":leave"}
ENFORCES = {"tools": "hard"}
CONVERSATION: str | None = None
LINKS = True


def conversation(data: Mapping[str, Any]) -> str:
    return str(data["chat"])


def request(data: Mapping[str, Any]) -> Any:
    base = {"conversation": conversation(data), "cwd": data["where"], "transcript": None}
    match data["what"]:
        case "call" if data["name"] == "toy.step":
            return {**base, "event": "step", "tool": "toy.step", "action": data["with"]["do"], "is_subagent": False}
        case "call":
            names, call = aliases(data["name"]), arguments(data["name"], data["with"], data["where"])
            more = {"tool": data["name"], "aliases": names, "call": call, "is_harmless": False, "is_subagent": False}
            return {**base, "event": "tool", **more}
        case "typed":
            word, _, rest = data["line"].partition(" ")
            name = "start" if word == COMMANDS["start"] else "cancel"
            return {**base, "event": "command", "name": name, "arguments": rest}
        case "tired":
            return {
                **base,
                "event": "stop",
                "awaits": (),
                "hands_off": False,
                "was_aborted": False,
                "has_progress": None,
            }
    return None


def reply(data: Mapping[str, Any], request: Any, answer: Any) -> dict[str, Any] | None:
    del data
    if answer["kind"] == "verdict" and request["event"] == "step" and answer["allow"]:
        return {"go": True, "chat": request["conversation"]}
    if answer["kind"] == "verdict":
        return {"go": answer["allow"], "why": answer["reason"]}
    return {name: value for name, value in answer.items() if value is not None}


def aliases(tool: str) -> tuple[str, ...]:
    return {"toy.scribble": ("edit", "write"), "toy.peek": ("read",)}.get(tool, ())


def arguments(tool: str, given: Mapping[str, Any], cwd: str) -> Any:
    path = os.path.join(cwd, given["file"]) if "file" in given else None
    return {"runs": None, "reads": (), "writes": (path,) if tool == "toy.scribble" and path else ()}


def protected(env: Mapping[str, str], home: str, project: str) -> tuple[str, ...]:
    del env, home
    return (f"{project}/toy.ini",)


def was_told(history: bytes, call: str) -> bool:
    del history, call
    return True


def step_caller(arguments: Mapping[str, Any], meta: Mapping[str, Any]) -> Any:
    del meta
    return {"conversation": str(arguments.get("chat") or ""), "is_subagent": False, "call": ""}


class Recipe:
    """One line in a settings file that is not JSON, and one owned file."""

    def __init__(self, folder: str, stubs: Any) -> None:
        self.settings = os.path.join(folder, "toy.ini")
        self.own = os.path.join(folder, "toy-handrail")
        self.stubs = stubs

    def shared(self) -> list[str]:
        return [self.settings]

    def owned(self, texts: Mapping[str, str | None]) -> dict[str, str]:
        del texts
        return {self.own: " ".join(self.stubs.hook) + "\n"}

    def kept(self) -> list[str]:
        return []

    def add(self, path: str, text: str | None) -> str:
        del path
        return (text or "") + f"hook = {self.own}\n"

    def strip(self, path: str, text: str, before: str | None) -> str | None:
        del path
        left = "".join(line for line in text.splitlines(keepends=True) if self.own not in line)
        return None if before is None and not left.strip() else left


def recipe(env: Mapping[str, str], project: str | None, stubs: Any) -> Recipe:
    return Recipe(project or env["HOME"], stubs)
