"""Makes the page about the rows that `handrail view`, the page and the terminal surface show.

Tests compare its tables with the rows and the JSON of real runs and sessions.
"""

from __future__ import annotations

from collections.abc import Mapping

Fields = Mapping[str, str]
"""What each field means, by its name. A field that is null is not known, or does not apply."""

MESSAGE: Fields = {
    "topic": "its name",
    "epoch": "names what the numbers count. Another one: forget all rows",
    "base": "the number that this message continues; 0: it has all rows",
    "seq": "the number after this message",
    "part": "0 for the first part of a message that is too large for one line",
    "more": "true if another part follows",
    "now": "the time of the message, in seconds since 1970. Count running times from it",
    "set": "the rows that are new or have changed, by section. `head` is one row, the other sections are lists",
    "gone": "the ids of rows that were removed, by section",
    "live": "of a run: what is true now and has no number. `driver` is the process that drives it",
    "tail": "of a run: new lines of what agents and programs print, with numbers of their own",
}
EVERY: Fields = {"id": "its name in its section", "v": "the number of the event that last changed it"}
_USAGE = (
    "tokens and cost as far as they were reported; empty if nothing was. `complete` is false if a part is not known"
)
_WHY = "why it failed or was skipped: `code`, `message`, and `path` of the step"
_CHECK = {
    "name": "its name",
    "kind": "its kind",
    "held": "true, false, or null if it has not run",
    "detail": "what it found",
    "seconds": "how long it took",
    "at": "when",
    "tree": "the state of the files that it looked at",
    "stale": "true if the files changed since",
}
_NEED = {
    "of": "the topic that asks",
    "path": "the step that asks",
    "kind": "`form`, `approval` or `rerun`",
    "digest": "an answer must name it, so that it is for this question",
    "title": "the question",
    "since": "when it was asked",
    "form": "its fields",
    "action": "of an approval: what is approved",
    "answered": "by whom, when, and how",
}
TOPICS: Mapping[str, Mapping[str, Fields]] = {
    "home": {
        "head": {
            "project": "the folder's name",
            "branch": "the branch of the project",
            "scope": "the scope of new runs",
            "need": "how many rows need you",
            "running": "how many run",
            "delayed": "how many wait for a time",
            "ended": "how many ended",
            "older": "how many more there are than the list has",
            "hidden": "how many rows of each group are not in the list",
        },
        "entries": {
            "kind": "`run` or `session`",
            "group": "`needs`, `running`, `delayed` or `recent`",
            "order": "its place in its group",
            "status": "its status",
            "name": "the flow or the workflow",
            "about": "the task, or the first params",
            "place": "where it is: names from the outside to the inside",
            "statusLine": "of a session: its status line",
            "round": "the round, and how many there are",
            "done": "how many steps are done",
            "total": "how many steps there are",
            "need": "what it asks: `count`, `id`, `path`, `kind`, `title`, `fields` (how many), `since`",
            "delay": "what it waits for, and until when",
            "doing": "what its agent does",
            "why": _WHY,
            "who": "its agent",
            "started": "when it began",
            "ended": "when it ended",
            "seconds": "how long it took",
            "atLeast": "true if it took longer than `seconds`: when its process was killed is not known",
            "last": "when something happened or was printed last",
            "usage": _USAGE,
            "modes": "what can be done with it: `resume`, `continue`, `restart`",
            "attempt": "its attempt",
            "driver": "the process that drives it",
            "seen": "true if a person opened it since it ended",
        },
    },
    "catalog": {
        "head": {
            "trusted": "true if a person trusts the project",
            "definitions": "how many there are",
            "broken": "how many cannot be launched",
            "warned": "how many have warnings",
            "untrusted": "how many need a person's trust first",
            "settings": "the problems of the settings files, as `handrail validate --json` prints them",
        },
        "entries": {
            "kind": "`flow`, `workflow` or `plugin`",
            "key": "its id",
            "name": "its name",
            "command": "what starts it",
            "also": "other names",
            "description": "what it is for",
            "source": "`project`, `user`, `builtin` or a plugin",
            "file": "its file",
            "order": "its place in the list",
            "visible": "false if lists leave it out",
            "phases": "how many phases it has",
            "params": "its params",
            "groups": "the groups whose agents can be chosen",
            "continue": "whether an ended run can be continued",
            "uses": "the definitions that it needs",
            "shadows": "what it hides",
            "shadowedBy": "what hides it",
            "state": "`ok`, `warned`, `broken`, `needs-broken` or `untrusted`",
            "problems": "as `handrail validate --json` prints them",
        },
    },
    "run": {
        "head": {
            "run": "its id",
            "name": "the flow",
            "about": "the task, or the first params",
            "task": "the task",
            "params": "its params; secrets are left out",
            "routes": "which agents and models do the work",
            "digest": "names the flow as it was read",
            "scope": "its scope",
            "worktree": "the branch of its worktree",
            "limits": "its limits",
            "denied": "how many calls of its agents were denied",
            "deniedTools": "how many calls of which tool were denied",
            "attempt": "its attempt",
            "started": "when it began",
            "ended": "when it ended",
            "seconds": "how long Handrail drove it, in all attempts; null while it does",
            "atLeast": "true if it took longer: when a process of it was killed is not known",
            "since": "while Handrail drives it: the time from which its seconds count",
            "status": "its status; `delayed` if everything in it waits for a point in time",
            "outcome": "how it ended, in the words of the flow",
            "why": _WHY,
            "done": "how many steps are done",
            "total": "how many steps there are",
            "usage": _USAGE,
            "modes": "what can be done with it: `resume`, `continue`, `restart`",
            "summary": "what its agents say at the end",
            "note": "the last notice that is about no step",
        },
        "nodes": {
            "parent": "the id of the row that it is in",
            "shape": "its path as written, without the numbers of rounds",
            "kind": "`phase`, `step`, `repeat`, `round`, `flow` or `workflow`",
            "name": "its name",
            "order": "its place among the others",
            "status": "its status",
            "started": "when it began",
            "ended": "when it ended",
            "until": "of a delayed step: when it goes on",
            "took": "how many seconds it ran, without the time in which no process drove the run; null until it ends",
            "worked": "how many seconds it worked, without pauses and questions",
            "try": "the attempt",
            "tries": "how many attempts there may be",
            "children": "how many rows are in it; they may be left out, and are fetched when it is opened",
            "node": "the node of a step",
            "who": "its agent and model",
            "doing": "what its agent does",
            "why": _WHY,
            "usage": _USAGE,
            "counts": "how many calls of `tools`, how many `denied`, how many `retries`",
            "deniedTools": "how many calls of which tool were denied",
            "checks": "how many checks `held`, `failed`, and were not run",
            "together": "how many steps of a phase run at the same time; absent if one after the other",
            "lane": "[group, number]: phases of one group with different numbers run at the same time; else absent",
            "conversation": "the agent's conversation",
            "begun": "of a repeat: how many rounds began",
            "rounds": "of a repeat: how many rounds there may be",
            "over": "of a repeat over a list: the list, in words",
            "note": "a notice",
            "session": "the guided session of a workflow",
        },
        "bars": {
            "node": "the id of the step",
            "kind": "`work`, `pause` (between attempts), `delay`, `asked` or `away` (no process)",
            "try": "the attempt",
            "from": "its begin",
            "to": "its end",
            "end": "`done`, `failed`, `cancelled`, `interrupted`, `skipped` or `answered`",
        },
        "visits": {
            "node": "the id of the step whose agent works through a workflow",
            "place": "the phase and what it is in",
            "status": "`running`, `done`, `failed`, or `skipped` if the agent started over",
            "from": "when the agent came to it",
            "to": "when the agent left it",
            "note": "what happened in it last: a summary, or what kept the agent from leaving",
        },
        "needs": _NEED,
        "artifacts": {
            "name": "its name",
            "path": "where it is in the project",
            "version": "its version",
            "family": "names all versions of it",
            "schema": "its schema",
            "size": "in bytes",
            "sha256": "its digest",
            "step": "who made it",
            "supersedes": "the version before",
            "created": "when",
        },
        "checks": {"node": "the step or the phase", **_CHECK},
    },
    "session": {
        "head": {
            "workflow": "the id of the workflow",
            "name": "its name",
            "task": "the task",
            "agent": "the agent",
            "conversation": "the agent's conversation",
            "run": "the run that it belongs to",
            "status": "its status; `interrupted` if its agent stopped, `waiting` if it asks a person",
            "statusLine": "its status line",
            "turn": "`agent` or `person`: whose turn it is",
            "letGo": "why the agent may stop",
            "steps": "how many moves there were",
            "loops": "how often a part was started over",
            "sentOn": "how often the agent was sent on when it stopped",
            "stoppedIdle": "how often it stopped without progress",
            "sameFailures": "how often the same checks failed",
            "denied": "how many calls were denied",
            "deniedTools": "how many calls of which tool were denied",
            "refused": "the checks that refused the last `next`",
            "started": "when it began",
            "ended": "when it ended",
            "cancelPending": "true if a cancel waits for a confirmation, or for a person's answer",
            "question": "what the agent asks a person, if it does",
            "reason": "why it asks, or why the workflow was cancelled",
            "endedBy": "who cancelled it",
        },
        "stops": {
            "order": "its place",
            "levels": "the workflows that it is in: name, place, and how many there are",
            "name": "the phase",
            "emoji": "its emoji",
            "state": "`done`, `current`, `ahead`, or `skipped` by a person's move",
            "visits": "how often it was entered",
            "entered": "when it was entered last",
            "left": "when it was left last",
            "gate": "`deny`, `allow` and `writes`",
            "exit": "what must hold before it is left",
            "loopable": "true if the part may be started over",
            "summary": "what the agent said when it left",
        },
        "checks": {"node": "the id of the stop", "stop": "the place of the stop", "claim": "what must hold", **_CHECK},
        "moves": {
            "from": "the place before",
            "to": "the place after",
            "how": "`start`, `next`, `loop`, `goto`, `reload`, `cancel` or `done`",
            "by": "who did it, in words",
            "at": "when",
            "summary": "what the agent said, or the reason",
        },
        "needs": _NEED,
        "denials": {
            "tool": "the tool",
            "rule": "what denied it",
            "reason": "what the agent was told",
            "excerpt": "the beginning of the call",
            "count": "how many equal calls",
            "first": "when the first was",
            "last": "when the last was",
        },
    },
}

_DENIED = ("how many calls of agents were denied", "how many calls of which tool were denied")
_JSON_USAGE = "`inputTokens`, `outputTokens` and `usd` as far as they were reported"
RUN_FIELDS: Fields = {
    "run": "its id",
    "name": "the flow",
    "status": "`running`, `waiting`, `completed`, `stopped`, `failed` or `cancelled`; a damaged run is `failed`",
    "started": "when it was made",
    "ended": "when it ended",
    "seconds": "how long all its attempts were driven, without the time in which it waited for a person or a resume",
    "secondsAtLeast": "true if a process was killed, so its last moments are not known",
    "waitingFor": "the questions that a person can answer now: `question` (its id), `path` and `title`",
    "reason": "why it ended or waits, or until when a step is delayed",
    "error": "the error that it failed with, or why it cannot be read",
    "attempt": "its attempt: 2 after the first restart",
    "driver": "the process that drives it",
    "interrupted": "true if it has not ended, does not wait, and no process drives it",
    "answered": "true if it waits, its answer is stored, and no process drives it",
    "hint": "the command that resumes an interrupted or an answered run",
    "damaged": "true if it cannot be read",
    "agents": "the agents that worked in its current attempt",
    "usage": f"{_JSON_USAGE}, of all attempts",
}
"""A run as JSON, in the list of all runs and alone."""
ONE_RUN_FIELDS: Fields = {
    "outcome": "how it ended, in the words of the flow",
    "summary": "what its agents say at the end",
    "modes": "what can be done with it: `resume`, `continue`, `restart`",
    "phases": "its phases: `id`, `status`, `usage` and `steps`",
    "questions": "all open questions: `id`, `path` and `form`",
    "artifacts": "the files that it published",
    "worktree": "`path`, `branch` and `base` of its worktree",
    "denied": _DENIED[0],
    "deniedTools": _DENIED[1],
    "hints": "what to do next",
    "stored": "of `answer`: the id of the question whose answer was stored",
}
"""What it has besides if it is alone."""
STEP_FIELDS: Fields = {
    "id": "its id",
    "status": "`pending`, `running`, `done`, `skipped` or `failed`",
    "value": "its result. Of a step that ran a flow: `executionState` with the results of all steps in it, each once",
    "attempts": "how often it was tried",
    "seconds": "how long it ran, without the time in which no process drove the run; null until it ends",
    "error": "why it failed, or why the attempt before failed",
    "output": "the last 40 lines that it printed, as text, if it failed; of a step that runs a flow, those of the step "
    "that failed in it. Else null",
    "usage": _JSON_USAGE,
    "denied": _DENIED[0],
    "deniedTools": _DENIED[1],
}
"""A step in `phases`."""


ABOUT = """\
# Rows

`handrail view TOPIC` prints what the page and the terminal show, for programs. A topic is `home` (all runs and sessions
of the project), `catalog` (all definitions), `run:ID` or `session:ID`. Each line is a message in JSON.

The first message has all rows. With `--follow`, each later one has the rows that changed since the message before: put
them in the place of those with the same id, and remove what is in `gone`. A row is always sent whole, and ten changes
between two messages are one row. After the end of a run, the rows that you have are those that `handrail view` prints.

```json
{"topic": "run:r-7f3k2m", "epoch": "1.0", "base": 40, "seq": 42, "part": 0, "more": false, "now": 1794799150.2,
 "set": {"nodes": [{"id": "check/tests", "v": 42, "status": "done"}]}, "gone": {}, "live": {"driver": 4711}}
```

Texts of agents and programs are cleaned: no escape sequences, no control characters, no characters that change the
direction of text. A field that is null is not known, or does not apply.
"""


RUN = """\
## A run as JSON

`handrail runs --json` prints `runs`: a list of runs with these fields.
"""
ONE_RUN = """\
`handrail runs RUN --json`, and `run`, `resume`, `continue`, `restart`, `answer` and `stop` with `--json` print one run:
an object with the same fields, and these.
"""


def rows() -> str:
    parts = [ABOUT, f"## Messages\n\n{_table(MESSAGE)}", f"Every row has:\n\n{_table(EVERY)}"]
    for topic, sections in TOPICS.items():
        parts.append(f"## {topic}\n")
        parts += [f"### {section} of {topic}\n\n{_table(fields)}" for section, fields in sections.items()]
    parts += [f"{RUN}\n{_table(RUN_FIELDS)}", f"{ONE_RUN}\n{_table(ONE_RUN_FIELDS)}"]
    parts.append(f"A step in `phases` has:\n\n{_table(STEP_FIELDS)}")
    return "\n".join(parts)


def _table(fields: Fields) -> str:
    lines = [f"| `{name}` | {meaning} |" for name, meaning in fields.items()]
    return "\n".join(["| field | meaning |", "|---|---|", *lines]) + "\n"
