"""A node that changes something outside is killed at every point, and the resumed run has changed it once."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crash.accounts import none_of
from crash.cases import Case
from crash.children.doom import Doom
from crash.conftest import Stage
from crash.effects import ANSWERS, EFFECTS, Effect, forge, gitlab, jira, lay_out, telegram
from crash.pool import Pool
from depth import Depth
from handrail import registry
from nodes.repositories import Checkout, isolate
from services.web import serve

PATH = "a/x"
BEFORE = Doom("after", event="NodeStarted", path=PATH)
UNRECORDED = Doom("torn", keep="nothing", event="NodeFinished", path=PATH)
RECORDED = Doom("after", event="NodeFinished", path=PATH)
NOTHING = re.compile(r"(?!)")
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
READING = (
    *("fetch-gitlab-diff", "fetch-gitlab-review", "gitlab-issue", "playbook-inventory"),
    *("github-issue", "github-pr-diff", "github-reviews", "github-checks"),
)
"""They read again after an interruption, and their files say when."""
UNKNOWN = "whether it arrived is not known"


class Outside:
    """Makes cases with one step each, in a repository, and with services."""

    def __init__(self, pool: Pool, stage: Stage, env: dict[str, str], sent: list[Any]) -> None:
        self.pool = pool
        self.stage = stage
        self.env = env
        self.sent = sent

    def begin(self, effect: Effect) -> Case:
        params = json.dumps(effect.params)
        for name in ("jira", "gitlab"):
            params = params.replace(f"{{{name}}}", self.env[f"{name.upper()}_BASE_URL"])
        case = self.stage.small(f"- id: a\n  steps:\n  - {{id: x, node: {effect.node}, params: {params}}}\n")
        case.env |= self.env
        case.answers.write_text(json.dumps(ANSWERS))
        lay_out(Checkout(case.project))
        return case

    def resume(self, case: Case, doom: Doom | None = None) -> int:
        return self.pool.run(case, "resume", "--quiet", "--answers", str(case.answers), doom=doom).code

    def whole(self, effect: Effect) -> Case:
        """A case that was not interrupted."""
        case = self.begin(effect)
        assert self.resume(case) == 0, (case.folder / "out").read_text()
        return case


def files(case: Case) -> dict[str, str]:
    """The files of the project, without git's own and those of Handrail."""
    inner = [path.relative_to(case.project) for path in case.project.rglob("*") if path.is_file()]
    mine = [path for path in inner if path.parts[0] not in (".git", ".handrail")]
    return {path.as_posix(): (case.project / path).read_text(encoding="utf-8") for path in mine}


def commits(case: Case) -> list[str]:
    argv = ["git", "log", "--format=%s"]
    return subprocess.run(argv, cwd=case.project, capture_output=True, text=True, check=True).stdout.splitlines()


def account(case: Case) -> dict[str, Any]:
    """What has to be the same however often the run was interrupted. Times and paths of the case are left out."""
    value = case.run.state.steps[PATH].value
    value = {name: item for name, item in value.items() if name != "output"}  # the words of a program
    artifacts = sorted(artifact["path"] for artifact in case.run.state.artifacts)
    found = json.dumps({"files": files(case), "value": value, "artifacts": artifacts})
    plain = TIME.sub("TIME", found.replace(str(case.folder), "FOLDER"))
    hidden = re.sub(r"\b[0-9a-f]{40}\b|\b[0-9a-f]{7}\b", "HASH", plain)
    return {"ended": case.status, "commits": commits(case), **json.loads(hidden)}


def problems(outside: Outside, wanted: dict[str, Any], effect: Effect, doom: Doom) -> list[str]:
    """What is wrong after the driver was killed there and the run was resumed."""
    case = outside.begin(effect)
    code = outside.resume(case, doom)
    if code != -signal.SIGKILL:
        return [] if doom.how == "synced" and code == 0 else [f"{doom}: it was not killed, but ended with {code}"]
    kept = {name: text for name, text in files(case).items() if not Path(name).name.startswith(".handrail-")}
    code = 0 if case.status == "completed" else outside.resume(case)
    if code != 0:
        return [f"{doom}: it was not resumed, but ended with {code}: {(case.folder / 'out').read_text()}"]
    found = account(case)
    wrong = [f"{doom}: {name}: {found[name]!r}, not {wanted[name]!r}" for name in wanted if found[name] != wanted[name]]
    hide = TIME if effect.node in READING else NOTHING
    now = {name: hide.sub("", text) for name, text in files(case).items()}
    changed = [name for name, text in kept.items() if name.startswith("out/") and now.get(name) != hide.sub("", text)]
    return wrong + [f"{doom}: `{name}` was written again, and differently" for name in changed]


@pytest.fixture
def outside(pool: Pool, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    isolate(monkeypatch)
    github = forge()
    with serve(jira) as issues, serve(gitlab) as requests, serve(telegram) as chat, serve(github.answer) as github.web:
        env = {
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "JIRA_BASE_URL": issues.url,
            "JIRA_API_KEY": "key",
            "GITLAB_BASE_URL": requests.url,
            "GITLAB_TOKEN": "token",
            **github.env(),
            "TELEGRAM_API_URL": chat.url,
            "TELEGRAM_BOT_TOKEN": "1:t",
            "TELEGRAM_CHAT_ID": "5",
        }
        yield Outside(pool, stage, env, chat.asked)


def test_every_node_that_publishes_files_is_here() -> None:
    declared = registry.node_declarations()
    makers = {name for name, node in declared.items() if node.makes or node.published}
    assert makers - {effect.node for effect in EFFECTS} == {"llm-prompt"}, "an agent is told that it was interrupted"


KNOWING = [effect for effect in EFFECTS if effect.node != "telegram-notify"]


@pytest.mark.parametrize("effect", KNOWING, ids=lambda effect: effect.name)
def test_an_effect_happens_once(outside: Outside, effect: Effect) -> None:
    wanted = account(outside.whole(effect))
    dooms = [BEFORE, UNRECORDED, RECORDED]
    found = outside.pool.each(lambda doom: problems(outside, wanted, effect, doom), dooms)
    none_of([problem for wrong in found for problem in wrong])


@pytest.mark.explores
@pytest.mark.parametrize("effect", KNOWING, ids=lambda effect: effect.name)
def test_an_effect_happens_once_wherever_it_is_cut(outside: Outside, effect: Effect, depth: Depth) -> None:
    """The driver is killed after every fourth sync of a file: of the project, of the journal, of the shelf.

    Different effects begin at different places, so together they try all.
    """
    whole, first = outside.whole(effect), 1 + KNOWING.index(effect) % 4
    syncs = json.loads((whole.folder / "layer").read_text())["syncs"]
    wanted, places = account(whole), depth.places(range(first, syncs + 1, 4), every=3)
    found = outside.pool.each(lambda at: problems(outside, wanted, effect, Doom("synced", at)), places)
    none_of([problem for wrong in found for problem in wrong])


@pytest.mark.parametrize(("doom", "times"), [(BEFORE, 0), (UNRECORDED, 1), (RECORDED, 1)])
def test_a_message_is_never_sent_twice(outside: Outside, doom: Doom, times: int) -> None:
    """Nobody can know whether a message arrived, so it is not sent again, the run goes on, and the step says so."""
    case = outside.begin(Effect("telegram-notify", {"message": "hello"}))
    assert outside.resume(case, doom) == -signal.SIGKILL
    assert outside.resume(case) == 0
    value = case.run.state.steps[PATH].value
    assert len(outside.sent) == times
    assert (value["success"], UNKNOWN in str(value["reason"])) == (doom is RECORDED, doom is not RECORDED)
    assert registry.node_declarations()["telegram-notify"].rerun == "never"
