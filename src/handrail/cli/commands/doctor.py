"""`handrail doctor`: is everything there and in working order, and what does an agent really enforce?"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import click
from click.shell_completion import CompletionItem

from handrail.app import App
from handrail.base.dataclasses import replace
from handrail.base.errors import NotFound, UsageError
from handrail.cli.options import command
from handrail.cli.output import Shell, painted
from handrail.cli.terminal import WaitingLine, run_interruptibly
from handrail.doctor import examination
from handrail.doctor.examination import Checkup, Subject, is_ok
from handrail.doctor.exams.agents import kept_probe, probe_json
from handrail.doctor.probe import ORDER, probe
from handrail.guided.sessions import phase_requirements
from handrail.guided.sessions.phase_requirements import Probe, ProbeRow
from handrail.source.plain_text import command_line, counted, plain

_SIGNS = {"ok": "✓", "warning": "!", "error": "✗", "skipped": "·"}


def _complete_check(_context: click.Context, _param: click.Parameter, begin: str) -> list[CompletionItem]:
    abouts = {**examination.CATEGORIES, **{name: exam.about for name, exam in examination.EXAMS.items()}}
    return [CompletionItem(name, help=about) for name, about in abouts.items() if name.startswith(begin)]


_check_option = partial(click.option, metavar="CHECK", multiple=True, shell_complete=_complete_check)


@click.command()
@click.argument("agent", required=False)
@_check_option("--only", help="Only this check, or the checks of this category or agent. Can be repeated.")
@_check_option("--skip", help="All but this check, or the checks of this category or agent. Can be repeated.")
@click.option("--strict", is_flag=True, help="A warning counts as an error.")
@click.option("--report", "is_report", is_flag=True, help="Print Markdown for an issue: no secrets, no home, no names.")
@click.option("--probe", "is_probe", is_flag=True, help="Run AGENT offline and measure what it really enforces.")
@click.option("--program", metavar="FILE", help="With --probe: the program of AGENT; by default the one on the PATH.")
@command
def doctor(app: App, shell: Shell, agent: str | None, program: str | None, **options: Any) -> None:
    """Check that everything is there and in working order. With AGENT, this agent has to be installed.

    `handrail doctor CHECK` is short for `--only CHECK`.

    Each finding has a fix, most often a command to paste. The exit code is 5 if a check found an error, or with
    `--strict` a warning; otherwise it is 0. A check looks and changes nothing.

    `--probe` starts the agent's program in a folder of its own, against a scripted model on this machine: it needs no
    key, costs nothing and takes some minutes. The result is kept, and a phase with `require: hard` needs it.
    """
    agents, (only, skip) = app.registry.installable(), (tuple(map(str, options[name])) for name in ("only", "skip"))
    if agent is not None and agent not in agents:  # `executors` is the word of AgentWeaver
        only, agent = (*only, "agents" if agent == "executors" else agent), None
    examination.refuse_unknown((*only, *skip), agents)
    if options["is_probe"]:
        if only or skip or options["strict"] or options["is_report"]:
            hint = f"`handrail doctor {agent or agents[0]} --probe`"
            raise UsageError("`--probe` goes with AGENT and `--program` only", hint)
        return _probe(app, shell, agent, program)
    if program is not None:
        hint = f"`{command_line('handrail', 'doctor', agent or agents[0], '--probe', '--program', program)}`"
        raise UsageError("`--program` needs `--probe`", hint)
    subject = Subject(app, agent)
    with WaitingLine(shell, "checking") as line:
        show_progress = lambda name: line.say(f"checking {name}: {examination.EXAMS[name].about}")  # noqa: E731 - one line
        checkups = run_interruptibly(examination.examine(subject, examination.ExamChoice(only, skip), show_progress))
    is_fine = is_ok(checkups, strict=options["strict"])
    if options["is_report"]:
        _report(shell, subject, checkups, is_fine=is_fine)
    else:
        _results(shell, subject, checkups, is_fine=is_fine)
    if not is_fine:
        raise SystemExit(5)
    return None


def _results(shell: Shell, subject: Subject, checkups: list[Checkup], *, is_fine: bool) -> None:
    probe = kept_probe(subject.app, subject.agent) if subject.agent else None
    if shell.as_json:
        data = {"ok": is_fine, "checks": [one.to_json() for one in checkups]}
        return shell.data({**data, **({"probe": probe} if probe else {})})
    _say(shell, checkups)
    errors, warnings, fine = (sum(one.status == status for one in checkups) for status in ("error", "warning", "ok"))
    line = f"{counted(errors, 'error')}, {counted(warnings, 'warning')}, {counted(fine, 'check')} fine"
    absent = len(checkups) - errors - warnings - fine
    line += f"; {absent} about things that are not set up here" if absent else ""
    strict = ". Warnings do not change the exit code; with `--strict` they do" if warnings and is_fine else ""
    shell.say(line + strict)
    return _say_rows(shell, probe) if probe else None


def _report(shell: Shell, subject: Subject, checkups: list[Checkup], *, is_fine: bool) -> None:
    with WaitingLine(shell, "asking the agents for their versions"):
        programs = run_interruptibly(subject.programs())
    versions = {agent: one.version for agent, one in programs.items() if one.version is not None}
    text = examination.report(subject.app, checkups, versions)
    if shell.as_json:
        return shell.data({"ok": is_fine, "report": text})
    return shell.say(text.rstrip("\n"))


def _probe(app: App, shell: Shell, agent: str | None, file: str | None) -> None:
    """Measure an agent and keep the result. Only a person may: an agent could name a program that pretends."""
    if agent is None:
        raise UsageError("name the agent to probe", f"`handrail doctor {app.registry.installable()[0]} --probe`")
    app.refuse_agents("doctor --probe")
    program_name = app.registry.executor(agent).PROGRAM
    program = examination.find_program(program_name, app.run_env, file)
    if program is None:
        raise NotFound(f"`{file or program_name}` is not on the PATH", "name it with `--program FILE`")
    probe = run_interruptibly(_measure(app, shell, agent, program))
    phase_requirements.write_probe(app.places, probe)
    reason = phase_requirements.unmet(app.places, agent)
    result = Checkup("ok", f"version {probe.version} meets `require: hard`")
    if reason is not None:
        result = Checkup("warning", f"`require: hard` is not met: {reason}")
    result = replace(result, id=f"{agent}.probe", category="probe")
    if shell.as_json:
        return shell.data({"ok": is_ok([result]), "checks": [result.to_json()], "probe": probe_json(probe)})
    _say_rows(shell, probe_json(probe))
    shell.say()
    return _say(shell, [result])


async def _measure(app: App, shell: Shell, agent: str, program: str) -> Probe:
    version = await examination.version_of(program, app.env)
    shell.talk(f"probing {agent} {version}: {program}")
    rows: list[str] = []
    work = f"{agent} works against the scripted model"
    with WaitingLine(shell, work) as line:

        def show_row(row: ProbeRow) -> None:
            rows.append(row.row)
            line.print(lambda: shell.talk(_row_line(row.row, row.level, "")))
            line.say(f"{len(rows)} of {len(ORDER)} measured; {work}")

        return await probe(app, agent, program, version, show_row)


def _say(shell: Shell, checkups: list[Checkup]) -> None:
    width = max((len(one.id) for one in checkups), default=0)
    for one in checkups:
        shell.say(painted(f"{_SIGNS[one.status]} {one.id.ljust(width)}  {plain(one.message)}"))
        if one.cure and one.status != "ok":
            shell.say(f"  {' ' * width}  {plain(one.cure)}")


def _say_rows(shell: Shell, probe: Mapping[str, object]) -> None:
    shell.say()
    shell.say(f"{probe['agent']} {probe['version']} enforces:")
    rows = probe["rows"]
    assert isinstance(rows, list)
    for row in rows:
        shell.say(_row_line(row["row"], row["level"], plain(row["detail"])))


def _row_line(row: str, level: str, detail: str) -> str:
    return f"  {row.ljust(14)}  {level.ljust(7)}  {detail}".rstrip()
