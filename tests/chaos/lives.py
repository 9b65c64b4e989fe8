"""The lives of one run: it is started, killed at random, resumed with another environment, and answered truthfully."""

from __future__ import annotations

import json
import random
import threading
from pathlib import Path
from typing import Any

from chaos.scenario import VARIABLES
from chaos.world import World
from support import Said

MOST_LIVES = 40
OTHER = ("second", "third", "")


class Lives:
    """One run and everything that happens to it. `wrong` says what should not have happened."""

    def __init__(self, world: World, chance: random.Random) -> None:
        self.world = world
        self.chance = chance
        self.run = ""
        self.kills = 0
        self.rivals = 0
        self.wrong: list[str] = []

    def judge(self, said: Said, what: str, codes: tuple[int, ...] = (0, 1, 4)) -> None:
        """Every command ends with an expected code, without a traceback."""
        if (
            said.code not in codes
            or "Traceback" in said.err
            or ("report" in said.err.lower() and "bug" in said.err.lower())
        ):
            self.wrong.append(f"`{what}` ended with {said.code}: {said.err[-600:]}")

    def another_environment(self) -> dict[str, str]:
        return {name: self.chance.choice(OTHER) for name in VARIABLES}

    def _live(self, argv: list[str], changed: dict[str, str]) -> None:
        """One life: the command is killed after a random number of events, or a random time after that."""
        events, alone = self.chance.randint(0, 12), self.chance.random() < 0.5
        process = self.world.start(*argv, changed=changed)
        assert process.stdout is not None
        with process:
            said = self._listen(process.stdout, events)
            if process.poll() is None:
                threading.Event().wait(self.chance.choice([0, 0, 0.005, 0.05]))
                process.kill() if alone else self.world.kill_tree(process)
                self.kills += 1
            _, err = process.communicate()
        if "Traceback" in err:
            self.wrong.append(f"a traceback after {len(said)} events: {err[-600:]}")

    def _listen(self, stream: Any, events: int) -> list[str]:
        said: list[str] = []
        while len(said) < events and (line := stream.readline()):
            said.append(line)
        return said

    def kill_often(self, times: int) -> None:
        self._live(["run", "main", "--events"], {})
        listed = self.world.call("runs", "--json")
        self.judge(listed, "runs", (0,))
        runs = json.loads(listed.out)["runs"] if listed.code == 0 else []
        if not runs:
            return
        self.run = str(runs[0]["run"])
        for _ in range(times - 1):
            self._live(
                ["resume", self.run, "--events", "--answers", str(self.world.answers)], self.another_environment()
            )

    def finish(self) -> dict[str, Any] | None:
        """Resume and answer until the run has ended. The environment is another one each time."""
        if not self.run:
            said = self.world.call("run", "main", "--json", "--answers", str(self.world.answers))
            self.run = str(json.loads(said.out)["run"]) if said.out else ""
        for _ in range(MOST_LIVES):
            changed, answers = self.another_environment(), str(self.world.answers)
            said = self.world.call("resume", self.run, "--json", "--answers", answers, changed=changed)
            if said.code == 4:
                self._answer(json.loads(said.out))
                continue
            if said.code not in (0, 1) or not said.out:
                self.wrong.append(f"`resume` ended with {said.code}: {said.err[-600:]}")
                return None
            end = json.loads(said.out)
            if "error" in end and "run" not in end:  # it had ended before
                return self._end()
            return dict(end)
        self.wrong.append("the run never ended")
        return None

    def _end(self) -> dict[str, Any] | None:
        said = self.world.call("log", self.run, "--json")
        self.judge(said, "log", (0,))
        return json.loads(said.out).get("result") if said.code == 0 else None

    def _answer(self, end: dict[str, Any]) -> None:
        """Answer the questions about interrupted steps by the external log; sometimes several times at once."""
        for question in end["questions"]:
            did = self.world.has_done(question["path"])
            letter = Path(self.world.folder / "letter.json")
            letter.write_text(json.dumps({"rerun": "done" if did else "again"}))
            named = ["--question", question["id"]] if "id" in question else []
            rivals = self.chance.choice([1, 1, 2, 3])
            self.rivals += rivals - 1
            argv = ["answer", self.run, *named, "--file", str(letter)]
            processes = [self.world.start(*argv, changed=self.another_environment()) for _ in range(rivals)]
            for process in processes:
                with process:
                    out, err = process.communicate()
                self.judge(Said(process.returncode, out, err), "answer")
