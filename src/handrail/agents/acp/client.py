"""Our side of one conversation: reports what the agent does, and answers what it asks by the step's permissions.

An agent says of each tool call what kind it is, and which paths it is about. A step that may only read refuses what it
does not know. Handrail offers to write text files, inside the project only. It does not offer to read them: that a file
does not exist would be an error of the protocol, with which Gemini CLI cannot write a new file. It offers no terminals
either. Agents then read and run commands themselves. Thoughts are not kept. Messages are lines of JSON; whatever else
an agent prints goes to our standard error, where it explains a crash.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

from acp import RequestError, schema

from handrail.base.dataclasses import dataclass
from handrail.base.files import is_below, real_inside
from handrail.source.values import shown

READS = ("read", "search", "think")
CHANGES = ("edit", "delete", "move")
ONLY_READ = "this step may only read"
OUTSIDE = "this path is outside of the project's folder"
GUARDED = "an agent may not change this path"


@dataclass(frozen=True)
class Policy:
    """`permissions` are those of the step: `read`, `work` or `full`. `guarded` are paths that no agent may change."""

    permissions: str
    project: str
    guarded: tuple[str, ...] = ()

    @property
    def only_reads(self) -> bool:
        return self.permissions == "read"

    def may_go_unasked(self, kind: str | None) -> bool:
        """True if the agent may do this without a request: it can be seen only afterwards."""
        return not self.only_reads or kind not in (*CHANGES, "execute")

    def refusal(self, kind: str | None, paths: Iterable[str]) -> str | None:
        """Why a tool call is refused; None if it is allowed."""
        if self.permissions == "full":
            return None
        if self.only_reads and kind not in READS:
            return ONLY_READ
        for path in paths:
            why = self.refused_write(path) if kind in CHANGES else self._outside(path)
            if why is not None:
                return f"{why}: `{path}`"
        return None

    def _outside(self, path: str) -> str | None:
        return None if self.permissions == "full" or real_inside(self.project, path) is not None else OUTSIDE

    def refused_write(self, path: str) -> str | None:
        """Why a file may not be written; None if it may. Guarded paths are guarded in every step."""
        if self.only_reads:
            return ONLY_READ
        real = os.path.realpath(os.path.join(self.project, path))
        if any(real == one or is_below(real, one) for one in map(os.path.realpath, self.guarded)):
            return GUARDED
        return self._outside(path)


def chosen_option(options: Iterable[tuple[str, str]], *, is_allowed: bool) -> str | None:
    """The option, of (id, kind) pairs, that answers a request; None if there is none.

    An answer for this one call is preferred: the next step may have other permissions.
    """
    kinds = ("allow_once", "allow_always") if is_allowed else ("reject_once", "reject_always")
    found = {kind: id_ for id_, kind in reversed(list(options))}
    return next((found[kind] for kind in kinds if kind in found), None)


LONGEST_NOISE = 500


class LineTransport:
    """What the protocol's package calls a transport. `receive` returns None at the end of the agent's output."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.writer, self.reader = process.stdin, process.stdout

    async def send(self, message: dict[str, Any]) -> None:
        self.writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        await self.writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        while True:
            try:
                line = await self.reader.readline()
            except ValueError:  # a line that is longer than the limit is skipped
                continue
            if not line:
                return None
            try:
                data = json.loads(line)
            except (ValueError, RecursionError):
                data = None
            if isinstance(data, dict):
                return data
            noise = line[:LONGEST_NOISE].decode("utf-8", "replace").strip()
            if noise:
                sys.stderr.write(f"{shown(noise, LONGEST_NOISE)}\n")

    async def close(self) -> None:
        self.writer.close()


Say = Callable[..., None]
LONGEST_TEXT = 4_000_000
LONGEST_OUTPUT = 2_000
NOTICES = ("Error: ", "Info: ", "Warning: ")


class Client:
    """What the agent calls. `say` prints one line for Handrail. Nothing is reported before `is_live` is set.

    `trespass` is set if the agent did something without asking that this step does not allow; `unasked` is its name.
    `refused` is a call and why it was refused, if the agent has done nothing since. An agent with `has_notices` puts
    its own notices and errors into its messages; `error` is the last one, if nothing followed.
    """

    def __init__(self, policy: Policy, say: Say) -> None:
        self.policy = policy
        self.say = say
        self.is_live = False
        self.text = ""
        self.calls: dict[str, AcpCall] = {}
        self.usd: float | None = None
        self.unasked = ""
        self.refused: tuple[str, str] | None = None
        self.has_notices = False
        self.error: str | None = None
        self.trespass = asyncio.Event()

    def flush(self) -> None:
        """Report the message that the agent has just completed."""
        if self.text.strip():
            self.say("text", text=self.text)
        self.text = ""

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        del session_id
        if isinstance(update, schema.UsageUpdate):
            cost = update.cost  # of the session so far; only dollars can be counted
            if cost is not None and cost.currency.upper() == "USD":
                self.usd = cost.amount
        if not self.is_live:
            return None
        if isinstance(update, schema.AgentMessageChunk):
            if isinstance(update.content, schema.TextContentBlock):
                self._on_text(update.content.text)
        elif isinstance(update, schema.ToolCallStart | schema.ToolCallProgress):
            self.flush()
            if update.tool_call_id not in self.calls:
                self.refused = self.error = None
            self._on_call(update)
        elif isinstance(update, schema.AgentPlanUpdate):
            for at, entry in enumerate(update.entries, 1):
                if entry.status != "completed":
                    return self.say("plan", text=f"{at} of {len(update.entries)}: {entry.content}")
        return None

    def _on_text(self, text: str) -> None:
        if self.has_notices and text.startswith(NOTICES):
            self.flush()
            self.error = text if text.startswith(NOTICES[0]) else self.error
            if "Retrying" in text:
                self.say("retry", message=text)
        else:
            self.refused = self.error = None
            self.text = (self.text + text)[-LONGEST_TEXT:]

    def _on_call(self, update: schema.ToolCallStart | schema.ToolCallProgress) -> None:
        call = self._call(update)
        if update.status in ("in_progress", "completed", "failed"):
            call.begin(self.say)
        if update.status in ("completed", "failed"):
            call.end(self.say, update)
        if update.status == "completed" and not call.was_asked and not self.policy.may_go_unasked(call.kind):
            self.unasked = self.unasked or call.name
            self.trespass.set()

    def _call(self, update: schema.ToolCallUpdate | schema.ToolCallStart) -> AcpCall:
        """All that is known of a tool call: an agent tells it in parts."""
        return self.calls.setdefault(update.tool_call_id, AcpCall(update.tool_call_id)).learn(update)

    async def request_permission(
        self, session_id: str, tool_call: schema.ToolCallUpdate, options: list[schema.PermissionOption], **_: Any
    ) -> schema.RequestPermissionResponse:
        del session_id
        self.flush()
        call = self._call(tool_call)
        call.begin(self.say)
        call.was_asked = True
        refusal = self.policy.refusal(call.kind, call.paths)
        option = chosen_option([(one.option_id, one.kind) for one in options], is_allowed=refusal is None)
        if refusal is None and option is None:
            refusal = "it offered no way to allow it"
        if refusal is None:
            self.say("allowed", name=call.name, reason=f"`permissions: {self.policy.permissions}`")
        else:
            self.refused = call.name, refusal
            self.say("denied", name=call.name, reason=refusal)
        if option is None:
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        return schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(outcome="selected", option_id=option))

    async def write_text_file(
        self, session_id: str, path: str, content: str, **_: Any
    ) -> schema.WriteTextFileResponse | None:
        del session_id
        refusal = self.policy.refused_write(path)
        if refusal is not None:
            self.say("denied", name="write a file", reason=f"{refusal}: `{path}`")
            raise RequestError(-32603, f"{refusal}: `{path}`")
        real = os.path.realpath(os.path.join(self.policy.project, path))
        try:
            os.makedirs(os.path.dirname(real), exist_ok=True)
            with open(real, "w", encoding="utf-8", newline="") as file:
                file.write(content)
        except (OSError, ValueError) as error:
            told = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise RequestError(-32603, f"`{path}` cannot be written: {told}") from None
        return schema.WriteTextFileResponse()

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        del params
        raise RequestError.method_not_found(f"_{method}")

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Agents may report things that are not part of the protocol. They mean nothing to us."""


class AcpCall:
    """One tool call, as far as the agent has told about it."""

    def __init__(self, id_: str) -> None:
        self.id = id_
        self.name = ""
        self.kind: str | None = None
        self.input: Any = None
        self.paths: list[str] = []
        self.was_asked = False
        self._has_begun = False
        self._has_ended = False

    def learn(self, update: schema.ToolCallUpdate | schema.ToolCallStart) -> AcpCall:
        self.name = update.title or self.name or update.kind or "tool"
        self.kind = update.kind or self.kind
        self.input = update.raw_input if update.raw_input is not None else self.input
        named = [one.path for one in update.locations or ()]
        changed = [one.path for one in update.content or () if isinstance(one, schema.FileEditToolCallContent)]
        self.paths += [path for path in (*named, *changed) if path not in self.paths]
        return self

    def begin(self, say: Say) -> None:
        """Report the call, once."""
        if not self._has_begun:
            self._has_begun = True
            given = self.input if self.input not in (None, {}) else {"paths": self.paths} if self.paths else {}
            say("tool", id=self.id, name=self.name, input=given)

    def end(self, say: Say, update: schema.ToolCallUpdate | schema.ToolCallStart) -> None:
        if not self._has_ended:
            self._has_ended = True
            say("result", id=self.id, ok=update.status == "completed", output=_output(update))


def _output(update: schema.ToolCallUpdate | schema.ToolCallStart) -> str:
    """The text that a call returned, cut."""
    texts = [
        one.content.text
        for one in update.content or ()
        if isinstance(one, schema.ContentToolCallContent) and isinstance(one.content, schema.TextContentBlock)
    ]
    return "\n".join(texts)[:LONGEST_OUTPUT]
