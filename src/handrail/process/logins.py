"""The logins of git and of forges, and an environment without them: for agents that Handrail runs. Pure.

A program of the person finds logins in the environment, in settings of git and in files of the home folder. This takes
away what git and the programs of forges use by themselves. It is no sandbox: an agent that may run any program can
still look for a file with a key, or change its own environment back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

TOKENS = (
    *("GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GITHUB_PAT"),
    *("GITLAB_TOKEN", "GITLAB_ACCESS_TOKEN", "GITLAB_PRIVATE_TOKEN", "CI_JOB_TOKEN", "OAUTH_TOKEN"),
    *("BITBUCKET_TOKEN", "GITEA_TOKEN", "JIRA_API_KEY", "JIRA_API_TOKEN"),
)
"""The variables with tokens of forges."""
CONFIG_FOLDERS = ("GH_CONFIG_DIR", "GLAB_CONFIG_DIR")
"""Where the programs of GitHub and GitLab keep their logins."""
_OF_GIT = ("GIT_ASKPASS", "SSH_ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_CONFIG_PARAMETERS")
LOGINS = (*TOKENS, "SSH_AUTH_SOCK", "SSH_AGENT_PID", *CONFIG_FOLDERS, *_OF_GIT)
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
_SETTINGS = (
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


def without_logins(env: Mapping[str, str], empty: str, keeps: Collection[str] = ()) -> dict[str, str]:
    """The environment without logins, except the variables in `keeps`. `empty` is the path of an empty folder."""
    gone = set(LOGINS) - set(keeps)
    left = {name: value for name, value in env.items() if name not in gone}
    added = {**_REFUSING, **dict.fromkeys(CONFIG_FOLDERS, empty)}
    left |= {name: value for name, value in added.items() if name not in keeps or name not in env}
    return with_git_settings(left, _SETTINGS)


def with_git_settings(env: Mapping[str, str], settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The environment with settings of git. They come after those of the user and of the repository."""
    count = int(env["GIT_CONFIG_COUNT"]) if env.get("GIT_CONFIG_COUNT", "").isdigit() else 0
    added = {"GIT_CONFIG_COUNT": str(count + len(settings))}
    for number, (name, value) in enumerate(settings, count):
        added |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return {**env, **added}
