"""What an agent or its surroundings could use to slip the leash, and what must never tie a person down."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.agents.claude.offline import STEP
from real.claude import Claude, ended, new_id
from real.guests.guest import Phase
from real.model import Model, Turn, tool_results
from real.turns import bash, call, step, write
from real.waiting import until

SKIP = ("--dangerously-skip-permissions",)
FOREIGN = Path(__file__).parent / "step_server.py"


@pytest.fixture
def guarded(claude: Claude) -> Claude:
    claude.workflow("w", Phase("look", "tools: {blacklist: [write]}"), Phase("build"))
    return claude


def watching(claude: Claude, event: str) -> tuple[tuple[str, ...], Path]:
    """Options for a plugin that creates a file when this event happens, and the file."""
    plugin, seen = claude.home / "watching", claude.home / "seen"
    hook = {"type": "command", "command": f"touch {seen}"}
    about = {"name": "watching", "version": "1.0.0", "description": "watches", "author": {"name": "a"}}
    for name, value in (
        (".claude-plugin/plugin.json", about),
        ("hooks/hooks.json", {"hooks": {event: [{"hooks": [hook]}]}}),
    ):
        path = plugin / name
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(value))
    return ("--plugin-dir", str(plugin)), seen


@pytest.mark.parametrize("prompt", ["go", "/workflow w tea"], ids=["without a workflow", "in a workflow"])
def test_uninstalling_frees_a_running_conversation_at_once(guarded: Claude, model: Model, prompt: str) -> None:
    both = Turn("I wait.", tools=write(guarded).tools, held=True)
    model.script(bash("echo one"), both, bash("echo three"), Turn("Done."))
    with guarded.spawn(prompt, *SKIP) as process:
        model.wait(2)
        guarded.handrail("uninstall", "claude")
        model.release()
        ran = ended(process)
    assert ran.result == "Done."
    assert (guarded.project / "written.txt").exists()
    left = guarded.home / ".claude" / "skills" / "handrail"
    assert list(left.iterdir()) == [], "the empty folder stays: without it, Claude Code blocks every tool"
    model.script(Turn("A new conversation."))
    assert guarded.run("hello", *SKIP).result == "A new conversation."


def test_a_task_that_ends_in_the_middle_of_a_turn_does_not_let_the_agent_stop(guarded: Claude, model: Model) -> None:
    conversation = new_id()
    work = {"command": "while [ ! -e go ]; do sleep 0.05; done; touch gone", "run_in_background": True}
    model.script(
        call("Bash", description="wait", **work),
        Turn("I wait.", tools=bash("until [ -e gone ]; do sleep 0.05; done").tools, held=True),
        bash("echo the notification comes before this call or after it"),
        Turn("I stop early."),
        step("next"),
        step("next"),
        Turn("All done."),
    )
    with guarded.spawn("/workflow w tea", *SKIP, "--session-id", conversation) as process:
        model.wait(2)
        guarded.write("go", "")
        until((guarded.project / "gone").exists, "the task to end")
        model.release()
        ran = ended(process)
    assert "<task-notification>" in json.dumps(model.received()[3]["messages"]), "it came in the middle of the turn"
    assert (ran.result, guarded.at(conversation)) == ("All done.", "done")


@pytest.mark.parametrize("broken", ["/gone/python", "/bin/false"])
def test_a_workflow_that_cannot_start_is_not_announced_to_the_model(guarded: Claude, model: Model, broken: str) -> None:
    stub = guarded.home / ".claude" / "skills" / "handrail" / "bin" / "command"
    stub.write_text(stub.read_text().replace(sys.executable, broken))
    ran = guarded.run("/workflow w tea", *SKIP)
    assert "Handrail did not carry out this command" in ran.result
    assert "handrail install claude" in ran.result
    assert model.received() == []


def test_a_workflow_that_cannot_be_recorded_is_not_announced_to_the_model(guarded: Claude, model: Model) -> None:
    (guarded.state / "sessions").write_text("in the way")
    ran = guarded.run("/workflow w tea", *SKIP)
    assert f"{guarded.state}/sessions" in ran.result
    assert model.received() == []


def test_the_gate_and_the_stop_need_no_home(bare: Claude, model: Model) -> None:
    """Claude Code finds its folder by a variable. Without HOME, Python takes a home from the list of users."""
    bare.workflow("w", Phase("look", "tools: {blacklist: [write]}"), Phase("build"))
    bare.env["CLAUDE_CONFIG_DIR"] = str(bare.home / ".claude")
    bare.env |= {name: str(bare.home / "xdg") for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
    bare.handrail("install", "claude")
    conversation, home = new_id(), bare.env.pop("HOME")
    model.script(write(bare), Turn("I stop early."), step("next"), step("next"), Turn("All done."))
    ran = bare.run("/workflow w tea", *SKIP, "--session-id", conversation)
    bare.env["HOME"] = home
    assert "Write is not allowed in the phase Look of W." in tool_results(model.received()[1])[0]
    assert not (bare.project / "written.txt").exists()
    assert (ran.result, bare.at(conversation)) == ("All done.", "done")


CHANGES = {
    "switches all hooks off": {"disableAllHooks": True},
    "moves Handrail's folders": {"env": {"HANDRAIL_HOME": "/nowhere", "HANDRAIL_STATE": "/nowhere"}},
    "adds a hook": {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "touch hooked"}]}]}},
}


@pytest.mark.parametrize("change", CHANGES)
def test_settings_that_slip_through_are_not_loaded_while_a_workflow_is_active(
    guarded: Claude, model: Model, change: str
) -> None:
    """The gate cannot see what a program writes, so the change itself is blocked."""
    options, seen = watching(guarded, "ConfigChange")
    guarded.write(".claude/settings.local.json", "{}")
    hidden = f"import json; open('.cla' 'ude/settings.lo' 'cal.json', 'w').write(json.dumps({CHANGES[change]!r}))"
    model.script(
        bash(f'{sys.executable} -c "{hidden}"; until [ -e {seen} ]; do sleep 0.05; done'),
        Turn("I wait.", tools=bash("echo $HANDRAIL_HOME-").tools, held=True),
        write(guarded),
    )
    with guarded.spawn("/workflow w tea", *SKIP, *options) as process:
        until(seen.exists, "the change to be noticed")
        model.wait(2)
        model.release()
        ended(process)
    home, denied = tool_results(model.received()[3])[1:3]
    assert home == "-"
    assert "Write is not allowed in the phase Look of W." in denied
    assert not (guarded.project / "written.txt").exists()
    assert not (guarded.project / "hooked").exists()


@pytest.mark.parametrize("where", ["project", "worktree"])
def test_a_worktree_that_the_agent_made_in_the_phase_is_no_proof(claude: Claude, model: Model, where: str) -> None:
    claude.workflow("w", Phase("build", "exit: [{run: [test, -f, good]}]"), Phase("ship"))
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    for argv in (["add", "-A"], [*who, "commit", "-qm", "first"]):
        subprocess.run(["git", *argv], cwd=claude.project, check=True)
    conversation, good = new_id(), bash("touch good")
    enter = call("EnterWorktree", name="tea")
    model.script(*([enter, good] if where == "worktree" else [good, enter]), step("next"), Turn("1"), Turn("2"))
    claude.run("/workflow w tea", *SKIP, "--session-id", conversation)
    assert claude.at(conversation) == ("ship" if where == "project" else "build")
    said = tool_results(model.received()[3])[2]
    assert ("cannot be left yet" in said) is (where == "worktree")


@pytest.mark.parametrize("name", ["handrail", "plugin:handrail:handrail"])
def test_the_server_of_somebody_else_is_not_ours(guarded: Claude, model: Model, name: str) -> None:
    guarded.workflow("w", Phase("look", "tools: {whitelist: [read]}"))
    called = guarded.project / "called"
    server = {"command": sys.executable, "args": [str(FOREIGN), str(called)], "alwaysLoad": True}
    guarded.write(".mcp.json", json.dumps({"mcpServers": {name: server}}))
    guarded.write(".claude/settings.json", json.dumps({"enableAllProjectMcpServers": True}))
    tool = STEP if name.startswith("plugin") else "mcp__handrail__workflow_step"
    model.script(call(tool, action="next"), Turn("1"), Turn("2"))
    guarded.run("/workflow w tea", *SKIP)
    assert f"{tool} is not allowed in the phase Look of W." in tool_results(model.received()[1])[0]
    assert not called.exists()


def test_a_skill_cannot_run_a_shell_that_the_phase_denies(claude: Claude, model: Model) -> None:
    claude.workflow("w", Phase("look", "tools: {blacklist: [bash]}"))
    head = "---\nname: sly\ndescription: d\nallowed-tools: Bash(*)\n---\n"
    claude.write(".claude/skills/sly/SKILL.md", f"{head}Look: !`touch {claude.project}/ran`\n")
    model.script(call("Skill", skill="sly"), Turn("1"), Turn("2"))
    claude.run("/workflow w tea", *SKIP)
    assert "Skill is not allowed in the phase Look of W." in tool_results(model.received()[1])[0]
    assert not (claude.project / "ran").exists()


@pytest.mark.parametrize("kind", ["skills/sly/SKILL.md", "commands/sly.md"])
def test_no_agent_can_plant_hooks_in_the_front_matter_of_a_skill_or_command(
    claude: Claude, model: Model, kind: str
) -> None:
    """Such hooks run, as the first conversation shows: they are not part of the settings."""
    hook = f"{{matcher: Bash, hooks: [{{type: command, command: 'touch {claude.project}/ran'}}]}}"
    text = f"---\nname: sly\ndescription: It looks.\nhooks:\n  PreToolUse:\n    - {hook}\n---\nLook.\n"
    planted, ran = claude.project / ".claude" / kind, claude.project / "ran"
    claude.write(f".claude/{kind}", text)
    model.script(call("Skill", skill="sly"), bash("echo one"), Turn("Done."))
    claude.run("go", *SKIP)
    assert ran.exists()
    ran.unlink()
    planted.unlink()
    claude.workflow("w", Phase("look"), Phase("build"))
    model.script(
        bash(f"cat > .claude/{kind} <<'END'\n{text}END"),
        call("Skill", skill="sly"),
        bash("echo one"),
        step("next"),
        step("next"),
        Turn("Done."),
    )
    claude.run("/workflow w tea", *SKIP)
    assert not planted.exists()
    assert not ran.exists()


ANSWERING: dict[str, dict[str, Any]] = {
    "AskUserQuestion": {
        "questions": [
            {
                "question": "Which tea?",
                "header": "Tea",
                "multiSelect": False,
                "options": [{"label": "Green", "description": "g"}, {"label": "Black", "description": "b"}],
            }
        ]
    },
    "ExitPlanMode": {"plan": "I look."},
}


@pytest.mark.parametrize("tool", ANSWERING)
def test_a_whitelist_does_not_deny_the_tools_that_only_answer(claude: Claude, model: Model, tool: str) -> None:
    claude.workflow("w", Phase("look", "tools: {whitelist: [read]}"))
    model.script(call(tool, **ANSWERING[tool]), write(claude), Turn("1"), Turn("2"), Turn("3"))
    claude.run("/workflow w tea", *SKIP)
    answered, denied = tool_results(model.received()[2])[:2]
    assert "is not allowed in the phase" not in answered
    assert "Write is not allowed in the phase Look of W." in denied


def test_the_result_of_a_headless_conversation_does_not_end_a_workflow_early(claude: Claude, model: Model) -> None:
    """Claude Code ends the conversation at this call, whatever a stop hook answers."""
    claude.workflow("w", Phase("look", "tools: {whitelist: [read]}"))
    schema = {"type": "object", "properties": {"verdict": {"type": "string"}}, "required": ["verdict"]}
    result, conversation = call("StructuredOutput", verdict="good"), new_id()
    model.script(result, step("next"), result)
    ran = claude.run("/workflow w tea", *SKIP, "--json-schema", json.dumps(schema), "--session-id", conversation)
    assert "the workflow is not done yet" in tool_results(model.received()[1])[0]
    assert claude.at(conversation) == "done"
    assert ran.events[-1]["structured_output"] == {"verdict": "good"}


def test_a_workflow_command_of_another_plugin_is_left_alone(guarded: Claude, model: Model) -> None:
    options, _ = watching(guarded, "ConfigChange")
    text = "---\nname: workflow\ndescription: d\n---\nThe other plugin's text.\n"
    path = Path(options[1]) / "skills" / "workflow" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    conversation = new_id()
    model.script(Turn("I did."))
    ran = guarded.run("/watching:workflow w tea", *SKIP, *options, "--session-id", conversation)
    assert ran.result == "I did."
    assert "The other plugin's text." in model.last_texts()
    assert not guarded.link(conversation).exists()
