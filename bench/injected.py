"""Counts the characters that the model gets in a session of 20 turns: from us and from pi-workflows, same workflow."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from bench import host
from bench.measure import BenchError, talk
from bench.piworkflows import NAME, Missing, PiWorkflows
from bench.place import KEY, TASK, write_workflow
from bench.rows import Bound, Part, Row, skipped

PHASES, EACH, CHARS = ("plan", "build", "test", "review"), 5, 600
TURNS = len(PHASES) * EACH
STOPS = 9
TITLE = "Characters that the model gets"
BOUND = Bound(0.5)
WHAT = {
    "all": (f"characters in {TURNS} turns", NAME, BOUND),
    "told": (f"characters in {TURNS} turns, reminders left out", f"{NAME}, reminders left out", BOUND),
    "worst": (f"characters in {TURNS} turns", f"{NAME}, reminders left out", None),
}
REMINDER = "Stop hook additional context: "
ABOUT = f"""\
A person types {TURNS} prompts, {EACH} in each of {len(PHASES)} phases with {CHARS} characters of instructions. For each
prompt the agent makes one tool call, for the last prompt of a phase also the move to the next phase, and then stops. It
is sent on and stops again until it may end its turn. Ours is what the model of the real Claude Code gets in such a
conversation minus what it gets without Handrail, including the host's own text around it; each character counts once.
For pi-workflows it is what its own code gives its host in the same session: the first message, its context before each
run of the agent, the results of `next`, and, as often as we sent the agent on, its reminder and the context of the run
that follows. *Reminders left out*: without the texts for an agent that is sent on. *For information*: all of ours
compared with a pi-workflows that never sends the agent on, because the person always types within its three seconds."""


class Injected(NamedTuple):
    """Characters that the model gets: `told` with prompts and moves, `reminders` when it stops early."""

    told: int
    reminders: int

    @property
    def all(self) -> int:
        return self.told + self.reminders


def measure(folder: Path, pi: PiWorkflows | Missing, missing: Missing | None) -> Part:
    if missing:
        pi = missing
    if isinstance(pi, Missing):
        return Part(TITLE, ABOUT, [skipped(*about, pi.why) for about in WHAT.values()])
    talk(f"characters: {TURNS} turns with Handrail and without")
    model = host.Model([])
    try:
        ours, prompts = _ours(folder / "injected", model)
    finally:
        model.close()
    project = folder / "injected" / "with" / "project"
    theirs = _total(pi.session(project, prompts))
    ratios = {"all": ours.all / theirs.all, "told": ours.told / theirs.told, "worst": ours.all / theirs.told}
    return Part(TITLE, ABOUT, [Row(what, to, ratios[name], None, bound) for name, (what, to, bound) in WHAT.items()])


def _total(chars: dict[str, int]) -> Injected:
    return Injected(chars["opening"] + chars["contexts"] + chars["moves"], chars["reminders"])


def _ours(folder: Path, model: host.Model) -> tuple[Injected, list[dict[str, Any]]]:
    """What Handrail adds, and what happened at each prompt, in the format of `bench/pi-workflows/session.mjs`."""
    ours, bare = host.Claude(folder / "with", model), host.Claude(folder / "bare", model)
    for claude in (ours, bare):
        write_workflow(claude.project / ".pi" / "workflows" / KEY, 0, PHASES, CHARS)
    ours.handrail("install", "claude")
    typed = [f"go on, this is prompt {number}" for number in range(2, TURNS + 1)]
    without = _texts(_converse(bare, [TASK, *typed], moves=False)[-1][-1])
    talks = _converse(ours, [f"/workflow {KEY} {TASK}", *typed], moves=True)
    texts = _texts(talks[-1][-1])
    if not any("✓ Finished" in text for text in texts):
        raise BenchError("the workflow did not finish")
    prompts = []
    for number, requests in enumerate(talks, 1):
        moves = number % EACH == 0
        prompts.append({"next": moves, "sentOn": len(requests) - (3 if moves else 2)})
    reminders = sum(len(text) for text in texts if REMINDER in text)
    return Injected(sum(map(len, texts)) - sum(map(len, without)) - reminders, reminders), prompts


def _converse(claude: host.Claude, prompts: list[str], *, moves: bool) -> list[list[dict[str, Any]]]:
    """The model requests of each prompt: a tool call, a move for the last prompt of a phase, then stops."""
    model = claude.model
    model.requests.clear()
    talks = []
    conversation = host.converse(claude, prompts)
    for number in range(1, len(prompts) + 1):
        move = [host.NEXT] if moves and number % EACH == 0 else []
        model.script(host.BASH, *move, *[host.STOP] * STOPS)
        talks.append(next(conversation))
    conversation.close()
    return talks


def _texts(request: dict[str, Any]) -> list[str]:
    """The texts of all messages that the model did not write itself."""
    return [host.texts({"messages": [message]}) for message in request["messages"] if message["role"] != "assistant"]
