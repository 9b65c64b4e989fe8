"""`handrail demo`: the scripted agent goes through a workflow in a temporary repository, live."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from importlib import resources
from typing import Any

import click

from handrail.app import App
from handrail.base.errors import HandrailError
from handrail.base.processes import RunningProgram, Task, run
from handrail.source.plain_text import counted

TASK = "titles with stray spaces make ugly slugs; collapse them"
LIMIT = 120.0


@click.command()
@click.option("--keep", is_flag=True, help="Keep the temporary repository and print its path.")
@click.option("--pace", type=float, metavar="SECONDS", help="Pause between events: by default 0.4 s on a terminal.")
def demo(keep: bool, pace: float | None) -> None:
    """Show a scripted agent in a workflow. Needs no key and no network."""
    folder = tempfile.mkdtemp(prefix="handrail-demo-")
    pause = pace if pace is not None else (0.4 if sys.stdout.isatty() else 0.0)
    try:
        is_finished = asyncio.run(_walk(folder, pause))
    finally:
        if keep:
            click.echo(f"kept: {folder}", err=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    if not is_finished:
        hint = "run `handrail demo --keep` and look into the folder that it prints"
        raise HandrailError("the demo did not finish", hint)


async def _walk(folder: str, pause: float) -> bool:
    project = os.path.join(folder, "slugs")
    env = _environment(folder)
    resource = resources.files("handrail") / "builtin" / "demo"
    with resources.as_file(resource) as source:
        shutil.copytree(source / "project", project)
        shutil.copy(source / "script.yaml", os.path.join(folder, "script.yaml"))
    os.rename(os.path.join(project, "gitignore"), os.path.join(project, ".gitignore"))
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Slugs"]):
        result = await run(["git", *arguments], project, env, 30)
        if result.exit_code != 0:
            raise HandrailError(f"git failed: {result.output.strip()}", "the demo needs a working `git`")
    stage = DemoStage(pause)
    stage.title(project)
    app = App(project, env)
    app.trust.grant(time.time())  # a project that Handrail made itself, with a state folder of its own
    stage.line("you", f"handrail start ship {TASK!r}", "cyan")
    view = app.start("ship", TASK, "demo")
    stage.phase(view.status_line)
    argv = [sys.executable, "-m", "handrail.agents.scripted", os.path.join(folder, "script.yaml"), project, "demo"]
    async with asyncio.timeout(LIMIT), RunningProgram(Task(argv=argv, cwd=project, env=env, timeout=LIMIT)) as program:
        async for lines in program.lines():
            for line in lines:
                stage.show(json.loads(line))
    final = app.sessions.status("demo")
    stage.close(final.plan.stops[0].levels[0].total if final.plan else 0, final.state.steps)
    return final.state.status == "done"


def _environment(folder: str) -> dict[str, str]:
    """An environment with its own state, its own git identity and this Python. It changes nothing of the user's."""
    return {
        "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", os.defpath),
        "HOME": folder,
        "HANDRAIL_HOME": os.path.join(folder, "state"),
        "LANG": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{role}_NAME": "Scripted Agent" for role in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{role}_EMAIL": "scripted@example.invalid" for role in ("AUTHOR", "COMMITTER")},
    }


class DemoStage:
    """Prints the events of the agent as they happen."""

    def __init__(self, pause: float) -> None:
        self.pause = pause
        self.width = min(shutil.get_terminal_size((100, 24)).columns, 110)

    def title(self, project: str) -> None:
        name = os.path.basename(project)
        click.secho("Handrail keeps an agent to a workflow", bold=True)
        click.echo(f"A scripted agent works in a real git repository ({name}); the gate, the tool,")
        click.echo("the checks and the journal are the same as for a real agent.\n")

    def line(self, speaker: str, text: str, colour: str | None = None) -> None:
        head, *rest = text.split("\n")
        click.echo(click.style(f"{speaker:>9}  ", dim=True) + click.style(head, fg=colour))
        for line in rest:
            click.echo(" " * 11 + click.style(line, fg=colour))
        time.sleep(self.pause)

    def phase(self, status_line: str | None) -> None:
        if status_line:
            rule = "─" * max(3, self.width - len(status_line) - 8)
            click.secho(f"\n── {status_line} {rule}", bold=True)

    def close(self, phases: int, steps: int) -> None:
        numbers = f"{counted(phases, 'phase')}, {counted(steps, 'step')}"
        click.echo(f"\n{numbers}. To try it on your own project: `handrail init`, then `handrail list`.")

    def show(self, event: dict[str, Any]) -> None:
        match event["event"]:
            case "say":
                self.line("agent", f"“{event['text']}”")
            case "tool":
                arguments = event["input"]
                self.line("tool", f"{event['tool']} {arguments.get('path') or arguments.get('command') or ''}")
            case "denied":
                self.line("handrail", f"✗ denied: {event['reason'].split('. ')[0]}", "red")
            case "result":
                lines = str(event["output"]).rstrip().split("\n")
                is_cut = event["tool"] == "bash" and len(lines) > 4
                if any(lines) and (event["tool"] == "bash" or not event["ok"]):
                    self.line("", "\n".join([*lines[:4], "…"] if is_cut else lines))
            case "step":
                summary = f" “{event['summary']}”" if event["summary"] else ""
                self.line("tool", f"workflow_step {event['action']}{summary}")
            case "stepped":
                for check in event["checks"] or []:
                    words, colour = ("✓ passed", "green") if check["held"] else ("✗ failed", "red")
                    self.line("handrail", f"{words}: {check['name']} ({check['detail'].splitlines()[0]})", colour)
                if not event["refused"]:
                    self.phase(event["statusLine"])
            case "stopped":
                self.line("agent", "(ends its turn)")
                is_over = event["sendOn"] is None
                words = f"let go: {event['letGo']}" if is_over else "↻ not done yet: told to continue"
                self.line("handrail", words, "yellow")
            case "finished" if event["farewell"]:
                click.echo()
                self.line("handrail", event["farewell"], "green")
