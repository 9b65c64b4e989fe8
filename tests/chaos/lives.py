"""The lives of one run: it is started, killed at random, resumed with another environment, and answered truthfully."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from chaos.scenario import VARIABLES
from chaos.world import World
from crash.accounts import TOLD_WHEN_SAFE
from support import Said

MOST_LIVES = 40
LONGEST = 0.5
"""In seconds: so long after its start, a process is killed at the latest if its events are not waited for."""
MOVED = 0.25
"""How often a project is moved between two lives."""
ENDED = ("completed", "stopped", "cancelled")
OTHER = ("second", "third", "")


def kill(world: World, process: subprocess.Popen[str], pause: float, chance: random.Random) -> bool:
    """Kill a process after so many seconds: alone, its group, or all that it started. False if it had ended."""
    way = chance.choice(["alone", "group", "tree"])
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(pause)
    if process.poll() is None and way == "tree":
        world.kill_tree(process)
    elif process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL) if way == "group" else process.kill()
    return process.wait() == -signal.SIGKILL


def _without_time(event: dict[str, Any]) -> str:
    """An event as it is printed and logged; the time is stored less precisely than it is printed."""
    return json.dumps({name: value for name, value in event.items() if name not in ("time", "runAttempt")})


class Lives:
    """One run and everything that happens to it. `wrong` says what should not have happened."""

    def __init__(self, world: World, chance: random.Random) -> None:
        self.world = world
        self.chance = chance
        self.run = ""
        self.kills = 0
        self.rivals = 0
        self.wrong: list[str] = []
        self.done: Counter[str] = Counter()
        self.told: Counter[str] = Counter()

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
        events = self.chance.choice([0, self.chance.randint(0, 12)])
        pause = self.chance.choice([0, 0.005, 0.05]) if events else self.chance.uniform(0, LONGEST)
        process = self.world.start(*argv, changed=changed)
        assert process.stdout is not None
        with process:
            said = self._listen(process.stdout, events)
            self.kills += kill(self.world, process, pause, self.chance)
            out, err = process.communicate()
        said += [line for line in out.splitlines(keepends=True) if line.endswith("\n")]
        is_silent = process.returncode in (1, 4) and not err.strip()
        if "Traceback" in err or is_silent or process.returncode not in (-signal.SIGKILL, 0, 1, 4):
            self.wrong.append(f"`{argv}` ended with {process.returncode} after {len(said)} events: {err[-600:]}")
        self._look(said)

    def _look(self, said: list[str]) -> None:
        """After a life: nothing was lost or done twice, and no list says that a dead process works."""
        done, self.done = self.done, self.world.effects()
        self.wrong += [f"{effect} was done {count} times" for effect, count in self.done.items() if count > 1]
        self.wrong += [f"{effect} is lost" for effect in done if effect not in self.done]
        if self._status() == "none":
            return
        logged = self.world.call("log", self.run, "--json")
        self.judge(logged, "log", (0,))
        events = logged.data["events"] if logged.code == 0 else []
        told = [event for event in map(json.loads, said) if event["type"] in TOLD_WHEN_SAFE]
        self.told += Counter(map(_without_time, told))
        lost = self.told - Counter(map(_without_time, events))
        self.wrong += [f"it had printed this event, and the log lost it: {one}" for one in lost]

    def _listen(self, stream: Any, events: int) -> list[str]:
        said: list[str] = []
        while len(said) < events and (line := stream.readline()):
            said.append(line)
        return said

    def kill_often(self, times: int) -> None:
        """Kill the run so many times, or fewer if it ends before."""
        self._live(["run", "main", "--events"], {})
        for _ in range(4 * times):
            status = self._status()
            if self.kills >= times or status in ENDED:
                return
            self.change()
            if self.run:
                self._live([*self._command(status), "--events"], self.another_environment())
            else:
                self._live(["run", "main", "--events"], {})

    def _status(self) -> str:
        """The status of the run; `none` if there is none yet."""
        listed = self.world.call("runs", "--json")
        self.judge(listed, "runs", (0,))
        runs = listed.data["runs"] if listed.code == 0 else []
        self.wrong += [f"a dead process drives a run: {row}" for row in runs if row.get("driver")]
        self.run = str(runs[0]["run"]) if runs else ""
        return str(runs[0]["status"]) if runs else "none"

    def _command(self, status: str) -> list[str]:
        """What a person does next: answer what the run asks, or resume it."""
        if status == "waiting":
            said = self.world.call("runs", self.run, "--json")
            self.judge(said, "runs RUN", (0,))
            for question in said.data.get("questions") or () if said.code == 0 else ():
                return self._letter(question)
        return ["resume", self.run, "--answers", str(self.world.answers)]

    def change(self) -> None:
        """Another life finds other surroundings; sometimes the project was moved."""
        if self.run and self.chance.random() < MOVED:
            moved = self.world.move()
            self.judge(moved, "adopt", (0,))
        self.world.change(self.chance)
        if not self.run:
            self.world.restore_definitions()

    def finish(self) -> dict[str, Any] | None:
        """Resume and answer until the run has ended. The environment is another one each time."""
        if not self.run:
            said = self.world.call("run", "main", "--json", "--answers", str(self.world.answers))
            self.run = str(json.loads(said.out)["run"]) if said.out else ""
        for _ in range(MOST_LIVES):
            self.change()
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
            argv = self._letter(question)
            rivals = self.chance.choice([1, 1, 2, 3])
            self.rivals += rivals - 1
            processes = [self.world.start(*argv, changed=self.another_environment()) for _ in range(rivals)]
            for process in processes:
                with process:
                    out, err = process.communicate()
                self.judge(Said(process.returncode, out, err), "answer")

    def _letter(self, question: dict[str, Any]) -> list[str]:
        """The command that answers a question about an interrupted step, or a form, by what is true outside."""
        letter, form = Path(self.world.folder / "letter.json"), question["form"]
        if form.get("formId") in self.world.scenario.answers:
            letter.write_text(json.dumps(self.world.scenario.answers[form["formId"]]))
        else:
            did = self.world.has_done(question["path"])
            fields = [field["id"] for field in form["fields"] if field["id"] != "rerun"]
            outputs = dict.fromkeys(fields, "0")  # all that later steps read of an effect is its exit code
            letter.write_text(json.dumps({"rerun": "done", **outputs} if did else {"rerun": "again"}))
        named = ["--question", question["id"]] if "id" in question else []
        return ["answer", self.run, *named, "--file", str(letter)]
