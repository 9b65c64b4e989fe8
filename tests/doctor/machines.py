"""Machines for the tests of `handrail doctor`: one in working order, and what can be broken in it.

Each has its own home, its own Git settings, two agents whose programs only say their versions, and one project.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from handrail import __version__
from handrail.guided.sessions import phase_requirements
from handrail.settings.folders import UserFolders
from support import Project

VERSIONS = {"claude": "2.1.325", "codex": "0.166.0"}
DAY = 24 * 3600


class Machine:
    """A machine in working order."""

    def __init__(self, project: Project, patch: pytest.MonkeyPatch) -> None:
        self.project = project
        self.patch = patch
        self.home = project.folder.parent / "user"
        self.state = project.home / "state"
        self.config = project.home / "config"
        self.programs = self.home / "bin"
        for folder in (self.home, self.programs, self.config):
            folder.mkdir(mode=0o700)
        for name in [
            name for name in os.environ if name.startswith(("GIT_", "JIRA_", "GITLAB_", "GITHUB_", "TELEGRAM_"))
        ]:
            patch.delenv(name)
        for name in ("GH_TOKEN", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "BOT_TOKEN", "CHAT_ID", "chat_id"):
            patch.delenv(name, raising=False)
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        own = os.path.dirname(sys.executable)
        patch.setenv("PATH", os.pathsep.join([str(self.programs), own, "/usr/bin", "/bin"]))
        for name, version in VERSIONS.items():
            self.program(name, f"echo '{name} {version}'")
        (self.home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.com\n")
        self.sh("git init -q")
        project.workflow("w", ["look"])
        patch.setenv("ANTHROPIC_API_KEY", "sk-ant-0000000000000000")
        self.write(".codex/auth.json", "{}").chmod(0o600)
        for agent in VERSIONS:
            assert project.run("install", agent).code == 0

    def program(self, name: str, script: str) -> Path:
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    def write(self, name: str, text: str) -> Path:
        """Write a file of the home."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def sh(self, command: str) -> None:
        """Paste a command into a shell."""
        ended = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self.project.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ended.returncode == 0, ended

    def doctor(self, *argv: str) -> dict[str, dict[str, Any]]:
        data = self.project.run("doctor", *argv, "--json").data
        return {check["id"]: check for check in data["checks"]}

    @property
    def gate(self) -> Path:
        return self.home / ".claude" / "skills" / "handrail" / "bin" / "gate"

    @property
    def record(self) -> Path:
        return Path(UserFolders(os.environ).installation("claude", None))

    def edit(self, path: Path, old: str, new: str) -> None:
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def probed(self, days: int = 0) -> None:
        """Keep a probe of Claude Code that meets `require: hard`."""
        program = str(self.programs / "claude")
        rows = tuple(phase_requirements.ProbeRow(row, "hard", "") for row in phase_requirements.HARD_ROWS)
        stamp, then = phase_requirements.stamp(program), time.time() - days * DAY
        found = phase_requirements.Probe("claude", VERSIONS["claude"], program, stamp, __version__, then, rows)
        phase_requirements.write_probe(UserFolders(os.environ), found)


class Fault(NamedTuple):
    """Something that is broken, and what the doctor says. `cure` does what `fix` says, if that is no command."""

    breaks: Callable[[Machine], object]
    id: str
    status: str
    words: str
    fix: str
    cure: Callable[[Machine], object] | None = None


def _damage(pattern: str) -> Callable[[Machine], None]:
    def damage(machine: Machine) -> None:
        for path in machine.state.glob(pattern):
            data = path.read_bytes()
            path.write_bytes(b"x" + data + data)

    return damage


def _session(machine: Machine) -> None:
    machine.project.json("start", "w", "tea", "--session", "s1")
    _damage("sessions/*/s1/journal")(machine)
    _damage("sessions/*/s1/card")(machine)


def _run(machine: Machine) -> None:
    text = "id: f\nphases:\n- id: p\n  steps:\n  - {id: s, node: set, params: {value: 1}}\n"
    machine.project.write(".handrail/flows/f.yaml", text)
    assert machine.project.run("run", "f").code == 0
    _damage("runs/*/*/*/journal")(machine)
    for path in machine.state.glob("runs/*/*/summary"):
        path.unlink()


def _lock(machine: Machine) -> None:
    machine.project.json("start", "w", "tea", "--session", "s1")
    lock = next(machine.state.glob("sessions/*/s1/lock"))
    lock.unlink()
    lock.mkdir()


def _state_link(machine: Machine) -> None:
    machine.state.rename(machine.state.with_name("elsewhere"))
    machine.state.symlink_to("elsewhere")


def _no_state_link(machine: Machine) -> None:
    machine.state.unlink()
    machine.state.with_name("elsewhere").rename(machine.state)


def _link(machine: Machine) -> None:
    folder = machine.state / "hosts" / "claude"
    folder.mkdir(parents=True, mode=0o700)
    ref = {"folder": str(machine.state / "nowhere"), "project": str(machine.project.folder), "session": "s"}
    (folder / "c1").write_text(json.dumps(ref))


def _manifest(machine: Machine) -> None:
    machine.project.write(".agentweaver/playbook/manifest.yaml", "version: 2\n")


def _saved_state(machine: Machine) -> None:
    machine.project.write(".agentweaver/scopes/abc-1/.artifacts/.agentweaver-flow-state-plan.json", "{}")


def _index_lock(machine: Machine) -> None:
    path = machine.project.write(".git/index.lock", "")
    os.utime(path, (time.time() - 3600, time.time() - 3600))


def _other_version(machine: Machine) -> None:
    machine.edit(machine.record, f'"handrail": "{__version__}"', '"handrail": "0.0.9"')
    machine.edit(machine.gate, "# Handrail's gate", "# The gate of Handrail")


def _disable_hooks(machine: Machine) -> None:
    path = machine.home / ".claude" / "settings.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "disableAllHooks": True}))


def _enable_hooks(machine: Machine) -> None:
    path = machine.home / ".claude" / "settings.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "disableAllHooks": False}))


def _codex(old: str, new: str) -> Callable[[Machine], None]:
    return lambda machine: machine.edit(machine.home / ".codex" / "config.toml", old, new)


def _old_probe(machine: Machine) -> None:
    machine.probed()
    machine.program("claude", "echo '2.1.325 (another build)'")


def _set(name: str, value: str) -> Callable[[Machine], None]:
    return lambda machine: machine.patch.setenv(name, value)


def _unset(name: str) -> Callable[[Machine], None]:
    return lambda machine: machine.patch.delenv(name)


def _no_git(machine: Machine) -> None:
    machine.patch.setenv("PATH", str(machine.programs))


def _git(machine: Machine) -> None:
    machine.patch.setenv("PATH", "/usr/bin:/bin")


def _old_git(machine: Machine) -> None:
    machine.program("git", "echo 'git version 2.17.1'")


FAULTS: dict[str, Fault] = {
    "no git": Fault(_no_git, "git", "warning", "`git` is not on the PATH", "install Git", _git),
    "old git": Fault(
        _old_git, "git", "warning", "Git 2.17.1 is older than 2.23", "install a newer Git",
        lambda machine: (machine.programs / "git").unlink(),
    ),
    "no repository": Fault(
        lambda machine: machine.sh("rm -r .git"), "git", "warning", "is not in a Git repository", "run `git -C ",
    ),
    "nobody commits": Fault(
        lambda machine: machine.write(".gitconfig", "[user]\n\tuseConfigOnly = true\n"), "identity", "warning",
        "Git does not know the author of commits", "git config --global user.name",
    ),
    "no program to tell": Fault(
        lambda machine: (machine.config / "settings.yaml").write_text("notify: [{command: [say-it]}]\n"), "notify",
        "warning", "`notify` has the program `say-it`, which cannot be started", "install it, or correct `notify`",
        lambda machine: machine.program("say-it", "true"),
    ),
    "no desktop": Fault(
        lambda machine: (machine.config / "settings.yaml").write_text("notify: [desktop]\n"), "notify", "warning",
        "neither `notify-send` nor `osascript` is on the PATH", "install libnotify",
        lambda machine: machine.program("notify-send", "true"),
    ),
    "no chat": Fault(
        lambda machine: (machine.config / "settings.yaml").write_text("notify: [telegram]\n"), "notify", "warning",
        "set TELEGRAM_CHAT_ID", "or remove `telegram` from `notify`",
        lambda machine: (machine.config / "settings.yaml").write_text("notify: [bell]\n"),
    ),
    "git was killed": Fault(_index_lock, "index-lock", "warning", "60 minutes old; while it is there", "run `rm "),
    "the state is a link": Fault(
        _state_link, "state", "error", "it is a symbolic link", "replace it with a folder", _no_state_link
    ),
    "others can write the state": Fault(
        lambda machine: machine.state.chmod(0o777), "state", "error", "other users can change it (mode 777)",
        "`chmod 700 ",
    ),
    "others can read the state": Fault(
        lambda machine: machine.state.chmod(0o755), "state", "warning", "other users can read", "`chmod 700 ",
    ),
    "the state cannot be written": Fault(
        lambda machine: machine.state.chmod(0o500), "state", "error", "cannot be written", "`chmod u+rwx ",
    ),
    "a lock is a folder": Fault(_lock, "locks", "error", "locks that cannot be opened: ", "run `rm -r "),
    "a session is damaged": Fault(_session, "sessions", "error", "cannot be read: s1", "--session s1"),
    "a run is damaged": Fault(_run, "runs", "error", "cannot be read: r-", "handrail prune --damaged --yes"),
    "a link leads nowhere": Fault(_link, "links", "warning", "lead to no session", "run `rm "),
    "a process was killed": Fault(
        lambda machine: (machine.state / "card.12.new").write_text("half"), "leftovers", "warning",
        "unfinished files of killed processes", "run `rm ",
    ),
    "others can write the settings": Fault(
        lambda machine: machine.config.chmod(0o777),
        "config", "error", "other users can change", "run `chmod go-w ",
    ),
    "wrong settings": Fault(
        lambda machine: machine.project.write(".handrail/settings.yaml", "idleStops: many\n"), "settings", "error",
        "1 error and no warnings in .handrail/settings.yaml", "handrail validate",
        lambda machine: machine.project.write(".handrail/settings.yaml", "idleStops: 2\n"),
    ),
    "a wrong workflow": Fault(
        lambda machine: machine.project.write(".handrail/workflows/w/workflow.yaml", "name: W\n"), "definitions",
        "error", "in .handrail/workflows/w/workflow.yaml", "handrail validate",
        lambda machine: machine.project.workflow("w", ["look"]),
    ),
    "a wrong playbook": Fault(
        _manifest, "playbook", "error", "has to be 1, found a whole number `2`", "handrail playbook check",
        lambda machine: machine.sh("rm -r .agentweaver"),
    ),
    "what AgentWeaver saved was not imported": Fault(
        _saved_state, "agentweaver", "warning", "AgentWeaver saved 1 file that Handrail has not imported",
        "handrail import agentweaver", lambda machine: machine.project.run("import", "agentweaver"),
    ),
    "a project chooses a program": Fault(
        lambda machine: machine.project.write(".agentweaver/.env", "CLAUDE_BIN=./evil\n"), "variables", "warning",
        "CLAUDE_BIN is not used; only the user may choose", "correct the file",
        lambda machine: machine.sh("rm -r .agentweaver"),
    ),
    "Jira without a key": Fault(
        _set("JIRA_BASE_URL", "https://jira.example.com"), "services.jira", "warning",
        "jira is set up only in part (JIRA_BASE_URL is set)", "set JIRA_API_KEY",
        _set("JIRA_API_KEY", "0123456789abcdef"),
    ),
    "GitLab without a token": Fault(
        _set("GITLAB_HOST", "gitlab.example.com"), "services.gitlab", "warning", "GITLAB_HOST is set",
        "set GITLAB_TOKEN", _set("GITLAB_TOKEN", "glpat-0123456789abcdef0123"),
    ),
    "GitHub without a token": Fault(
        _set("GITHUB_API_URL", "https://github.example.com/api/v3"), "services.github", "warning",
        "GITHUB_API_URL is set", "set GITHUB_TOKEN", _set("GITHUB_TOKEN", "ghp_0123456789abcdef0123"),
    ),
    "Telegram without a chat": Fault(
        _set("BOT_TOKEN", "123456:abcdefghijkl"), "services.telegram", "warning", "BOT_TOKEN is set",
        "set TELEGRAM_CHAT_ID", _set("TELEGRAM_CHAT_ID", "42"),
    ),
    "a program that fails": Fault(
        lambda machine: machine.program("claude", "exit 3"), "claude.program", "error", "ended with exit code 3",
        "start the program yourself", lambda machine: machine.program("claude", "echo 2.1.325"),
    ),
    "a variable that names no program": Fault(
        _set("CLAUDE_BIN", "/nowhere/claude"), "claude.program", "error", "`CLAUDE_BIN` names `/nowhere/claude`",
        "correct or unset `CLAUDE_BIN`", _unset("CLAUDE_BIN"),
    ),
    "an old agent": Fault(
        lambda machine: machine.program("claude", "echo 1.0.3"), "claude.version", "warning",
        "1.0.3 is older than 2.1.197", "update claude", lambda machine: machine.program("claude", "echo 2.1.325"),
    ),
    "no login": Fault(
        _unset("ANTHROPIC_API_KEY"), "claude.login", "warning", "no login of claude was found", "log in",
        lambda machine: machine.write(".claude/.credentials.json", "{}").chmod(0o600),
    ),
    "others can read a login": Fault(
        lambda machine: (machine.home / ".codex/auth.json").chmod(0o644), "codex.login", "warning",
        "other users can read", "run `chmod 600 ",
    ),
    "an edited stub": Fault(
        lambda machine: machine.gate.write_text("exit 0\n"), "claude.user", "error",
        "not as they should be; changed: ", "run `handrail install claude`",
    ),
    "a missing stub": Fault(
        lambda machine: machine.gate.unlink(), "claude.user", "error", "missing: ", "run `handrail install claude`",
    ),
    "Python is gone": Fault(
        lambda machine: machine.edit(machine.gate, sys.executable, "/nowhere/bin/python3"), "claude.user", "error",
        "`/nowhere/bin/python3`, which does not exist", "run `handrail install claude`",
    ),
    "another version of Handrail": Fault(
        _other_version, "claude.user", "error", f"installed by Handrail 0.0.9, and this is {__version__}",
        "run `handrail install claude`",
    ),
    "a damaged record": Fault(
        lambda machine: machine.record.write_text("{"), "claude.user", "error",
        "the record of the installation cannot be read", "run `handrail install claude`",
    ),
    "hooks are switched off": Fault(
        _disable_hooks, "claude.switch", "error", "claude runs no hooks, so nothing is enforced",
        "remove this setting", _enable_hooks,
    ),
    "hooks of Codex are switched off": Fault(
        _codex("unified_exec_tty", "hooks = false\nunified_exec_tty"), "codex.switch", "error", "`features.hooks`",
        "remove this setting", _codex("hooks = false\n", ""),
    ),
    "Codex does not trust the hooks": Fault(
        _codex("trusted_hash", "other_hash"), "codex.user", "error", "codex does not trust these hooks",
        "run `handrail install codex`",
    ),
    "a hook that does not answer": Fault(
        lambda machine: (machine.state / "hosts").write_text(""), "claude.hook.user", "error",
        "the hook does not answer as it should", "run `handrail install claude`",
        lambda machine: (machine.state / "hosts").unlink(),
    ),
    "an agent that changed after its probe": Fault(
        _old_probe, "claude.probe", "warning", "claude was changed since its last probe",
        "run `handrail doctor claude --probe`", lambda machine: machine.probed(),
    ),
    "an old probe": Fault(
        lambda machine: machine.probed(days=200), "claude.probe", "warning", "200 days ago",
        "run `handrail doctor claude --probe`", lambda machine: machine.probed(),
    ),
}  # fmt: skip
