"""Probes the pinned version of each agent, or of the named ones, and writes the table in the docs.

The results are kept in `.cache/probes`, so that one agent can be measured again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from handrail.doctor.probe import ORDER
from real.hosts import CACHE, HOSTS, NODE, Host
from real.waiting import LONG

HANDRAIL = str(Path(sys.executable).parent / "handrail")
PAGE = Path(__file__).parent.parent.parent / "docs" / "reference" / "hosts.md"
KEPT = Path(__file__).parent.parent.parent / ".cache" / "probes"
HEAD = """\
# What each agent enforces

Measured with `handrail doctor AGENT --probe`: the real programs, offline against a scripted model; written by
`make hosts-table`. [The guide](../guides/doctor.md) says what each row and each level means. A dash: the agent has no
such thing.

"""


SEEN = {
    "how the workflow ended": {
        "claude": "a message below the answer, at once",
        "codex": "a line of the hook, at once",
        "copilot": "the agent is asked to say it when it ends its turn: no hook can show a text",
        "gemini": "a line of the hook, at once",
        "opencode": "a notice for ten seconds, at once",
        "pi": "a message in the conversation, at once",
    },
    "where it stands": {
        "claude": "a status line below the prompt, always; the task is the title of the conversation",
        "codex": "a line below each of your prompts. In between only `handrail status`: no hook can set its title, and "
        "its status line has no place for others",
        "copilot": "a status line below the prompt, always, if it is installed for the user",
        "gemini": "a line at each of your prompts. In between only `handrail status`: it has no place for a status",
        "opencode": "a notice at each move; in between the title of the conversation, behind the task",
        "pi": "a line in the footer, always",
    },
    "notices: what is not as it was installed, at the start and when a conversation is resumed": {
        "claude": "a message",
        "codex": "a line of the hook",
        "copilot": "the agent is told, with its phase: no hook can show a text",
        "gemini": "a line of the hook",
        "opencode": "a notice for ten seconds",
        "pi": "a warning",
    },
    "why the agent stopped: it is blocked, asks to cancel, or made no progress": {
        "claude": "a message, at once, and in the status line until your next prompt",
        "codex": "a line of the hook, at once",
        "copilot": "in the status line until your next prompt",
        "gemini": "a line of the hook, at once",
        "opencode": "a notice for ten seconds, at once",
        "pi": "a message in the conversation, at once",
    },
}
"""What the person sees, and when, by agent: written by hand, as the tests of each agent show it."""


def seen() -> str:
    rows = [f"| {what} | {' | '.join(by_agent[name] for name in sorted(HOSTS))} |" for what, by_agent in SEEN.items()]
    head = [f"| | {' | '.join(sorted(HOSTS))} |", "|---" * (len(HOSTS) + 1) + "|"]
    about = "Besides `handrail status`, both surfaces and the channels of `notify`, which are the same for all agents:"
    return "\n".join(["\n## What the person sees, and when\n", f"{about}\n", *head, *rows]) + "\n"


def probed(host: Host) -> dict[str, Any]:
    """The result of `handrail doctor AGENT --probe --json` for one agent."""
    with tempfile.TemporaryDirectory() as folder:
        env = {
            "PATH": f"{NODE}{os.pathsep}/usr/local/bin:/usr/bin:/bin",
            "HOME": folder,
            "HANDRAIL_HOME": str(Path(folder, "handrail")),
            "COPILOT_PKG_CACHE_HOME": str(CACHE / "copilot"),
        }
        argv = [HANDRAIL, "doctor", host.name, "--probe", "--program", str(host.program), "--json"]
        ended = subprocess.run(
            argv, cwd=folder, env=env, stdout=subprocess.PIPE, text=True, timeout=6 * LONG, check=True
        )
        data: dict[str, Any] = json.loads(ended.stdout)["probe"]
        return data


def cell(row: dict[str, Any]) -> str:
    return "–" if row["absent"] else str(row["level"])


def page(probes: list[dict[str, Any]]) -> str:
    """The table, and below it the details of everything that is not hard."""
    names = [f"{probe['agent']} {probe['version']}" for probe in probes]
    lines = [f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    rows = [{row["row"]: row for row in probe["rows"]} for probe in probes]
    lines += [f"| {name} | {' | '.join(cell(found[name]) for found in rows)} |" for name in ORDER]
    details = [
        f"- {probe['agent']}, {row['row']}: {row['detail']}."
        for probe in probes
        for row in probe["rows"]
        if row["level"] != "hard" and not row["absent"]
    ]
    rest = "\nNot `hard`:\n\n" + "\n".join(details) + "\n" if details else ""
    return HEAD + "\n".join(lines) + "\n" + rest + seen()


def main(names: list[str]) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    for name in names:
        (KEPT / name).write_text(json.dumps(probed(HOSTS[name])), encoding="utf-8")
    PAGE.write_text(page([json.loads((KEPT / name).read_text()) for name in sorted(HOSTS)]), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:] or sorted(HOSTS))
