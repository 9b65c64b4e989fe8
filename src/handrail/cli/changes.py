"""What `install`, `uninstall` and `init` share: naming an agent, and applying and printing an installation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from handrail import registry
from handrail.cli.output import Shell
from handrail.errors import UsageError
from handrail.hosts.install import Change, Installer
from handrail.project import shown_path
from handrail.source.suggest import did_you_mean

_WORDS = {"create": "created", "change": "edited", "remove": "removed", "restore": "restored"}


def carry_out(
    shell: Shell, installer: Installer, changes: list[Change], dry: bool = False, warnings: Sequence[str] = ()
) -> dict[str, Any]:
    """Apply the changes unless `dry`, print them and the warnings for a person, and return all of it as data."""
    for change in changes if dry or not shell.quiet else ():
        shell.say(f"{change.verb:<8} {shown_path(change.path, shell.cwd)}")
    for note in installer.notes if not shell.as_json else ():
        shell.say(f"note: {note}")
    for warning in warnings:
        shell.talk(f"warning: {warning}")
    if not dry:
        installer.apply(changes)
    rows = [{"path": change.path, "change": change.verb} for change in changes]
    changed = {change.path: _WORDS[change.verb] for change in changes}
    paths = sorted({*changed, *installer.next.get("owned", ()), *installer.next.get("after", ())})
    files = [{"path": path, "change": changed.get(path, "unchanged")} for path in paths]
    about = {"agent": installer.agent, "scope": "project" if installer.project else "user"}
    return {**about, "files": files, "changes": rows, "notes": installer.notes, "warnings": [*warnings], "dryRun": dry}


def known_agent(agent: str, known: list[str], what: str) -> str:
    """The agent, if it is one of the known ones. `what` begins the error."""
    if agent not in known:
        raise UsageError(f"{what} `{agent}`", did_you_mean(agent, known) or f"possible today: {', '.join(known)}")
    return agent


def installable(agent: str) -> str:
    """The agent, if Handrail can be installed into it."""
    return known_agent(agent, registry.installable(), "Handrail cannot be installed into")
