"""The probe of `handrail doctor` with the real agents: it finds what is enforced, and what is not."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail import __version__
from handrail.agents.probe.scripted_model import Turn
from handrail.app import App
from handrail.base.processes import descendants, living_processes
from handrail.doctor import probe
from handrail.doctor.probe import ORDER, AgentHome
from handrail.extensions.registry import Registry
from handrail.guided.sessions.phase_requirements import HARD_ROWS, Probe, ProbeRow, stamp, write_probe
from real.hosts import CACHE, HOSTS, NODE
from real.waiting import LONG, until

HANDRAIL = str(Path(sys.executable).parent / "handrail")
ENV = {
    "PATH": f"{NODE}{os.pathsep}/usr/local/bin{os.pathsep}/usr/bin{os.pathsep}/bin",
    "COPILOT_PKG_CACHE_HOME": str(CACHE / "copilot"),
}
TOOLS = ("main agent", "shell", "patch", "mcp")


@pytest.fixture(params=HOSTS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AgentHome]:
    """Each agent in turn, with Handrail and with everything that the scenes need."""
    with AgentHome(request.param, Registry(), str(HOSTS[request.param].program), ENV, str(tmp_path / "place")) as place:
        probe.prepare(place)
        yield place


def played(scene: probe.Scene, place: AgentHome) -> list[ProbeRow]:
    async def rows() -> list[ProbeRow]:
        return [row async for row in scene(place)]

    return asyncio.run(rows())


def levels(place: AgentHome) -> dict[str, str]:
    return {row.row: row.level for row in played(probe.tools, place) if not row.is_absent}


def expected(place: AgentHome, level: str) -> dict[str, str]:
    return {row: level for row in TOOLS if row != "mcp" or place.offline.NOTE}


def test_every_kind_of_tool_is_held_to_a_read_only_phase(place: AgentHome) -> None:
    assert levels(place) == expected(place, "hard")


def test_without_our_stubs_nothing_is_enforced_and_the_probe_says_so(place: AgentHome) -> None:
    installer = place.installer()
    installer.apply(installer.plan_uninstall())
    assert levels(place) == expected(place, "none")


@pytest.fixture
def claude(tmp_path: Path) -> Iterator[AgentHome]:
    with AgentHome("claude", Registry(), str(HOSTS["claude"].program), ENV, str(tmp_path / "place")) as place:
        probe.prepare(place)
        yield place


def test_a_gate_that_allows_everything_is_found(claude: AgentHome) -> None:
    Path(claude.home, ".claude", "skills", "handrail", "bin", "gate").write_text("exit 0\n")
    assert levels(claude) == expected(claude, "none")
    assert [row.level for row in played(probe.subagent, claude)] == ["none"]


def test_a_stop_that_nobody_hears_is_found(claude: AgentHome) -> None:
    Path(claude.home, ".claude", "skills", "handrail", "bin", "event").write_text("exit 0\n")
    assert [row.level for row in played(probe.stop, claude)] == ["none"]


def test_a_phase_that_requires_a_probe_does_not_start_without_one(claude: AgentHome) -> None:
    claude.workflow("strict", build="require: hard\n")
    app = App(claude.project, claude.env, by="person")
    claude.model.script(Turn("Nobody told me to."))
    ended = asyncio.run(claude.start("strict tea"))
    assert "handrail doctor claude --probe" in ended.output
    assert not app.sessions.all()
    assert not claude.model.received()
    rows = tuple(ProbeRow(row, "hard", "") for row in HARD_ROWS)
    kept = Probe("claude", "1", claude.program, stamp(claude.program), __version__, 1.0, rows)
    write_probe(app.places, kept)
    claude.model.script(claude.step("next"), Turn("Done."))
    asyncio.run(claude.start("strict tea"))
    assert [report.state.status for report in app.sessions.reports()] == ["done"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_probe_that_is_ended_ends_what_it_started(tmp_path: Path, number: signal.Signals) -> None:
    for name in ("project", "home", "temporary"):
        (tmp_path / name).mkdir()
    own = {"HOME": str(tmp_path / "home"), "HANDRAIL_HOME": str(tmp_path / "handrail"), "NO_COLOR": "1"}
    env = {**ENV, **own, "TMPDIR": str(tmp_path / "temporary")}
    argv = [HANDRAIL, "doctor", "pi", "--probe", "--program", str(HOSTS["pi"].program)]
    with subprocess.Popen(argv, cwd=tmp_path / "project", env=env, stderr=subprocess.PIPE, text=True) as probing:
        until(lambda: list((tmp_path / "temporary").glob("*/own/home/.pi/agent/sessions/*/*")), "a conversation")
        until(lambda: descendants({probing.pid}), "the agent to run")
        started = descendants({probing.pid})
        probing.send_signal(number)
        _, errors = probing.communicate(timeout=LONG)
    assert (probing.returncode, errors.splitlines()[-1]) == (130, "interrupted")
    assert not started & living_processes().keys()
    assert not list((tmp_path / "temporary").glob("handrail-probe-*"))


def test_the_whole_probe_is_kept_and_meets_require_hard(tmp_path: Path) -> None:
    env = {**ENV, "HOME": str(tmp_path / "home"), "HANDRAIL_HOME": str(tmp_path / "handrail"), "NO_COLOR": "1"}
    (tmp_path / "project").mkdir()
    (tmp_path / "home").mkdir()

    def handrail(*argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [HANDRAIL, *argv],
            cwd=tmp_path / "project",
            env=env,
            capture_output=True,
            text=True,
            timeout=4 * LONG,
            check=False,
        )

    program = str(HOSTS["pi"].program)
    ended = handrail("doctor", "pi", "--probe", "--program", program, "--json")
    assert ended.returncode == 0, ended.stderr
    probe = json.loads(ended.stdout)["probe"]
    version = HOSTS["pi"].package.rpartition("@")[2]
    assert (probe["agent"], probe["version"], probe["program"]) == ("pi", version, program)
    found = {row["row"]: row for row in probe["rows"]}
    assert tuple(found) == ORDER
    assert [row for row in HARD_ROWS if found[row]["level"] != "hard" and not found[row]["absent"]] == []
    assert all(f"{row}  " in ended.stderr for row in ORDER), "progress is shown for each row"
    assert not list((tmp_path / "home").iterdir()), "the home of the user stays as it was"
    kept = json.loads(handrail("doctor", "pi", "--json").stdout)
    assert kept["probe"]["rows"] == probe["rows"]
    assert kept["probe"]["outdated"] is None
