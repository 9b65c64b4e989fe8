"""What another life may find changed: the environment, the folder it works in, the settings, the definitions."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path

UNSET = ""
VALUES: dict[str, tuple[str, ...]] = {
    "TZ": ("UTC", "Pacific/Kiritimati", "America/St_Johns", "Nowhere/At_All", UNSET),
    "LANG": ("C", "C.UTF-8", "tr_TR.UTF-8", "de_DE.ISO-8859-1", UNSET),
    "LC_ALL": ("C", "POSIX", "C.UTF-8", UNSET, UNSET),
    "PYTHONHASHSEED": ("0", "1", "4294967295", "random", UNSET),
    "PYTHONUTF8": ("0", "1", UNSET),
    "PYTHONCOERCECLOCALE": ("0", UNSET),
    "PYTHONOPTIMIZE": ("1", "2", UNSET, UNSET),
    "PYTHONUNBUFFERED": ("1", UNSET),
    "COLUMNS": ("1", "40", "1000", "many", UNSET),
    "NO_COLOR": ("1", UNSET),
    "TERM": ("dumb", "xterm-256color", UNSET),
    "HOME": ("{folder}", "{folder}/another home", "{folder}/not-there"),
    "TMPDIR": ("{folder}", "{folder}/another temporary é", "{folder}/not-there"),
}
"""What a variable of another life may be."""
UMASKS = (0o022, 0o077, 0o002, 0o000)
SETTINGS = ("", "# nothing\n", "idleStops: 5\n", "agent: scripted\n", "sameFailures: 9\nreminders: 2\n")
PROGRAMS = os.environ.get("HANDRAIL_CHAOS_PROGRAMS", "").split()
"""Other installations of Handrail that take turns, such as those of other versions of Python."""


def another_environment(folder: Path, chance: random.Random) -> dict[str, str | None]:
    """Other values of what differs between machines, terminals and people. None: the variable is not set."""
    for name in ("another home", "another temporary é"):
        (folder / name).mkdir(exist_ok=True)
    found = {name: chance.choice(values).format(folder=folder) or None for name, values in VALUES.items()}
    path = os.environ["PATH"].split(os.pathsep)
    return {**found, "PATH": os.pathsep.join(chance.sample(path, len(path)))}


def change_settings(project: Path, chance: random.Random) -> None:
    """Settings that say nothing about what the case does, or none."""
    path, text = project / ".handrail" / "settings.yaml", chance.choice(SETTINGS)
    path.unlink(missing_ok=True)
    if text:
        path.write_text(text)


def change_definitions(paths: Sequence[Path], chance: random.Random) -> None:
    """Rename, edit, break or remove definitions, or leave them. What has begun has its own copy."""
    way = chance.choice(["same", "renamed", "below", "edited", "broken", "removed"])
    for path in paths:
        if way == "renamed":
            path.rename(path.with_name(f"other-{path.name}"))
        elif way == "below":
            (path.parent / "below").mkdir(exist_ok=True)
            path.rename(path.parent / "below" / path.name)
        elif way == "edited":
            path.write_text(path.read_text().replace("sum", "other"))
        elif way == "broken":
            path.write_text("{")
        elif way == "removed":
            path.unlink()


def place_to_work(folder: Path, project: Path, chance: random.Random) -> tuple[Path, tuple[str, ...]]:
    """A folder to call Handrail in, and how the project is named there."""
    below = project / "a folder" / "below"
    below.mkdir(parents=True, exist_ok=True)
    return chance.choice([(project, ()), (below, ()), (folder, ("--project", str(project)))])
