"""`notify`: one message on each channel, once, and the run goes on whatever happens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from steps.nodes.steps import failed, step
from steps.services.web import Reply, Web, serve
from support import Project

SECRET = "s3cretS3cret"
BOT = "12345:AAF-s3cret_token"


def hook(web: Web, **more: str) -> dict[str, str]:
    return {**os.environ, "NOTIFY_WEBHOOK_URL": f"{web.url}/services/{SECRET}?x={SECRET}", **more}


def notify(folder: Path, env: dict[str, str], *channels: str, **params: Any) -> Any:
    value = step("notify", {"message": "done", "channels": list(channels), **params}, folder, env)
    assert SECRET not in json.dumps(value)
    assert BOT not in json.dumps(value)
    return value


def sent(*channels: str) -> dict[str, Any]:
    return {"success": True, "sent": list(channels), "reasons": {}, "reason": None}


def program(folder: Path, name: str, script: str) -> str:
    """The PATH with a program of ours in front."""
    (folder / "bin").mkdir(exist_ok=True)
    path = folder / "bin" / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return f"{folder / 'bin'}:{os.environ['PATH']}"


def test_a_webhook_gets_the_message_in_the_format_of_slack(tmp_path: Path) -> None:
    with serve(lambda _: Reply(b"ok", headers={"Content-Type": "text/plain"})) as web:
        env = hook(web, APP_TOKEN="t0kenT0ken")
        assert notify(tmp_path, env, "webhook", title="Run\n1", message="done t0kenT0ken") == sent("webhook")
    (asked,) = web.asked
    assert (asked.method, asked.path, asked.query) == ("POST", f"/services/{SECRET}", {"x": SECRET})
    assert asked.content == {"text": "Run 1\ndone [hidden]"}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply({"message": f"no_service {SECRET}"}, 404), "The webhook: it answers with 404: no_service"),
        (Reply(b"invalid_payload", 400), "The webhook: it answers with 400"),
        (Reply("", 500), "The webhook: it answers with 500"),
        (Reply("", 302, {"Location": "http://127.0.0.2:9/x"}), "The webhook: it redirects to `127.0.0.2:9`"),
    ],
)
def test_a_webhook_that_refuses_is_not_asked_again(tmp_path: Path, reply: Reply, reason: str) -> None:
    with serve(lambda _: reply) as web:
        value = step("notify", {"message": "done", "channels": ["webhook"]}, tmp_path, hook(web))
    assert (value["success"], value["sent"], len(web.asked)) == (False, [], 1)
    assert value["reason"].startswith(reason)
    assert web.url.partition("//")[2] not in value["reason"]


@pytest.mark.parametrize(
    "url", ["", "hooks.example", f"ftp://x/{SECRET}", f"https://a:{SECRET}@host/x", "https://[::1"]
)
def test_an_address_that_is_missing_or_wrong(tmp_path: Path, url: str) -> None:
    value = notify(tmp_path, {"NOTIFY_WEBHOOK_URL": url}, "webhook")
    assert (value["success"], "NOTIFY_WEBHOOK_URL" in value["reason"]) == (False, True)


def test_telegram(tmp_path: Path) -> None:
    with serve(lambda _: Reply({"ok": True, "result": {"message_id": 1}})) as web:
        env = {"TELEGRAM_API_URL": web.url, "TELEGRAM_BOT_TOKEN": BOT, "TELEGRAM_CHAT_ID": "-1"}
        assert notify(tmp_path, env, "telegram", title="Run") == sent("telegram")
    assert web.asked[0].content == {"chat_id": "-1", "text": "Run\ndone"}


def test_one_channel_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    with serve(lambda _: Reply(b"ok")) as web:
        value = notify(tmp_path, hook(web, TELEGRAM_CHAT_ID=""), "telegram", "webhook", "webhook")
    assert (value["success"], value["sent"], list(value["reasons"]), len(web.asked)) == (
        False,
        ["webhook"],
        ["telegram"],
        1,
    )


def test_the_desktop_gets_words_as_arguments(tmp_path: Path) -> None:
    path = program(tmp_path, "notify-send", f'for word; do echo "$word"; done > {tmp_path}/out; env > {tmp_path}/env')
    env = {**os.environ, "PATH": path, "APP_TOKEN": "t0kenT0ken"}
    assert notify(tmp_path, env, "desktop", message="--help $(touch x)", title="-t") == sent("desktop")
    assert (tmp_path / "out").read_text().splitlines() == ["--app-name=Handrail", "--", "-t", "--help $(touch x)"]
    assert "t0kenT0ken" not in (tmp_path / "env").read_text()


def test_the_desktop_of_a_mac(tmp_path: Path) -> None:
    program(tmp_path, "osascript", 'shift 2; printf "%s|%s" "$1" "$2" > "${0%/*}/../out"')
    assert notify(tmp_path, {"PATH": f"{tmp_path}/bin"}, "desktop", message="-e x") == sent("desktop")
    assert (tmp_path / "out").read_text() == " -e x| Handrail"


def test_a_machine_without_a_desktop(tmp_path: Path) -> None:
    value = notify(tmp_path, {"PATH": str(tmp_path)}, "desktop")
    assert value["reasons"] == {"desktop": "neither `notify-send` nor `osascript` is installed"}


def test_a_command_gets_the_message_on_its_standard_input(tmp_path: Path) -> None:
    argv = ["sh", "-c", 'cat > out; echo "$HANDRAIL_TITLE" >> out; echo "$1" >> out', "x", 5]
    assert notify(tmp_path, dict(os.environ), "command", title="T", command=argv) == sent("command")
    assert (tmp_path / "out").read_text() == "T\ndoneT\n5\n"


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (["sh", "-c", "echo broken; exit 3"], "`sh` ended with 3: broken"),
        (["no-such-program"], "the program `no-such-program` is not installed or not on the PATH"),
        (["."], "`.` cannot be started: Permission denied"),
    ],
)
def test_a_command_that_fails(tmp_path: Path, argv: list[str], reason: str) -> None:
    value = notify(tmp_path, dict(os.environ), "command", command=argv)
    assert (value["success"], value["reason"]) == (False, reason)


def test_a_blank_message_is_not_sent(tmp_path: Path) -> None:
    with serve(lambda _: Reply(b"ok")) as web:
        assert notify(tmp_path, hook(web), "webhook", message=" ")["reason"] == "`message` is blank"
    assert web.asked == []


@pytest.mark.parametrize(
    "params",
    [{"channels": []}, {"channels": ["fax"]}, {"channels": "webhook"}, {"channels": ["command"], "command": "x"}],
)
def test_a_mistake_in_the_flow_fails_the_step(tmp_path: Path, params: dict[str, Any]) -> None:
    assert failed("notify", {"message": "x", **params}, tmp_path, {}).code == "params"


FLOW = """phases:
- id: a
  steps:
  - {id: n, node: notify, params: {message: hello, channels: [webhook]}}
  - {id: e, node: command, params: {argv: [env]}}
"""
KILLER = """
import os, signal, sys
from handrail.steps.services import chat
real = chat.send_to_webhook
async def send(*given):
    if os.environ["WHEN"] == "after":
        await real(*given)
    os.kill(os.getpid(), signal.SIGKILL)
chat.send_to_webhook = send
from handrail.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.whole
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_message_is_not_sent_again_after_a_kill(project: Project, monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    """The process is killed just before or just after the message was sent. Nobody can know which."""
    project.write(".handrail/flows/n.yaml", FLOW)
    with serve(lambda _: Reply(b"ok")) as web:
        monkeypatch.setenv("NOTIFY_WEBHOOK_URL", f"{web.url}/{SECRET}")
        argv, env = [sys.executable, "-c", KILLER, "run", "n"], {**os.environ, "WHEN": when}
        killed = subprocess.run(argv, cwd=project.folder, env=env, capture_output=True, timeout=60, check=False)
        assert killed.returncode == -signal.SIGKILL
        ended = project.json("resume", "last")
    assert (ended["status"], len(web.asked)) == ("completed", 1 if when == "after" else 0)
    told, printed = (item["value"] for item in ended["phases"][0]["steps"])
    assert (told["success"], "whether it arrived is not known" in told["reason"]) == (False, True)
    assert "NOTIFY_WEBHOOK_URL" not in printed["output"]
