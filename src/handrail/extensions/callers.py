"""Who calls a command: a person, a script, an agent, or a step of a run.

This keeps an agent from loosening its own leash by the usual ways. It is no sandbox: `docs/design/callers.md` says what
it protects against and what not. The processes above a command are those in `/proc`; without it, those that `ps` lists.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from handrail.base.errors import OnlyPeopleError
from handrail.base.record import Record

RUN = "HANDRAIL_RUN"
OPEN = "open-to-agents"
"""A file in Handrail's state folder. If it exists, agents may run every command on that state."""
_INTERPRETERS = ("node", "nodejs", "bun", "deno", "sh", "bash", "dash", "zsh")
_SHELLS = ("sh", "bash", "dash", "zsh", "fish", "ksh", "tcsh", "csh", "nu", "xonsh", "pwsh")
_EXE = "(its program)"
_DRIVES = ("run", "resume", "continue", "restart", "answer")
"""The commands that drive a run."""
_ENDINGS = (".js", ".mjs", ".cjs", ".exe")
MAX_ANCESTORS = 100
PS_SECONDS = 5.0


Signs = tuple[tuple[str, ...], tuple[str, ...]]
"""How a process recognises that an agent started it: environment variables that the agent sets for the programs that it
starts, and names of the agent's own program. A name with a `/` is the end of the path of a script."""


class Caller(Record):
    """`by` is `person`, `script`, `agent:NAME` or `run:ID`. `sign` is what shows an agent, or None.

    `has_shell`: an interactive shell is above, as far as the processes above are known. A terminal alone proves no
    person: any program can open a window of tmux.
    """

    by: str
    sign: str | None = None
    has_shell: bool = True


def find_caller(
    env: Mapping[str, str], above: Iterable[Sequence[str]], agents: dict[str, Signs], *, has_terminal: bool
) -> Caller:
    """Who calls, by the environment and by the command lines of the processes above this one."""
    if env.get(RUN):
        return Caller(f"run:{env[RUN]}", f"`{RUN}` is set")
    for name, (variables, _) in agents.items():
        for variable in variables:
            if env.get(variable):
                return Caller(f"agent:{name}", f"`{variable}` is set")
    agent_of = {program: name for name, (_, programs) in reversed(agents.items()) for program in programs}
    shells: list[bool] = []
    for words in above:
        shells.append(_is_interactive_shell(words))
        agent = next((agent_of[name] for name in _program_names(words) if name in agent_of), None)
        if agent is not None:
            return Caller(f"agent:{agent}", f"it was started by `{agent}`")
        if (run := _driven(words)) is not None:
            return Caller(f"run:{run}", "a step of a run started it")
    return Caller("person" if has_terminal else "script", None, any(shells) or not shells)


def _is_interactive_shell(words: Sequence[str]) -> bool:
    """True for `-bash` and `zsh -l`; False for a shell that runs a script or a command."""
    options = [word for word in words[1:] if word[:1] in ("-", "+")]
    is_bare = len(options) == len(words[1:]) and not any("c" in word for word in options if word[:2] != "--")
    return bool(words) and _name(words[0]) in _SHELLS and is_bare


def _program_names(words: Sequence[str]) -> list[str]:
    """The name of the program of a command line; of an interpreter, the name of its script and the ends of its path."""
    name = _name(words[0]) if words else ""
    if name not in _INTERPRETERS and not name.startswith("python"):
        return [name]
    parts = next((word for word in words[1:] if not word.startswith("-")), "").split("/")
    return [_name(parts[-1]), *("/".join(parts[at:]) for at in range(len(parts) - 1))]


def _driven(words: Sequence[str]) -> str | None:
    """The run that a command line drives, `unknown` if it does not name one; None if it drives none."""
    at = next((at for at, word in enumerate(words[:4]) if _name(word) == "handrail"), None)
    if at is None or (at and not (_name(words[0]).startswith("python") and "-c" not in words[:at])):
        return None  # it is not the program, and no option of Python that runs it is before it
    arguments = list(words[at + 1 :])
    if "--project" in arguments:
        folder = arguments.index("--project")
        del arguments[folder : folder + 2]
    others = [word for word in arguments if not word.startswith("-")]
    if not others or others[0] not in _DRIVES:
        return None
    return others[1] if others[0] != "run" and len(others) > 1 else "unknown"


def _name(path: str) -> str:
    name = os.path.basename(path).lstrip("-")  # a login shell has a name such as `-bash`
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name


def is_leashed(caller: Caller, state: str) -> bool:
    """True if an agent calls, and Handrail's state folder is not open to agents."""
    return caller.sign is not None and not os.path.exists(os.path.join(state, OPEN))


def has_terminal() -> bool:
    """True if a person may sit at one of the standard streams."""
    return any(os.isatty(handle) for handle in (0, 1, 2))


def refusal(caller: Caller, command: str, instead: str | None) -> OnlyPeopleError:
    """Why an agent may not run this command. `instead` is what a person types in the agent itself, if there is that."""
    hint = "a person can run it in a terminal that the agent did not open"
    if instead is not None:
        hint = f"a person can type {instead} in the agent, or run it in a terminal that the agent did not open"
    return OnlyPeopleError(f"only a person may run `handrail {command}`, and an agent calls it: {caller.sign}", hint)


def ancestors(pid: int) -> Iterator[tuple[str, ...]]:
    """The command lines above a process, the nearest first. The first word is the program, or the path of its file."""
    return _from_proc(pid) if os.path.isdir("/proc/self") else _from_ps(pid)


def _from_proc(pid: int) -> Iterator[tuple[str, ...]]:
    for _ in range(MAX_ANCESTORS):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                pid = int(file.read().rpartition(b")")[2].split()[1])
            if pid <= 0:
                return
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().decode("utf-8", "replace").split("\0")
        except (OSError, ValueError, IndexError):
            return
        yield tuple(words[:-1] if len(words) > 1 else words)
        try:
            yield (os.readlink(f"/proc/{pid}/exe"), _EXE)
        except OSError:  # a process of another user
            continue


def _from_ps(pid: int) -> Iterator[tuple[str, ...]]:
    """The same from one call of `ps`. Words with spaces are split, which only makes a match less likely."""
    from handrail.base.processes import output_of

    rows = [line.split(None, 2) for line in output_of(["ps", "-axo", "pid=,ppid=,command="], PS_SECONDS).splitlines()]
    processes = {int(row[0]): (int(row[1]), row[2]) for row in rows if len(row) == 3 and row[0].isdigit()}
    for _ in range(MAX_ANCESTORS):
        if pid not in processes or (pid := processes[pid][0]) not in processes:
            return
        yield tuple(processes[pid][1].split())
