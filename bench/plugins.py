"""Measures what plugins cost those who do not use them: hooks and commands with plugins, compared with none."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from bench.hooks import ACTIVE, Event, Installed
from bench.measure import BenchError, Job, interleave, spawn
from bench.place import DENIED
from bench.rows import Bound, Part, Row, slower
from handrail.extensions.plugins.code_import import read_content
from handrail.extensions.plugins.manifest import skeleton_files
from handrail.extensions.plugins.trusted_code import TrustedCode
from handrail.settings.trust import TrustStore

ROUNDS = 51
NUMBER = 20
BOUND = Bound(1.1)
LIST = "`handrail list`"
ABOUT = f"""\
The hook of Claude Code for an allowed tool call, and commands, in a project with {NUMBER} trusted plugin folders and
{NUMBER} installed packages that are plugins, compared with the same project without them. Each plugin brings a node, a
check and a flow. {ROUNDS} processes of each. *For information*: a command that lists what the plugins bring."""


def measure(folder: Path) -> Part:
    with_none, with_all = _jobs(folder / "no-plugins"), _jobs(folder / "plugins", NUMBER)
    for job in (*with_none.values(), *with_all.values()):
        job()
    both = {**{f"{name}, none": job for name, job in with_none.items()}, **with_all}
    times = interleave("plugins", both, ROUNDS)
    rows: list[Row] = []
    for name in with_all:
        bound = None if name == LIST else BOUND
        rows.append(slower(f"{name}, {2 * NUMBER} plugins", "no plugins", times[name], times[f"{name}, none"], bound))
    return Part("Plugins that are not used", ABOUT, rows)


def _jobs(folder: Path, number: int = 0) -> dict[str, Job]:
    host = Installed(folder)
    packages = folder / "packages"
    packages.mkdir()
    for count in range(number):
        _write_folder(host, f"own-{count}")
        _write_package(packages, f"more-{count}")
    env = {**host.env, "PYTHONPATH": str(packages)}
    script = shutil.which("handrail", path=str(Path(sys.executable).parent))
    if script is None:
        raise BenchError("`handrail` is not installed beside this Python")
    bash = {"tool_name": "Bash", "tool_input": {"command": "git status --short", "description": "status"}}
    hook = Event(host, "allowed", "PreToolUse", ACTIVE, bash)
    hook.expect("")
    at, session = ["--project", str(host.project)], ["--session", f"claude-{ACTIVE}"]
    lines = {"status": ["status", *session], f"gate {DENIED}": ["gate", DENIED, *session], "runs": ["runs"]}
    jobs: dict[str, Job] = {"the hook of a tool call": hook}
    for words, line in {**lines, "list": ["list"]}.items():
        jobs[f"`handrail {words}`"] = _start([script, *at, *line], env)
    return jobs


def _start(argv: list[str], env: dict[str, str]) -> Job:
    return lambda: spawn(argv, env)


def _write(folder: Path, id_: str) -> None:
    for name, text in skeleton_files(id_).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _write_folder(host: Installed, id_: str) -> None:
    folder = host.project / ".handrail" / "plugins" / id_
    _write(folder, id_)
    state = str(Path(host.env["HOME"]) / ".local" / "state" / "handrail")
    TrustStore(state).grant(str(host.project), 1.0)
    TrustedCode(state).grant(str(folder), read_content(str(folder)), 1.0)


def _write_package(packages: Path, id_: str) -> None:
    name = f"handrail_{id_.replace('-', '_')}"
    _write(packages / name, id_)
    (packages / name / "__init__.py").touch()
    info = packages / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[handrail.plugins]\n{id_} = {name}\n", encoding="utf-8")
