"""A person is told once, by the channels of the user's settings; what cannot be sent is a notice and nothing more."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from handrail.app import App
from handrail.project.notifications import Notifier, ended_run_alert, open_question_alerts, question_alert
from support import Project

ASKS = """
params: {version: {required: true}}
phases:
- id: ask
  steps:
  - id: go
    node: user-input
    params: {formId: go, title: "Release ${params.version}?", outputFile: go.json,
      fields: [{id: sure, type: boolean, label: Sure?}]}
"""
KEEPS = (
    "import json, os, sys; told = [sys.argv[2:], json.load(sys.stdin), dict(os.environ)];"
    "open(sys.argv[1], 'a').write(json.dumps(told) + chr(10))"
)


class Hook(BaseHTTPRequestHandler):
    """Keeps what it gets, and answers with the status that its path says."""

    got: list[Any] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.got.append(json.loads(body))
        status = self.path.rpartition("/")[2]
        self.send_response(int(status) if status.isdigit() else 200)
        self.end_headers()
        self.wfile.write(b'{"ok": true, "result": {"message_id": 1}}')

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def hook() -> Iterator[str]:
    Hook.got = []
    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/s3cret-path"
        server.shutdown()
        thread.join()


def settings(project: Project, *channels: Any) -> None:
    folder = project.home / "config"
    folder.mkdir(exist_ok=True)
    (folder / "settings.yaml").write_text(json.dumps({"notify": list(channels)}))
    project.write(".handrail/flows/release.yaml", ASKS)


def waiting(project: Project) -> str:
    id_: str = project.json("run", "release", "--param", "version=1.2", code=4)["run"]
    return id_


def kept(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def keeping(path: Path) -> dict[str, Any]:
    return {"command": [sys.executable, "-c", KEEPS, str(path)]}


def test_a_run_that_waits_tells_by_command_and_webhook_once(
    project: Project, hook: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "tok-1234567890")
    settings(project, keeping(tmp_path / "told"), {"webhook": f"{hook}/200"})
    run = waiting(project)
    expected = {"kind": "need", "run": run, "name": "release version=1.2", "text": "release version=1.2: Release 1.2?"}
    ((words, data, env),) = kept(tmp_path / "told")
    assert (words, data) == ([expected["text"]], expected)
    assert (env["HANDRAIL_RUN"], "MY_TOKEN" in env) == (run, False)
    assert Hook.got == [expected]
    project.run("resume", run)
    assert len(kept(tmp_path / "told")) == len(Hook.got) == 1


@pytest.mark.whole
def test_a_question_is_told_while_other_steps_still_work(project: Project, tmp_path: Path) -> None:
    settings(project, keeping(tmp_path / "told"))
    hold = f"until [ -s {tmp_path}/told ]; do sleep 0.05; done"
    step = f"  - {{id: hold, node: command, params: {{argv: [sh, -c, '{hold}']}}, timeout: 60}}\n"
    project.write(".handrail/flows/release.yaml", ASKS.replace("- id: ask\n", "- id: ask\n  parallel: true\n") + step)
    run = waiting(project)
    assert len(kept(tmp_path / "told")) == 1
    steps = project.json("runs", run)["phases"][0]["steps"]
    assert [step["status"] for step in steps] == ["running", "done"]


def test_a_run_that_waits_is_told_to_a_phone_by_the_topic_of_an_ntfy_server(project: Project, hook: str) -> None:
    settings(project, {"ntfy": f"{hook}/200/my-topic"})
    waiting(project)
    text = "release version=1.2: Release 1.2?"
    assert Hook.got == [{"topic": "my-topic", "title": "Handrail", "message": text, "priority": 4}]


def test_a_run_that_waits_is_told_by_your_bot(project: Project, hook: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings(project, "telegram")
    waiting(project)
    assert "set TELEGRAM_CHAT_ID" in project.run("log", "last").out
    for name, value in {"API_URL": hook, "BOT_TOKEN": "1:t", "CHAT_ID": "5"}.items():
        monkeypatch.setenv(f"TELEGRAM_{name}", value)
    waiting(project)
    assert Hook.got == [{"chat_id": "5", "text": "release version=1.2: Release 1.2?"}]


def test_what_cannot_be_sent_is_a_notice_and_the_run_waits_all_the_same(project: Project, hook: str) -> None:
    settings(project, {"command": ["/no/such/program"]}, {"command": ["false"]}, {"webhook": f"{hook}/500"})
    run = waiting(project)
    log = project.run("log", run).out
    assert "`notify` could not tell you: `/no/such/program` cannot be started" in log
    assert "`false` ended with 1" in log
    assert "it answers with 500" in log
    assert "s3cret" not in log
    assert project.json("runs", run)["status"] == "waiting"


@pytest.mark.whole
def test_of_two_processes_that_race_one_tells(project: Project, tmp_path: Path) -> None:
    settings(project)
    run = waiting(project)
    code = (
        "import asyncio, os, sys; from handrail.app import App\n"
        "from handrail.project.notifications import Notifier\n"
        "app = App(sys.argv[1], os.environ, by='person'); sys.stdin.readline()\n"
        "asyncio.run(Notifier(app.runs).tell_needs(sys.argv[2]))"
    )
    settings(project, keeping(tmp_path / "told"))
    argv = [sys.executable, "-c", code, str(project.folder), run]
    racing = [subprocess.Popen(argv, stdin=subprocess.PIPE) for _ in range(2)]
    for one in racing:
        assert one.stdin is not None
        one.stdin.write(b"go\n")
        one.stdin.close()
    assert [one.wait(60) for one in racing] == [0, 0]
    assert len(kept(tmp_path / "told")) == 1


def test_a_channel_that_a_process_cannot_use_is_left_to_another(project: Project) -> None:
    settings(project)
    run = waiting(project)
    settings(project, "bell", "desktop")
    app = App(str(project.folder), {**os.environ, "PATH": str(project.folder)}, by="person")
    alert = open_question_alerts(app.runs.load(run))[0]
    rings: list[int] = []
    assert asyncio.run(Notifier(app.runs).tell(alert)) == []
    assert asyncio.run(Notifier(app.runs, lambda: rings.append(1)).tell(alert)) == ["bell"]
    assert asyncio.run(Notifier(app.runs, lambda: rings.append(2)).tell(alert)) == []
    assert rings == [1]
    other = question_alert(run, "x", "q2", "ask/go", {"title": "Another one?"})
    assert asyncio.run(Notifier(app.runs, lambda: rings.append(3)).tell(other)) == ["bell"]


def test_the_desktop_gets_the_text_as_one_argument(project: Project, tmp_path: Path) -> None:
    settings(project)
    run = waiting(project)
    programs = tmp_path / "bin"
    programs.mkdir()
    fake = programs / "notify-send"
    fake.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/said\n')
    fake.chmod(0o755)
    settings(project, "desktop")
    app = App(str(project.folder), {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}, by="person")
    alert = question_alert(run, "--urgent", "q9", "ask/go", {"title": "$(touch x)?"})
    assert asyncio.run(Notifier(app.runs).tell(alert)) == ["desktop"]
    assert (tmp_path / "said").read_text().splitlines()[1:] == ["--", "Handrail", "--urgent: $(touch x)?"]


FAILING = {"a": "exit 3", "b": "sleep 0.2; kill -9 $$", "c": "sleep 0.4; exit 3"}


def test_only_the_end_of_a_long_run_is_told(project: Project) -> None:
    settings(project)
    project.write(
        ".handrail/flows/quick.yaml", "phases:\n- {id: a, steps: [{id: b, node: command, params: {argv: ['false']}}]}\n"
    )
    run = project.json("run", "quick", code=1)["run"]
    app = App(str(project.folder), os.environ, by="person")
    loaded = app.runs.load(run)
    assert ended_run_alert(loaded) is None
    (*records, (at, last)) = loaded.records
    later = loaded.with_history(type(loaded.history)(records=[*records, (at + 61, last)], offset=0))
    alert = ended_run_alert(later)
    assert alert is not None
    assert alert.text == "quick: failed at a/b"


def test_of_several_failures_the_one_that_ended_the_run_is_told(project: Project) -> None:
    steps = [f"{{id: {name}, node: command, params: {{argv: [sh, -c, '{text}']}}}}" for name, text in FAILING.items()]
    flow = f"phases:\n- id: check\n  parallel: {{limit: 4, onFailure: finish}}\n  steps: [{', '.join(steps)}]\n"
    project.write(".handrail/flows/three.yaml", flow)
    loaded = App(str(project.folder), os.environ, by="person").runs.load(project.json("run", "three", code=1)["run"])
    assert (loaded.state.reason, loaded.failed_step and loaded.failed_step.path) == ("exit-code at check/a", "check/a")


def test_a_project_cannot_choose_channels(project: Project, tmp_path: Path) -> None:
    settings(project)
    project.write(".handrail/settings.yaml", json.dumps({"notify": [keeping(tmp_path / "told")]}))
    said = project.run("run", "release", "--param", "version=1.2")
    assert said.code == 2
    assert "`notify` can be set only in the user's settings" in said.err
    assert not (tmp_path / "told").exists()
