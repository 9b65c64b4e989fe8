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
    notes = []
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


def read_env_file(path: str) -> dict[str, str]:
    """The variables of a file: `NAME=VALUE` lines, with or without `export` and quotes. Empty if there is no file."""
    try:
        text = read_regular(path, MAX_BYTES).decode("utf-8", "replace")
    except Unreadable:
        return {}
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, mark, value = line.strip().removeprefix("export ").partition("=")
        if mark and not name.startswith("#") and name.strip() and "\0" not in line:
            found[name.strip()] = _unquoted(value.strip())
    return found


def _unquoted(value: str) -> str:
    is_quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if is_quoted else value
