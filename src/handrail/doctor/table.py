"""The checks of `handrail doctor`, one row each, and which of them a person chose. Pure.

A new check is a function in a module of `exams/` and a row here. A function gets the `Subject` and returns its
`Checkup`s; it only looks, and changes nothing. One that starts programs is `async`. A checkup has the id of its row, or
one of the row's `ids`; that of an agent has `AGENT.` before it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from handrail.errors import UsageError
from handrail.source.dataclasses import dataclass
from handrail.source.suggest import nearest

CATEGORIES = {
    "machine": "this computer",
    "state": "Handrail's own files",
    "definitions": "what the project and the user wrote",
    "credentials": "logins of services and agents; their values are never shown",
    "agents": "the programs of the agents",
    "hooks": "Handrail's files in the agents",
    "probe": "what was measured with `--probe`",
}
SECONDS = 20.0


@dataclass(frozen=True)
class Exam:
    """One check: its category, what it looks at, and its function: `module:name`, the module in `exams/` or with dots.

    `seconds` is how long it may take. `of_agents`: it looks at each agent. `ids` are the ids of its checkups, if there
    are others than its own.
    """

    category: str
    about: str
    function: str
    seconds: float = SECONDS
    of_agents: bool = False
    ids: tuple[str, ...] = ()


EXAMS: dict[str, Exam] = {
    "python": Exam("machine", "the version of Python, and that Handrail's own files can be read", "machine:python"),
    "git": Exam("machine", "that Git is there, its version, and that the project is in a repository", "machine:git"),
    "identity": Exam("machine", "the name and the address with which Git makes commits", "machine:identity"),
    "index-lock": Exam("machine", "a lock of Git that a killed process left in the repository", "machine:index_lock"),
    "disk": Exam("machine", "free space where the state, the project and temporary files are", "machine:disk"),
    "notify": Exam("machine", "that you can be told as `notify` in your settings says; sends nothing", "notify:notify"),
    "state": Exam("state", "the state folder: owner, permissions, no link, writable", "state:folder"),
    "locks": Exam("state", "that locks work in the state folder, also on a network file system", "state:locks"),
    "sessions": Exam("state", "that every session of the project can be read", "state:sessions"),
    "links": Exam("state", "links from conversations to sessions that do not exist", "state:links"),
    "runs": Exam("state", "that every run of the project can be read", "state:runs"),
    "leftovers": Exam("state", "files that killed processes left", "state:leftovers"),
    "worktrees": Exam("state", "worktrees that killed runs left", "state:worktrees", seconds=60.0),
    "config": Exam("definitions", "that only you can change your settings and definitions", "definitions:config"),
    "settings": Exam("definitions", "the settings of the user and of the project", "definitions:settings"),
    "definitions": Exam("definitions", "all workflows and flows, as `handrail validate`", "definitions:definitions"),
    "playbook": Exam("definitions", "the playbook of the project", "definitions:playbook"),
    "plugins": Exam("definitions", "that each plugin is trusted and keeps to its contract", "plugins:plugins", 120.0),
    "trust": Exam("definitions", "that a person trusted the project, if it runs anything", "trust:trust"),
    "variables": Exam("credentials", "variables of `.agentweaver/.env` that are not used", "credentials:variables"),
    "services": Exam(
        "credentials",
        "services that are set up only in part, such as an address without a token",
        "credentials:services",
        ids=("services.jira", "services.github", "services.gitlab", "services.telegram"),
    ),
    "program": Exam("agents", "that the program starts and says its version", "agents:program", 60.0, of_agents=True),
    "version": Exam("agents", "whether the version was tested with Handrail", "agents:version", 60.0, of_agents=True),
    "login": Exam("credentials", "a variable or a file with a login", "credentials:login", 60.0, of_agents=True),
    "installed": Exam(
        "hooks",
        "that the installed files are complete, unchanged and of this version",
        "hooks:installed",
        60.0,
        of_agents=True,
        ids=("user", "project"),
    ),
    "switch": Exam("hooks", "settings of the agent that switch hooks off", "hooks:switch", 60.0, of_agents=True),
    "hook": Exam(
        "hooks",
        "that the installed hook answers a harmless message",
        "hooks:hook",
        120.0,
        of_agents=True,
        ids=("hook.user", "hook.project"),
    ),
    "probe": Exam(
        "probe", "that a probe was made, with this version, and not long ago", "measured:probe", 60.0, of_agents=True
    ),
}
"""The built-in checks, in the order in which they run. Extensions add rows."""


@dataclass(frozen=True)
class Choice:
    """Which checks a person wants: names of categories, of checks, or ids of checkups. Empty `only` means all."""

    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()

    def runs(self, name: str, agents: Iterable[str]) -> bool:
        """True if a checkup of this check can be wanted."""
        return any(self.wants(id_, name) for id_ in ids_of(name, EXAMS[name], agents))

    def wants(self, id_: str, name: str) -> bool:
        """True if a checkup with this id, of this check, is wanted."""
        names = {name, EXAMS[name].category, id_}
        if EXAMS[name].of_agents:
            names.add(id_.partition(".")[2])
        return (not self.only or not names.isdisjoint(self.only)) and names.isdisjoint(self.skip)


def ids_of(name: str, exam: Exam, agents: Iterable[str]) -> list[str]:
    """The ids that the checkups of a check can have."""
    own = (name, *exam.ids)
    return [f"{agent}.{id_}" for agent in agents for id_ in own] if exam.of_agents else list(own)


def refuse_unknown(names: Collection[str], agents: Collection[str]) -> None:
    """Raise `UsageError` if one of these names is no category, no check and no id."""
    ids = [id_ for name, exam in EXAMS.items() for id_ in (*ids_of(name, exam, agents), name, *exam.ids)]
    known = list(dict.fromkeys([*CATEGORIES, *(exam.category for exam in EXAMS.values()), *ids]))
    for name in names:
        if name not in known:
            similar = [f"`{one}`" for one in nearest(name, known, 3)]
            listed = ", ".join(dict.fromkeys([*CATEGORIES, *EXAMS]))
            hint = f"did you mean {' or '.join(similar)}?" if similar else f"known: {listed}"
            raise UsageError(f"there is no check or category `{name}`", hint)
