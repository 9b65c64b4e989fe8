"""The lives of a guided session: `start` and `next` are killed at random, and called again in other surroundings."""

from __future__ import annotations

import random
from typing import Any

from chaos.lives import LONGEST, kill
from chaos.world import World
from support import Said

PHASES = 4
ID = "s"
CHECK = "echo begin check-{at} >> $CHAOS_LOG; sleep {seconds}; echo done check-{at} {at} >> $CHAOS_LOG"
PHASE = """\
---
id: p{at}
name: P{at}
emoji: x
tools: {{deny: [{denied}]}}
exit:
- run: '{check}'
---
Do it.
"""


def write_workflow(world: World, chance: random.Random) -> None:
    """Phases that deny `edit` and `bash` in turn, each with an exit check that takes some time."""
    folder = world.project / ".handrail" / "workflows" / "road"
    folder.mkdir(parents=True)
    files = ", ".join(f"p{at}.md" for at in range(PHASES))
    (folder / "workflow.yaml").write_text(f"name: Road\ncommandName: road\ninitialMessage: Begin.\nphases: [{files}]\n")
    for at in range(PHASES):
        check = CHECK.format(at=at, seconds=chance.choice([0, 0, 0.02, 0.2]))
        denied = "bash" if at % 2 else "edit"
        (folder / f"p{at}.md").write_text(PHASE.format(at=at, denied=denied, check=check))
    world.remember_definitions()


class SessionLives:
    """One session and everything that happens to it. `wrong` says what should not have happened."""

    def __init__(self, world: World, chance: random.Random) -> None:
        self.world = world
        self.chance = chance
        self.kills = 0
        self.at = -1
        self.tries = 0
        self.wrong: list[str] = []
        write_workflow(world, chance)

    def kill_often(self, times: int) -> None:
        """Call the next command, and kill it at random, until it was killed so often or the session is done."""
        for _ in range(4 * times):
            if self.kills >= times or self.at == PHASES:
                return
            self._live()
            self.world.change(self.chance)
            if self.at < 0:
                self.world.restore_definitions()

    def finish(self) -> None:
        """Go to the end without kills, and look at the whole story."""
        while self.at < PHASES and not self.wrong:
            before = self.at
            self._take(self.world.call(*self._command()))
            if self.at == before:
                self.wrong.append(f"a command that was not killed did nothing at {before}")
        checked = self.world.effects()
        self.wrong += [
            f"phase {at} was left without its check" for at in range(PHASES) if not checked[f"check-{at} {at}"]
        ]

    def _command(self) -> list[str]:
        self.tries += 1
        if self.at < 0:
            return ["start", "road", "the task", "--session", ID, "--json"]
        return ["next", "--session", ID, "--summary", self._summary(self.at), "--json"]

    def _summary(self, at: int) -> str:
        return f"p{at}, try {self.tries}"

    def _live(self) -> None:
        process = self.world.start(*self._command())
        with process:
            killed = kill(self.world, process, self.chance.uniform(0, LONGEST), self.chance)
            out, err = process.communicate()
        self.kills += killed
        self._take(Said(process.returncode, out, err), killed=killed)

    def _take(self, said: Said, *, killed: bool = False) -> None:
        """Look at the session after a command: it made one move, or none if it was killed, and the record says so."""
        before, self.at = self.at, self._place()
        if "Traceback" in said.err or (not killed and said.code != 0):
            self.wrong.append(f"a command at {before} ended with {said.code}: {said.err[-600:]}")
        moved = self.at - before
        if moved not in (0, 1) or (moved == 0 and (not killed or said.out.endswith("\n"))):
            self.wrong.append(f"it went from {before} to {self.at}, and said {said}")
        if self.at >= 0:
            self._look()

    def _place(self) -> int:
        """The number of the current phase; -1 before the start, that of all phases at the end."""
        said = self.world.call("status", "--session", ID, "--json")
        if said.code == 1 and "not-found" in said.out:
            return -1
        if said.code != 0:
            self.wrong.append(f"`status` ended with {said.code}: {said.err[-600:]}")
            return self.at
        return PHASES if said.data["status"] == "done" else int(said.data["phase"]["index"]) - 1

    def _look(self) -> None:
        """The journal has each move once, with the words of one try, and the gate is that of the current phase."""
        said = self.world.call("log", ID, "--json")
        events: list[dict[str, Any]] = said.data["events"] if said.code == 0 else []
        moves = [event for event in events if event["type"] in ("Moved", "Finished")]
        found = [(move["origin"], move["summary"].partition(",")[0]) for move in moves]
        if found != [(at, f"p{at}") for at in range(self.at)]:
            self.wrong.append(f"at {self.at}, the journal has these moves: {found}; {said.err}")
        for tool in ("edit", "bash"):
            gate = self.world.call("gate", tool, "--session", ID, "--json")
            wanted = self.at == PHASES or (tool == "edit") == bool(self.at % 2)
            if gate.code != 0 or gate.data["allow"] is not wanted:
                self.wrong.append(f"at {self.at}, the gate says about {tool}: {gate}")
