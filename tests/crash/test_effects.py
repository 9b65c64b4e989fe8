"""A node that changes something outside is killed at every point, and the resumed run has changed it once."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from crash.accounts import none_of
from crash.cases import Case
from crash.children.doom import Doom
from crash.conftest import Stage
from crash.effects import ANSWERS, EFFECTS, Effect, forge, gitlab, jira, lay_out, telegram
from crash.pool import Pool
from depth import Depth
from handrail.extensions.declarations import node_declarations
from handrail.extensions.registry import Registry
from steps.nodes.repositories import Checkout, isolate
from steps.services.githubs import GitHub
from steps.services.web import serve

PATH = "a/x"
BEFORE = Doom("after", event="NodeStarted", path=PATH)
UNRECORDED = Doom("torn", keep="nothing", event="NodeFinished", path=PATH)
RECORDED = Doom("after", event="NodeFinished", path=PATH)
NOTHING = re.compile(r"(?!)")
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
READING = (
    *("fetch-gitlab-diff", "fetch-gitlab-review", "gitlab-issue", "playbook-inventory"),
    *("github-issue", "github-pr-diff", "github-reviews", "github-checks"),
    *("change-checks", "change-reviews", "gitlab-checks", "gitlab-reviews"),
)
"""They read again after an interruption, and their files say when."""
UNKNOWN = "whether it arrived is not known"


class Outside:
    """Makes cases with one step each, in a repository, and with services."""

    def __init__(self, pool: Pool, stage: Stage, env: dict[str, str], sent: list[Any], github: GitHub) -> None:
        self.pool = pool
        self.stage = stage
        self.env = env
        self.sent = sent
        self.github = github

    def begin(self, effect: Effect) -> Case:
        params = json.dumps(effect.params)
        for name in ("jira", "gitlab"):
            params = params.replace(f"{{{name}}}", self.env[f"{name.upper()}_BASE_URL"])
        steps = "".join(f"  - {json.dumps(step)}\n" for step in effect.before)
        case = self.stage.small(f"- id: a\n  steps:\n{steps}  - {{id: x, node: {effect.node}, params: {params}}}\n")
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


def trees(case: Case) -> list[str]:
    """The branches with their last commits, and what there is of worktrees: folders, records and entries of git."""
    argv = ["git", "for-each-ref", "--format=%(refname) %(subject)", "refs/heads/"]
    refs = subprocess.run(argv, cwd=case.project, capture_output=True, text=True, check=True).stdout.splitlines()
    state = case.folder / "home" / "state"
    folders = [state / "trees", case.project / ".git" / "worktrees"]
    inner = [str(path) for folder in folders if folder.is_dir() for path in sorted(folder.rglob("*")) if path.is_file()]
    records = len(list((state / "worktrees").glob("*.json")))
    return [*refs, *inner, f"{records} records"]


def account(case: Case) -> dict[str, Any]:
    """What has to be the same however often the run was interrupted. Times and paths of the case are left out."""
    value = case.run.state.steps[PATH].value
    value = _without_words(value)
    artifacts = sorted(artifact["path"] for artifact in case.run.state.artifacts)
    found = json.dumps({"files": files(case), "value": value, "artifacts": artifacts, "trees": trees(case)})
    plain = TIME.sub("TIME", found.replace(str(case.folder), "FOLDER").replace(case.id, "RUN"))
    hidden = re.sub(r"\b[0-9a-f]{40}\b|\b[0-9a-f]{7}\b", "HASH", plain)
    return {"ended": case.status, "commits": commits(case), **json.loads(hidden)}


def _without_words(value: Any) -> Any:
    """A value without the words of a program, also in the outputs of another node."""
    if not isinstance(value, dict):
        return value
    return {name: _without_words(item) for name, item in value.items() if name != "output"}


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
        yield Outside(pool, stage, env, chat.asked, github)


def test_every_node_that_publishes_files_is_here() -> None:
    declared = node_declarations(Registry())
    makers = {name for name, node in declared.items() if node.makes or node.published}
    assert makers - {effect.node for effect in EFFECTS} == {"llm-prompt"}, "an agent is told that it was interrupted"


KNOWING = [effect for effect in EFFECTS if effect.node != "telegram-notify"]


@pytest.mark.explores
@pytest.mark.parametrize("effect", KNOWING, ids=lambda effect: effect.name)
def test_an_effect_happens_once(outside: Outside, effect: Effect, depth: Depth) -> None:
    """The driver is killed before the effect, after it, after its record, and after every eighth sync of a file.

    The syncs are those of the project, of the journal and of the shelf. Different effects begin at different places, so
    together they try all.
    """
    whole, first = outside.whole(effect), 1 + KNOWING.index(effect) % 8
    syncs = json.loads((whole.folder / "layer").read_text())["syncs"]
    wanted, places = account(whole), depth.places(range(first, syncs + 1, 8), every=2)
    dooms = [BEFORE, UNRECORDED, RECORDED, *(Doom("synced", at) for at in places)]
    found = outside.pool.each(lambda doom: problems(outside, wanted, effect, doom), dooms)
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
    assert node_declarations(Registry())["telegram-notify"].rerun == "never"


class Proposal(NamedTuple):
    """An effect that is proposed. `times` says how often it happened."""

    params: dict[str, Any]
    times: Callable[[Outside, Case], int]


def _pushes(outside: Outside, case: Case) -> int:
    del outside
    log = case.folder / "bare.git" / "received"
    return len(log.read_text().splitlines()) if log.exists() else 0


def _with_remote(case: Case) -> None:
    """A bare repository that counts what it receives."""
    bare = case.folder / "bare.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True)
    hook = bare / "hooks" / "post-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ncat >> received\n")
    hook.chmod(0o755)
    subprocess.run(["git", "remote", "add", "origin", str(bare)], cwd=case.project, check=True)


_PR = {"title": "Tea", "forge": "github", "repository": "octo/tea", "head": "main", "base": "old"}
PROPOSALS = {
    "git-push": Proposal({"branch": "main"}, _pushes),
    "git-commit": Proposal({"message": "Second", "files": ["kept.txt"]}, lambda _, case: len(commits(case)) - 1),
    "pr-open": Proposal(_PR, lambda outside, _: len(outside.github.lists["pulls"])),
    "github-comment": Proposal(
        {"issue": "octo/tea#7", "text": "hi"}, lambda outside, _: len(outside.github.lists["issues/7/comments"]) - 1
    ),
}
KILLS = {
    "before the question": Doom("after", event="FactFound", path=PATH),
    "with the question": Doom("after", event="Asked", path=PATH),
    "after the yes": Doom("after", event="Answered", path=PATH),
    "before the effect": Doom("after", event="FactFound", path=PATH, at=2),
    "after the effect": UNRECORDED,
    "at the end": RECORDED,
}


def count_of(case: Case, kind: str) -> int:
    return sum(type(event).__name__ == kind for _, event in case.run.records)


@pytest.mark.whole
@pytest.mark.parametrize("effect", PROPOSALS)
def test_a_proposal_is_asked_once_and_done_once(outside: Outside, effect: str) -> None:
    proposal = PROPOSALS[effect]
    for name, doom in KILLS.items():
        outside.github.lists["pulls"].clear()  # an open one would be used
        case = outside.begin(Effect("propose", {"effect": effect, "params": proposal.params}))
        _with_remote(case)
        before = proposal.times(outside, case)
        assert outside.resume(case, doom) == -signal.SIGKILL, name
        more = [] if count_of(case, "Answered") else ["--answers", str(case.answers)]
        if case.status != "completed":
            assert outside.pool.run(case, "resume", "--quiet", *more).code == 0, (
                name,
                (case.folder / "out").read_text(),
            )
        assert count_of(case, "Asked") == 1, name
        assert proposal.times(outside, case) == before + 1, name
        assert case.run.state.steps[PATH].value["approved"] is True


@pytest.mark.whole
def test_a_proposal_asks_again_if_the_files_changed_after_the_kill(outside: Outside) -> None:
    case = outside.begin(Effect("propose", {"effect": "git-commit", "params": PROPOSALS["git-commit"].params}))
    assert outside.resume(case, KILLS["after the yes"]) == -signal.SIGKILL
    (case.project / "kept.txt").write_text("three\n")
    assert outside.pool.run(case, "resume", "--quiet").code == 4
    assert outside.resume(case) == 0
    assert commits(case)[0] == "Second"


@pytest.mark.parametrize(("kill", "times"), [("before the effect", 0), ("after the effect", 1), ("at the end", 1)])
def test_a_proposed_message_is_never_sent_twice(outside: Outside, kill: str, times: int) -> None:
    case = outside.begin(Effect("propose", {"effect": "telegram-notify", "params": {"message": "hello"}}))
    assert outside.resume(case, KILLS[kill]) == -signal.SIGKILL
    if case.status != "completed":
        assert outside.resume(case) == 0
    value = case.run.state.steps[PATH].value
    assert len(outside.sent) == times
    assert (UNKNOWN in str(value["result"]["reason"])) == (kill != "at the end")
