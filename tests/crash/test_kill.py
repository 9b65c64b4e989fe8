"""kill -9 of the driver at every place: the run ends the same, and no finished step runs again."""

from __future__ import annotations

import random
import shutil
from functools import partial

import pytest

from crash.accounts import Life, none_of, problems
from crash.children.doom import Doom
from crash.conftest import Stage, Whole
from crash.lives import finish, killed
from crash.pool import Pool
from depth import Depth

FEW_ROUNDS, ALL_ROUNDS = 6, 30
BY_PROGRAM = 20
PARTS = ("nothing", "a byte", "half", "all but its end")
HOWS = (("after", ""), *(("torn", part) for part in PARTS), ("unsynced", ""))
pytestmark = pytest.mark.explores


class Kills:
    """Kills runs and resumes them, some of them with the real command as a process."""

    def __init__(self, pool: Pool, stage: Stage, whole: Whole) -> None:
        self.pool = pool
        self.stage = stage
        self.whole = whole

    def survive(self, *dooms: Doom) -> tuple[int, list[str]]:
        """How often a run was killed, and what is wrong after it was resumed and finished."""
        case = self.stage.case()
        lives: list[Life] = []
        wrong: list[str] = []
        for doom in dooms:
            left, lost = killed(self.pool, case, doom)
            wrong += lost
            if left is None:
                break
            lives.append(left)
        command = case.process if case.number % BY_PROGRAM == 0 else partial(self.pool.run, case)
        stuck = finish(case, command)
        wrong += [stuck] if stuck else problems(case, self.whole.wanted, self.whole.logged, lives)
        if not wrong:
            shutil.rmtree(case.folder)
        return len(lives), [f"{dooms}: {problem}" for problem in wrong]

    def each(self, dooms: list[tuple[Doom, ...]]) -> tuple[int, list[str]]:
        ended = self.pool.each(lambda given: self.survive(*given), dooms)
        return sum(kills for kills, _ in ended), [problem for _, found in ended for problem in found]

    def each_place(self, how: tuple[str, str], places: range, depth: Depth) -> None:
        """Kill one run at each place. Each way of killing gets its own share; together they cover all places."""
        chosen = depth.places(places, every=len(HOWS), first=HOWS.index(how))
        count, wrong = self.each([(Doom(how[0], at, how[1]),) for at in chosen])
        none_of(wrong)
        assert count >= sum(at <= self.whole.least for at in chosen)


@pytest.fixture
def kills(pool: Pool, stage: Stage, whole: Whole) -> Kills:
    return Kills(pool, stage, whole)


@pytest.mark.parametrize("how", HOWS[:-1], ids=" ".join)
def test_a_run_killed_after_or_inside_any_record_ends_the_same(
    kills: Kills, how: tuple[str, str], depth: Depth
) -> None:
    kills.each_place(how, range(1, kills.whole.writes + 1), depth)


def test_a_power_failure_before_any_sync_loses_no_reported_event(kills: Kills, depth: Depth) -> None:
    kills.each_place(HOWS[-1], range(1, kills.whole.least + 1), depth)


def test_a_run_killed_repeatedly_at_random_places_ends_the_same(kills: Kills, depth: Depth) -> None:
    chance = random.Random(7)
    rounds = []
    for _ in range(depth.count(FEW_ROUNDS, ALL_ROUNDS)):
        chosen = [chance.choice(HOWS) for _ in range(chance.choice([2, 3]))]
        rounds.append(tuple(Doom(how, chance.randint(1, 12), part) for how, part in chosen))
    count, wrong = kills.each(rounds)
    none_of(wrong)
    assert count >= 2 * len(rounds)
