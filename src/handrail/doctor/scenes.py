"""The scenes of a probe: each runs the agent with a script, and judges by the files that are there afterwards."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable

from handrail.doctor.levels import absent, denied, failed, rewritten, sent_on, switched_off
from handrail.doctor.place import Place, read_text, write_text
from handrail.models.server import Received
from handrail.models.turn import Turn, calls
from handrail.sessions.required import Row

STOPS = 10
"""How often the agent stops early. Some agents let a hook send them on only a few times."""
DELEGATED = "I delegate this part."
"""What the main agent says. If the protocol names no conversations, a subagent has one in which nobody said it."""
LIVE_SECONDS = 4.0
"""Time for the agent to notice that its settings changed."""
READ_ONLY = "tools:\n  whitelist: [read, search, agent]\n"
NO_WRITES = "tools:\n  blacklist: [edit, write]\n"
FAILURES = {
    "hook crash": "kill -9 $$",
    "bad output": "echo 'It is fine, I think.'",
    "hook timeout": "exec sleep 600",
}
Scene = Callable[[Place], AsyncIterator[Row]]


def prepare(place: Place) -> None:
    """The workflows of the probe, an MCP server that is not ours, and Handrail."""
    place.workflow("look", read=READ_ONLY, build="")
    place.workflow("delegate", read=NO_WRITES, build="")
    place.workflow("open", build="")
    place.settings("idleStops: 0\n")
    place.add_server()
    place.install()


async def tools(place: Place) -> AsyncIterator[Row]:
    """Every kind of tool in a read-only phase, and again in a phase that allows everything."""
    offline = place.offline
    for name in ("bound", "free"):
        write_text(place.path(f"{name}-edit.txt"), "before\n")

    def attempts(name: str) -> list[Turn]:
        edited = place.path(f"{name}-edit.txt")
        turns = [
            place.writes(f"{name}-write.txt"),
            place.calls(offline.shell(f"echo ran > {name}-shell.txt")),
            place.calls(offline.read(edited)),
            place.calls(offline.edit(edited, "before", "after")),
        ]
        return turns if offline.NOTE is None else [*turns, place.calls((offline.NOTE, {"text": name}))]

    place.model.script(*attempts("bound"), place.step("next"), *attempts("free"), place.step("next"), Turn("Done."))
    await place.start("look tea")
    kinds = {
        "main agent": ("write", "", "writing a file"),
        "shell": ("shell", "", "a shell command"),
        "patch": ("edit", "after", "changing a file"),
    }
    for row, (key, word, what) in kinds.items():
        happened, works = (place.made(f"{name}-{key}.txt", word) for name in ("bound", "free"))
        yield denied(row, happened=happened, works=works, what=what)
    if offline.NOTE is None:
        yield absent("mcp")
    else:
        happened, works = (place.made("notes.txt", name) for name in ("bound", "free"))
        yield denied("mcp", happened=happened, works=works, what="a tool of an MCP server")


async def subagent(place: Place) -> AsyncIterator[Row]:
    """A subagent writes a file in a phase that denies it, and again in a phase that allows it."""
    offline = place.offline

    def delegated(name: str) -> list[Turn]:
        start = calls(offline.subagent(place.program, f"write {name}"), text=DELEGATED)
        return [start, place.writes(name), offline.report("That is all.")]

    turns = [*delegated("bound-sub.txt"), place.step("next"), *delegated("free-sub.txt"), place.step("next")]
    place.model.script(*turns, Turn("Done."))
    before = len(place.model.received())
    await place.start("delegate tea")
    asked = place.model.received()[before:]
    if not _is_of_subagent(place, asked, 1) or (place.made("free-sub.txt") and not _is_of_subagent(place, asked, 5)):
        yield Row("subagent", "unknown", "it is not known whether a subagent made the call")
        return
    happened, works = place.made("bound-sub.txt"), place.made("free-sub.txt")
    yield denied("subagent", happened=happened, works=works, what="writing a file in a subagent")


def _is_of_subagent(place: Place, asked: list[Received], number: int) -> bool:
    """True if a request, by its number, comes from another conversation than the first one."""
    if len(asked) <= number:
        return False
    main, other = (place.model.conversation(request) for request in (asked[0], asked[number]))
    return main != other if main is not None and other is not None else DELEGATED not in asked[number].text


async def headless(place: Place) -> AsyncIterator[Row]:
    """`handrail run` drives the agent, with stubs for this call only."""
    turns = [place.writes("bound-run.txt"), place.step("next"), place.writes("free-run.txt"), place.step("next")]
    place.model.script(*turns, Turn("Done."))
    await place.handrail("run", "look", "tea", "--agent", place.agent, "--json")
    happened, works = place.made("bound-run.txt"), place.made("free-run.txt")
    yield denied("headless", happened=happened, works=works, what="writing a file in `handrail run`")


async def live(place: Place) -> AsyncIterator[Row]:
    """A person switches hooks off while the agent works in a read-only phase.

    The next process of the agent has to be free: otherwise this setting does not switch hooks off.
    """
    path = os.path.join(place.home, place.offline.SETTINGS)
    before = read_text(path)
    late = place.writes("bound-live.txt")
    late = late._replace(before=lambda: write_text(path, place.offline.loosened(before)), delay=LIVE_SECONDS)
    try:
        place.model.script(place.writes("early-live.txt"), late, Turn("A stop."))
        thread = place.offline.thread((await place.start("look tea")).output)
        place.model.script(place.writes("later-live.txt"), Turn("A stop."))
        await place.run("go on", thread)
    finally:
        write_text(path, before)
    yield switched_off(happened=place.made("bound-live.txt"), is_switch=place.made("later-live.txt"))


async def stop(place: Place) -> AsyncIterator[Row]:
    """The agent stops early, again and again; after each reminder it writes a file."""
    place.settings("idleStops: 3\nreminders: 100\n")
    rounds = [turn for n in range(STOPS) for turn in (Turn(f"I stop here, {n}."), place.writes(f"stop-{n}.txt"))]
    place.model.script(*rounds, place.step("next"), Turn("Done."))
    try:
        await place.start("open tea")
    finally:
        place.settings("idleStops: 0\n")
    yield sent_on(sum(place.made(f"stop-{n}.txt") for n in range(STOPS)), STOPS)


async def failures(place: Place) -> AsyncIterator[Row]:
    """The phase allows everything, so every denial is caused by the failure of our hook."""
    place.model.script(Turn("A stop."))
    thread = place.offline.thread((await place.start("open tea")).output)
    if thread is None:
        for name in FAILURES:
            yield Row(name, "unknown", "the conversation could not be started")
        return
    place.model.script(place.writes("free-hook.txt"), Turn("Done."))
    await place.run("write it", thread)
    works = place.made("free-hook.txt")
    for name, body in FAILURES.items():
        file = f"bound-{name.replace(' ', '-')}.txt"
        with place.broken(body):
            place.model.script(place.writes(file), Turn("I may not."))
            before = len(place.model.received())
            ended = await place.run("write it", thread)
        asked = len(place.model.received()) - before
        if asked == 0:
            yield Row(name, "unknown", "the agent did not ask its model, so no call was tried")
        else:
            is_over = asked > 1 or not ended.timed_out  # the model was told how the call ended
            yield failed(name, happened=place.made(file), is_over=is_over, works=works)


async def rewrite(place: Place) -> AsyncIterator[Row]:
    """A hook that is not ours replaces the command of a call. Handrail is not installed here."""
    place.write(place.offline.with_rewrite(place.home, f"echo ran > {place.path('replaced.txt')}"))
    place.model.script(place.calls(place.offline.shell("echo ran > original.txt")), Turn("Done."))
    await place.run("run it")
    yield rewritten(original=place.made("original.txt"), replaced=place.made("replaced.txt"))


SCENES: dict[str, tuple[Scene, tuple[str, ...]]] = {
    "tools": (tools, ("main agent", "shell", "patch", "mcp")),
    "subagent": (subagent, ("subagent",)),
    "headless": (headless, ("headless",)),
    "settings": (live, ("settings live",)),
    "stop": (stop, ("stop",)),
    "failures": (failures, tuple(FAILURES)),
}
"""The scenes with Handrail installed, in their order, and the rows that each one measures."""
