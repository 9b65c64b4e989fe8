"""Installing and uninstalling: foreign files are restored byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from real.claude import Claude

ODD = """{
\t"model" : "opus",   "env":{"A":"ä\\u00e9 😀"},

  "hooks":{ "PreToolUse" : [ {"matcher":"Bash","hooks":[{"type":"command","command":"true"}]} ]   ,
     "Stop": [ ] },
 "permissions"  : { "deny": [ "Read(./.env)" ]
   }
}"""
WITH_LINE = """{"statusLine": {"type": "command",   "command": "echo MINE", "padding": 3},
  "theme" : "dark"}
"""
TEXTS = {
    "nothing": None,
    "an empty object": "{}",
    "odd formatting": ODD,
    "Windows line ends": ODD.replace("\n", "\r\n"),
    "a status line of its own": WITH_LINE,
    "empty lists of hooks": '{\n  "hooks": {}\n}\n',
}
FOREIGN_MCP = '{ "mcpServers" : {"theirs":{"command":"true","args":[ ]} } }\n'
SCOPES = ["--user", "--project"]


def tree(claude: Claude) -> dict[str, bytes | None]:
    """Every file and folder of the person with its content, without the folders of Handrail."""
    found = [path for root in (claude.home, claude.project) for path in root.rglob("*")]
    own = (claude.state, claude.home / ".cache" / "handrail")
    above = {above for folder in own for above in (folder, *folder.parents)}
    kept = [path for path in found if path not in above and not any(folder in path.parents for folder in own)]
    return {str(path): path.read_bytes() if path.is_file() else None for path in kept}


def left(claude: Claude, scope: str) -> dict[str, bytes | None]:
    """What uninstalling leaves: the empty folder of the plugin, for conversations that still run."""
    skills = claude.home / ".claude" / "skills"
    return {str(path): None for path in (skills, skills / "handrail")} if scope == "--user" else {}


def settings(claude: Claude, scope: str) -> Path:
    if scope == "--user":
        return claude.home / ".claude" / "settings.json"
    return claude.project / ".claude" / "settings.local.json"


def put(path: Path, text: str | None) -> None:
    if text is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("name", TEXTS)
def test_files_from_before_are_restored_byte_for_byte(bare: Claude, scope: str, name: str) -> None:
    put(settings(bare, scope), TEXTS[name])
    put(bare.project / ".mcp.json", FOREIGN_MCP if name == "odd formatting" else None)
    before = tree(bare)
    bare.handrail("install", "claude", scope, "--dry-run")
    assert tree(bare) == before
    bare.handrail("install", "claude", scope)
    installed = tree(bare)
    assert installed != before
    json.loads(settings(bare, scope).read_text())
    assert "nothing to do" in bare.handrail("install", "claude", scope).stdout
    assert tree(bare) == installed
    bare.handrail("uninstall", "claude", scope)
    assert tree(bare) == before | left(bare, scope)


@pytest.mark.parametrize("scope", SCOPES)
def test_uninstalling_leaves_no_state(bare: Claude, scope: str) -> None:
    bare.handrail("install", "claude", scope)
    bare.handrail("uninstall", "claude", scope)
    left = [path for path in (bare.home / ".local").rglob("*") if path.is_file() and "trust" not in path.parts]
    assert left == []


@pytest.mark.parametrize("scope", SCOPES)
def test_an_edited_file_loses_only_our_entries(bare: Claude, scope: str) -> None:
    path = settings(bare, scope)
    text = ODD.replace('"Stop": [ ]', '"Stop": [{"hooks":[ ]}]')
    put(path, text)
    bare.handrail("install", "claude", scope)
    theirs = '{"matcher":"Edit","hooks":[{"type":"command","command":"mine.sh"}]}'
    mark = '"command":"true"}]}'

    def edited(text: str) -> str:
        other = text.replace('"model" : "opus"', '"model" :   "haiku", "new": [1,  2]')
        return other.replace(mark, f"{mark},\n {theirs}")

    path.write_text(edited(path.read_text()))
    bare.handrail("uninstall", "claude", scope)
    assert path.read_text() == edited(text)


@pytest.mark.parametrize("scope", SCOPES)
def test_a_newer_version_replaces_an_older_one(bare: Claude, scope: str) -> None:
    """The older version has other stubs, a file that is no longer used, and another form of an entry."""
    put(settings(bare, scope), ODD)
    before = tree(bare)
    bare.handrail("install", "claude", scope)
    new = tree(bare)
    record = next((bare.state / "installed").iterdir())
    known = json.loads(record.read_text())
    gate = Path(next(path for path in known["owned"] if path.endswith("bin/gate")))
    gate.write_text("# an older gate\n")
    old = gate.parent / "old-stub"
    old.write_text("# no longer used\n")
    known["owned"].append(str(old))
    record.write_text(json.dumps(known))
    bare.handrail("install", "claude", scope)
    assert tree(bare) == new
    bare.handrail("uninstall", "claude", scope)
    assert tree(bare) == before | left(bare, scope)


def test_a_status_line_that_was_set_after_the_installation_stays(bare: Claude) -> None:
    path = settings(bare, "--user")
    put(path, WITH_LINE)
    bare.handrail("install", "claude")
    value = json.loads(path.read_text())
    value["statusLine"] = {"type": "command", "command": "echo NEWER"}
    path.write_text(json.dumps(value))
    bare.handrail("install", "claude")
    chained = (bare.home / ".claude" / "skills" / "handrail" / "bin" / "status").read_text()
    assert "echo NEWER" in chained
    bare.handrail("uninstall", "claude")
    assert json.loads(path.read_text()) == {
        "statusLine": {"type": "command", "command": "echo NEWER"},
        "theme": "dark",
    }


def test_unreadable_settings_are_not_changed(bare: Claude) -> None:
    put(settings(bare, "--user"), '{"model": "opus",}\n// a comment\n')
    before = tree(bare)
    said = bare.handrail("install", "claude", check=False)
    assert (said.returncode, "nothing was touched" in said.stderr) == (1, True)
    assert tree(bare) == before


def test_a_foreign_plugin_with_the_same_name_is_not_changed(bare: Claude) -> None:
    put(bare.home / ".claude" / "skills" / "handrail" / "hooks" / "hooks.json", "{}")
    before = tree(bare)
    said = bare.handrail("install", "claude", check=False)
    assert (said.returncode, "does not belong to Handrail" in said.stderr) == (1, True)
    assert tree(bare) == before


def test_a_linked_settings_file_stays_a_link(bare: Claude) -> None:
    real = bare.home / "dotfiles.json"
    real.write_text(ODD)
    real.chmod(0o600)
    settings(bare, "--user").symlink_to(real)
    bare.handrail("install", "claude")
    assert settings(bare, "--user").is_symlink()
    assert (real.stat().st_mode & 0o777, "statusLine" in real.read_text()) == (0o600, True)
    bare.handrail("uninstall", "claude")
    assert (settings(bare, "--user").is_symlink(), real.read_text()) == (True, ODD)
