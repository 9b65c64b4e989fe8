"""The environment files of AgentWeaver: `~/.agentweaver/.env` of the user, and `.agentweaver/.env` of the project.

A variable that is set wins over both files, and the project's file over the user's. The project's file comes with the
repository, so it may only set variables of services, and those of one service only together with its credentials:
otherwise a repository could send the credentials of a user to an address of its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from handrail.state.regular import Unreadable, read_regular

FILE = os.path.join(".agentweaver", ".env")
MAX_BYTES = 64 * 1024
SERVICES: dict[str, tuple[str, frozenset[str]]] = {
    "Jira": ("JIRA_API_KEY", frozenset({"JIRA_API_KEY", "JIRA_USERNAME", "JIRA_AUTH_MODE", "JIRA_BASE_URL"})),
    "GitLab": ("GITLAB_TOKEN", frozenset({"GITLAB_TOKEN", "GITLAB_BASE_URL", "GITLAB_HOST"})),
    "Telegram": ("BOT_TOKEN", frozenset({"BOT_TOKEN", "chat_id"})),
}
"""Per service: the variable with its credentials, and all its variables."""
SEVERITIES = "AGENTWEAVER_REVIEW_BLOCKING_SEVERITIES"
MODEL = "_MODEL"
"""A project may set the severities that block, and the models of agents: variables with this ending."""
PROGRAM = "_BIN"
"""The ending of the variables that choose the programs of agents. A project must not: it would run its own program."""


def with_env_files(env: Mapping[str, str], home: str, project: str) -> tuple[dict[str, str], list[str]]:
    """The environment with the variables of both files, and what of the project's file is not used, for people."""
    found = {**read_env_file(os.path.join(home, FILE)), **env}
    own = {name: value for name, value in read_env_file(os.path.join(project, FILE)).items() if name not in env}
    allowed = {name for name in own if name == SEVERITIES or name.endswith(MODEL)}
    notes = [f"{shown} {wrong}" for shown, folder in _places(home, project) for wrong in unread_in(folder)]
    for service, (credential, names) in SERVICES.items():
        wanted = own.keys() & names
        if credential in own and credential not in found:
            allowed |= wanted
        elif wanted:
            why = f"{credential} is not from this file" if credential in found else f"it does not set {credential}"
            cure = f"set them where {credential} is set" if credential in found else f"set {credential} here, too"
            notes.append(f"{FILE}: {', '.join(sorted(wanted))} of {service} is not used, because {why}; {cure}")
    programs = {name for name in own.keys() - allowed if name.endswith(PROGRAM)}
    if programs:
        notes.append(
            f"{FILE}: {', '.join(sorted(programs))} is not used; only the user may choose the program of an agent"
        )
    rest = own.keys() - programs - allowed - frozenset().union(*(names for _, names in SERVICES.values()))
    if rest:
        notes.append(f"{FILE}: {', '.join(sorted(rest))} is not used; a project may only set variables of services")
    return {**found, **{name: own[name] for name in allowed}}, notes


def _places(home: str, project: str) -> list[tuple[str, str]]:
    """The files as people write them, and their paths. A project in the home folder has the same file."""
    users, own = os.path.join(home, FILE), os.path.join(project, FILE)
    return [(f"~/{FILE}", users)] + [(FILE, own)] * (os.path.realpath(own) != os.path.realpath(users))


def project_may_set(name: str) -> bool:
    """True if the file of a project may set this variable, at least together with the credentials of its service."""
    return name == SEVERITIES or name.endswith(MODEL) or any(name in names for _, names in SERVICES.values())


def unread_in(path: str) -> list[str]:
    """What is wrong with a file. Its text is not shown: it may be a part of a secret."""
    try:
        data = read_regular(path, MAX_BYTES)
    except Unreadable as error:
        return [] if error.is_missing else [error.message]
    lines = [
        line for line in enumerate(data.splitlines(), 1) if line[1].strip() and not line[1].strip().startswith(b"#")
    ]
    broken = [number for number, line in lines if "\ufffd" in line.decode("utf-8", "replace")]
    others = [number for number, line in lines if number not in broken and _variable(line.decode("utf-8")) is None]
    told = {"is not UTF-8": broken, "is not `NAME=VALUE`, so it is not used": others}
    return [f"line {', '.join(map(str, numbers))}: {why}" for why, numbers in told.items() if numbers]


def read_env_file(path: str) -> dict[str, str]:
    """The variables of a file: `NAME=VALUE` lines, with or without `export` and quotes. Empty if there is no file."""
    try:
        text = read_regular(path, MAX_BYTES).decode("utf-8", "replace")
    except Unreadable:
        return {}
    found: dict[str, str] = {}
    for line in text.splitlines():
        if (variable := _variable(line)) is not None:
            found[variable[0]] = variable[1]
    return found


def _variable(line: str) -> tuple[str, str] | None:
    name, mark, value = line.strip().removeprefix("export ").partition("=")
    if not mark or name.startswith("#") or not name.strip() or "\0" in line:
        return None
    return name.strip(), _unquoted(value.strip())


def _unquoted(value: str) -> str:
    is_quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if is_quoted else value
