"""`handrail doctor`: is everything there and in working order, and what does an agent really enforce?"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import click

from handrail import registry
from handrail.app import App
from handrail.cli.common import command
from handrail.cli.output import Shell, painted
from handrail.cli.signals import run_interruptibly
from handrail.doctor.agents import agent_checks, kept_probe, probe_json
from handrail.doctor.checkup import Checkup, is_ok
from handrail.doctor.machine import machine_checks
from handrail.doctor.plugins import plugin_checks
from handrail.doctor.probe import probe
from handrail.doctor.programs import find_program, version_of
from handrail.errors import NotFound, UsageError
from handrail.sessions import required
from handrail.sessions.required import Probe, Row
from handrail.source.plain import plain
from handrail.source.suggest import did_you_mean

CHECK_FAILED = 5
_SIGNS = {"ok": "✓", "warning": "!", "error": "✗", "skipped": "·"}


@click.command()
@click.argument("agent", required=False)
@click.option("--probe", "is_probe", is_flag=True, help="Run AGENT offline and measure what it really enforces.")
@click.option("--program", metavar="FILE", help="With --probe: the program of AGENT; by default the one on the PATH.")
@command
def doctor(app: App, shell: Shell, agent: str | None, is_probe: bool, program: str | None) -> None:
    """Check that everything is there and in working order. With AGENT, this agent has to be installed.

    `--probe` starts the agent's program in a folder of its own, against a scripted model on this machine: it needs no
    key, costs nothing and takes some minutes. The result is kept, and a phase with `require: hard` needs it.
    """
    _known(agent)
    if is_probe:
        return _probe(app, shell, agent, program)
    if program is not None:
        raise UsageError("`--program` needs `--probe`", "`handrail doctor AGENT --probe --program FILE`")
    found = [*machine_checks(app), *plugin_checks(app), *asyncio.run(agent_checks(app, agent))]
    kept = kept_probe(app, agent) if agent else None
    if shell.as_json:
        data = {"ok": is_ok(found), "checks": [one.to_json() for one in found]}
        shell.data({**data, **({"probe": kept} if kept else {})})
    else:
        _say(shell, found)
        if kept:
            _say_rows(shell, kept)
    if not is_ok(found):
        raise SystemExit(CHECK_FAILED)
    return None


def _probe(app: App, shell: Shell, agent: str | None, named: str | None) -> None:
    """Measure an agent and keep the result. Only a person may: an agent could name a program that pretends."""
    if agent is None:
        raise UsageError("name the agent to probe", "`handrail doctor AGENT --probe`")
    app.refuse_agents("doctor --probe")
    program = find_program(agent, app.run_env, named)
    if program is None:
        wanted = named or registry.executor(agent).PROGRAM
        raise NotFound(f"`{wanted}` is not on the PATH", "name it with `--program FILE`")
    probed = run_interruptibly(_measured(app, shell, agent, program))
    required.write(app.places, probed)
    why = required.unmet(app.places, agent)
    result = Checkup(f"{agent}.probe", "ok", f"version {probed.version} meets `require: hard`")
    if why is not None:
        result = Checkup(f"{agent}.probe", "warning", f"`require: hard` is not met: {why}")
    if shell.as_json:
        return shell.data({"ok": is_ok([result]), "checks": [result.to_json()], "probe": probe_json(probed)})
    _say_rows(shell, probe_json(probed))
    shell.say()
    return _say(shell, [result])


async def _measured(app: App, shell: Shell, agent: str, program: str) -> Probe:
    version = await version_of(program, app.env)
    shell.talk(f"probing {agent} {version}: {program}")

    def shown(row: Row) -> None:
        shell.talk(_row_line(row.row, row.level, ""))

    return await probe(agent, program, version, app.env, app.clock(), shown)


def _known(agent: str | None) -> None:
    known = registry.installable()
    if agent is not None and agent not in known:
        raise UsageError(f"there is no agent `{agent}`", did_you_mean(agent, known) or f"known: {', '.join(known)}")


def _say(shell: Shell, found: list[Checkup]) -> None:
    width = max(len(one.id) for one in found)
    for one in found:
        shell.say(painted(f"{_SIGNS[one.status]} {one.id.ljust(width)}  {plain(one.message)}"))
        if one.fix and one.status != "ok":
            shell.say(f"  {' ' * width}  {plain(one.fix)}")


def _say_rows(shell: Shell, probe: Mapping[str, object]) -> None:
    shell.say()
    shell.say(f"{probe['agent']} {probe['version']} enforces:")
    rows = probe["rows"]
    assert isinstance(rows, list)
    for row in rows:
        shell.say(_row_line(row["row"], row["level"], plain(row["detail"])))


def _row_line(row: str, level: str, detail: str) -> str:
    return f"  {row.ljust(14)}  {level.ljust(7)}  {detail}".rstrip()
