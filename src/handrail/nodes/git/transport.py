"""Git and a remote repository: what a branch there is at, and a push. Credentials are no argument of git.

A token goes to the configured forge only, in a header that git reads from its environment. While it is there, git runs
no hook and no other program of the repository's settings, and uses no other protocol than HTTP: an agent may have
written them. The hook `pre-push` runs before, without the token. Without a token, git uses the user's own settings.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from handrail.contracts import NodeContext, NodeError, Work
from handrail.nodes.git.hooks import PRE_PUSH, hook
from handrail.nodes.git.refs import remote_address
from handrail.nodes.git.repository import LINES, Repository
from handrail.process.child import Task, perform, tail
from handrail.process.logins import with_git_settings
from handrail.services.forges import Login, login
from handrail.services.remotes import password_of, public, remote
from handrail.source.dataclasses import dataclass, replace
from handrail.source.plain import counted

SECONDS = 600.0
NO_COMMIT = "0" * 40
_OTHER = "handrail-push"
"""A remote that only one command of git knows: so its address, which may have a password, is no argument."""
_QUIET = {"GIT_TERMINAL_PROMPT": "0", "SSH_ASKPASS_REQUIRE": "never", "LC_ALL": "C", "LANGUAGE": "C"}
_TELLING = ("GIT_TRACE", "GIT_CURL_VERBOSE", "GIT_SSL_NO_VERIFY")
"""Variables that could print a header, or weaken the connection."""
_SETTINGS = ("GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "GIT_CONFIG_PARAMETERS")
_REFUSED = ("Authentication failed", "could not read Username", "could not read Password", "Permission denied")


@dataclass(frozen=True, kw_only=True)
class Transport:
    """A remote for pushing. `target` is its name, or its address if a token is used. `shown` is for people.

    `looked_at` is what git reads from: the address for pushing may be another one than the address for fetching.
    `plain` is the repository without the token, `git` the one with it; both are the same if there is none. `addresses`
    are all places that a push goes to, as people see them.
    """

    plain: Repository
    git: Repository
    name: str
    target: str
    looked_at: str
    shown: str
    secrets: tuple[str, ...]
    addresses: tuple[str, ...] = ()

    @property
    def has_token(self) -> bool:
        return self.git is not self.plain

    async def commit_of(self, ref: str) -> str | None:
        """The commit that a ref of the remote is at. None if there is no such ref."""
        printed = await self.git.tell("ls-remote", "--refs", "--quiet", "--", self.looked_at, ref)
        if printed.exit_code != 0:
            raise self._failure("ls-remote", printed.exit_code, printed.errors)
        for line in printed.data.decode("utf-8", "replace").splitlines():
            commit, _, found = line.partition("\t")
            if found == ref:
                return commit
        return None

    async def push(self, commit: str, ref: str, seen: str | None, *, is_forced: bool) -> None:
        """Push a commit to a ref that was at `seen`. With force, only if it is still there."""
        words = ["--porcelain", "--no-follow-tags", "--recurse-submodules=no"]
        if self.has_token:
            await self._check_hook(f"{commit} {commit} {ref} {seen or NO_COMMIT}\n")
            words += ["--no-verify", "--no-signed"]
        words += [f"--force-with-lease={ref}:{seen or ''}"] if is_forced else []
        printed = await self.git.tell("push", *words, "--", self.target, f"{commit}:{ref}")
        if printed.exit_code != 0:
            refused = [line for line in printed.data.decode("utf-8", "replace").splitlines() if line.startswith("!")]
            if not refused:
                raise self._failure("push", printed.exit_code, printed.errors)
            told = self._clean("\n".join([refused[0].split("\t")[-1], tail(printed.errors, LINES)]).strip())
            raise NodeError("git-rejected", f"`{self.shown}` does not take the commit: {told}", transient=False)
        if self.has_token:  # git does this itself if it knows the name of the remote
            await self.plain.tell("update-ref", f"refs/remotes/{self.name}/{ref.removeprefix('refs/heads/')}", commit)

    async def _check_hook(self, line: str) -> None:
        """Run the hook `pre-push` as git would, but without the token."""
        path = await hook(self.plain, PRE_PUSH)
        if path is None:
            return
        top = os.fsdecode((await self.plain.read("rev-parse", "--show-toplevel")).removesuffix(b"\n"))
        task = Task(
            argv=[path, self.name, self.shown],
            cwd=top or self.plain.folder,
            env={name: value for name, value in self.plain.env.items() if not name.startswith(_SETTINGS)},
            timeout=self.plain.seconds,
            stdin=line.encode(),
            hold=self.plain.hold,
        )
        ended = await perform(task)
        if ended.timed_out:
            raise NodeError("timeout", f"the hook `pre-push` was not done after {counted(task.timeout, 'second')}")
        if ended.exit_code != 0:
            told = self._clean(tail(ended.output, LINES))
            raise NodeError("git-failed", f"the hook `pre-push` ended with {ended.exit_code}: {told}")

    def _failure(self, command: str, exit_code: int, said: str) -> NodeError:
        told = self._clean(tail(said, LINES))
        if any(words in said for words in _REFUSED):
            cure = "set GITHUB_TOKEN or GITLAB_TOKEN for the configured forge, or let git log in without a question"
            return NodeError("git-login", f"`{self.shown}` does not accept the login; {cure}: {told}", transient=False)
        return NodeError("git-failed", f"`git {command}` ended with {exit_code}: {told}")

    def _clean(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


async def transport(repository: Repository, name: str, work: Work, context: NodeContext) -> Transport:
    """The remote of this name. Raises `NodeError` if there is none."""
    places = (await remote_address(repository, name, "--push", "--all")).splitlines()
    address = places[0]
    given, password = login(remote(address), context.env), password_of(address)
    env = {key: value for key, value in repository.env.items() if not key.startswith(_TELLING)} | _QUIET
    env |= {key: value for key, value in context.env.items() if key.startswith(_SETTINGS)}
    is_other = given is None and address != await remote_address(repository, name)
    env = with_git_settings(env, [(f"remote.{_OTHER}.url", address)]) if is_other else env
    plain, shown = replace(repository, env=env, seconds=float(work.timeout or SECONDS)), public(address)
    target = name if given is None else shown
    return Transport(
        plain=plain,
        git=plain if given is None else replace(plain, env=_with_token(env, given, shown)),
        name=name,
        target=target,
        looked_at=_OTHER if is_other else target,
        shown=shown,
        secrets=(*(given.secrets if given else ()), *([password] if password else ())),
        addresses=tuple(map(public, places if given is None else places[:1])),
    )


def _with_token(env: Mapping[str, str], given: Login, address: str) -> dict[str, str]:
    """The environment with a header for one address, and with nothing that could run another program.

    A setting for the whole address wins over every other one. An empty value removes those that came before.
    """
    settings = [
        (f"http.{address}.extraHeader", ""),
        (f"http.{address}.extraHeader", given.header),
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
