"""Runs one turn of an agent that speaks the Agent Client Protocol, and prints what it does as JSON lines.

The job is read from stdin. This is a process of its own, because the protocol's package takes long to import. Handrail
answers what the agent asks by the step's permissions, and offers to write text files inside the project. It does not
offer to read them: a missing file would be an error of the protocol, with which Gemini CLI cannot write a new file.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar, cast

import acp
from acp import PROTOCOL_VERSION, RequestError, connect_to_agent, schema, text_block
from acp.core import ClientSideConnection
from pydantic import ValidationError

from handrail import __version__
from handrail.base.dataclasses import dataclass, field
from handrail.base.files import is_below, real_inside
from handrail.base.processes import GRACE, Task, signal_group, start, wait_for_exit
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

    def refusal(self, kind: str | None, paths: Iterable[str]) -> str | None:
        """Why a tool call is refused; None if it is allowed."""
        if self.permissions == "full":
            return None
        if self.permissions == "read" and kind not in READS:
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
        if self.permissions == "read":
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
    ids = {kind: id_ for id_, kind in reversed(list(options))}
    return next((ids[kind] for kind in kinds if kind in ids), None)


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
            with contextlib.suppress(ValueError, RecursionError):
                data = json.loads(line)
                if isinstance(data, dict):
                    return data
            if noise := line[:LONGEST_NOISE].decode("utf-8", "replace").strip():
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

    async def session_update(self, update: Any, **_: Any) -> None:
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
        must_ask = self.policy.permissions == "read" and call.kind in (*CHANGES, "execute")
        if update.status == "completed" and not call.was_asked and must_ask:  # it is seen only now
            self.unasked = self.unasked or call.name
            self.trespass.set()

    def _call(self, update: schema.ToolCallUpdate | schema.ToolCallStart) -> AcpCall:
        """All that is known of a tool call. An agent reports it in parts."""
        return self.calls.setdefault(update.tool_call_id, AcpCall(update.tool_call_id)).learn(update)

    async def request_permission(
        self, tool_call: schema.ToolCallUpdate, options: list[schema.PermissionOption], **_: Any
    ) -> schema.RequestPermissionResponse:
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

    async def write_text_file(self, path: str, content: str, **_: Any) -> schema.WriteTextFileResponse:
        if (refusal := self.policy.refused_write(path)) is not None:
            self.say("denied", name="write a file", reason=f"{refusal}: `{path}`")
            raise RequestError(-32603, f"{refusal}: `{path}`")
        real = os.path.realpath(os.path.join(self.policy.project, path))
        try:
            os.makedirs(os.path.dirname(real), exist_ok=True)
            with open(real, "w", encoding="utf-8", newline="") as file:
                file.write(content)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise RequestError(-32603, f"`{path}` cannot be written: {reason}") from None
        return schema.WriteTextFileResponse()

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        del params
        raise RequestError.method_not_found(f"_{method}")

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Ignore what an agent reports outside the protocol."""


@dataclass
class AcpCall:
    """One tool call, with what the agent has reported about it so far."""

    id: str
    name: str = ""
    kind: str | None = None
    input: Any = None
    paths: list[str] = field(default_factory=list)
    was_asked: bool = False
    has_begun: bool = False
    has_ended: bool = False

    def learn(self, update: schema.ToolCallUpdate | schema.ToolCallStart) -> AcpCall:
        self.name = update.title or self.name or update.kind or "tool"
        self.kind = update.kind or self.kind
        self.input = update.raw_input if update.raw_input is not None else self.input
        named = [one.path for one in update.locations or ()]
        changed = [one.path for one in update.content or () if isinstance(one, schema.FileEditToolCallContent)]
        self.paths += [path for path in (*named, *changed) if path not in self.paths]
        return self

    def begin(self, say: Say) -> None:
        if not self.has_begun:
            self.has_begun = True
            arguments = self.input if self.input not in (None, {}) else {"paths": self.paths} if self.paths else {}
            say("tool", id=self.id, name=self.name, input=arguments)

    def end(self, say: Say, update: schema.ToolCallUpdate | schema.ToolCallStart) -> None:
        if not self.has_ended:
            self.has_ended = True
            say("result", id=self.id, ok=update.status == "completed", output=_output(update))


def _output(update: schema.ToolCallUpdate | schema.ToolCallStart) -> str:
    texts = [
        one.content.text
        for one in update.content or ()
        if isinstance(one, schema.ContentToolCallContent) and isinstance(one.content, schema.TextContentBlock)
    ]
    return "\n".join(texts)[:LONGEST_OUTPUT]


AUTH_REQUIRED = -32000
MOST_REFUSALS = 10
GO_ON = "`{name}` was refused: {reason}. Do not try it again; finish your task without it."
"""Several agents end their turn if something is refused. They are sent on."""
WITH_NOTICES = ("Copilot",)
"""Agents that report errors of the service as messages, and end the turn as if it were done."""
SessionResponse = schema.NewSessionResponse | schema.LoadSessionResponse | schema.ResumeSessionResponse
Answer = TypeVar("Answer")


class TurnFailed(Exception):
    """The turn cannot be done. `outcome` is one of Handrail's; None if the reader judges by the message."""

    def __init__(self, outcome: str | None, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.message = message


def say(kind: str, **members: Any) -> None:
    """Print one line. If nobody reads it any more, this process ends."""
    try:
        sys.stdout.write(json.dumps({"type": kind, **members}) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise SystemExit(1) from None


class AcpTurn:
    """One prompt in a conversation. `job` is what `executor.launch` wrote."""

    def __init__(self, connection: ClientSideConnection, client: Client, job: dict[str, Any]) -> None:
        self.connection = connection
        self.client = client
        self.job = job
        self.session = ""
        self.prompt = str(job["prompt"])
        self.methods: list[Any] = []

    async def take(self) -> None:
        capable = await self._greet()
        state = await self._open(capable)
        say("session", id=self.session)
        await self._choose(state, "model", self.job["model"])
        await self._choose(state, "mode", self.job["mode"])
        before = self.client.usd or 0.0
        self.client.is_live = True
        for _ in range(MOST_REFUSALS):
            response = await self._run_prompt(state)
            spent = None if self.client.usd is None else self.client.usd - before
            usage = None if response.usage is None else response.usage.model_dump()
            say("usage", tokens=usage, meta=response.field_meta, usd=spent)
            if self.client.refused is None:
                break
            name, reason = self.client.refused
            self.client.refused, self.prompt = None, GO_ON.format(name=name, reason=reason)
        if self.client.error is not None:
            raise TurnFailed(None, self.client.error)
        say("end", reason=response.stop_reason)

    async def _greet(self) -> schema.AgentCapabilities:
        capabilities = schema.ClientCapabilities(
            fs=schema.FileSystemCapabilities(read_text_file=False, write_text_file=True), terminal=False
        )
        us = schema.Implementation(name="handrail", title="Handrail", version=__version__)
        about = await self._answer("initialize", self.connection.initialize(PROTOCOL_VERSION, capabilities, us))
        if about.protocol_version != PROTOCOL_VERSION:
            message = f"it speaks version {about.protocol_version} of the protocol; expected {PROTOCOL_VERSION}"
            raise TurnFailed("crash", message)
        self.methods = list(about.auth_methods or ())
        self.client.has_notices = about.agent_info is not None and about.agent_info.name in WITH_NOTICES
        return about.agent_capabilities or schema.AgentCapabilities()

    async def _open(self, capable: schema.AgentCapabilities) -> SessionResponse:
        """Open the conversation. An agent that has to be asked to sign in is asked once."""
        try:
            return await self._continued_session(capable) if self.job["session"] else await self._new_session()
        except RequestError as error:
            if error.code != AUTH_REQUIRED or self.job["auth"] is None:
                raise
        await self._answer("authenticate", self.connection.authenticate(self.job["auth"]))
        return await self._continued_session(capable) if self.job["session"] else await self._new_session()

    async def _new_session(self) -> SessionResponse:
        response = await self._answer("session/new", self.connection.new_session(self.job["cwd"]))
        self.session = response.session_id
        return response

    async def _continued_session(self, capable: schema.AgentCapabilities) -> SessionResponse:
        """Continue the conversation. If the agent cannot, begin a new one with the prompt `fresh`, if there is one."""
        old, cwd = str(self.job["session"]), self.job["cwd"]
        resumes = capable.session_capabilities is not None and capable.session_capabilities.resume is not None
        self.session = old
        try:
            if resumes:
                return await self._answer("session/resume", self.connection.resume_session(old, cwd))
            if capable.load_session:
                return await self._answer("session/load", self.connection.load_session(cwd, old))
        except RequestError as error:
            if error.code == AUTH_REQUIRED or self.job["fresh"] is None:
                raise
        if self.job["fresh"] is None:
            raise TurnFailed("crash", "it cannot continue an earlier conversation: it has no `session/load`")
        self.prompt = str(self.job["fresh"])
        return await self._new_session()

    async def _choose(self, state: SessionResponse, kind: str, choice: str | None) -> None:
        if choice is None:
            return
        if (option := _option(state, kind)) is not None:
            value = _value_of(kind, choice, _option_values(option))
            choosing = self.connection.set_config_option(option.id, self.session, value)
            await self._answer("session/set_config_option", choosing)
        elif kind == "mode" and state.modes is not None:
            value = _value_of(kind, choice, {mode.id: mode.name for mode in state.modes.available_modes})
            await self._answer("session/set_mode", self.connection.set_session_mode(self.session, value))
        else:
            message = f"its {kind} cannot be chosen by the protocol, and `{choice}` is wanted"
            raise TurnFailed("crash", f"{message}; some agents have an argument for it, for `command` in your settings")

    async def _run_prompt(self, state: SessionResponse) -> schema.PromptResponse:
        """Send the prompt and wait for the end. Cancel at the time limit, or if the agent did not ask as it had to."""
        prompting = asyncio.ensure_future(self.connection.prompt(self.session, [text_block(self.prompt)]))
        watching = asyncio.ensure_future(self.client.trespass.wait())
        left = max(0.0, self.job["deadline"] - time.time())
        done, _ = await asyncio.wait({prompting, watching}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        watching.cancel()
        if prompting not in done:
            with contextlib.suppress(ConnectionError):
                await self.connection.cancel(self.session)
            await asyncio.wait({prompting}, timeout=self.job["grace"])
        self.client.flush()
        if self.client.trespass.is_set():
            prompting.cancel()
            raise TurnFailed("crash", _unasked_problem(self.client.unasked, state))
        if prompting not in done:
            prompting.cancel()
            raise TurnFailed("timeout", str(self.job["late"]))
        return await self._answer("session/prompt", prompting)

    async def _answer(self, method: str, answer: Awaitable[Answer]) -> Answer:
        """The agent's answer to one of our requests. A turn may take long, everything else has a time limit."""
        limit = float(self.job["patience"]) if method != "session/prompt" else None
        try:
            return await asyncio.wait_for(answer, limit)
        except TimeoutError:
            raise TurnFailed("timeout", f"it did not answer `{method}` in {limit:g} seconds") from None
        except ValidationError as error:
            wrong = "; ".join(f"`{'.'.join(map(str, one['loc']))}`: {one['msg']}" for one in error.errors()[:3])
            raise TurnFailed("crash", f"its answer to `{method}` is not what the protocol says: {wrong}") from None


def _option(state: SessionResponse, kind: str) -> schema.SessionConfigOptionSelect | None:
    """The option of the conversation with which its model or its mode is chosen."""
    for option in state.config_options or ():
        if isinstance(option, schema.SessionConfigOptionSelect) and kind in (option.category, option.id):
            return option
    return None


def _option_values(option: schema.SessionConfigOptionSelect) -> dict[str, str]:
    """The values of an option, and the name of each."""
    values: dict[str, str] = {}
    for one in option.options:
        values |= {each.value: each.name for each in getattr(one, "options", [one])}
    return values


def _value_of(kind: str, choice: str, values: dict[str, str]) -> str:
    """The value that a person chose. A value may be long, so its name is accepted, too."""
    for value, name in values.items():
        if choice == value or choice.lower() == name.lower():
            return value
    choices = ", ".join(f"`{value}`" if value == name else f"`{value}` ({name})" for value, name in values.items())
    raise TurnFailed("crash", f"it has no {kind} `{choice}`; it offers: {choices or 'none'}")


def _unasked_problem(name: str, state: SessionResponse) -> str:
    """Why a step that may only read fails if the agent did not ask, and what a person can do."""
    option = _option(state, "mode")
    modes = {mode.id: mode.name for mode in state.modes.available_modes} if state.modes is not None else {}
    choices = ", ".join(_option_values(option) if option is not None else modes)
    problem = f"it did `{name}` without asking, and this step may only read: let it ask, in its own settings"
    if not choices:
        return problem
    return f"{problem}, or choose a mode with `modes: {{read: MODE}}` in yours; it has {choices}"


async def main() -> int:
    logging.disable(logging.CRITICAL)  # the package logs whole tracebacks about lines that are not valid
    job = json.load(sys.stdin)
    task = Task(argv=job["command"], cwd=job["cwd"], env=dict(os.environ), timeout=0.0, stdin=b"", hold=job["hold"])
    try:
        process = await start(task, errors=sys.stderr.fileno())
    except OSError as error:
        say("failed", outcome="crash", message=f"`{job['command'][0]}` cannot be started: {error.strerror}", data=None)
        return 1
    client = Client(Policy(job["permissions"], job["cwd"], tuple(job["guarded"])), say)
    ours = cast("acp.Client", client)  # it has no methods for what it does not offer
    connection = connect_to_agent(ours, LineTransport(process))
    turn = AcpTurn(connection, client, job)
    try:
        await turn.take()
    except RequestError as error:
        if error.code == AUTH_REQUIRED:
            message = f"it is not signed in ({error}): start it yourself and sign in"
            if named := ", ".join(f"`{one.id}` ({one.name})" for one in turn.methods):
                message = f"{message}, or set `auth` in your settings to one of its methods: {named}"
            say("failed", outcome="auth", message=message, data=None)
        else:
            say("failed", outcome=None, message=str(error), data=error.data)
    except TurnFailed as failed:
        say("failed", outcome=failed.outcome, message=failed.message, data=None)
    except ConnectionError:
        client.flush()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(wait_for_exit(process), GRACE)
        say("ended", code=process.returncode)
    finally:
        await _stop(process)
    return 0


async def _stop(process: asyncio.subprocess.Process) -> None:
    """End the agent: it may end by itself when its input ends."""
    if process.stdin is not None:
        process.stdin.close()
    for number in (0, 15, 9):
        if number:
            signal_group(process.pid, number)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(wait_for_exit(process), GRACE / 2)
            return


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
