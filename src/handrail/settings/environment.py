"""Environment variables: those of AgentWeaver's `.env` files, logins, and programs of agents.

A variable that is set wins over both `.env` files, and the project's file over the user's. The project's file comes
with the repository: it may only set variables of services, and those of one service only with its credentials.
`without_logins` takes away what git and the programs of forges use by themselves. It is no sandbox: an agent that may
run any program can still look for a file with a key. `AGENT_BIN` chooses the program of the agent `agent`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence

from handrail.base.files import Unreadable, read_limited

ENV_FILE = os.path.join(".agentweaver", ".env")
MAX_ENV_FILE_BYTES = 64 * 1024
SERVICES: dict[str, tuple[str, frozenset[str]]] = {
    "Jira": ("JIRA_API_KEY", frozenset({"JIRA_API_KEY", "JIRA_USERNAME", "JIRA_AUTH_MODE", "JIRA_BASE_URL"})),
    "GitLab": ("GITLAB_TOKEN", frozenset({"GITLAB_TOKEN", "GITLAB_BASE_URL", "GITLAB_HOST"})),
    "Telegram": ("BOT_TOKEN", frozenset({"BOT_TOKEN", "chat_id"})),
}
"""Per service: the variable with its credentials, and all its variables."""
SEVERITIES = "AGENTWEAVER_REVIEW_BLOCKING_SEVERITIES"
MODEL_ENDING = "_MODEL"
"""A project may set the severities that block, and the models of agents: variables with this ending."""
PROGRAM_ENDING = "_BIN"
"""The ending of the variables that choose the programs of agents. A project must not: it would run its own program."""


def with_env_files(env: Mapping[str, str], home: str, project: str) -> tuple[dict[str, str], list[str]]:
    """The environment with the variables of both files, and what of the project's file is not used, for people."""
    user_env = {**read_env_file(os.path.join(home, ENV_FILE)), **env}
    of_project = read_env_file(os.path.join(project, ENV_FILE))
    project_env = {name: value for name, value in of_project.items() if name not in env}
    allowed = {name for name in project_env if name == SEVERITIES or name.endswith(MODEL_ENDING)}
    notes = [f"{label} {wrong}" for label, folder in _places(home, project) for wrong in file_problems(folder)]

    def note(names: Collection[str], why: str) -> None:
        if names:
            notes.append(f"{ENV_FILE}: {', '.join(sorted(names))} {why}")

    for service, (credential, names) in SERVICES.items():
        service_names = project_env.keys() & names
        if credential in project_env and credential not in user_env:
            allowed |= service_names
        elif service_names:
            why = f"it does not set {credential}; set {credential} here, too"
            if credential in user_env:
                why = f"{credential} is not from this file; set them where {credential} is set"
            note(service_names, f"of {service} is not used, because {why}")
    programs = {name for name in project_env.keys() - allowed if name.endswith(PROGRAM_ENDING)}
    note(programs, "is not used; only the user may choose the program of an agent")
    unknown = project_env.keys() - programs - allowed - frozenset().union(*(names for _, names in SERVICES.values()))
    note(unknown, "is not used; a project may only set variables of services")
    return {**user_env, **{name: project_env[name] for name in allowed}}, notes


def _places(home: str, project: str) -> list[tuple[str, str]]:
    """The files as people write them, and their paths. A project in the home folder has the same file."""
    user_file, project_file = os.path.join(home, ENV_FILE), os.path.join(project, ENV_FILE)
    is_same = os.path.realpath(project_file) == os.path.realpath(user_file)
    return [(f"~/{ENV_FILE}", user_file), *([] if is_same else [(ENV_FILE, project_file)])]


def project_may_set(name: str) -> bool:
    """True if the file of a project may set this variable, at least together with the credentials of its service."""
    return name == SEVERITIES or name.endswith(MODEL_ENDING) or any(name in names for _, names in SERVICES.values())


def file_problems(path: str) -> list[str]:
    """What is wrong with a file. Its text is not shown: it may be a part of a secret."""
    try:
        data = read_limited(path, MAX_ENV_FILE_BYTES)
    except Unreadable as error:
        return [] if error.is_missing else [error.message]
    texts = [(number, line.decode("utf-8", "replace").strip()) for number, line in enumerate(data.splitlines(), 1)]
    lines = [(number, text) for number, text in texts if text and not text.startswith("#")]
    not_utf8 = [number for number, text in lines if "\ufffd" in text]
    not_variables = [number for number, text in lines if "\ufffd" not in text and _variable(text) is None]
    lines_of = {"is not UTF-8": not_utf8, "is not `NAME=VALUE`, so it is not used": not_variables}
    return [f"line {', '.join(map(str, numbers))}: {problem}" for problem, numbers in lines_of.items() if numbers]


def read_env_file(path: str) -> dict[str, str]:
    """The variables of a file: `NAME=VALUE` lines, with or without `export` and quotes. Empty if there is no file."""
    try:
        text = read_limited(path, MAX_ENV_FILE_BYTES).decode("utf-8", "replace")
    except Unreadable:
        return {}
    return dict(filter(None, map(_variable, text.splitlines())))


def _variable(line: str) -> tuple[str, str] | None:
    name, mark, value = line.strip().removeprefix("export ").partition("=")
    if not mark or name.startswith("#") or not name.strip() or "\0" in line:
        return None
    value = value.strip()
    is_quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "'\""
    return name.strip(), value[1:-1] if is_quoted else value


FORGE_TOKENS = (
    *("GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GITHUB_PAT"),
    *("GITLAB_TOKEN", "GITLAB_ACCESS_TOKEN", "GITLAB_PRIVATE_TOKEN", "CI_JOB_TOKEN", "OAUTH_TOKEN"),
    *("BITBUCKET_TOKEN", "GITEA_TOKEN", "JIRA_API_KEY", "JIRA_API_TOKEN"),
)
"""The variables with tokens of forges."""
CONFIG_FOLDERS = ("GH_CONFIG_DIR", "GLAB_CONFIG_DIR")
"""Where the programs of GitHub and GitLab keep their logins."""
_OF_GIT = ("GIT_ASKPASS", "SSH_ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_CONFIG_PARAMETERS")
LOGINS = (*FORGE_TOKENS, "SSH_AUTH_SOCK", "SSH_AGENT_PID", *CONFIG_FOLDERS, *_OF_GIT)
"""A project cannot pass these variables to agents; only the user's own settings can."""
_NO_SSH_LOGIN = (
    "BatchMode=yes",
    "PubkeyAuthentication=no",
    "PasswordAuthentication=no",
    "KbdInteractiveAuthentication=no",
    "GSSAPIAuthentication=no",
    "HostbasedAuthentication=no",
    "IdentityAgent=none",
    "IdentitiesOnly=yes",
    "IdentityFile=none",
    "ControlMaster=no",
    "ControlPath=none",
)
_GIT_SETTINGS = (
    ("credential.helper", ""),
    ("credential.interactive", "false"),
    ("core.askPass", "false"),
    ("http.extraHeader", ""),
    ("http.cookieFile", ""),
    ("http.emptyAuth", "true"),
)
"""An empty value removes those that came before. With `emptyAuth`, git's library for HTTP does not read `.netrc`."""
_REFUSING = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "SSH_ASKPASS": "false",
    "SSH_ASKPASS_REQUIRE": "force",
    "GIT_SSH_COMMAND": " ".join(["ssh", *(f"-o {option}" for option in _NO_SSH_LOGIN)]),
    "GIT_SSH_VARIANT": "ssh",
    "GCM_INTERACTIVE": "never",
    "GH_PROMPT_DISABLED": "1",
}


def without_logins(env: Mapping[str, str], nowhere: str, keeps: Collection[str] = ()) -> dict[str, str]:
    """The environment without logins, except the variables in `keeps`. `nowhere` is a path that does not exist."""
    removed = set(LOGINS) - set(keeps)
    result = {name: value for name, value in env.items() if name not in removed}
    added = {**_REFUSING, **dict.fromkeys(CONFIG_FOLDERS, nowhere)}
    result |= {name: value for name, value in added.items() if name not in keeps or name not in env}
    return with_git_settings(result, _GIT_SETTINGS)


def with_git_settings(env: Mapping[str, str], settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The environment with settings of git. They come after those of the user and of the repository."""
    count = int(env["GIT_CONFIG_COUNT"]) if env.get("GIT_CONFIG_COUNT", "").isdigit() else 0
    added = {"GIT_CONFIG_COUNT": str(count + len(settings))}
    for number, (name, value) in enumerate(settings, count):
        added |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return {**env, **added}


class NoSuchProgram(Exception):
    """A variable names something that cannot be started. The message says which, and what it names."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def variable_of(program: str) -> str | None:
    """The variable for a program's name; None for a path."""
    return None if os.sep in program else f"{program.upper().replace('-', '_')}_BIN"


def is_installed(program: str, env: Mapping[str, str]) -> bool:
    """True if a program is on the PATH, or chosen by its variable."""
    return why_missing(program, env) is None


def why_missing(program: str, env: Mapping[str, str]) -> str | None:
    """Why a program cannot be started; None if it is on the PATH, or chosen by its variable."""
    try:
        found = chosen_program(program, env) or _which(program, env)
    except NoSuchProgram as error:
        return error.message
    return None if found else f"`{program}` is not installed or not on the PATH"


def chosen_program(program: str, env: Mapping[str, str]) -> str | None:
    """The path of the program that is used in place of this one. None if its variable is not set.

    The variable has the name of a program on the PATH or an absolute path. Raises `NoSuchProgram` for anything else.
    """
    variable = variable_of(program)
    choice = env.get(variable, "") if variable else ""
    if not choice:
        return None
    if os.sep in choice and not os.path.isabs(choice):
        raise NoSuchProgram(f"`{variable}` has to be an absolute path or the name of a program, found `{choice}`")
    path = _which(choice, env)
    if path is None:
        raise NoSuchProgram(f"`{variable}` names `{choice}`, which is not a program that can be started")
    return os.path.abspath(path)


def _which(program: str, env: Mapping[str, str]) -> str | None:
    import shutil  # imports three libraries for compression, and every command reads settings

    return shutil.which(program, path=env.get("PATH"))
