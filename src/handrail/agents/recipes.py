"""What the recipes of several agents share: parts of shell stubs, skills, and messages that try a stub.

A stub costs one shell while no workflow is active: it looks for the link of the conversation before it starts Python.
Every agent that Handrail is installed into gets the skills that come with Handrail.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import handrail
from handrail import FOR_ONE_CALL
from handrail.base.dataclasses import dataclass
from handrail.base.jsonlite import within
from handrail.extensions.contracts import Stubs
from handrail.extensions.contracts.agent import StubTrial
from handrail.source import text_edits

SESSION = "SESSION"
"""Stands for the id of the conversation in a text that a stub prints."""
EMPTY = "{}\n"
PRINT_JSON = """case $said in '{'*'}') printf '%s\\n' "$said" ;; esac\n"""


def home(env: Mapping[str, str]) -> str:
    return env.get("HOME") or os.path.expanduser("~")


def state(stubs: Stubs) -> str:
    """Sets `state`. The folder of the installation wins over the environment, which an agent may be able to change.

    Without one, `state` is as in `settings.folders`; it stays empty if there is no home, and then Python decides.
    """
    if stubs.state:
        return f"state={shlex.quote(stubs.state)}\n"
    return """\
state=${HANDRAIL_STATE:-${HANDRAIL_HOME:+$HANDRAIL_HOME/state}}
if [ -z "$state" ]; then
    case ${XDG_STATE_HOME-} in
        /*) state=$XDG_STATE_HOME/handrail ;;
        *) state=${HOME:+$HOME/.local/state/handrail} ;;
    esac
fi
"""


def no_link(agent: str, conversation: str) -> str:
    """A condition: there surely is no link for this conversation, which is an expansion such as `${ID-}`.

    A link to nothing, and a folder that cannot be searched, are left to the hook.
    """
    link = f'"$state/hosts/{agent}/{conversation}"'
    return f'[ -n "$state" ] && {_is_absent(link)}' + _readable(agent)


def exit_if_free(agent: str, conversation: str) -> str:
    """Lines that end the stub of a gate if the conversation surely has no workflow.

    The variable of the environment decides alone only if no conversation has a workflow. Otherwise the message has to
    begin with the same id: in another case, the hook finds out more.
    """
    begin = f"""'{{"session_id":"'"{conversation}"'"'*"""
    return (
        f"if {no_link(agent, conversation)}; then\n    {no_links(agent)} && exit 0\n"
        f"    input=$(cat)\n    case $input in {begin}) exit 0 ;; esac\n    exec <<HANDRAIL\n$input\nHANDRAIL\nfi\n"
    )


def no_links(agent: str) -> str:
    """A condition: there surely is no link for any conversation of this agent, which sets no variable with its id."""
    absent = _is_absent('"$link"')
    is_empty = f'{{ for link in "$state/hosts/{agent}"/*; do break; done; {absent}; }}'
    return f'[ -n "$state" ] && {is_empty}' + _readable(agent)


def _readable(agent: str) -> str:
    """Conditions: each folder above the links can be searched and listed, or it does not exist."""
    return "".join(
        f" && {{ [ -d {folder} ] && [ -r {folder} ] && [ -x {folder} ] || {{ {_is_absent(folder)}; }}; }}"
        for folder in ('"$state"', '"$state/hosts"', f'"$state/hosts/{agent}"')
    )


def _is_absent(path: str) -> str:
    return f"[ ! -e {path} ] && [ ! -L {path} ]"


def variables(stubs: Stubs) -> dict[str, str]:
    """The variables that tell Handrail which state folder and which conversation its stubs belong to."""
    values = {"HANDRAIL_STATE": stubs.state, FOR_ONE_CALL: stubs.conversation}
    return {name: value for name, value in values.items() if value}


SECONDS = 12
"""After this time a stub kills its hook. The hook itself ends earlier, unless its interpreter does not even start."""


def hook(stubs: Stubs, agent: str, *more: str) -> str:
    """The command of the hook, which passes on the state folder of the installation."""
    assignments = 'HANDRAIL_STATE="$state" ' if stubs.state else ""
    assignments += f"{FOR_ONE_CALL}={shlex.quote(stubs.conversation)} " if stubs.conversation else ""
    return assignments + shlex.join([*stubs.hook, agent, *more])


def defer_to_user(stubs: Stubs, user: str) -> str:
    """Exit if this is not the user's installation and there is one: then only the user's installation answers.

    `user` is a line that sets `user` to the same stub in the user's installation. A stub whose first line names another
    state folder knows nothing about our sessions, so both answer.
    """
    end = "exit 0"
    if stubs.state:
        first = shlex.quote(state(stubs).rstrip("\n"))
        end = f'IFS= read -r theirs < "$user"\n    case $theirs in {first}) exit 0 ;; state=*) ;; *) exit 0 ;; esac'
    return f'{user}\nif [ -r "$user" ] && ! [ "${{stub:-$0}}" -ef "$user" ]; then\n    {end}\nfi\n'


def defer_to_same_state(stubs: Stubs, user: str, own: str) -> str:
    """As `defer_to_user`, but only if the first line of the user's stub is the same. `own` expands to this stub."""
    first = shlex.quote(state(stubs).split("\n")[0])
    return (
        f"{user}\n"
        f'if [ -r "$user" ] && ! [ "{own}" -ef "$user" ]; then\n'
        '    IFS= read -r theirs < "$user"\n'
        f"    case $theirs in {first}) exit 0 ;; esac\n"
        "fi\n"
    )


def failed(agent: str) -> str:
    """Why a tool is denied if the hook fails."""
    why = "Handrail's gate failed, so this tool stays blocked while the workflow is active."
    return f"{why} A person can cancel the workflow with: handrail cancel --yes --session {agent}-{SESSION}"


def print_denial(answer: Mapping[str, Any], conversation: str) -> str:
    """A command that prints the answer with the id of the conversation, which is an expansion such as `$id`."""
    before, after = (shlex.quote(part) for part in json.dumps(answer).split(SESSION))
    return f"""printf '%s%s%s\\n' {before} "{conversation}" {after}"""


def not_carried_out(stubs: Stubs, agent: str) -> str:
    """What a person reads if the hook fails at a command."""
    return (
        f"Handrail did not carry out this command: {shlex.join(stubs.hook)} failed or took too long. "
        f"Install it again in a terminal, then repeat the command: handrail install {agent}"
    )


def server(stubs: Stubs, agent: str) -> dict[str, Any]:
    """How the MCP server with `workflow_step` is started, as an entry in a list of servers."""
    command, *args = [*stubs.handrail, "mcp", "--agent", agent]
    env = variables(stubs)
    return {"command": command, "args": args, **({"env": env} if env else {})}


def ask(stubs: Stubs, agent: str, *, has_input: bool = False) -> str:
    """Sets `said` to the answer of the hook; empty if it fails, or if it takes too long and is killed.

    For hosts that allow a call if a hook takes too long. The message is `$input` if the stub has read it, else stdin.
    Only `sh` and `sleep` are needed: some systems have no `timeout`.
    """
    pipe = "printf '%s\\n' \"$input\" | " if has_input else ""
    return (
        f"said=$({pipe}{{\n"
        "    exec 3<&0\n"
        f"    {hook(stubs, agent)} <&3 & hook=$!\n"
        f"    ( sleep {SECONDS} & rest=$!; trap 'kill $rest; exit' TERM; wait $rest; kill -9 $hook ) "
        ">/dev/null 2>&1 3<&- & guard=$!\n"
        "    { wait $hook; } 2>/dev/null; code=$?\n"
        "    kill $guard 2>/dev/null\n"
        "    exit $code\n"
        "}) || said=\n"
    )


class Entries(Protocol):
    """Our entries in one file that belongs to others; as `Recipe.add` and `Recipe.strip`."""

    def add(self, text: str | None) -> str | None: ...

    def strip(self, text: str, before: str | None) -> str | None: ...


@dataclass(frozen=True)
class StatusLine:
    """Our status line in an agent's settings. Its stub shows the line that was there before, and then ours.

    `is_free` is a condition of the shell: there is no workflow. `more` are its members if there was no status line.
    """

    agent: str
    stubs: Stubs
    settings: str
    stub: str
    is_free: str
    more: Mapping[str, int]

    def files(self, texts: Mapping[str, str | None]) -> dict[str, str]:
        """The stub. `texts` are the shared files without our entries."""
        foreign = within(json.loads(texts[self.settings] or EMPTY), "statusLine").get("command")
        before = ""
        if isinstance(foreign, str) and foreign:
            before = f"printf '%s' \"$input\" | /bin/sh -c {shlex.quote(foreign)}\n"
        text = (
            f"{state(self.stubs)}"
            "# Handrail's status line.\n"
            f"input=$(cat)\n{before}{self.is_free} && exit 0\n"
            f"printf '%s' \"$input\" | {hook(self.stubs, self.agent, 'status-line')}\n"
        )
        return {self.stub: text}

    def add(self, text: str) -> str:
        own = {"type": "command", "command": f"/bin/sh {shlex.quote(self.stub)}"}
        old = json.loads(text).get("statusLine")
        if isinstance(old, dict):
            return text_edits.replace_value(text, ("statusLine",), {**old, **own})
        return text_edits.add_member(text, (), "statusLine", {**own, **self.more})

    def strip(self, text: str, before: str | None) -> str:
        """The settings with the status line that they had before, unless ours is no longer in them."""
        line, old = (json.loads(settings or EMPTY).get("statusLine") for settings in (text, before))
        if not isinstance(line, dict) or self.stub not in str(line.get("command")):
            return text
        if old is not None:
            return text_edits.replace_value(text, ("statusLine",), old)
        return text_edits.remove_member(text, ("statusLine",))


@dataclass(frozen=True, kw_only=True)
class JsonEntries:
    """Our entries in a JSON file: hooks by event, an item of a list, an MCP server with its name, a status line.

    `hooks` may raise `ValueError`. `mark` is a text that all our hooks contain, also those of other versions, and no
    hook of others. `comments`: the agent accepts comments in the file.
    """

    hooks: Callable[[], Mapping[str, list[dict[str, Any]]]] = dict
    mark: str | None = None
    item: tuple[str, str] | None = None
    server: tuple[str, dict[str, Any]] | None = None
    status: StatusLine | None = None
    comments: bool = False

    def add(self, text: str | None) -> str:
        text, comments = text or EMPTY, self.comments
        if self.server is not None:
            path = ("mcpServers", self.server[0])
            if text_edits.find_value(text, path, comments=comments) is not None:
                raise ValueError(f"it already has an MCP server `{path[1]}`")
        if self.status is not None:
            text = self.status.add(text)
        for event, entries in self.hooks().items():
            for entry in reversed(entries):
                text = text_edits.add_item(text, ("hooks", event), entry, comments=comments)
        if self.item is not None:
            text = text_edits.add_item(text, self.item[:1], self.item[1], comments=comments)
        if self.server is not None:
            text = text_edits.add_member(text, ("mcpServers",), *self.server, comments=comments)
        return text

    def strip(self, text: str, before: str | None) -> str | None:
        comments, mark = self.comments, self.mark
        if self.status is not None:
            text = self.status.strip(text, before)
        if mark is not None:
            is_ours = lambda entry: mark in json.dumps(entry, ensure_ascii=False)  # noqa: E731 - one expression
            for event in json.loads(text_edits.without_comments(text) if comments else text).get("hooks") or {}:
                text = text_edits.remove_items(text, ("hooks", event), is_ours, comments=comments)
        if self.item is not None:
            name, own = self.item
            text = text_edits.remove_items(text, (name,), lambda item: bool(item == own), comments=comments)
        if self.server is not None:
            text = text_edits.remove_member(text, ("mcpServers", self.server[0]), comments=comments)
        return None if before is None and text.strip() in ("{}", "") else text  # a new file goes again


@dataclass(frozen=True, kw_only=True)
class FileRecipe:
    """A `Recipe` as data: the files that only we use, and our entries in files of others, by path.

    `folders` are left by uninstalling. `reads` are other files that `switched_off` reads. The functions are those of
    the optional parts of a recipe.
    """

    files: Mapping[str, str]
    entries: Mapping[str, Entries]
    trial: Callable[[str, str], StubTrial]
    status: StatusLine | None = None
    folders: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    notes: Callable[[Mapping[str, str | None]], list[str]] | None = None
    switched_off: Callable[[], list[str]] | None = None
    untrusted: Callable[[], list[str]] | None = None
    denied: Callable[[], dict[str, str]] | None = None

    def shared(self) -> list[str]:
        return list(self.entries)

    def owned(self, texts: Mapping[str, str | None]) -> dict[str, str]:
        return {**self.files, **(self.status.files(texts) if self.status is not None else {})}

    def kept(self) -> list[str]:
        return list(self.folders)

    def add(self, path: str, text: str | None) -> str | None:
        try:
            return self.entries[path].add(text)
        except ValueError as error:
            raise ValueError(f"`{path}`: {error}") from error

    def strip(self, path: str, text: str, before: str | None) -> str | None:
        return self.entries[path].strip(text, before)


def below(folder: str, files: Mapping[str, str]) -> dict[str, str]:
    """The files with their whole paths."""
    return {os.path.join(folder, name): text for name, text in files.items()}


def skill_files() -> dict[str, str]:
    """Path below a folder of skills → text, for the skill that a model may use by itself."""
    with open(os.path.join(handrail.__path__[0], "builtin", "skills", "write-workflow.md"), encoding="utf-8") as file:
        return {"write-workflow/SKILL.md": file.read()}


def as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def compact_json(message: Mapping[str, Any]) -> str:
    """A message as agents write it: stubs look for fields in the text, without spaces between them."""
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False) + "\n"


def served_trial(stubs: Stubs, agent: str, params: Mapping[str, Any]) -> StubTrial:
    """A message for the process that a plugin keeps. It ends when its input ends."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "hook", "params": params}
    argv = (*stubs.handrail, "serve", "--stdio", "--agent", agent)
    return StubTrial(argv, compact_json(message), variables(stubs))


def stub_trial(
    argv: tuple[str, ...], message: Mapping[str, Any], key: str = "session_id", env: Mapping[str, str] | None = None
) -> Callable[[str, str], StubTrial]:
    """`Recipe.trial` of a stub. `key` is the member of a message that names its conversation."""
    return lambda id_, cwd: StubTrial(argv, compact_json({key: id_, "cwd": cwd, **message}), env or {})


def all_off(paths: Iterable[str]) -> list[str]:
    """The files whose switch turns all hooks off, for the agents that have this name of the switch."""
    return [f"`{path}`: `disableAllHooks`" for path in paths if read_json(path).get("disableAllHooks") is True]


def denied_tools(paths: Iterable[str], *names: str) -> dict[str, str]:
    """The whole tools that a setting of these files denies, each with its place: a list, or `TOOL: deny`."""
    found = ((f"`{path}`: `{'.'.join(names)}`", within(read_json(path), *names[:-1]).get(names[-1])) for path in paths)
    rows = ((place, said, tool) for place, said in found for tool in said or ())
    return {str(tool): place for place, said, tool in rows if not isinstance(said, dict) or said[tool] == "deny"}


def read_json(path: str) -> dict[str, Any]:
    """The object in a JSON file that may have comments; empty if there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            data = json.loads(text_edits.without_comments(file.read()))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
