"""What an installation into Codex changes, and that removing it changes all of it back."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from handrail.agents.codex import install
from support import Project

OWN = """\
# mine
model = "gpt-5.5"

[features]
memories = false

[hooks.state."/x/hooks.json:stop:0:0"]
trusted_hash = "t"
"""
LISTED = '{ "hooks": {"Stop": [ {"hooks":[{"type":"command","command":"mine"}]} ]},\n\t"more": [1,2] }'


@pytest.fixture
def base(project: Project) -> Path:
    """The user's folder of Codex, with settings of the person."""
    del project
    folder = Path(os.environ["HOME"]) / ".codex"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(OWN)
    (folder / "hooks.json").write_text(LISTED)
    return folder


def config(base: Path) -> dict[str, Any]:
    return tomllib.loads((base / "config.toml").read_text())


def commands(base: Path, event: str) -> list[str]:
    listed = json.loads((base / "hooks.json").read_text())["hooks"][event]
    return [hook["command"] for group in listed for hook in group["hooks"]]


def test_the_hash_of_a_hook_is_the_one_that_codex_computes() -> None:
    """Measured with version 0.166.0."""
    hook = {"type": "command", "command": "a 'ü'", "timeout": 20, "statusMessage": "wf", "additionalContextLimit": 0}
    found = install.trusted_hashes(
        "/h/hooks.json", {"PreToolUse": {"matcher": "*", "hooks": [hook]}}, {"PreToolUse": 2}
    )
    measured = "sha256:2ecc9ea8c2df020e55e5313dd1265e443356bfe510bb6cc9f9eb79f96837e361"
    assert found == {"/h/hooks.json:pre_tool_use:2:0": measured}


def test_our_hooks_come_last_and_only_they_are_trusted(project: Project, base: Path) -> None:
    project.json("install", "codex")
    assert commands(base, "Stop")[0] == "mine"
    assert "handrail/event" in commands(base, "Stop")[1]
    state = config(base)["hooks"]["state"]
    listed = os.path.realpath(base / "hooks.json")
    expected = {
        f"{listed}:{name}:0:0" for name in ("pre_tool_use", "user_prompt_submit", "session_start", "subagent_start")
    }
    assert set(state) == {"/x/hooks.json:stop:0:0", f"{listed}:stop:1:0", *expected}


def test_the_server_is_seen_by_every_model_and_asks_for_nothing(project: Project, base: Path) -> None:
    project.json("install", "codex")
    server = config(base)["mcp_servers"]["handrail"]
    assert (server["omit_tools_from"], server["default_tools_approval_mode"]) == (["deferred", "code_mode"], "approve")
    assert "required" not in server, "Codex has to start without Handrail, too"
    assert config(base)["features"] == {"memories": False, "unified_exec_tty": False}


@pytest.mark.parametrize("scope", ["--user", "--project"])
def test_a_dry_run_shows_every_file_and_changes_none(project: Project, base: Path, scope: str) -> None:
    shown = project.run("install", "codex", scope, "--dry-run").out
    assert ((base / "config.toml").read_text(), (base / "hooks.json").read_text()) == (OWN, LISTED)
    assert not (project.folder / ".codex").exists()
    for name in ("config.toml", "hooks.json", "gate", "prompt", "event", "SKILL.md"):
        assert name in shown


@pytest.mark.parametrize("scope", ["--user", "--project"])
def test_uninstalling_restores_every_byte(project: Project, base: Path, scope: str) -> None:
    project.json("install", "codex", scope)
    project.json("install", "codex", scope)
    project.json("uninstall", "codex", scope)
    assert ((base / "config.toml").read_text(), (base / "hooks.json").read_text()) == (OWN, LISTED)
    assert sorted(path.name for path in base.iterdir()) == ["config.toml", "hooks.json"]
    assert not (project.folder / ".codex").exists()


def test_what_was_changed_meanwhile_stays(project: Project, base: Path) -> None:
    project.json("install", "codex")
    path, listed = base / "config.toml", base / "hooks.json"
    path.write_text(path.read_text().replace("# mine", "# still mine") + "\n[tui]\nx = 1\n")
    more = json.loads(listed.read_text())
    more["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "later"}]})
    listed.write_text(json.dumps(more))
    project.json("uninstall", "codex")
    assert tomllib.loads(path.read_text()) == {**tomllib.loads(OWN), "tui": {"x": 1}}
    assert path.read_text().startswith("# still mine\n")
    assert (list(json.loads(listed.read_text())["hooks"]), commands(base, "Stop")) == (["Stop"], ["mine", "later"])


@pytest.mark.parametrize("first", ["--user", "--project"])
def test_both_installations_are_removed_in_any_order(project: Project, base: Path, first: str) -> None:
    project.json("install", "codex", "--user")
    project.json("install", "codex", "--project")
    keys = [key for key in config(base)["hooks"]["state"] if "/x/" not in key]
    assert len(keys) == 10
    project.json("uninstall", "codex", first)
    left = [key for key in config(base)["hooks"]["state"] if "/x/" not in key]
    assert len(left) == 5
    assert all((str(project.folder) in key) == (first == "--user") for key in left)
    project.json("uninstall", "codex", "--project" if first == "--user" else "--user")
    assert tomllib.loads((base / "config.toml").read_text()) == tomllib.loads(OWN)
    assert json.loads((base / "hooks.json").read_text()) == json.loads(LISTED)


@pytest.mark.parametrize(
    "text", ['[mcp_servers.handrail]\ncommand = "mine"\n', "mcp_servers = {}\n", "hooks = {}\n", "not toml"]
)
def test_settings_into_which_our_entries_do_not_fit_are_left_alone(project: Project, base: Path, text: str) -> None:
    (base / "config.toml").write_text(text)
    ended = project.run("install", "codex")
    assert (ended.code, "nothing was touched" in ended.err) == (1, True)
    assert "config.toml" in ended.err
    assert ((base / "config.toml").read_text(), (base / "hooks.json").read_text()) == (text, LISTED)
    assert not (base / "handrail").exists()


def test_a_person_who_wants_terminals_keeps_them(project: Project, base: Path) -> None:
    (base / "config.toml").write_text("[features]\nunified_exec_tty = true\n")
    project.json("install", "codex")
    assert config(base)["features"] == {"unified_exec_tty": True}


def test_another_home_of_codex_is_used(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "own"))
    project.json("install", "codex")
    assert (tmp_path / "own" / "handrail" / "gate").exists()
    assert str(tmp_path / "own" / "handrail") in commands(tmp_path / "own", "PreToolUse")[0]


def test_hooks_are_trusted_at_both_ends_of_a_link(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "link"))
    project.json("install", "codex")
    places = {key.partition(":")[0] for key in config(tmp_path / "real")["hooks"]["state"]}
    assert places == {str(tmp_path / name / "hooks.json") for name in ("real", "link")}
