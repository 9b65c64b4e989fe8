"""`propose`: the exact effect is shown, it is done after a yes, once, and a change after the yes asks again."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handrail.app import App
from handrail.extensions.contracts import NodeContext, NodeError, Work
from handrail.extensions.registry import Registry
from handrail.view.actions import Actions, LateAnswer
from steps.nodes.repositories import Checkout, isolate
from steps.services.githubs import TOKEN, GitHub
from steps.services.web import Reply, serve
from support import Project, Said

YES, NO = {"approved": True, "reason": "looks right"}, {"approved": False, "reason": "not on Friday"}


class Proposing:
    """A project that is a git repository with a bare remote, and a flow with one `propose` and a step after it."""

    def __init__(self, project: Project, bare: Path) -> None:
        self.project = project
        self.bare = bare
        self.checkout = Checkout(project.folder)
        self.checkout.write(".gitignore", "/.handrail\n")
        self.checkout.write("kept.txt", "one\n")
        self.checkout.commit()
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True)
        self.checkout.git("remote", "add", "origin", str(bare))

    def flow(self, effect: Any, params: Any = None, **more: Any) -> None:
        given = {"effect": effect, **({} if params is None else {"params": params}), **more}
        steps = [{"id": "x", "node": "propose", "params": given}]
        after = [{"id": "y", "node": "set", "params": {"value": 1}}]
        phases = [{"id": "a", "steps": steps}, {"id": "b", "steps": after}]
        self.project.write(".handrail/flows/one.json", json.dumps({"phases": phases}))

    def run(self, *argv: str, code: int = 4) -> dict[str, Any]:
        return self.project.json("run", "one", *argv, code=code)

    def question(self) -> dict[str, Any]:
        return self.project.json("answer", "last", "--show")

    @property
    def description(self) -> str:
        return str(self.question()["form"]["description"])

    def answer(self, values: dict[str, Any]) -> dict[str, Any]:
        file = self.project.write(".handrail/answer.json", json.dumps(values))
        return self.project.run("answer", "last", "--file", str(file), "--json").data

    def at(self, branch: str = "main") -> str | None:
        words = ["git", "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}"]
        return subprocess.run(words, cwd=self.bare, capture_output=True, text=True, check=False).stdout.strip() or None


def value(run: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = run["phases"][0]["steps"][0]["value"]
    return found


@pytest.fixture
def proposing(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Proposing:
    isolate(monkeypatch)
    return Proposing(project, tmp_path / "bare.git")


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHub]:
    made = GitHub()
    with serve(made.answer) as made.web:
        for name, text in made.env().items():
            monkeypatch.setenv(name, text)
        yield made


@pytest.mark.whole
def test_a_push_is_shown_and_done_after_the_yes(proposing: Proposing) -> None:
    proposing.flow("git-push", {})
    proposing.run()
    head = proposing.checkout.head
    asked = proposing.question()
    assert asked["form"]["title"] == "Push `main` to `main` of `origin`"
    shown = proposing.description
    for words in (f"origin\n  | {proposing.bare}", f"main, commit {head}", "a new branch", "Forced: no"):
        assert words in shown
    assert f"New commits: {head[:7]} Ada: first" in shown
    assert "kept.txt" in shown
    assert proposing.at() is None, "nothing is done before the yes"
    run = proposing.answer(YES)
    assert (run["status"], proposing.at()) == ("completed", head)
    assert value(run) == {
        "approved": True,
        "by": "person",
        "reason": "looks right",
        "rule": None,
        "stopped": False,
        "result": {
            "remote": "origin",
            "address": str(proposing.bare),
            "branch": "main",
            "commit": head,
            "pushed": True,
        },
    }


@pytest.mark.parametrize(
    ("otherwise", "status", "later"),
    [(None, "stopped", "skipped"), ("stop", "stopped", "skipped"), ("skip", "completed", "done")],
)
def test_after_a_no_nothing_is_done(proposing: Proposing, otherwise: str | None, status: str, later: str) -> None:
    proposing.flow("git-push", {}, **({} if otherwise is None else {"otherwise": otherwise}))
    proposing.run()
    run = proposing.answer(NO)
    assert (run["status"], run["phases"][1]["status"], proposing.at()) == (status, later, None)
    given = {name: value(run)[name] for name in ("approved", "by", "reason", "result")}
    assert given == {"approved": False, "by": "person", "reason": "not on Friday", "result": None}


@pytest.mark.whole
def test_a_no_that_fails_is_asked_again_only_after_a_change(proposing: Proposing) -> None:
    proposing.flow("git-push", {}, otherwise="fail")
    proposing.run()
    run = proposing.answer(NO)
    assert (run["status"], run["reason"]) == ("failed", "not-approved at a/x")
    assert "not on Friday" in run["error"]
    assert proposing.project.json("resume", "last", code=1)["reason"] == "not-approved at a/x"
    proposing.checkout.write("kept.txt", "two\n")
    proposing.checkout.commit("Second")
    assert proposing.project.json("resume", "last", code=4)["status"] == "waiting"
    assert "since it was asked last" in proposing.description
    assert proposing.answer(YES)["status"] == "completed"
    assert proposing.at() == proposing.checkout.head


@pytest.mark.whole
def test_a_commit_after_the_yes_asks_again(proposing: Proposing) -> None:
    proposing.flow("git-push", {})
    proposing.run()
    first = proposing.checkout.head
    proposing.checkout.write("kept.txt", "two\n")
    second = proposing.checkout.commit("Sneaked in")
    run = proposing.answer(YES)
    assert (run["status"], proposing.at()) == ("waiting", None)
    shown = proposing.description
    assert "This has changed since it was asked last" in shown
    assert f"commit ({first[:12]} → {second[:12]})" in shown
    assert "Sneaked in" in shown
    assert proposing.answer(YES)["status"] == "completed"
    assert proposing.at() == second


@pytest.mark.whole
def test_a_yes_of_a_surface_after_a_commit_is_refused(proposing: Proposing) -> None:
    proposing.flow("git-push", {})
    proposing.run()
    actions = Actions(App(str(proposing.project.folder), os.environ, by="person"), "web")
    run = actions.app.runs.load(actions.app.runs.named("last"))
    (asked,) = run.state.questions.values()
    proposing.checkout.write("kept.txt", "two\n")
    proposing.checkout.commit("Sneaked in")
    with pytest.raises(LateAnswer, match="`commit` changed after this was asked"):
        asyncio.run(actions.answer(run.id, asked.id, asked.input, YES))
    while (found := actions.app.runs.load(run.id)).driver is not None or asked.id not in found.state.closed:
        time.sleep(0.05)
    assert "Sneaked in" in proposing.description
    assert proposing.answer(YES)["status"] == "completed"


@pytest.mark.whole
def test_a_push_of_another_after_the_yes_asks_again(proposing: Proposing) -> None:
    proposing.checkout.git("push", "-q", "origin", "main")
    before = proposing.checkout.head
    proposing.checkout.write("kept.txt", "two\n")
    proposing.checkout.commit("Second")
    proposing.flow("git-push", {"force": True})
    proposing.run()
    other = proposing.checkout.git("commit-tree", f"{before}^{{tree}}", "-p", before, "-m", "theirs").strip()
    proposing.checkout.git("push", "-q", "origin", f"{other}:refs/heads/main")
    assert proposing.answer(YES)["status"] == "waiting"
    assert proposing.at() == other
    shown = proposing.description
    assert "commit on the remote" in shown
    assert "yes, it overwrites:" in shown
    assert "theirs" in shown


@pytest.mark.whole
def test_another_address_after_the_yes_asks_again(proposing: Proposing, tmp_path: Path) -> None:
    """An agent may write the settings of the repository, so a yes is for the addresses that were shown."""
    proposing.flow("git-push", {})
    proposing.run()
    elsewhere = tmp_path / "elsewhere.git"
    subprocess.run(["git", "init", "-q", "--bare", str(elsewhere)], check=True)
    proposing.checkout.git("remote", "set-url", "--add", "--push", "origin", str(proposing.bare))
    proposing.checkout.git("remote", "set-url", "--add", "--push", "origin", str(elsewhere))
    assert proposing.answer(YES)["status"] == "waiting"
    assert str(elsewhere) in proposing.description


@pytest.mark.whole
@pytest.mark.parametrize(
    ("effect", "params", "hook"),
    [
        ("git-push", {}, "pre-push"),
        ("git-commit", {"message": "Second", "files": ["kept.txt"]}, "prepare-commit-msg"),
    ],
)
def test_a_hook_after_the_yes_asks_again(proposing: Proposing, effect: str, params: dict[str, Any], hook: str) -> None:
    """An agent may write a hook, which git then runs with the rights of the person."""
    proposing.checkout.write("kept.txt", "two\n")
    proposing.flow(effect, params)
    proposing.run()
    assert "Hooks" not in proposing.description
    proposing.checkout.hook(hook, "exit 0")
    assert proposing.answer(YES)["status"] == "waiting"
    assert f"Hooks: git runs these programs of the repository: {hook} (sha256 " in proposing.description


@pytest.mark.whole
def test_a_commit_is_shown_with_its_files_and_is_exactly_that(proposing: Proposing) -> None:
    proposing.checkout.write("kept.txt", "two\n")
    proposing.checkout.write("new.txt", "new\n")
    proposing.checkout.write("other.txt", "staged by somebody\n")
    proposing.checkout.git("add", "other.txt")
    params = {"message": "Second\n\nWhy.", "files": ["kept.txt", "new.txt"]}
    proposing.flow("git-commit", params)
    before = proposing.checkout.git("status", "--porcelain")
    objects = proposing.checkout.git("count-objects")
    proposing.run()
    assert (proposing.checkout.git("status", "--porcelain"), proposing.checkout.git("count-objects")) == (
        before,
        objects,
    )
    shown = proposing.description
    assert "Message:\n  | Second\n  | \n  | Why." in shown
    assert "new.txt" in shown
    assert "other.txt" not in shown
    proposing.checkout.write("kept.txt", "three\n")
    assert proposing.answer(YES)["status"] == "waiting"
    assert "files (" in proposing.description
    assert proposing.answer(YES)["status"] == "completed"
    assert proposing.checkout.committed() == {"kept.txt", "new.txt"}
    assert proposing.checkout.git("show", "HEAD:kept.txt") == "three\n"


@pytest.mark.whole
def test_staged_files_are_committed_as_shown(proposing: Proposing) -> None:
    proposing.checkout.write("kept.txt", "two\n")
    proposing.checkout.git("add", "kept.txt")
    proposing.checkout.git("mv", "kept.txt", "moved.txt")
    proposing.flow("git-commit", {"message": "Move", "files": []})
    proposing.run()
    assert "moved.txt" in proposing.description
    assert proposing.answer(YES)["status"] == "completed"
    assert proposing.checkout.committed() == {"kept.txt", "moved.txt"}


def test_a_pull_request_and_a_comment_are_shown_exactly(proposing: Proposing, github: GitHub) -> None:
    proposing.checkout.git("switch", "-q", "-c", "order")
    params = {"title": "Keep the order", "body": "It *was* lost.", "base": "main", "draft": True}
    proposing.flow("pr-open", {**params, "forge": "github", "repository": "octo/tea"})
    proposing.run()
    shown = proposing.description
    for words in (f"{github.web.url}/octo/tea", "From: order, commit", "Into: main", "It *was* lost.", "Draft: yes"):
        assert words in shown
    assert github.lists["pulls"] == []
    run = proposing.answer(YES)
    assert value(run)["result"]["number"] == 1
    github.lists["issues/1/comments"] = []
    proposing.flow("github-comment", {"issue": "octo/tea#1", "text": "Done.\nSee `order`."})
    proposing.run()
    assert f"Where: {github.web.url}/octo/tea/issues/1\nText:\n  | Done.\n  | See `order`." in proposing.description
    assert github.lists["issues/1/comments"] == []
    proposing.answer(YES)
    assert [row["body"].startswith("Done.\nSee `order`.") for row in github.lists["issues/1/comments"]] == [True]


def test_messages_are_shown_with_their_channel(proposing: Proposing, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = "TTTT0000/BBBB1111/s3cretS3cretS3cret"
    with serve(lambda _: Reply({"ok": True, "result": {"message_id": 7}})) as web:
        monkeypatch.setenv("NOTIFY_WEBHOOK_URL", f"{web.url}/services/{hidden}")
        monkeypatch.setenv("TELEGRAM_API_URL", web.url)
        monkeypatch.setenv("TELEGRAM_BOT_TOKEN", "1:t0kenT0kenT0ken")
        monkeypatch.setenv("TELEGRAM_CHAT_ID", "123456789")
        proposing.flow("notify", {"message": "Ready", "title": "Tea", "channels": ["webhook", "telegram"]})
        proposing.run()
        shown = proposing.description
        assert (hidden in shown, "t0ken" in shown, "123456789" in shown) == (False, False, False)
        assert f"webhook: at `{web.url.removeprefix('http://')}`" in shown
        assert "Text: Ready" in shown
        assert web.asked == []
        assert value(proposing.answer(YES))["result"]["sent"] == ["webhook", "telegram"]
        proposing.flow("telegram-notify", {"message": "Ready"})
        proposing.run()
        assert "Channel: the chat of TELEGRAM_CHAT_ID" in proposing.description
        assert value(proposing.answer(YES))["result"]["messageId"] == 7


def test_what_is_shown_is_bounded_and_plain(proposing: Proposing, github: GitHub) -> None:
    text = f"a\x1b[2Jb\u202ec {TOKEN}\n" + "long " * 10_000
    proposing.flow("github-comment", {"issue": "octo/tea#1", "text": text})
    proposing.run()
    shown = proposing.description
    assert ("\x1b" in shown, "\u202e" in shown, TOKEN in shown) == (False, False, False)
    assert "NOT SHOWN: " in shown
    assert len(shown) < 25_000


def test_another_title_does_not_hide_what_is_done(proposing: Proposing) -> None:
    proposing.flow("git-push", {}, title="Just a small thing")
    proposing.run()
    assert proposing.question()["form"]["title"] == "Just a small thing"
    assert "What: Push `main` to `main` of `origin`" in proposing.description


@pytest.mark.whole
def test_a_yes_survives_until_the_effect(proposing: Proposing) -> None:
    """The push fails after the yes; the resumed run pushes without a new question."""
    proposing.flow("git-push", {})
    proposing.run()
    refusing = proposing.bare / "hooks/pre-receive"
    refusing.parent.mkdir(exist_ok=True)
    refusing.write_text("#!/bin/sh\nexit 1\n")
    refusing.chmod(0o755)
    assert proposing.answer(YES)["reason"] == "git-rejected at a/x"
    refusing.unlink()
    assert proposing.project.json("resume", "last")["status"] == "completed"
    assert proposing.at() == proposing.checkout.head


def test_an_option_approves_an_effect(proposing: Proposing) -> None:
    proposing.flow("git-push", {})
    said = proposing.project.run("run", "one", "--approve", "git-push", "--events")
    events = [json.loads(line) for line in said.out.splitlines()]
    facts = {event["subject"]: event["value"] for event in events if event["type"] == "FactFound"}
    assert facts["rule.0"] == "--approve git-push", "the journal says who said yes"
    assert ["Forced", "no"] in facts["seen.0"]["facts"], "and to what"
    (found,) = [event["value"] for event in events if event["type"] == "NodeFinished" and event["path"] == "a/x"]
    assert (found["by"], found["rule"], proposing.at()) == ("rule", "--approve git-push", proposing.checkout.head)


@pytest.mark.whole
def test_an_option_approves_an_effect_of_a_run_that_waits(proposing: Proposing) -> None:
    proposing.flow("git-push", {})
    proposing.run("--approve", "git-commit")
    run = proposing.project.json("resume", "last", "--approve", "git-push")
    assert value(run)["rule"] == "--approve git-push"


def test_an_unknown_effect_of_the_option_is_refused(proposing: Proposing) -> None:
    proposing.flow("git-push", {})
    said = proposing.project.run("run", "one", "--approve", "git-psh")
    assert (said.code, "git-push" in said.err) == (2, True)


def settings(project: Project, text: str) -> None:
    path = project.home / "config" / "settings.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.whole
def test_a_rule_of_the_user_approves_what_it_is_for(proposing: Proposing) -> None:
    rule = "approve:\n- effect: git-push\n  where: {branch: handrail/*, remote: origin}\n"
    settings(proposing.project, rule)
    proposing.flow("git-push", {})
    proposing.run()
    proposing.checkout.git("switch", "-q", "-c", "handrail/order")
    run = proposing.run(code=0)
    told = "`approve` in your settings: git-push where branch: handrail/*, remote: origin"
    assert (value(run)["by"], value(run)["rule"]) == ("rule", told)
    assert proposing.at("handrail/order") == proposing.checkout.head


@pytest.mark.whole
def test_a_rule_has_to_name_a_forced_push(proposing: Proposing) -> None:
    proposing.flow("git-push", {"force": True})
    settings(proposing.project, "approve: [git-push]\n")
    proposing.run()
    proposing.run("--approve", "git-push")
    settings(proposing.project, "approve:\n- {effect: git-push, where: {force: true}}\n")
    assert value(proposing.run(code=0))["by"] == "rule"


def test_a_project_cannot_approve(proposing: Proposing) -> None:
    proposing.project.write(".handrail/settings.yaml", "approve: [git-push]\nagentLogins: true\n")
    proposing.flow("git-push", {})
    said = proposing.project.run("validate")
    assert said.code == 2
    for name in ("approve", "agentLogins"):
        assert f"`{name}` can be set only in the user's settings" in said.err + said.out
    assert "settings.yaml:1:10" in said.err + said.out
    proposing.run(code=2)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("[git-psh]", "did you mean `git-push`?"),
        ("[set]", "there is no effect `set` that can be approved"),
        ("[{effect: git-push, where: {branhc: x}}]", "did you mean `branch`?"),
        ("[{effect: git-push, were: {branch: x}}]", "did you mean `where`?"),
        ("[{where: {branch: x}}]", "has to name an effect"),
        ("[{effect: git-push, where: main}]", "`where` has to be a mapping"),
        ("[{effect: git-push, where: {branch: [main]}}]", "`branch` has to be a pattern"),
    ],
)
def test_a_wrong_rule_is_told_and_approves_nothing(proposing: Proposing, rule: str, words: str) -> None:
    settings(proposing.project, f"approve: {rule}\n")
    proposing.flow("git-push", {})
    said = proposing.project.run("validate")
    assert (said.code, words in said.out + said.err) == (2, True), said
    proposing.run(code=2)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"effect": "git-psh"}, "did you mean `git-push`?"),
        ({"effect": "set"}, "`set` cannot be proposed"),
        ({"effect": "approve"}, "`approve` cannot be proposed"),
        ({"effect": "git-push", "params": {"brunch": "x"}}, "`git-push` has no param `brunch`"),
        ({"effect": "git-push", "params": {"force": "yes"}}, "`force` has to be true or false"),
        ({"effect": "github-comment", "params": {"issue": "a/b#1"}}, "`github-comment` needs the param `text`"),
        ({"effect": "github-comment"}, "`github-comment` needs the param `issue`"),
        ({"effect": "git-push", "otherwise": "wait"}, "`otherwise` has to be"),
    ],
)
def test_mistakes_are_found_before_the_run(proposing: Proposing, given: dict[str, Any], words: str) -> None:
    proposing.flow(given.pop("effect"), given.pop("params", None), **given)
    said: Said = proposing.project.run("validate")
    assert (said.code, words in said.out + said.err) == (2, True), said
    assert "one.json:1:" in said.out + said.err


def test_mistakes_that_only_the_run_knows_fail_the_step(proposing: Proposing) -> None:
    for effect, words in (
        ("set", "cannot be proposed"),
        ("nowhere", "there is no effect"),
        ("git-commit", "`message`"),
    ):
        proposing.flow("${params.effect}", {})
        run = proposing.run("--param", f"effect={effect}", code=1)
        assert (run["reason"], words in run["error"]) == ("params at a/x", True)


@pytest.mark.whole
def test_a_later_step_reads_the_result(proposing: Proposing) -> None:
    proposing.flow("git-push", {})
    flow = json.loads((proposing.project.folder / ".handrail/flows/one.json").read_text())
    flow["phases"][1]["steps"][0]["params"]["value"] = "${steps.a.x.outputs.result.branch}"
    proposing.project.write(".handrail/flows/one.json", json.dumps(flow))
    run = proposing.run("--approve", "git-push", code=0)
    assert run["phases"][1]["steps"][0]["value"] == {"value": "main"}


def test_an_agent_cannot_say_yes(proposing: Proposing, monkeypatch: pytest.MonkeyPatch) -> None:
    proposing.flow("git-push", {})
    proposing.run()
    for path in (proposing.project.home / "state").glob("open-to-agents"):
        path.unlink()
    monkeypatch.setenv("HANDRAIL_RUN", "r-other")
    file = proposing.project.write(".handrail/answer.json", json.dumps(YES))
    for argv in (
        ("answer", "last", "--file", str(file)),
        ("resume", "last", "--approve", "git-push"),
        ("run", "one", "--approve", "git-push"),
    ):
        said = proposing.project.run(*argv)
        assert (said.code, "only a person may run" in said.err) == (1, True), said
    assert proposing.at() is None


@pytest.mark.whole
@pytest.mark.parametrize(
    ("effect", "params"),
    [
        ("git-push", {}),
        ("git-commit", {"message": "Second", "files": ["kept.txt"]}),
        ("pr-open", {"title": "T", "head": "main", "base": "old", "forge": "github", "repository": "octo/tea"}),
    ],
)
def test_a_node_itself_refuses_another_state_than_the_approved_one(
    proposing: Proposing, github: GitHub, effect: str, params: dict[str, Any]
) -> None:
    """So nothing can change between the last look and the effect."""
    proposing.checkout.write("kept.txt", "two\n")
    kind: Any = Registry().nodes()[effect]
    context = NodeContext(
        project=str(proposing.project.folder), env=dict(os.environ), key="r-1/a/x", registry=Registry()
    )
    work = Work(path="a/x", node=effect, params=params, prompt=None, own_checks=True, timeout=None)
    state = asyncio.run(kind.preview(work, context)).state
    for name in state:
        with pytest.raises(NodeError) as caught:
            asyncio.run(kind.run(replace(work, approved={**state, name: "other"}), context))
        assert (caught.value.code, f"`{name}`" in caught.value.message) == ("changed", True)
    assert (proposing.at(), proposing.checkout.subjects, github.lists["pulls"]) == (None, ["first"], [])
    asyncio.run(kind.run(replace(work, approved=state), context))
    done = {"git-push": proposing.at() is not None, "git-commit": len(proposing.checkout.subjects) == 2}
    assert {**done, "pr-open": len(github.lists["pulls"]) == 1}[effect]


def test_values_of_the_run_are_params_of_the_effect(proposing: Proposing, github: GitHub) -> None:
    github.lists["issues/1/comments"] = []
    proposing.flow("github-comment", {"issue": "octo/tea#${params.number}", "text": "${params.text}"})
    assert proposing.project.run("validate", "--strict").code == 0
    proposing.run("--param", "number=1", "--param", "text=Done.", "--approve", "github-comment", code=0)
    assert [row["body"].startswith("Done.") for row in github.lists["issues/1/comments"]] == [True]
