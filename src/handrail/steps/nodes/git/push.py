"""`git-push`: pushes a branch to a remote, once. It looks at the branch of the remote before, and after a failure.

Credentials are no argument of git. A token goes to the configured forge only, in a header that git reads from its
environment. While it is there, git runs no hook and no other program of the repository's settings, and uses HTTP
only: an agent may have written them. The hook `pre-push` runs before, without the token. Without a token, git uses
the user's own settings.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from handrail.base.dataclasses import dataclass, replace
from handrail.base.processes import CapturedOutput, Task, run_task, tail
from handrail.extensions.contracts import LastingError, Node, NodeContext, NodeError, Preview, Work, refuse_changed
from handrail.settings.environment import with_git_settings
from handrail.source.fields import Field
from handrail.source.plain_text import counted
from handrail.steps.nodes.git import commands
from handrail.steps.services.addresses import parse_remote, password_of, public_address
from handrail.steps.services.forges import GitLogin, git_login

SECONDS = 600.0
NO_COMMIT = "0" * 40
_TEMPORARY_REMOTE = "handrail-push"
"""A remote that only one command of git knows: so its address, which may have a password, is no argument."""
_QUIET = {"GIT_TERMINAL_PROMPT": "0", "SSH_ASKPASS_REQUIRE": "never", "LC_ALL": "C", "LANGUAGE": "C"}
_REVEALING = ("GIT_TRACE", "GIT_CURL_VERBOSE", "GIT_SSL_NO_VERIFY")
"""Variables that could print a header, or weaken the connection."""
_SETTINGS = ("GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "GIT_CONFIG_PARAMETERS")
_REFUSED = ("Authentication failed", "could not read Username", "could not read Password", "Permission denied")


@dataclass(frozen=True, kw_only=True)
class Transport:
    """A remote for pushing. `target` is its name, or its address if a token is used.

    `source` is what git reads from: the address for pushing may be another one than the address for fetching.
    `plain` is the repository without the token, `git` the one with it; both are the same if there is none. `address`
    and `addresses` are for people: the first place that a push goes to, and all of them.
    """

    plain: commands.Repository
    git: commands.Repository
    name: str
    target: str
    source: str
    address: str
    secrets: tuple[str, ...]
    addresses: tuple[str, ...] = ()

    @property
    def has_token(self) -> bool:
        return self.git is not self.plain

    async def commit_of(self, ref: str) -> str | None:
        """The commit that a ref of the remote is at. None if there is no such ref."""
        output = await self.git.tell("ls-remote", "--refs", "--quiet", "--", self.source, ref)
        if output.exit_code != 0:
            raise self._failure("ls-remote", output)
        for line in output.data.decode("utf-8", "replace").splitlines():
            commit, _, name = line.partition("\t")
            if name == ref:
                return commit
        return None

    async def push(self, commit: str, ref: str, remote_commit: str | None, *, is_forced: bool) -> None:
        """Push a commit to a ref that was at `remote_commit`. With force, only if it is still there."""
        words = ["--porcelain", "--no-follow-tags", "--recurse-submodules=no"]
        if self.has_token:
            await self._check_hook(f"{commit} {commit} {ref} {remote_commit or NO_COMMIT}\n")
            words += ["--no-verify", "--no-signed"]
        words += [f"--force-with-lease={ref}:{remote_commit or ''}"] if is_forced else []
        output = await self.git.tell("push", *words, "--", self.target, f"{commit}:{ref}")
        if output.exit_code != 0:
            rejections = [line for line in output.data.decode("utf-8", "replace").splitlines() if line.startswith("!")]
            if not rejections:
                raise self._failure("push", output)
            text = "\n".join([rejections[0].split("\t")[-1], tail(output.errors, commands.LINES)])
            reason = self._clean(text.strip())
            raise LastingError("git-rejected", f"`{self.address}` does not take the commit: {reason}")
        if self.has_token:  # git does this itself if it knows the name of the remote
            await self.plain.tell("update-ref", f"refs/remotes/{self.name}/{ref.removeprefix('refs/heads/')}", commit)

    async def _check_hook(self, line: str) -> None:
        """Run the hook `pre-push` as git would, but without the token."""
        path = await self.plain.hook_path(commands.PRE_PUSH)
        if path is None:
            return
        top = os.fsdecode((await self.plain.read("rev-parse", "--show-toplevel")).removesuffix(b"\n"))
        task = Task(
            argv=[path, self.name, self.address],
            cwd=top or self.plain.folder,
            env={name: value for name, value in self.plain.env.items() if not name.startswith(_SETTINGS)},
            timeout=self.plain.seconds,
            stdin=line.encode(),
            hold=self.plain.hold,
        )
        result = await run_task(task)
        if result.timed_out:
            raise NodeError("timeout", f"the hook `pre-push` was not done after {counted(task.timeout, 'second')}")
        if result.exit_code != 0:
            words = self._clean(tail(result.output, commands.LINES))
            raise NodeError("git-failed", f"the hook `pre-push` ended with {result.exit_code}: {words}")

    def _failure(self, command: str, output: CapturedOutput) -> NodeError:
        words = self._clean(tail(output.errors, commands.LINES))
        if any(refusal in output.errors for refusal in _REFUSED):
            cure = "set GITHUB_TOKEN or GITLAB_TOKEN for the configured forge, or let git log in without a question"
            return LastingError("git-login", f"`{self.address}` does not accept the login; {cure}: {words}")
        return NodeError("git-failed", f"`git {command}` ended with {output.exit_code}: {words}")

    def _clean(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


async def open_transport(repository: commands.Repository, name: str, work: Work, context: NodeContext) -> Transport:
    places = (await repository.remote_address(name, "--push", "--all")).splitlines()
    address = places[0]
    login, password = git_login(parse_remote(address), context.env), password_of(address)
    env = {key: value for key, value in repository.env.items() if not key.startswith(_REVEALING)} | _QUIET
    env |= {key: value for key, value in context.env.items() if key.startswith(_SETTINGS)}
    is_other = login is None and address != await repository.remote_address(name)
    env = with_git_settings(env, [(f"remote.{_TEMPORARY_REMOTE}.url", address)]) if is_other else env
    plain, public = replace(repository, env=env, seconds=float(work.timeout or SECONDS)), public_address(address)
    target = name if login is None else public
    return Transport(
        plain=plain,
        git=plain if login is None else replace(plain, env=_with_token(env, login, public)),
        name=name,
        target=target,
        source=_TEMPORARY_REMOTE if is_other else target,
        address=public,
        secrets=(*(login.secrets if login else ()), *([password] if password else ())),
        addresses=tuple(map(public_address, places if login is None else places[:1])),
    )


def _with_token(env: Mapping[str, str], login: GitLogin, address: str) -> dict[str, str]:
    """The environment with a header for one address, and with nothing that could run another program.

    A setting for the whole address wins over every other one. An empty value removes those that came before.
    """
    settings = [
        (f"http.{address}.extraHeader", ""),
        (f"http.{address}.extraHeader", login.header),
        (f"http.{address}.sslVerify", "true"),
        (f"http.{address}.followRedirects", "false"),
        ("core.hooksPath", os.devnull),
        ("core.fsmonitor", "false"),
        ("core.askPass", ""),
        ("credential.helper", ""),
        (f"credential.{address}.helper", ""),
    ]
    more = {"GIT_ALLOW_PROTOCOL": "http:https", "GIT_ASKPASS": ""}
    return {**with_git_settings(env, settings), **more}


NODE = Node(
    about="Pushes a branch to a remote. If the branch of the remote has the commit already, nothing is pushed. Commits "
    "of others are never overwritten, unless `force` is true and nobody has pushed in the meantime. Over HTTPS it uses "
    "GITHUB_TOKEN or GITLAB_TOKEN for the configured host, else what git is set up for.",
    params=(
        commands.REMOTE,
        Field("branch", ("text", "null"), "the branch; by default the one that is checked out"),
        Field("to", ("text", "null"), "the name of the branch on the remote; by default the same"),
        Field("force", ("boolean",), "overwrite the branch of the remote", default=False),
        commands.CWD,
    ),
    outputs={
        "remote": "the name of the remote",
        "address": "its address, without a password",
        "branch": "the branch on the remote",
        "commit": "the commit that the branch of the remote is at",
        "pushed": "true if this step changed the branch of the remote",
    },
    where=("remote", "address", "branch", "force"),
)


class Push(NamedTuple):
    """What to push where. `remote_commit` is where the branch of the remote is; None if it has no such branch."""

    repository: commands.Repository
    at: Transport
    branch: str
    to: str
    commit: str
    remote_commit: str | None
    is_forced: bool

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.to}"

    @property
    def is_done(self) -> bool:
        return self.remote_commit == self.commit

    async def state(self) -> dict[str, str]:
        """The state that an approval of this push is for."""
        return {
            "commit": self.commit,
            "commit on the remote": self.remote_commit or "none",
            "address": " ".join(self.at.addresses),
            "hooks": await self.repository.hook_digests([commands.PRE_PUSH]),
        }


async def run(work: Work, context: NodeContext) -> Any:
    push = await _prepared(work, context)
    before = context.remember("before", push.remote_commit)
    if not push.is_done:
        if work.approved is not None:
            refuse_changed(work, await push.state())
        try:
            await push.at.push(push.commit, push.ref, push.remote_commit, is_forced=push.is_forced)
        except NodeError as error:
            if error.code not in ("git-failed", "timeout") or await push.at.commit_of(push.ref) != push.commit:
                raise
    return {
        "remote": push.at.name,
        "address": push.at.address,
        "branch": push.to,
        "commit": push.commit,
        "pushed": before != push.commit,
    }


async def preview(work: Work, context: NodeContext) -> Preview:
    push = await _prepared(work, context)
    repository, state = push.repository, await push.state()
    old = push.remote_commit
    new = await commands.new_commits(repository, push.commit, old, push.at.name)
    overwritten = await commands.overwritten_commits(repository, push.commit, old) if push.is_forced else None
    remote_state = "a new branch" if old is None else "it has the commit already" if push.is_done else f"at {old}"
    facts = (
        ("Remote", "\n".join((push.at.name, *push.at.addresses))),
        ("Branch", f"{push.branch}, commit {push.commit}"),
        ("On the remote", f"{push.to}: {remote_state}"),
        ("Forced", f"yes, it overwrites:\n{overwritten}" if overwritten else "yes" if push.is_forced else "no"),
        ("New commits", new.commits),
        ("Changes", new.changes),
        *commands.hook_facts(state["hooks"]),
    )
    is_forced = "true" if push.is_forced else "false"
    return Preview(
        title=f"Push `{push.branch}` to `{push.to}` of `{push.at.name}`{' by force' if push.is_forced else ''}",
        facts=facts,
        state=state,
        where={"remote": push.at.name, "address": push.at.address, "branch": push.to, "force": is_forced},
        risks=("force",) if push.is_forced else (),
    )


async def _prepared(work: Work, context: NodeContext) -> Push:
    repository = await commands.open_repository(work, context)
    is_forced = work.params["force"]
    branch = await repository.branch_of_param(work.params, "branch", "pushed")
    to = branch if work.params.get("to") is None else await repository.checked_branch(work.params["to"], "to")
    commit = await repository.commit_at(f"refs/heads/{branch}")
    if commit is None:
        raise LastingError("git-missing", f"there is no branch `{branch}` with a commit")
    at = await open_transport(repository, work.params["remote"], work, context)
    return Push(repository, at, branch, to, commit, await at.commit_of(f"refs/heads/{to}"), is_forced)
