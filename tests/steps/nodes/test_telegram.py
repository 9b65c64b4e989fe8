"""Telegram: a message is sent once, and the run goes on whatever happens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from steps.nodes.steps import step
from steps.services.web import Reply, Web, serve
from support import Project

TOKEN = "12345:AAF-s3cret_token"
SENT = {"ok": True, "result": {"message_id": 42}}


def env(web: Web, **more: str) -> dict[str, str]:
    return {"TELEGRAM_API_URL": web.url, "TELEGRAM_BOT_TOKEN": TOKEN, "TELEGRAM_CHAT_ID": "-100", **more}


def send(folder: Path, variables: dict[str, str], message: Any = "done") -> tuple[bool, int | None, str | None]:
    value = step("telegram-notify", {"message": message}, folder, variables)
    assert TOKEN not in json.dumps(value)
    return value["success"], value["messageId"], value["reason"]


@pytest.mark.parametrize(
    "names", [("TELEGRAM_BOT_TOKEN", "TELEGRAM_CHAT_ID"), ("BOT_TOKEN", "chat_id"), ("BOT_TOKEN", "CHAT_ID")]
)
def test_a_message_is_sent(tmp_path: Path, names: tuple[str, str]) -> None:
    with serve(lambda _: Reply(SENT)) as web:
        variables = {"TELEGRAM_API_URL": f"{web.url}/", names[0]: TOKEN, names[1]: "-100"}
        assert send(tmp_path, variables) == (True, 42, None)
    (asked,) = web.asked
    assert (asked.method, asked.path) == ("POST", f"/bot{TOKEN}/sendMessage")
    assert asked.content == {"chat_id": "-100", "text": "done"}


@pytest.mark.parametrize(
    ("message", "sent"),
    [
        (5, "5"),
        ({"a": 1}, '{"a": 1}'),
        ("x" * 4096, "x" * 4096),
        ("x" * 5000, "x" * 4095 + "…"),
        ("😀" * 3000, "😀" * 2047 + "…"),
        ("half \ud83d", "half ?"),
    ],
)
def test_any_value_can_be_a_message(tmp_path: Path, message: Any, sent: str) -> None:
    with serve(lambda _: Reply(SENT)) as web:
        assert send(tmp_path, env(web), message)[0]
    assert web.asked[0].content["text"] == sent


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"TELEGRAM_CHAT_ID": ""}, "TELEGRAM_CHAT_ID"),
        ({"TELEGRAM_BOT_TOKEN": " "}, "TELEGRAM_BOT_TOKEN"),
        ({"TELEGRAM_BOT_TOKEN": "tök\n"}, "TELEGRAM_BOT_TOKEN"),
        ({"TELEGRAM_API_URL": "telegram"}, "TELEGRAM_API_URL"),
    ],
)
def test_a_variable_that_is_missing_or_wrong(tmp_path: Path, change: dict[str, str], word: str) -> None:
    with serve(lambda _: Reply(SENT)) as web:
        success, _, reason = send(tmp_path, env(web, **change))
    assert (success, web.asked) == (False, [])
    assert word in (reason or "")


def test_a_blank_message_is_not_sent(tmp_path: Path) -> None:
    with serve(lambda _: Reply(SENT)) as web:
        assert send(tmp_path, env(web), " \n") == (False, None, "`message` is blank")
    assert web.asked == []


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply({"ok": False, "description": f"bad {TOKEN}"}, 400), "Telegram: it answers with 400: bad ***"),
        (
            Reply({"description": "Unauthorized"}, 401),
            "Telegram: it answers with 401: Unauthorized; check TELEGRAM_BOT_TOKEN",
        ),
        (Reply({"ok": False}), "Telegram: it does not confirm the message"),
        (Reply([]), "Telegram: it does not confirm the message"),
        (Reply(b"<html>"), "Telegram: its answer is not JSON (application/json, 6 bytes)"),
        (Reply("", 500), "Telegram: it answers with 500"),
    ],
)
def test_a_message_that_is_not_confirmed_is_not_sent_again(tmp_path: Path, reply: Reply, reason: str) -> None:
    with serve(lambda _: reply) as web:
        assert send(tmp_path, env(web)) == (False, None, reason)
    assert len(web.asked) == 1


def test_the_pause_that_telegram_asks_for_is_kept(tmp_path: Path) -> None:
    busy = Reply({"ok": False, "description": "Too Many", "parameters": {"retry_after": 0}}, 429)
    replies = [busy, Reply(SENT)]
    with serve(lambda _: replies.pop(0)) as web:
        assert send(tmp_path, env(web))[0]
    assert len(web.asked) == 2


def test_a_long_pause_is_not_waited_for(tmp_path: Path) -> None:
    busy = Reply({"ok": False, "description": "Too Many", "parameters": {"retry_after": 3600}}, 429)
    with serve(lambda _: busy) as web:
        assert send(tmp_path, env(web)) == (False, None, "Telegram: it answers with 429: Too Many")
    assert len(web.asked) == 1


def test_a_redirect_does_not_carry_the_token_away(tmp_path: Path) -> None:
    with (
        serve(lambda _: Reply(SENT)) as other,
        serve(lambda asked: Reply("", 307, {"Location": f"{other.url}{asked.path}"})) as web,
    ):
        success, _, reason = send(tmp_path, env(web))
    assert (success, other.asked) == (False, [])
    assert "redirects" in (reason or "")


FLOW = """phases:
- id: a
  steps:
  - {id: n, node: telegram-notify, params: {message: hello}}
  - {id: e, node: command, params: {argv: [env]}}
"""
KILLER = """
import os, signal, sys
from handrail.steps.services import chat
real = chat.send_telegram
async def send(*given):
    if os.environ["WHEN"] == "after":
        await real(*given)
    os.kill(os.getpid(), signal.SIGKILL)
chat.send_telegram = send
from handrail.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def telling(project: Project) -> Project:
    project.write(".handrail/flows/t.yaml", FLOW)
    return project


def values(ended: dict[str, Any]) -> dict[str, Any]:
    return {item["id"]: item["value"] for item in ended["phases"][0]["steps"]}


def test_a_flow_tells_and_its_programs_do_not_see_token_and_chat(
    telling: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(lambda _: Reply(SENT)) as web:
        for name, value in env(web).items():
            monkeypatch.setenv(name, value)
        found = values(telling.json("run", "t"))
    assert found["n"] == {"success": True, "messageId": 42, "reason": None}
    assert "TELEGRAM_API_URL=" in found["e"]["output"]
    assert not {name for name in ("TELEGRAM_BOT_TOKEN", "TELEGRAM_CHAT_ID") if name in found["e"]["output"]}
    for root in (telling.folder, telling.home):
        assert not [path for path in root.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]


def test_a_flow_goes_on_without_telegram(telling: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TELEGRAM_CHAT_ID", "CHAT_ID", "chat_id"):
        monkeypatch.delenv(name, raising=False)
    ended = telling.json("run", "t")
    assert ended["status"] == "completed"
    assert values(ended)["n"]["success"] is False


@pytest.mark.whole
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_message_is_not_sent_again_after_a_kill(telling: Project, monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    """The process is killed just before or just after the message was sent. Nobody can know which."""
    with serve(lambda _: Reply(SENT)) as web:
        for name, value in env(web).items():
            monkeypatch.setenv(name, value)
        argv = [sys.executable, "-c", KILLER, "run", "t"]
        settings = {**os.environ, "WHEN": when}
        killed = subprocess.run(argv, cwd=telling.folder, env=settings, capture_output=True, timeout=60, check=False)
        assert killed.returncode == -signal.SIGKILL
        ended = telling.json("resume", "last")
    assert ended["status"] == "completed"
    told = values(ended)["n"]
    assert told["success"] is False
    assert "whether it arrived is not known" in told["reason"]
    assert len(web.asked) == (1 if when == "after" else 0)
