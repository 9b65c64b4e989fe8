"""The verdict about a tool call: what the gate allows, and files that no agent may change.

Handrail's state and the files that control its hooks are protected while a workflow is active. Also tells whether an
entry in such a file is as Handrail wrote it. Runs at every tool call, so it imports little, and only from the standard
library.
"""

from __future__ import annotations

import os

import handrail
from handrail.guided.sessions import hook_files
from handrail.guided.sessions.gate import current_card, is_work, too_early, verdict, verdict_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from handrail.extensions.contracts import Host
    from handrail.extensions.contracts.messages import CallArguments, StepCall, ToolCall, Verdict
    from handrail.guided.sessions.hook_files import SessionRef
    from handrail.settings.folders import UserFolders

    Paths = tuple[str, ...]

HOOK = os.path.join(handrail.__path__[0], "hook.py")
_FOR_HOSTS = ("hook", "mcp", "serve")


def protected_path(call: CallArguments, cwd: str, places: UserFolders, others: Callable[[], Paths]) -> str | None:
    """The first protected path that a call would change or run; None if its arguments show none.

    Handrail's state is protected, and `others`: what the host says, and the transcript, which hooks believe. A program
    may run from there unless it is one of our stubs: a skill may come with programs.
    """
    if not call["writes"] and call["runs"] is None:
        return None
    guarded = (places.state, *others())
    for path in call["writes"]:
        if _is_guarded(path, guarded, places.trees):
            return path
    if call["runs"] is None or call["runs"].isalnum():  # a single word has no arguments and no redirection
        return None
    from handrail.source.shell import changes, commands

    for change in changes(call["runs"], cwd, places.home):
        if _is_guarded(change.path, guarded, places.trees, holds=change.is_whole):
            return change.path
    for words in commands(call["runs"]):
        if _is_call_of_hosts(words):
            return words[0]
        for word in (word for word in words if "/" in word):
            path = os.path.join(cwd, word.replace("~", places.home, 1) if word.startswith("~/") else word)
            ways = (os.path.relpath(path, cwd), os.path.relpath(os.path.realpath(path), os.path.realpath(cwd)))
            stubs = guarded if any("/handrail/" in f"/{way}" for way in ways) else guarded[:1]
            if _is_guarded(path, stubs, places.trees):
                return word
    return None


def _is_call_of_hosts(words: list[str]) -> bool:
    """True if a command calls what only the stubs of a host call. Its message would count as the host's own."""
    for at, word in enumerate(words):
        if word == HOOK or word.endswith("/handrail/hook.py"):
            return True
        if os.path.basename(word) == "handrail":
            begin = at + (3 if words[at + 1 : at + 2] == ["--project"] else 1)
            if begin < len(words) and words[begin] in _FOR_HOSTS:
                return True
    return False


def _is_guarded(path: str, guarded: tuple[str, ...], trees: str, *, holds: bool = False) -> bool:
    """True if a path is a protected path or below one. With `holds`, also if it contains one. Follows links.

    `trees` holds the worktrees of runs. It is in Handrail's state folder, but agents work inside the worktrees.
    """
    spellings = {os.path.normpath(path), os.path.realpath(path)}
    folders = (trees + "/", os.path.realpath(trees) + "/")
    if all(form.startswith(folders) for form in spellings):
        guarded = guarded[1:]
    targets = {spelling for one in guarded for spelling in (one, os.path.realpath(one))}
    return any(
        form == target or form.startswith(target + "/") or (holds and target.startswith(form + "/"))
        for target in targets
        for form in spellings
    )


def is_as_installed(places: UserFolders, agent: str, project: str, entry: tuple[str, ...]) -> bool:
    """True if an entry of a file in the project is as `handrail install --project` wrote it.

    `entry` is the file and the keys in its JSON or TOML. Others can write such an entry, too: its name proves nothing.
    """
    from handrail.base import jsonlite

    path = os.path.join(project, entry[0])
    loads: Callable[[str], Any] = jsonlite.loads
    if path.endswith(".toml"):
        import tomllib

        loads = tomllib.loads
    try:
        with (
            open(places.installation(agent, project), encoding="utf-8") as record,
            open(path, encoding="utf-8") as file,
        ):
            present, installed = loads(file.read()), loads(jsonlite.loads(record.read())["after"][path])
        for key in entry[1:]:
            present, installed = present[key], installed[key]
        return present is not None and bool(present == installed)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def tool_verdict(
    host: Host, ref: SessionRef | None, request: ToolCall, places: UserFolders, env: Mapping[str, str]
) -> Verdict:
    """The verdict about a call. An allowed call counts as progress.

    A harmless tool is denied if the blacklist names it, but a whitelist does not have to name it: the agent has to be
    able to find a tool that the whitelist allows, and to ask the person. The main agent may return its result only
    after the workflow: the conversation ends with it.
    """
    answer = _tool_verdict(host, ref, request, places, env)
    if not answer["allow"] and ref is not None:
        import time

        from handrail.agents.calls.turns import is_beside_run
        from handrail.guided.sessions.denials import add_denial

        if not is_beside_run(ref, env):
            add_denial(ref.folder, answer, request["call"], env, time.time(), is_work=is_work(request))
    return answer


def _tool_verdict(
    host: Host, ref: SessionRef | None, request: ToolCall, places: UserFolders, env: Mapping[str, str]
) -> Verdict:
    card, tool = current_card(ref) if ref is not None else None, request["tool"]
    if ref is None or card is None or (gate := card["gate"]) is None:
        return verdict(None, tool, request["aliases"])
    if request.get("is_last") and not request["is_subagent"]:
        return too_early(tool)
    if _is_beside_move(ref, request):
        return verdict_by("moving", tool, TOGETHER.format(tool))
    if request["is_harmless"]:
        gate = {**gate, "allow": None}
    answer = verdict(gate, tool, request["aliases"])
    for names in request.get("also", ()):
        answer = verdict(gate, names[0], names) if answer["allow"] else answer
    if answer["allow"] and answer["rule"] != "workflow-step":
        transcript, project = filter(None, (request["transcript"],)), ref.project
        others = lambda: (*host.protected(env, places.home, project), *transcript)  # noqa: E731 - it needs two lines
        touches = protected_path(request["call"], request["cwd"], places, others)
        answer = answer if touches is None else verdict(gate, tool, request["aliases"], touches)
    if not answer["allow"]:
        return answer
    if not hook_files.has_mark(ref.folder, hook_files.PROGRESS):
        hook_files.set_mark(ref.folder, hook_files.PROGRESS)
    if is_work(request):
        hook_files.note_work(ref.folder, card["state"]["task_id"])
    if request.get("runs_subagent"):
        hook_files.begin_subagent(ref.folder)
    if request.get("takes_context") and not request["is_subagent"]:
        from handrail.agents.calls.turns import new_context

        answer["context"] = new_context(ref.folder, card)
    return answer


TOGETHER = (
    "{} was not carried out, because your message also has a call of workflow_step that moves the workflow. "
    "Read its result first: it says what to do now, and which tools are allowed. Then decide what to call."
)
HISTORY_SECONDS = 0.5
"""How long a move waits for its own message in the transcript."""


def _is_beside_move(ref: SessionRef, request: ToolCall) -> bool:
    """True if the model called this tool in the same message in which it moved the workflow before.

    The host may ask before that move has run, so the phase of this call is not known.
    """
    message = request.get("message")
    if not message or request["is_subagent"]:
        return False
    return hook_files.mark_text(ref.folder, hook_files.MOVING).partition("\n")[0] == message


def _may_move(host: Host, ref: SessionRef, request: StepCall) -> bool:
    """False if the model makes a second move in one message: it has not read what to do in the phase that it leaves."""
    message, call = request.get("message"), request.get("call", "")
    if message:  # two of our hooks may be asked about one call
        is_same = lambda old, new: old.partition("\n")[0] == message and (not call or old != new)  # noqa: E731 - short
        return hook_files.claim_move(ref.folder, f"{message}\n{call}", is_same)
    if call:
        is_same = lambda old, new: old != new and _in_one_message(host, request["transcript"], old, new)  # noqa: E731
        return hook_files.claim_move(ref.folder, call, is_same)
    return True


def _in_one_message(host: Host, transcript: str | None, earlier: str, later: str) -> bool:
    """True if the transcript shows both calls in one message. It may be behind, so this looks several times."""
    import time

    end, is_one = time.monotonic() + HISTORY_SECONDS, None
    while earlier and transcript and is_one is None and time.monotonic() < end:
        try:
            with open(transcript, "rb") as file:
                is_one = host.in_one_message(file.read(), earlier, later)  # type: ignore[attr-defined]  # it gave `call`
        except OSError:
            return False
        if is_one is None:
            time.sleep(HISTORY_SECONDS / 10)
    return bool(is_one)


def step_verdict(host: Host, agent: str, ref: SessionRef | None, request: StepCall, places: UserFolders) -> Verdict:
    """`workflow_step` is always allowed, but only the main conversation may move a session, once in a message."""
    proof = request.get("installed")
    if proof is not None and (ref is None or not is_as_installed(places, agent, ref.project, proof)):
        card = current_card(ref) if ref is not None else None
        return verdict(card["gate"] if card is not None else None, request["tool"], request["aliases"])
    if ref is not None and "call_id" in request:
        hook_files.see_call(ref.folder, request["call_id"])
    is_subagent = request["is_subagent"] or (ref is not None and hook_files.has_subagent(ref.folder))
    if is_subagent and request["action"] != "status":
        reason = (
            "Only the main conversation moves the workflow. You may ask for its status. "
            "Finish your part and report your result; the main conversation continues from there."
        )
        return verdict_by("subagent", request["tool"], reason)
    if ref is not None and request["action"] in ("next", "loop") and not _may_move(host, ref, request):
        return verdict_by("moving", request["tool"], TOGETHER.format("This call"))
    return verdict_by("workflow-step", request["tool"])
