"""Commands start fast: they import little, and `invocation` gives the same answers as click."""

from __future__ import annotations

import os
import subprocess
import sys

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driven.runs.recorded import plain_state
from handrail.cli import invocation, output, table
from handrail.cli.group import command_at, handrail
from handrail.driven.runs import run_events
from handrail.driven.runs.state import fold
from handrail.driven.runs.summary import summarize
from support import Project, Said

SLOW = {
    "asyncio", "click", "dataclasses", "email", "hashlib", "importlib.resources", "inspect", "json", "jsonschema",
    "logging", "pathlib", "shutil", "subprocess", "tempfile", "uuid", "yaml",
}  # fmt: skip
SLOW_OF_OURS = (
    "agents", "steps", "extensions", "driven.flows", "driven.expressions", "driven.forms",
    "settings.settings", "settings.sections", "settings.routes",
)  # fmt: skip
SURFACES = {"textual", "rich", "starlette", "uvicorn", "markdown_it"}
"""What only a surface needs."""
LISTED = "import sys\nfrom handrail.cli.main import main\nmain(sys.argv[1:])\nprint(*sys.modules, file=sys.stderr)"


@pytest.fixture
def busy(project: Project) -> Project:
    """A project with a session, a completed run and a failed run."""
    project.run("init")
    assert project.run("start", "hello", "say hello", "--session", "one").code == 0
    steps = "phases: [{id: a, steps: [{id: x, node: read-file, params: {path: gone}}]}]"
    project.write(".handrail/flows/broken.yaml", steps)
    assert project.run("run", "greet").code == 0
    assert project.run("run", "broken").code == 1
    return project


@pytest.mark.whole
@pytest.mark.parametrize("line", ["--help", "status", "status --json", "gate edit", "runs"])
def test_a_quick_command_imports_little(busy: Project, line: str) -> None:
    argv = [sys.executable, "-I", "-c", LISTED, *line.split()]
    ended = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    loaded = set(ended.stderr.split())
    assert ended.stdout
    assert (SLOW | SURFACES) & loaded == set()
    assert [name for name in loaded if name.startswith(tuple(f"handrail.{room}" for room in SLOW_OF_OURS))] == []


@pytest.mark.whole
@pytest.mark.parametrize("line", ["view home", "list", "run greet", "next --summary done --session one"])
def test_what_the_surfaces_need_is_imported_only_by_them(busy: Project, line: str) -> None:
    argv = [sys.executable, "-I", "-c", LISTED, *line.split()]
    ended = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60, cwd=busy.folder)
    loaded = set(ended.stderr.splitlines()[-1].split())
    assert "handrail.app" in loaded
    assert SURFACES & loaded == set()


@pytest.mark.whole
@pytest.mark.parametrize("name", ["next", "list", "prune", "install", "completion"])
def test_only_the_module_of_the_command_that_is_called_is_imported(name: str) -> None:
    places = {command: place.partition(":")[0] for command, (place, _) in table.COMMANDS.items()}
    modules = {name: place if "." in place else f"handrail.cli.commands.{place}" for name, place in places.items()}
    argv = [sys.executable, "-I", "-c", LISTED, name, "--help"]
    ended = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    loaded = set(modules.values()) & set(ended.stderr.split())
    assert loaded == {"handrail.cli.group", modules[name]}


LINES = [
    "",
    "-h",
    "--help",
    "status",
    "status --json",
    "status -q",
    "-q status",
    "--quiet -v status --session one",
    "status --session=one --json",
    "status --session two",
    "status --session two --json",
    "status --session",
    "status --session=",
    "status --session -q",
    "status --nothing",
    "status more",
    "status --help",
    "-qv status",
    "status -qv",
    "--json status",
    "--project nowhere status",
    "--project . status --project nowhere",
    "--project .. status --project .",
    "status --project=.",
    "gate edit",
    "gate edit --json",
    "gate edit --session one",
    "gate edit --session two",
    "gate",
    "gate edit read",
    "gate -- edit",
    "gate edit --agent claude",
    "gate edit --input {}",
    "gate --session one workflow_step",
    "runs",
    "runs -q",
    "runs --json",
    "runs more",
    "--version",
    "stats",
]


@pytest.mark.whole(17)
@pytest.mark.parametrize("line", LINES)
def test_quick_and_click_give_the_same_answer(busy: Project, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = busy.run(*line.split())
    assert found == parsed_by_click(busy, line, monkeypatch)


@pytest.mark.parametrize("line", ["status", "gate edit", "runs", "status --json", "status --session one"])
def test_quick_and_click_agree_without_a_session(project: Project, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert project.run(*line.split()) == parsed_by_click(project, line, monkeypatch)


@pytest.mark.parametrize("line", ["status", "gate edit", "runs"])
def test_quick_and_click_agree_about_damaged_state(busy: Project, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in [*busy.home.rglob("journal"), *busy.home.rglob("about")]:
        path.write_bytes(path.read_bytes().replace(b"e", b"#"))
    assert busy.run(*line.split()) == parsed_by_click(busy, line, monkeypatch)


def parsed_by_click(project: Project, line: str, monkeypatch: pytest.MonkeyPatch) -> Said:
    monkeypatch.setattr(invocation, "parse", lambda *_: None)
    return project.run(*line.split())


def test_click_handles_shell_completion() -> None:
    assert invocation.parse([], {invocation.COMPLETE: "bash_complete"}) is None


@pytest.mark.parametrize("name", table.COMMANDS)
def test_the_table_has_the_help_text_of_the_command(name: str) -> None:
    place, about = table.COMMANDS[name]
    command = command_at(place)
    assert command.name == name
    assert command.get_short_help_str(200).rstrip(".") == about.rstrip(".")


def test_the_help_lists_every_option_of_the_group() -> None:
    with click.Context(handrail, **handrail.context_settings) as context:
        listed = {option for param in handrail.get_params(context) for option in param.opts}
    assert listed == {word for names in table.OPTIONS for word in names.replace(",", "").split() if word[0] == "-"}


@pytest.mark.parametrize("columns", [30, 52, 80, 200])
def test_the_help_fits_the_width_of_the_terminal(columns: int) -> None:
    lines = table.help_text(columns).replace(table.EXAMPLES, "").split("\n")
    assert max(map(len, lines)) <= max(50, min(columns, table.WIDEST) - 2)


def test_the_width_of_the_terminal_is_found_as_in_the_standard_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "61")
    assert output.terminal_columns(os.environ) == 61
    monkeypatch.setattr(sys, "__stdout__", None)
    assert [output.terminal_columns({"COLUMNS": text}) for text in ("0", "-3", "wide")] == [80, 80, 80]


PATHS = st.sampled_from(["a/x", "a/y"])
WORDS = st.none() | st.sampled_from(["why", "because"])
EVENTS = st.one_of(
    st.builds(run_events.RunStarted, st.just("f"), st.just("0"), st.none()),
    st.builds(run_events.RunResumed, st.just("resume"), st.just([]), st.none()),
    st.builds(run_events.RunParked, PATHS, st.just("asks")),
    st.builds(run_events.RunEnded, st.sampled_from(["completed", "failed", "cancelled"]), st.none(), WORDS, WORDS),
    st.builds(run_events.SummarySet, st.just("all well")),
    st.builds(run_events.Delayed, PATHS, st.floats(1, 1e9), st.just("limit")),
    st.builds(run_events.NodeFinished, PATHS, st.just("0"), st.just(1), st.none()),
    st.builds(run_events.NodeFailed, PATHS, st.just("0"), st.just(1), st.just("c"), st.just("m")),
    st.builds(run_events.SessionOpened, PATHS, st.just("claude"), st.just("c-1")),
    st.builds(run_events.StepDone, PATHS, st.just(False)),
)


@pytest.mark.whole
@given(st.lists(EVENTS, max_size=8))
def test_the_list_of_runs_agrees_with_the_machine(events: list[run_events.Event]) -> None:
    state = fold((1.0, event) for event in events)
    plain = [{**run_events.event_to_json(event), "t": 1.0} for event in events]
    run = summarize("r", '{"flow": "f"}', plain_state(plain), 1, None)
    status, why = run.status, run.why
    assert status == state.status
    reason = state.error or state.reason
    if reason or why == (state.summary or ""):
        assert why == (reason or state.summary or "")
        assert status != "running" or all(state.status_of(path) == "done" for path in state.delays)
    else:
        first = min(state.delays.values(), key=lambda delay: delay.until)
        assert why.startswith(f"`{first.path}` waits until ")
