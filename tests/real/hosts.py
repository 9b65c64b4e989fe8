"""The six real agents, each offline in its own home, with the scripted model of its protocol.

A host describes one program: its command line, its variables and files, and the names of its tools. A seat is a host
with a home, a project and a model.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from real.models.anthropic import Anthropic
from real.models.chat import Chat
from real.models.gemini import Gemini
from real.models.responses import Responses
from real.models.server import Scripted
from real.models.turn import Call, Json
from real.waiting import LONG

CACHE = Path(__file__).parent.parent.parent / ".cache" / "agents"
NODE = CACHE / "node_modules" / ".bin"
LIMIT = LONG
NOBODY = "http://127.0.0.1:9"
"""An address where nothing listens: the proxy for everything except loopback."""
URL, PROJECT, PROMPT = "@URL@", "@PROJECT@", "@PROMPT@"
"""Placeholders in options, variables and files: the model's address, the project's folder, the prompt."""


class Host(NamedTuple):
    """One program. `options` is its documented headless command line, which prints one JSON line per event.

    If the options do not contain the prompt, it is passed on stdin. `write`, `shell` and `read` return the tool calls
    that write a file, run a command and read a file.
    """

    name: str
    protocol: type[Scripted]
    options: tuple[str, ...]
    env: Mapping[str, str]
    files: Mapping[str, str]
    write: Callable[[Path, str], Call]
    shell: Callable[[str], Call]
    read: Callable[[Path], Call]
    programs: Path | None = None

    @property
    def program(self) -> Path:
        return (self.programs or CACHE / self.name / "node_modules" / ".bin") / self.name

    @property
    def package(self) -> str:
        """The package and its version, as installed by `scripts/agents`."""
        return (CACHE / "have" / self.name).read_text().strip()

    def argv(self, prompt: str) -> list[str]:
        return [str(self.program), *(prompt if option == PROMPT else option for option in self.options)]

    def stdin(self, prompt: str) -> str | None:
        return None if PROMPT in self.options else prompt


def _claude() -> Host:
    """Claude Code. See also `real.claude`."""
    start = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "lastOnboardingVersion": "9.9.9",
        "bypassPermissionsModeAccepted": True,
        "customApiKeyResponses": {"approved": ["fake"], "rejected": []},
        "projects": {PROJECT: {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
    }
    return Host(
        "claude",
        Anthropic,
        ("-p", PROMPT, "--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions"),
        {
            "ANTHROPIC_BASE_URL": URL,
            "ANTHROPIC_API_KEY": "fake",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "IS_SANDBOX": "1",
        },
        {".claude.json": json.dumps(start)},
        write=lambda path, text: ("Write", {"file_path": str(path), "content": text}),
        shell=lambda command: ("Bash", {"command": command, "description": "a command"}),
        read=lambda path: ("Read", {"file_path": str(path)}),
        programs=NODE,
    )


CODEX_CONFIG = f"""\
model = "gpt-5.5"
model_provider = "fake"
check_for_update_on_startup = false
web_search = "disabled"

[analytics]
enabled = false

[model_providers.fake]
name = "fake"
base_url = "{URL}"
env_key = "FAKE_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
"""


def _codex() -> Host:
    """It writes with patches. It has no tool for reading, so it reads with the shell."""

    def patch(path: Path, text: str) -> Call:
        lines = "".join(f"+{line}\n" for line in text.splitlines())
        return "apply_patch", f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"

    return Host(
        "codex",
        Responses,
        ("exec", "--json", "-s", "danger-full-access", "--skip-git-repo-check", PROMPT),
        {"FAKE_KEY": "fake"},
        {".codex/config.toml": CODEX_CONFIG},
        write=patch,
        shell=lambda command: ("exec_command", {"cmd": command}),
        read=lambda path: ("exec_command", {"cmd": f"cat '{path}'"}),
    )


def _gemini() -> Host:
    """It relaunches itself by default, and a signal would then reach only the first process."""
    settings = {
        "general": {"disableAutoUpdate": True, "disableUpdateNag": True, "maxAttempts": 2},
        "model": {"name": "gemini-2.5-pro"},
        "privacy": {"usageStatisticsEnabled": False},
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "telemetry": {"enabled": False},
    }
    return Host(
        "gemini",
        Gemini,
        ("-p", PROMPT, "-o", "stream-json", "--approval-mode", "yolo", "--skip-trust"),
        {"GEMINI_API_KEY": "fake", "GOOGLE_GEMINI_BASE_URL": URL, "GEMINI_CLI_NO_RELAUNCH": "true"},
        {".gemini/settings.json": json.dumps(settings)},
        write=lambda path, text: ("write_file", {"file_path": str(path), "content": text}),
        shell=lambda command: ("run_shell_command", {"command": command, "description": "a command"}),
        read=lambda path: ("read_file", {"file_path": str(path)}),
    )


def _opencode() -> Host:
    """The prompt is not an argument: the model would get it in quotes."""
    about = {
        "tool_call": True,
        "limit": {"context": 128000, "output": 8192},
        "cost": {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75},
    }
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": URL, "apiKey": "fake"},
        "models": {"fake-1": about},
    }
    config = {
        "autoupdate": False,
        "share": "disabled",
        "model": "fake/fake-1",
        "small_model": "fake/fake-1",
        "enabled_providers": ["fake"],
        "provider": {"fake": provider},
    }
    switched_off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "SHARE")
    return Host(
        "opencode",
        Chat,
        ("run", "--format", "json", "--auto"),
        {"OPENCODE_CONFIG_CONTENT": json.dumps(config)} | {f"OPENCODE_DISABLE_{name}": "1" for name in switched_off},
        {},
        write=lambda path, text: ("write", {"filePath": str(path), "content": text}),
        shell=lambda command: ("bash", {"command": command, "description": "a command"}),
        read=lambda path: ("read", {"filePath": str(path)}),
    )


def _pi() -> Host:
    """It exits with 0 even if the model failed; the last message shows the failure."""
    about = {
        "id": "fake-1",
        "contextWindow": 128000,
        "maxTokens": 8192,
        "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75},
    }
    provider = {"baseUrl": URL, "api": "openai-completions", "apiKey": "fake", "models": [about]}
    return Host(
        "pi",
        Chat,
        ("--mode", "json", "-p", "--model", "fake/fake-1", PROMPT),
        {"PI_OFFLINE": "1", "PI_TELEMETRY": "0"},
        {
            ".pi/agent/models.json": json.dumps({"providers": {"fake": provider}}),
            ".pi/agent/settings.json": json.dumps({"retry": {"maxRetries": 1, "baseDelayMs": 200}}),
        },
        write=lambda path, text: ("write", {"path": str(path), "content": text}),
        shell=lambda command: ("bash", {"command": command}),
        read=lambda path: ("read", {"path": str(path)}),
    )


def _copilot() -> Host:
    """Its key must not be part of another word: the program redacts the key in all its output."""
    return Host(
        "copilot",
        Chat,
        ("-p", PROMPT, "--output-format", "json", "--allow-all-tools"),
        {
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_PROVIDER_BASE_URL": URL,
            "COPILOT_PROVIDER_API_KEY": "sk-scripted",
            "COPILOT_MODEL": "fake-1",
            "COPILOT_PKG_CACHE_HOME": str(CACHE / "copilot"),
        },
        {},
        write=lambda path, text: ("create", {"path": str(path), "file_text": text}),
        shell=lambda command: ("bash", {"command": command, "description": "a command"}),
        read=lambda path: ("view", {"path": str(path)}),
    )


HOSTS = {host.name: host for host in (_claude(), _codex(), _gemini(), _opencode(), _pi(), _copilot())}


class Ran(NamedTuple):
    """The end of one run of a program: its exit code, stdout and stderr."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def events(self) -> list[Json]:
        return [json.loads(line) for line in self.out.splitlines() if line.startswith("{")]


class Seat:
    """A host with its home, a project with a repository, and a scripted model."""

    def __init__(self, host: Host, folder: Path, model: Scripted) -> None:
        assert host.program.exists(), "the agents are not installed; run scripts/agents"
        self.host = host
        self.model = model
        self.home = folder / "home"
        self.project = folder / "project"
        self.home.mkdir(parents=True)
        self.project.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=self.project, check=True)
        for name, text in host.files.items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.filled(text), encoding="utf-8")
        self.env = surroundings(self.home) | {name: self.filled(text) for name, text in host.env.items()}

    def filled(self, text: str) -> str:
        return text.replace(URL, self.model.url).replace(PROJECT, str(self.project))

    def spawn(self, prompt: str, **env: str) -> subprocess.Popen[str]:
        """Start the program without a terminal, in its own process session."""
        return subprocess.Popen(
            self.host.argv(prompt),
            cwd=self.project,
            env={**self.env, **env},
            stdin=subprocess.DEVNULL if self.host.stdin(prompt) is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, prompt: str, **env: str) -> Ran:
        """Run the program without a terminal."""
        return self.ended(self.spawn(prompt, **env), self.host.stdin(prompt))

    def ended(self, process: subprocess.Popen[str], given: str | None = None) -> Ran:
        """Wait until a program has ended. After a timeout, all its processes are killed."""
        begun = time.monotonic()
        with process:
            try:
                out, err = process.communicate(given, timeout=LIMIT)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        return Ran(process.returncode, out, err, time.monotonic() - begun)


def surroundings(home: Path) -> dict[str, str]:
    """The variables of every program: none of the person who runs the tests, and no network access."""
    return {
        "PATH": f"{NODE}{os.pathsep}/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "TZ": "UTC",
        "HTTP_PROXY": NOBODY,
        "HTTPS_PROXY": NOBODY,
        "NO_PROXY": "127.0.0.1,localhost",
        "npm_config_registry": NOBODY,
    }
