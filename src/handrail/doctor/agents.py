"""Checks of the agents: the program, our files in it, the trust that it needs, and the last probe."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping

from handrail import registry
from handrail.app import App
from handrail.contracts.host import Recipe
from handrail.doctor.checkup import Checkup
from handrail.doctor.programs import chosen_by, find_program, versions_of
from handrail.errors import HandrailError
from handrail.hosts.install import Installer, installer_for
from handrail.sessions import required
from handrail.source.plain import some

_INTERPRETER = re.compile(r"""(?<![\w/.-])/[^\s'"`]*/python[0-9.]*(?![\w/.-])""")


async def agent_checks(app: App, agent: str | None) -> list[Checkup]:
    """The checks of one agent, which then has to be there; or of all agents."""
    agents = [agent] if agent else registry.installable()
    found_at = {name: _found(name, app.run_env) for name in agents}
    programs = {name: path for name, path in found_at.items() if isinstance(path, str)}
    versions: dict[str, str | HandrailError] = {
        **{name: why for name, why in found_at.items() if isinstance(why, HandrailError)},
        **await versions_of(programs, app.env),
    }
    found: list[Checkup] = []
    for name in agents:
        found.append(_program(app, name, programs.get(name), versions.get(name), is_wanted=agent is not None))
        if name in programs or agent:
            found += _installed(app, name, is_wanted=agent is not None)
            found.append(_probe(app, name))
    return found


def _found(agent: str, env: Mapping[str, str]) -> str | HandrailError | None:
    try:
        return find_program(agent, env)
    except HandrailError as error:
        return error


def _program(
    app: App, agent: str, program: str | None, version: str | HandrailError | None, *, is_wanted: bool
) -> Checkup:
    id_ = f"{agent}.program"
    if isinstance(version, HandrailError):
        return Checkup(id_, "error", version.message, version.hint)
    if program is None:
        name = registry.executor(agent).PROGRAM
        fix = f"install {agent}, or put the folder of `{name}` on the PATH"
        return Checkup(id_, "error" if is_wanted else "skipped", f"`{name}` is not on the PATH", fix)
    variable = chosen_by(agent, app.run_env)
    return Checkup(id_, "ok", f"{version} at {program}" + (f", chosen by `{variable}`" if variable else ""))


def _installed(app: App, agent: str, *, is_wanted: bool) -> Iterator[Checkup]:
    """One check per installation; one that says that there is none."""
    scopes = {"user": False, "project": True}
    there = {name: installer_for(app, agent, for_project=is_project) for name, is_project in scopes.items()}
    there = {name: installer for name, installer in there.items() if installer.known()}
    if not there:
        told = f"Handrail is not installed into {agent}"
        yield Checkup(
            f"{agent}.installed", "error" if is_wanted else "skipped", told, f"run `handrail install {agent}`"
        )
    for name, installer in there.items():
        yield _files(agent, name, installer)


def _files(agent: str, scope: str, installer: Installer) -> Checkup:
    id_ = f"{agent}.{scope}"
    fix = f"run `handrail install {agent}{' --project' if scope == 'project' else ''}`"
    missing = _missing_interpreter(installer)
    if missing is not None:
        return Checkup(id_, "error", f"its files start `{missing}`, which does not exist", fix)
    try:
        changes = installer.plan_install()
        untrusted = _untrusted(installer.recipe)
    except HandrailError as error:
        return Checkup(id_, "error", error.message, error.hint)
    if untrusted:
        return Checkup(id_, "error", f"{agent} does not trust these hooks, so they do not run: {some(untrusted)}", fix)
    if changes:
        told = some([change.path for change in changes], 3)
        return Checkup(id_, "error", f"installed files are missing, changed or of another version: {told}", fix)
    trusts = f"; {agent} trusts its hooks" if hasattr(installer.recipe, "untrusted") else ""
    return Checkup(id_, "ok", f"installed for the {scope}; all files are as they should be{trusts}")


def _missing_interpreter(installer: Installer) -> str | None:
    """The interpreter that installed files name, if it does not exist."""
    for path in installer.known().get("owned", []):
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError):
            continue
        for found in _INTERPRETER.findall(text):
            if not os.path.exists(found):
                return str(found)
    return None


def _untrusted(recipe: Recipe) -> list[str]:
    return list(recipe.untrusted()) if hasattr(recipe, "untrusted") else []


def _probe(app: App, agent: str) -> Checkup:
    id_, fix = f"{agent}.probe", f"run `handrail doctor {agent} --probe`"
    probe = required.read(app.places, agent)
    if probe is None:
        return Checkup(id_, "skipped", f"what {agent} really enforces was not measured here", fix)
    told = f"version {probe.version}, measured {time.strftime('%Y-%m-%d', time.localtime(probe.time))}"
    old = required.outdated(probe)
    if old is not None:
        return Checkup(id_, "warning", f"{old} ({told})", fix)
    why = required.unmet(app.places, agent)
    meets = "meets `require: hard`" if why is None else f"does not meet `require: hard`: {why}"
    return Checkup(id_, "ok" if why is None else "warning", f"{told}; {meets}")


def kept_probe(app: App, agent: str) -> Mapping[str, object] | None:
    """The last probe of an agent as JSON data; None if there is none."""
    probe = required.read(app.places, agent)
    return None if probe is None else {**probe_json(probe), "outdated": required.outdated(probe)}


def probe_json(probe: required.Probe) -> dict[str, object]:
    rows = [{"row": row.row, "level": row.level, "detail": row.detail, "absent": row.is_absent} for row in probe.rows]
    return {"agent": probe.agent, "version": probe.version, "program": probe.program, "time": probe.time, "rows": rows}
