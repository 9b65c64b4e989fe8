"""A machine that is ready for a night, and what can be wrong with it: each fault is real, and `ready` names its code.

The run of the night fetches an issue, changes the branch, drives an agent through a workflow, checks, asks and pushes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from doctor.machines import Machine
from steps.services.githubs import NAME, OWNER, GitHub
from support import Project

NIGHT = f"""\
params: {{name: night}}
env: [NIGHT_MODE]
phases:
- id: begin
  steps:
  - {{id: branch, node: git-branch, params: {{name: "${{params.name}}"}}}}
  - {{id: issue, node: github-issue, params: {{issue: "{OWNER}/{NAME}#1", outputFile: i.md, outputJsonFile: i.json}}}}
- id: work
  steps:
  - {{id: build, node: workflow-run, params: {{workflow: build, task: The order}}}}
- id: check
  steps:
  - {{id: tools, node: command-check, params: {{commands: [{{commandName: git}}]}}}}
  - {{id: find, node: find-check}}
  - {{id: lint, node: command, params: {{argv: [./lint.sh, "${{context.env.NIGHT_MODE}}"]}}}}
- id: end
  steps:
  - {{id: ask, node: user-input, params: FORM, deadline: 1h, default: {{how: slowly}}}}
  - {{id: commit, node: git-commit, params: {{message: The order, files: [order.txt]}}}}
  - {{id: push, node: propose, params: {{effect: git-push}}, deadline: 1h, default: {{approved: false}}}}
""".replace("FORM", "{formId: pace, title: Pace?, fields: [{id: how, type: text, required: true}]}")
SMALL = """\
phases:
- id: only
  steps:
  - {id: run, node: command, params: {argv: [./lint.sh, all]}}
"""
PAUSE = "phases:\n- id: only\n  steps:\n  - {id: wait, node: command, params: {argv: [sleep, '600']}}\n"


class Night(Machine):
    """A machine that is ready. `remote` is a bare repository, and `github` a GitHub on loopback."""

    def __init__(self, project: Project, patch: pytest.MonkeyPatch, github: GitHub) -> None:
        super().__init__(project, patch)
        self.github = github
        self.remote = self.home / "remote.git"
        for name, value in github.env().items():
            patch.setenv(name, value)
        patch.setenv("NIGHT_MODE", "all")
        project.workflow("build", ["plan", "make"])
        project.phase("build", "make", "exit: [{run: ./lint.sh all}]\n")
        self.flow("night", NIGHT)
        self.flow("small", SMALL)
        project.write(".handrail/settings.yaml", "agent: claude\n")
        project.write("Makefile", "test:\n\ttrue\n")
        project.write("lint.sh", "#!/bin/sh\nexit 0\n").chmod(0o755)
        self.sh(f"git init -q --bare {self.remote} && git remote add origin {self.remote}")
        self.sh("git add -A && git commit -qm first && git push -q origin HEAD")

    def flow(self, name: str, text: str) -> None:
        self.project.write(f".handrail/flows/{name}.yaml", text)

    def change(self, name: str, old: str, new: str) -> None:
        """Change a file of the project, and commit the change."""
        self.edit(self.project.folder / name, old, new)
        self.sh("git commit -qam change")

    def problems(self, *argv: str) -> list[dict[str, Any]]:
        """What `ready` finds."""
        said = self.project.run("ready", *(argv or ("night",)), "--json")
        data = said.data
        assert (said.code, data["ok"]) in ((0, True), (5, False)), said
        assert data["ok"] is not bool(data["problems"])
        problems: list[dict[str, Any]] = data["problems"]
        return problems

    def codes(self, *argv: str) -> set[str]:
        return {one["code"] for one in self.problems(*argv)}


class Stranding(NamedTuple):
    """What strands the run of a night: how it is seeded, the code that `ready` reports, and what is typed."""

    seed: Callable[[Night], object]
    code: str
    words: str
    argv: tuple[str, ...] = ("night",)


def _change(name: str, old: str, new: str) -> Callable[[Night], None]:
    return lambda night: night.change(name, old, new)


def _flow(old: str, new: str) -> Callable[[Night], None]:
    return _change(".handrail/flows/night.yaml", old, new)


def _agent_settings(text: str) -> Callable[[Night], object]:
    return lambda night: night.project.write(".claude/settings.json", text)


def _answers(text: str) -> Callable[[Night], None]:
    def seed(night: Night) -> None:
        _flow("deadline: 1h, default: {how: slowly}", "rerun: safe")(night)
        night.write("answers.yaml", text)

    return seed


def _other_run(night: Night) -> None:
    night.flow("pause", PAUSE)
    night.sh("git add -A && git commit -qm pause")
    assert night.project.run("run", "pause", "--detach").code == 0


def _no_remote(night: Night) -> None:
    night.sh(f"rm -r {night.remote}")


def _untrusted(night: Night) -> None:
    night.sh(f"rm -r {night.state}/trust")


def _hook(night: Night) -> None:
    (night.state / "hosts").write_text("")


def _full_disk(night: Night) -> None:
    real = os.statvfs

    def statvfs(path: str) -> os.statvfs_result:
        return os.statvfs_result([*real(path)[:3], 0, 0, *real(path)[5:]])

    night.patch.setattr(os, "statvfs", statvfs)


def _past_run(night: Night) -> None:
    assert night.project.run("run", "small").code == 0


def _no_program(name: str) -> Callable[[Night], object]:
    return lambda night: (night.programs / name).unlink()


def _login(night: Night) -> None:
    night.patch.delenv("ANTHROPIC_API_KEY")


def _plugin(night: Night) -> None:
    assert night.project.run("plugins", "new", "tea").code == 0
    night.change(".handrail/flows/small.yaml", "node: command, params: {argv: [./lint.sh, all]}", "node: tea/hello")


_gone = _change(".handrail/flows/small.yaml", "all]", '"${params.gone}"]')


def _no_token(night: Night) -> None:
    night.change(
        ".handrail/flows/small.yaml", "command, params: {argv: [./lint.sh, all]}",
        "pr-open, params: {title: The order, forge: github}",
    )  # fmt: skip
    night.patch.delenv("GITHUB_TOKEN")


def _opencode(night: Night) -> None:
    night.program("opencode", "echo 1.18.33")
    night.project.write("opencode.json", '{"permission": {"edit": "allow", "bash": "deny"}}')


def _codex(text: str) -> Callable[[Night], object]:
    def seed(night: Night) -> None:
        night.program("codex", "echo codex-cli 0.166.0")
        night.project.write(".codex/config.toml", text)

    return seed


def _pi(settings: str) -> Callable[[Night], object]:
    def seed(night: Night) -> None:
        night.program("pi", "echo 0.87.1")
        night.project.write(".pi/settings.json", settings)

    return seed


STRANDINGS: dict[str, Stranding] = {
    "no git": Stranding(
        lambda night: night.patch.setenv("PATH", f"{night.programs}"), "program-missing", "`git` is not installed"
    ),
    "no repository": Stranding(lambda night: night.sh("rm -rf .git"), "git-repository", "is not a folder in which git"),
    "nobody commits": Stranding(
        lambda night: night.write(".gitconfig", "[user]\n\tuseConfigOnly = true\n"), "git-identity", "the author"
    ),
    "a killed git left its lock": Stranding(
        lambda night: os.utime(night.project.write(".git/index.lock", ""), (0, 0)), "git-locked", "index.lock"
    ),
    "uncommitted changes": Stranding(
        lambda night: night.project.write("lint.sh", "#!/bin/sh\nexit 1\n"), "git-dirty", "uncommitted changes"
    ),
    "no remote": Stranding(lambda night: night.sh("git remote remove origin"), "git-missing", "no remote `origin`"),
    "the remote is gone": Stranding(_no_remote, "git-failed", "does not appear to be a git repository"),
    "a program of a step": Stranding(_flow("./lint.sh", "lint-everything"), "program-missing", "`lint-everything`"),
    "a script of a step": Stranding(
        lambda night: night.sh("git rm -q lint.sh && git commit -qm no"), "program-missing", "`./lint.sh`", ("small",)
    ),
    "a script that is not executable": Stranding(
        lambda night: night.sh("chmod 644 lint.sh && git commit -qam mode"), "program-missing", "./lint.sh", ("small",)
    ),
    "a program that an expectation runs": Stranding(
        _change(".handrail/flows/small.yaml", "all]}}", "all]}, expect: [{run: prove-it}]}"),
        "program-missing",
        "`prove-it`",
        ("small",),
    ),
    "a param that is read and not given": Stranding(_gone, "params", "the param `gone` is not given", ("small",)),
    "a value that nobody has": Stranding(_gone, "would-fail", "`only/run` would fail", ("small",)),
    "a program of the exit of a phase": Stranding(
        _change(".handrail/workflows/build/make.md", "./lint.sh all", "A=1 prove-it --all"),
        "program-missing",
        "`prove-it` is not there or not executable, and the exit of phase `Make` needs it",
    ),
    "a program that a step looks for": Stranding(
        _flow("commandName: git", "commandName: gti"), "program-missing", "gti"
    ),
    "nothing checks the project": Stranding(
        lambda night: night.sh("git rm -q Makefile && git commit -qm no"), "check-missing", "no command was found"
    ),
    "no agent": Stranding(
        _change(".handrail/settings.yaml", "agent: claude", "{}"), "agent-missing", "this step has no agent"
    ),
    "the agent is not installed": Stranding(_no_program("claude"), "agent-missing", "`claude` is not on the PATH"),
    "the agent does not start": Stranding(
        lambda night: night.program("claude", "exit 3"), "agent-missing", "ended with exit code 3"
    ),
    "a variable names no program": Stranding(
        lambda night: night.patch.setenv("CLAUDE_BIN", "/nowhere/claude"), "agent-missing", "`/nowhere/claude`"
    ),
    "another agent that is not there": Stranding(
        repr, "agent-missing", "`pi` is not on the PATH", ("night", "--agent", "pi")
    ),
    "the agent is too old": Stranding(
        lambda night: night.program("claude", "echo 1.0.3"), "agent-version", "claude 1.0.3 is older"
    ),
    "the agent has no login": Stranding(_login, "auth", "no login of claude was found"),
    "hooks are switched off": Stranding(_agent_settings('{"disableAllHooks": true}'), "unguarded", "`disableAllHooks`"),
    "a stub was edited": Stranding(
        lambda night: night.gate.write_text("exit 0\n"), "unguarded", "not as they should be"
    ),
    "the hook does not answer": Stranding(_hook, "unguarded", "the hook does not answer as it should"),
    "the agent denies a tool of a phase": Stranding(
        _agent_settings('{"permissions": {"deny": ["Edit"]}}'), "tool-denied", "claude denies the tool `Edit`"
    ),
    "the agent denies our tool": Stranding(
        _agent_settings('{"permissions": {"deny": ["mcp__plugin_handrail_handrail__workflow_step"]}}'),
        "tool-denied",
        "workflow_step",
    ),
    "another agent denies a tool of a phase": Stranding(
        _opencode, "tool-denied", "opencode denies the tool `bash`", ("night", "--agent", "opencode")
    ),
    "the agent has no shell": Stranding(
        _codex("[features]\nshell_tool = false\n"),
        "tool-denied",
        "codex denies the tool `Bash`",
        ("night", "--agent", "codex"),
    ),
    "the agent leaves out our tool": Stranding(
        _codex('[mcp_servers.handrail]\nenabled_tools = ["status"]\n'),
        "tool-denied",
        "workflow_step",
        ("night", "--agent", "codex"),
    ),
    "the agent starts with fewer tools": Stranding(
        _pi('{"defaultTools": ["read", "bash", "write"]}'),
        "tool-denied",
        "pi denies the tool `edit`",
        ("night", "--agent", "pi"),
    ),
    "the agent removes a tool": Stranding(
        _pi('{"defaultTools": ["+grep", "-bash"]}'),
        "tool-denied",
        "pi denies the tool `bash`",
        ("night", "--agent", "pi"),
    ),
    "an agent that no workflow can guide": Stranding(
        lambda night: (night.config / "settings.yaml").write_text("acp: {helper: {command: [sh]}}\n"),
        "agent-unguided",
        "`acp:helper` cannot run a workflow",
        ("night", "--agent", "acp:helper"),
    ),
    "a phase requires a probe": Stranding(
        _change(".handrail/workflows/build/make.md", "exit:", "require: hard\nexit:"), "not-enforced", "was not probed"
    ),
    "the workflow is broken": Stranding(
        lambda night: night.sh("rm .handrail/workflows/build/make.md"), "definition", "build"
    ),
    "the flow is broken": Stranding(_flow("node: find-check", "node: find-chek"), "definition", "`night`"),
    "a param is missing": Stranding(_flow("{name: night}", "{name: {required: true}}"), "params", "`name`"),
    "a variable is missing": Stranding(
        lambda night: night.patch.delenv("NIGHT_MODE"), "variable-missing", "`NIGHT_MODE` is not set"
    ),
    "nobody trusts the project": Stranding(_untrusted, "untrusted", "is not trusted"),
    "a question without an answer": Stranding(
        _flow("deadline: 1h, default: {how: slowly}", "rerun: safe"), "unanswered", "`end/ask` asks a person"
    ),
    "an approval without an answer": Stranding(
        _flow("deadline: 1h, default: {approved: false}", "rerun: safe"), "unanswered", "`end/push` asks a person"
    ),
    "a wrong answer": Stranding(
        _answers("pace: {how: ''}\n"), "unanswered", "`how`", ("night", "--answers", "../user/answers.yaml")
    ),
    "no token": Stranding(lambda night: night.patch.delenv("GITHUB_TOKEN"), "service-config", "set GITHUB_TOKEN"),
    "no token for a pull request": Stranding(_no_token, "service-config", "set GITHUB_TOKEN", ("small",)),
    "a token that is not accepted": Stranding(
        lambda night: night.patch.setenv("GITHUB_TOKEN", "ghp_0000000000000000"), "service-login", "check GITHUB_TOKEN"
    ),
    "a service that is not there": Stranding(
        lambda night: night.patch.setenv("GITHUB_API_URL", "http://127.0.0.1:9/api/v3"),
        "service-unreachable",
        "127.0.0.1",
    ),
    "a full disk": Stranding(_full_disk, "disk-full", "only 0 MiB free", ("small",)),
    "a state that cannot be written": Stranding(
        lambda night: night.state.chmod(0o500), "state", "cannot be written", ("small",)
    ),
    "nobody trusts the code of a plugin": Stranding(_plugin, "plugin-untrusted", "`tea`", ("small",)),
    "wrong settings": Stranding(
        _change(".handrail/settings.yaml", "agent: claude", "agent: claude\nidleStops: many"), "settings", "idleStops"
    ),
    "another run in the same folder": Stranding(_other_run, "project-busy", "and changes the same files"),
    "too small a budget": Stranding(_past_run, "budget", "1 of 1 past run", ("small", "--max-minutes", "0.00001")),
}


def free(night: Night) -> None:
    """End what a fault started."""
    for run in night.project.json("runs")["runs"]:
        if run["name"] == "pause":
            night.project.run("stop", run["run"])


def runs_of(night: Night) -> list[Path]:
    return list(night.state.glob("runs/*/*"))
