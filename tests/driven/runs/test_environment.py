"""The environment over several lives of a run: what was resolved stays, and secrets are kept by their names."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handrail.app import App
from handrail.base.errors import UsageError
from handrail.driven.runs import run_events
from handrail.driven.runs.request import LoadedRun, RunRequest
from handrail.driven.runs.restart import restart
from handrail.driven.runs.run_events import Mode
from handrail.driven.runs.runs import Runs
from handrail.driven.runs.state import StepState
from support import trust_below

SECRET, ROTATED = "tok-1234567890abcdef", "new-0987654321fedcba"
READY = "  - {id: ready, node: command, params: {argv: [test, -e, ready]}}\n"
Steps = dict[str, StepState]


class Place:
    """A project whose runs are driven in several environments, one per life."""

    def __init__(self, folder: Path, engine: str) -> None:
        self.folder = folder
        (folder / ".handrail" / "flows").mkdir(parents=True)
        (folder / ".handrail" / "settings.yaml").write_text(f"engine: {engine}\n")
        self.is_on_disk = engine == "embedded"
        trust_below(folder, self.app().env)

    def app(self, **env: str) -> App:
        base = {"HOME": str(self.folder / "user"), "HANDRAIL_HOME": str(self.folder / "home")}
        return App(str(self.folder), {**base, "PATH": os.environ["PATH"], **env})

    def flow(self, text: str, name: str = "demo") -> None:
        (self.folder / ".handrail" / "flows" / f"{name}.yaml").write_text(text)

    def begin(self, params: dict[str, Any] | None = None, **env: str) -> LoadedRun:
        app = self.app(**env)
        assert not app.flows.problems, app.flows.problems
        request = RunRequest(params=params or {}, scope="demo")
        return app.runs.begin(app.flows, app.flows.find("demo"), request, "r-1")

    def drive(self, mode: Mode = "resume", **env: str) -> LoadedRun:
        runs = self.app(**env).runs
        return asyncio.run(runs.drive(runs.load("r-1"), mode))

    def restart(self, start: str | None, **env: str) -> Runs:
        app = self.app(**env)
        asyncio.run(restart(app.runs, app.flows, app.flows.find, app.runs.load("r-1"), start))
        return app.runs

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()

    def touch(self, name: str) -> None:
        (self.folder / name).touch()

    def assert_no_file_contains(self, *secrets: str) -> None:
        for path in (self.folder / "home").rglob("*"):
            if path.is_file():
                assert not any(secret in path.read_text(errors="replace") for secret in secrets), path


@pytest.fixture
def place(tmp_path: Path, engine: str) -> Place:
    return Place(tmp_path, engine)


def notices(run: LoadedRun) -> list[str]:
    return [event.text for _, event in run.records if isinstance(event, run_events.Noticed)]


def writes(name: str, value: str, step: str = "x") -> str:
    argv = f"[/bin/sh, -c, 'echo \"$1\" >> {name}', sh, '{value}']"
    return f"  - {{id: {step}, node: command, params: {{argv: {argv}}}}}\n"


MODE = "${context.env.MODE}"


def test_finished_work_is_not_done_again_when_its_input_changed(place: Place) -> None:
    step = writes("log", MODE).replace("}}\n", "}, expect: [{file: ready}]}\n")
    place.flow(f"env: [MODE]\nphases:\n- id: a\n  steps:\n{step}")
    run = place.begin(MODE="one")
    run = replace(run, about=replace(run.about, env=None))  # a run of 0.1.0 resolves the environment in each life
    runs = place.app(MODE="one").runs
    runs.engine.begin("r-1", run.about.to_text())
    assert place.drive(MODE="one").state.status == "failed"
    (place.folder / "ready").write_text("yes")
    run = place.drive(MODE="two")
    assert (run.state.status, place.read("log")) == ("completed", "one\n")
    assert notices(run) == []


def test_the_environment_of_the_first_start_is_kept(place: Place) -> None:
    place.flow(f"env: [MODE]\nphases:\n- id: a\n  steps:\n{READY}{writes('log', MODE)}")
    place.begin(MODE="one")
    assert place.drive(MODE="one").state.status == "failed"
    place.touch("ready")
    assert place.drive(MODE="two").state.status == "completed"
    assert place.read("log") == "one\n"


def test_a_variable_that_was_not_set_at_the_first_start_stays_unset(place: Place) -> None:
    seen = "{default: ['${context.env.MODE}', none]}"
    step = f"  - {{id: x, node: set, params: {{mode: {seen}}}}}\n"
    place.flow(f"env: [MODE]\nphases:\n- id: a\n  steps:\n{READY}{step}")
    place.begin()
    place.drive()
    place.touch("ready")
    run = place.drive(MODE="two")
    assert run.value(run.state.steps["a/x"]) == {"mode": "none"}


def test_a_new_attempt_resolves_the_environment_anew(place: Place) -> None:
    first, second = writes("log", f"a {MODE}"), writes("log", f"b {MODE}")
    place.flow(f"env: [MODE]\nphases:\n- id: a\n  steps:\n{first}- id: b\n  steps:\n{second}")
    place.begin(MODE="one")
    place.drive(MODE="one")
    place.restart("b", MODE="two")
    place.drive("restart", MODE="three")
    assert place.read("log") == "a one\nb one\nb two\n"


def test_a_continued_run_keeps_the_environment_and_does_rewound_work_again(place: Place) -> None:
    place.flow(f"env: [MODE]\ncontinue: again\nphases:\n- id: a\n  steps:\n{writes('log', MODE)}")
    place.begin(MODE="one")
    place.drive(MODE="one")
    assert place.drive("continue", MODE="two").state.status == "completed"
    assert place.read("log") == "one\none\n"


def test_a_changed_input_of_unfinished_work_is_noticed(place: Place) -> None:
    script = "/bin/sh, -c, 'echo $1 >> log; test -e ready', sh"
    step = f"  - {{id: x, rerun: safe, node: command, params: {{argv: [{script}, '{MODE}']}}}}\n"
    place.flow(f"env: [MODE]\nphases:\n- id: a\n  steps:\n{step}")
    run = place.begin(MODE="one")
    place.app().runs.engine.begin("r-1", replace(run.about, env=None).to_text())
    assert notices(place.drive(MODE="one")) == []
    place.touch("ready")
    run = place.drive(MODE="two")
    assert (run.state.status, place.read("log")) == ("completed", "one\ntwo\n")
    assert ["input of this step" in text for text in notices(run)] == [True]


SHOW = (
    "  - {id: show, node: command, params: {argv: [/bin/sh, -c, 'echo \"<$T>\"'], env: {T: '${context.env.TOKEN}'}}}\n"
)
SHOWN = "${steps.a.show.outputs.output}"
USE = f"- id: b\n  steps:\n{READY}{writes('seen', SHOWN)}"
LEAKY = f"env: [TOKEN]\nphases:\n- id: a\n  steps:\n{SHOW}{USE}"


def test_a_later_step_gets_the_real_value_of_a_secret(place: Place) -> None:
    place.flow(LEAKY)
    place.touch("ready")
    place.begin(TOKEN=SECRET)
    run = place.drive(TOKEN=SECRET)
    assert place.read("seen") == f"<{SECRET}>\n\n"
    assert run.value(run.state.steps["a/show"])["output"] == "<[hidden]>\n"
    assert SECRET not in repr(run.records)
    place.assert_no_file_contains(SECRET)


def test_a_later_life_gets_the_value_that_the_secret_has_then(place: Place) -> None:
    place.flow(LEAKY)
    place.begin(TOKEN=SECRET)
    assert place.drive(TOKEN=SECRET).state.status == "failed"
    place.touch("ready")
    run = place.drive(TOKEN=ROTATED)
    assert (run.state.status, place.read("seen")) == ("completed", f"<{ROTATED}>\n\n")
    assert notices(run) == []
    place.assert_no_file_contains(SECRET, ROTATED)


def test_a_rotated_secret_is_no_changed_input(place: Place) -> None:
    params = "{argv: [/bin/sh, -c, 'test -e ready'], env: {T: '${context.env.TOKEN}'}}"
    step = f"  - {{id: x, rerun: safe, node: command, params: {params}}}\n"
    place.flow(f"env: [TOKEN]\nphases:\n- id: a\n  steps:\n{step}")
    place.begin(TOKEN=SECRET)
    place.drive(TOKEN=SECRET)
    place.touch("ready")
    run = place.drive(TOKEN=ROTATED)
    assert (run.state.status, notices(run)) == ("completed", [])


def test_a_step_that_needs_a_secret_which_is_gone_fails_and_names_it(place: Place) -> None:
    place.flow(LEAKY)
    place.begin(TOKEN=SECRET)
    place.drive(TOKEN=SECRET)
    place.touch("ready")
    run = place.drive()
    assert (run.state.status, run.state.code) == ("failed", "secret-missing")
    assert "`TOKEN` is not set" in (run.state.error or "")
    assert {path: step.status for path, step in run.state.steps.items()} == {
        "a/show": "done",
        "b/ready": "done",
        "b/x": "failed",
    }
    run = place.drive(TOKEN=SECRET)
    assert (run.state.status, place.read("seen")) == ("completed", f"<{SECRET}>\n\n")


def test_work_that_does_not_need_the_missing_secret_goes_on(place: Place) -> None:
    place.flow(LEAKY.replace("outputs.output", "outputs.exitCode"))
    place.begin(TOKEN=SECRET)
    place.drive(TOKEN=SECRET)
    place.touch("ready")
    assert place.drive().state.status == "completed"
    assert place.read("seen") == "0\n"


def test_a_finished_nested_flow_does_not_need_its_secrets_again(place: Place) -> None:
    place.flow("params: {t: {required: true}}\nphases:\n- id: n\n  steps:\n" + writes("log", "${params.t}"), "inner")
    nested = "  - {id: x, node: flow-run, params: {fileName: inner, t: 'as ${context.env.TOKEN}'}}\n"
    place.flow(f"env: [TOKEN]\nphases:\n- id: a\n  steps:\n{nested}- id: b\n  steps:\n{READY}")
    place.begin(TOKEN=SECRET)
    assert place.drive(TOKEN=SECRET).state.steps["b/ready"].status == "failed"
    place.touch("ready")
    assert place.drive().state.status == "completed"
    assert place.read("log") == f"as {SECRET}\n"


def test_a_restart_keeps_the_references_of_kept_phases(place: Place) -> None:
    place.flow(LEAKY)
    place.touch("ready")
    place.begin(TOKEN=SECRET)
    place.drive(TOKEN=SECRET)
    place.restart("b")  # without the secret
    place.assert_no_file_contains(SECRET)
    place.drive("restart", TOKEN=ROTATED)
    assert place.read("seen") == f"<{SECRET}>\n\n<{ROTATED}>\n\n"


def test_a_large_value_and_data_that_looks_like_a_reference_are_kept_as_they_are(place: Place) -> None:
    literal = "${secret:TOKEN}"
    text = f"{literal} {SECRET} " + "x" * 10_000
    (place.folder / "big.txt").write_text(text)
    steps = "  - {id: read, node: read-file, params: {path: big.txt}}\n"
    write = (
        "- id: b\n  steps:\n"
        + READY
        + "  - {id: w, node: write-file, params: {path: out, text: '${steps.a.read.outputs.text}'}}\n"
    )
    place.flow(f"phases:\n- id: a\n  steps:\n{steps}{write}")
    place.begin(TOKEN=SECRET)
    place.drive(TOKEN=SECRET)
    place.touch("ready")
    run = place.drive(TOKEN=SECRET)
    assert place.read("out") == text
    assert run.value(run.state.steps["a/read"])["text"].startswith(f"{literal} [hidden] xxx")
    place.assert_no_file_contains(SECRET)


FORM = "  - {id: ask, node: user-input, params: {formId: f, title: 'For ${context.env.TOKEN}', fields: [FIELD]}}\n"
TEXT = FORM.replace("FIELD", "{id: t, type: text, label: T}")


def test_an_answer_with_a_secret_is_stored_by_name_and_restored(place: Place) -> None:
    place.flow(
        f"env: [TOKEN]\nphases:\n- id: a\n  steps:\n{TEXT}{READY}{writes('seen', '${steps.a.ask.outputs.values.t}')}"
    )
    place.begin(TOKEN=SECRET)
    run = place.drive(TOKEN=SECRET)
    assert run.state.questions["a/ask"].question["title"] == "For [hidden]"
    asyncio.run(place.app(TOKEN=SECRET).runs.answer(run, run.state.questions["a/ask"].id, {"t": f"it is {SECRET}"}))
    place.assert_no_file_contains(SECRET)
    assert place.drive(TOKEN=SECRET).state.status == "failed"
    place.touch("ready")
    place.drive(TOKEN=ROTATED)
    assert place.read("seen") == f"it is {ROTATED}\n"
    place.assert_no_file_contains(SECRET)


def test_a_form_must_not_offer_a_secret(place: Place) -> None:
    field = "{id: t, type: text, label: T, default: '${context.env.TOKEN}'}"
    place.flow(f"env: [TOKEN]\nphases:\n- id: a\n  steps:\n{FORM.replace('FIELD', field)}")
    place.begin(TOKEN=SECRET)
    run = place.drive(TOKEN=SECRET)
    assert run.state.code == "form-secret"
    assert SECRET not in repr(run.records)


def test_a_param_with_a_secret_is_stored_by_name(place: Place) -> None:
    place.flow("phases:\n- id: a\n  steps:\n" + writes("seen", "${params.t}"))
    run = place.begin({"t": f"Bearer {SECRET}"}, TOKEN=SECRET)
    assert run.about.request.params == {"t": "Bearer ${secret:TOKEN}"}
    place.drive(TOKEN=SECRET)
    assert place.read("seen") == f"Bearer {SECRET}\n"
    place.restart(None, TOKEN=ROTATED)
    place.drive("restart", TOKEN=ROTATED)
    assert place.read("seen") == f"Bearer {SECRET}\nBearer {ROTATED}\n"
    place.assert_no_file_contains(SECRET, ROTATED)
    with pytest.raises(UsageError, match="`TOKEN` is not set"):
        place.restart(None)


def test_even_a_short_secret_of_the_environment_is_not_stored(place: Place) -> None:
    place.flow("env: [TOKEN]\nphases:\n- id: a\n  steps:\n" + writes("seen", "${context.env.TOKEN}"))
    run = place.begin(TOKEN="tiny")
    assert run.about.env == {"TOKEN": "${secret:TOKEN:raw}"}
    place.drive(TOKEN="tiny")
    assert place.read("seen") == "tiny\n"


def test_observers_and_error_messages_have_no_secrets(place: Place) -> None:
    params = "{argv: [/bin/sh, -c, 'echo no $T; exit 1'], env: {T: '${context.env.TOKEN}'}}"
    fail = f"  - {{id: f, node: command, params: {params}}}\n"
    place.flow(f"env: [TOKEN]\nphases:\n- id: a\n  steps:\n{SHOW}{fail}")
    place.begin(TOKEN=SECRET)
    seen: list[run_events.Event] = []
    observe: Callable[[run_events.Event], None] = seen.append
    runs = place.app(TOKEN=SECRET).runs
    run = asyncio.run(runs.drive(runs.load("r-1"), observer=observe))
    assert run.state.error == "`echo no $T; exit 1` ended with 1: no [hidden]"
    assert SECRET not in repr(seen)


def test_a_proof_that_needs_a_missing_secret_does_not_repeat_finished_work(place: Place) -> None:
    """It cannot be looked at, so nobody knows whether it holds."""
    step = writes("log", "x").replace("}}\n", "}, rerun: safe, expect: [{file: 'as-${context.env.TOKEN}'}]}\n")
    place.flow(f"env: [TOKEN]\nphases:\n- id: a\n  steps:\n{step}")
    place.begin(TOKEN=SECRET)
    run = place.drive(TOKEN=SECRET)
    assert (run.state.code, place.read("log")) == ("expectation", "x\n")
    failed = next(event for _, event in run.records if isinstance(event, run_events.AttemptFailed))
    assert "as-[hidden]" in failed.message
    for _ in range(2):
        assert (place.drive().state.code, place.read("log")) == ("secret-missing", "x\n")
    (place.folder / f"as-{SECRET}").write_text("yes")
    assert (place.drive(TOKEN=SECRET).state.status, place.read("log")) == ("completed", "x\n")
    place.assert_no_file_contains(SECRET)


def test_later_steps_get_the_result_of_the_attempt_whose_proof_held(place: Place) -> None:
    script = "echo x >> log; echo $T $(wc -l < log); test $(wc -l < log) -lt 2 || touch made"
    params = f"{{argv: [/bin/sh, -c, '{script}'], env: {{T: '${{context.env.TOKEN}}'}}}}"
    step = f"  - {{id: show, node: command, params: {params}, makes: [made], retry: {{attempts: 3, wait: 0}}}}\n"
    place.flow(f"env: [TOKEN]\nphases:\n- id: a\n  steps:\n{step}{USE}")
    place.begin(TOKEN=SECRET)
    assert place.drive(TOKEN=SECRET).state.steps["b/ready"].status == "failed"
    place.touch("ready")
    run = place.drive(TOKEN=SECRET)
    assert (run.state.status, place.read("seen").split()) == ("completed", [SECRET, "2"])
    assert notices(run) == []
