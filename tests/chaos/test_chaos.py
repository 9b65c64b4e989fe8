"""Random flows, random kills, another environment in every life, rival answers, damaged files: counted from outside.

`make test` tries a few seeds, `make test-long` many, and `HANDRAIL_CHAOS_SEEDS=1000:1200 pytest tests/chaos --thorough`
these: four kills of a run and four of a session per seed. `HANDRAIL_CHAOS_PROGRAMS` may name other installations, which
take turns. A failing seed is named in its test's id, and its folder is kept.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from chaos.damage import Guided, damaged, files_of
from chaos.lives import Lives
from chaos.sessions import SessionLives
from chaos.world import World
from depth import Depth

FEW, MANY = 2, 12
FEW_KILLS, KILLS, MOST_WORLDS = 2, 4, 40
FEW_DAMAGES, MANY_DAMAGES = 5, 18
GIVEN = os.environ.get("HANDRAIL_CHAOS_SEEDS", f"1:{MANY + 1}")
SEEDS = range(*map(int, GIVEN.split(":")))
READING = (["runs", "--json"], ["runs"], ["sessions", "--json"], ["status", "--json"], ["list", "--json"])
pytestmark = [
    pytest.mark.explores,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found by /proc"),
]


@pytest.fixture(params=SEEDS)
def seed(request: pytest.FixtureRequest) -> int:
    given = int(request.param)
    if not request.config.getoption("--thorough") and given >= SEEDS.start + FEW:
        pytest.skip("tried by `make test-long`")
    return given


@pytest.fixture
def folder(seed: int) -> Path:
    return Path(tempfile.mkdtemp(prefix=f"handrail-chaos-{seed}-"))


def _finish(wrong: list[str], folder: Path) -> None:
    assert not wrong, "\n".join([f"{len(wrong)} problems; the case is kept in {folder}", *wrong])
    shutil.rmtree(folder)


def _uninterrupted(folder: Path, seed: int) -> dict[str, object]:
    world = World(folder, seed)
    said = world.call("run", "main", "--json", "--answers", str(world.answers))
    assert said.code == 0, said
    return world.account(said.data)


def _compare(lives: Lives, wanted: dict[str, object]) -> None:
    """Finish the run and compare its end with the one that was not interrupted."""
    end = lives.finish()
    if end is not None:
        found = lives.world.account(end)
        lives.wrong += [
            f"{name}: {found[name]!r}, not {wanted[name]!r}" for name in wanted if found[name] != wanted[name]
        ]


def test_kills_in_changing_surroundings_lose_and_repeat_nothing(folder: Path, seed: int, depth: Depth) -> None:
    wanted = _uninterrupted(folder / "whole", seed)
    chance, wanted_kills = random.Random(seed), depth.count(FEW_KILLS, KILLS)
    left, wrong = wanted_kills, list[str]()
    for number in range(MOST_WORLDS):  # a run that ends before it was killed so often has a successor
        lives = Lives(World(folder / f"killed-{number}", seed), chance)
        lives.kill_often(left)
        _compare(lives, wanted)
        left, wrong = left - lives.kills, wrong + lives.wrong
        if wrong or left <= 0:
            break
    assert wrong or left <= 0, f"seed {seed} was killed only {wanted_kills - left} times"
    _finish(wrong, folder)


def test_kills_in_changing_surroundings_lose_and_repeat_no_move_of_a_session(
    folder: Path, seed: int, depth: Depth
) -> None:
    chance, wanted_kills = random.Random(seed), depth.count(FEW_KILLS, KILLS)
    left, wrong = wanted_kills, list[str]()
    for number in range(MOST_WORLDS):
        lives = SessionLives(World(folder / str(number), seed), chance)
        lives.kill_often(left)
        lives.finish()
        left, wrong = left - lives.kills, wrong + lives.wrong
        if wrong or left <= 0:
            break
    assert wrong or left <= 0, f"seed {seed} was killed only {wanted_kills - left} times"
    _finish(wrong, folder)


def test_a_damaged_file_is_reported_and_repeats_nothing(folder: Path, seed: int, depth: Depth) -> None:
    wanted = _uninterrupted(folder / "whole", seed)
    world = World(folder / "damaged", seed)
    guided = Guided(world)
    lives = Lives(world, random.Random(seed))
    lives.kill_often(1)
    world.wait_for_orphans()
    for _ in range(depth.count(FEW_DAMAGES, MANY_DAMAGES)):
        path = lives.chance.choice(files_of(world))
        done = world.effects()
        with damaged(path, lives.chance) as what:
            for argv in [*READING, ["log", lives.run or "last", "--json"], ["show", "guard", "--json"]]:
                lives.judge(world.call(*argv), f"{' '.join(argv)}, {what}", (0, 1, 2))
            if not guided.edit_is_denied():
                lives.wrong.append(f"an edit is allowed after {what}")
        if world.effects() != done:
            lives.wrong.append(f"an effect was done by a command that only reads, after {what}")
    _compare(lives, wanted)
    _finish(lives.wrong, folder)


def test_a_run_with_a_damaged_file_is_refused_or_ends_the_same(folder: Path, seed: int) -> None:
    wanted = _uninterrupted(folder / "whole", seed)
    world = World(folder / "damaged", seed)
    lives = Lives(world, random.Random(seed))
    lives.kill_often(1)
    world.wait_for_orphans()
    done = world.effects()
    if lives.run:
        path = lives.chance.choice([path for path in files_of(world) if "runs" in path.parts])
        with damaged(path, lives.chance) as what:
            said = world.call("resume", lives.run, "--json", "--answers", str(world.answers))
            lives.judge(said, f"resume, {what}")
            kept = path.read_bytes() if path.exists() else None
        if said.code == 1 and world.effects() == done:
            _compare(lives, wanted)  # it was refused: repaired, it goes on
        elif kept is None:
            path.unlink()  # the list of unfinished files, after its last one was cleaned up
        else:
            path.write_bytes(kept)
        again = {effect: count for effect, count in world.effects().items() if count > 1}
        lives.wrong += [f"{effect} was done {count} times after {what}" for effect, count in again.items()]
    _finish(lives.wrong, folder)
