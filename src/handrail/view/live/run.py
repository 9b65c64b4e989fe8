"""A run that is followed: its journal is read once, from where it was read last.

The tail is the last lines that agents and programs printed, with numbers of their own. `step_of` is one step for a
person who opens it: what it was given, what it returned, its tries, checks and files. `search_log` searches the
journal and what was printed, the newest first, in pages. All texts are cleaned, and no secret is in them.
"""

from __future__ import annotations

import heapq
import itertools
import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

from handrail.base import jsonlite
from handrail.base.errors import NotFound, StateError, UsageError
from handrail.base.journal import without_collector
from handrail.driven.flows.plan import step_at, top_phase
from handrail.driven.runs import run_events
from handrail.driven.runs.request import LoadedRun
from handrail.driven.runs.run_events import masked_event, masked_records
from handrail.driven.runs.runs import Runs
from handrail.driven.runs.state import ENDED
from handrail.driven.runs.summary import UsageSum, given_in
from handrail.extensions.contracts import EventRecord
from handrail.settings.folders import random_token
from handrail.settings.secrets import masked
from handrail.source.output_text import clean
from handrail.source.plain_text import some
from handrail.source.suggestions import did_you_mean
from handrail.source.values import as_text
from handrail.view.rows.rows import LONG, RowMessage, cleaned_value, failure_json, short_text
from handrail.view.rows.run import RunTopic, routes_of
from handrail.view.rows.run_sections import BARS, CHECKS
from handrail.view.text.log import LOG_KINDS, LONGEST_LOG_LINE, line_of

KEPT_TAIL = 2_000
MOST_TAIL = 200
LONGEST_TAIL_LINE = 500


class Tail:
    """The lines of one attempt of a run. `seq` is the number of the last one."""

    def __init__(self, attempt: int) -> None:
        self.attempt = attempt
        self.seq = 0
        self._lines: deque[dict[str, Any]] = deque(maxlen=KEPT_TAIL)
        self._mark: Any = None

    def refresh(self, runs: Runs, id_: str) -> None:
        lines, self._mark = runs.engine.activity(id_, self._mark, KEPT_TAIL)
        for line in lines:
            if line["n"] > self.seq:
                self._lines.append({**line, "text": clean(line["text"])[:LONGEST_TAIL_LINE]})
                self.seq = line["n"]

    def message(self, base: int) -> dict[str, Any]:
        """The lines after a number, at most `MOST_TAIL`. `lost` counts those that were left out or never written."""
        base = base if base <= self.seq else 0
        rows = [line for line in self._lines if line["n"] > base][-MOST_TAIL:]
        return {"base": base, "seq": self.seq, "lost": self.seq - base - len(rows), "rows": rows}


def with_tail(live: object, messages: list[RowMessage], epoch: str, base: int) -> list[RowMessage]:
    """The messages of a topic. The last one gets the new lines of its tail, if the topic has one."""
    tail = getattr(live, "tail", None)
    if not isinstance(tail, Tail) or not messages:
        return messages
    base = base if epoch.partition(".")[0] == str(tail.attempt) else 0
    if base == tail.seq and base:
        return messages
    return [*messages[:-1], {**messages[-1], "tail": tail.message(base)}]


def seq_of(live: object) -> int:
    """The number of the last line of a topic; 0 if it has no tail."""
    tail = getattr(live, "tail", None)
    return tail.seq if isinstance(tail, Tail) else 0


MOST_PARAMS = 50
PROBE_AGAIN = 1.0
"""In seconds: how often it is asked which process drives the run. What is over is asked less often."""
PROBE_SELDOM = 10.0
MOST_NODES = 500
"""How many rows are fetched at once below one that is opened."""


class LiveRun:
    """The topic of one run, kept up to date by `refresh`. A restart begins a new topic: its epoch is another."""

    def __init__(self, runs: Runs, id_: str) -> None:
        self.runs = runs
        self.id = id_
        self._stamp: object = None
        self._next_probe = 0.0
        self._begin()

    def _begin(self) -> None:
        with without_collector():
            run = self.runs.load(self.id)
            self.topic = RunTopic(run.plan, run.find, run.attempt, _facts(run), masked_records(run.records))
        self.attempt, self.offset = run.attempt, run.history.offset
        self.tail = Tail(run.attempt)
        self.tail.refresh(self.runs, self.id)
        self._probe()

    def _probe(self) -> None:
        engine = self.runs.engine
        self.live = {"driver": engine.driver(self.id), "program": engine.has_program(self.id)}
        is_over = not any(self.live.values()) and self.topic.state.status in ENDED
        self._next_probe = time.monotonic() + (PROBE_SELDOM if is_over else PROBE_AGAIN)

    def is_stale(self) -> bool:
        """True if a look may find something. Only files are looked at, and sometimes the driver."""
        try:
            return time.monotonic() >= self._next_probe or self.runs.engine.stamp(self.id) != self._stamp
        except LookupError:
            return True  # it was removed, and `refresh` says so

    def refresh(self) -> None:
        """Read what was recorded since the last call. Cheap if nothing was. Raises `NotFound` if the run is gone."""
        try:
            self._refresh()
        except LookupError as error:
            raise NotFound(f"run `{self.id}` was removed", "`handrail runs` lists those that are there") from error

    def _refresh(self) -> None:
        old_stamp, self._stamp = self._stamp, self.runs.engine.stamp(self.id)
        if self.runs.attempts(self.id)[-1] != self.attempt:
            self._begin()
            return
        if old_stamp != self._stamp and not self.runs.engine.has(self.id, self.offset):
            self._begin()
            self.topic.rows.epoch += f".{random_token()}"  # the numbers count other events than before
            return
        self._probe()
        self.tail.refresh(self.runs, self.id)
        records, self.offset = self.runs.events(self.id, self.offset)
        self.topic.take_all(masked_records(records))

    def messages(self, epoch: str, base: int, now: float) -> Iterator[RowMessage]:
        for message in self.topic.rows.messages(f"run:{self.id}", base, now, epoch):
            yield {**message, "live": self.live}

    def nodes(self, parent: str, start: int = 0) -> dict[str, Any]:
        """The rows directly below a phase or step, in their order, with their bars and checks: a page of them.

        `parent` is the id of a row; empty for the outermost rows. An unknown id has no rows.
        """
        window, start = self.topic.window, max(0, start)
        all_ids = window.children.get(parent, [])
        ids = all_ids[start : start + MOST_NODES]
        return {
            "under": parent,
            "start": start,
            "total": len(all_ids),
            "nodes": [window.nodes[id_].copy() for id_ in ids],
            "bars": [row.copy() for id_ in ids for row in window.rows_of(id_, BARS)],
            "checks": [row.copy() for id_ in ids for row in window.rows_of(id_, CHECKS)],
        }


def _facts(run: LoadedRun) -> dict[str, Any]:
    request = run.about.request
    tree, params = request.worktree, list(masked(request.params).items())[:MOST_PARAMS]
    return {
        "run": run.id,
        "name": clean(run.plan.id),
        "about": short_text(given_in(run.about.to_text())[1]),
        "task": clean(masked(request.task))[:LONG],
        "params": {clean(name): _param_value(value) for name, value in params},
        "routes": routes_of(run.about.request.routing),
        "digest": run.about.digest,
        "scope": request.scope or None,
        "worktree": None if tree is None else tree.branch,
        "limits": run.about.request.bounds.named,
    }


def _param_value(value: Any) -> Any:
    """A parameter for a line: whole numbers and booleans stay, everything else is a short text.

    Also `1.0`, which a page would show as `1`.
    """
    return value if value is None or isinstance(value, bool | int) else short_text(as_text(value))


MOST_TEXT = 256 * 1024
LAST_LINES = 20
StepJson = dict[str, Any]


def step_of(runs: Runs, id_: str, path: str, number: int | None = None) -> StepJson:
    """A step by its path, and one of its tries: by default the last one. Raises `NotFound`."""
    run = runs.load(id_)
    state = run.state.steps.get(path)
    if state is None and step_at(run.plan, path, run.find) is None:
        raise NotFound(f"run `{id_}` has no step `{clean(path)[:80]}`", "its tree has the paths of its steps")
    tries, artifacts = _tries(path, masked_records(run.records))
    known_tries = tries or ([_new_try(1, None)] if number is None else [])
    try_ = next((one for one in reversed(known_tries) if number in (None, one["try"])), None)
    if try_ is None:
        raise NotFound(f"step `{path}` of run `{id_}` has no try {number}")
    status = "pending" if state is None else "waiting" if path in run.state.questions else state.status
    output, is_cut = _limited_value(_full_value(try_.pop("value"), run.payload))
    lines, _ = runs.engine.activity(id_, None)
    return {
        "run": id_,
        "path": path,
        "status": status,
        **_input(try_.pop("input"), run.payload),
        **try_,
        "output": output,
        "isCut": is_cut,
        "usage": _sum(try_["usage"]),
        "tries": [{name: one[name] for name in ("try", "started", "ended", "end", "why")} for one in tries],
        "artifacts": [cleaned_value(one) for one in artifacts],
        "lines": [{**one, "text": clean(one["text"])} for one in lines if one["node"] == path][-LAST_LINES:],
    }


def printed_by(runs: Runs, id_: str, path: str) -> str:
    """All that a step printed in the current attempt, cleaned: what its tries kept, else the lines that are there.

    A step may be named by the end of its path. Raises `NotFound`.
    """
    run = runs.load(id_)
    path = _known_path(run, path)
    texts: list[str | None] = []
    for _, event in masked_records(run.records) if run.state.status_of(path) != "running" else ():
        if isinstance(event, run_events.RunResumed) and top_phase(path) in event.rewound:
            texts = []
        elif getattr(event, "path", None) == path:
            texts.append(_kept_output(event, run.payload))
    if not any(texts):
        lines, _ = runs.engine.activity(id_, None)
        texts = [one["text"] for one in lines if one["kind"] in PRINTED and f"{one['node']}/".startswith(f"{path}/")]
    if not texts:
        texts = [run.state.steps[path].output]  # of its check
    return clean("\n".join(text.rstrip("\n") for text in texts if text is not None), sys.maxsize)


def _known_path(run: LoadedRun, name: str) -> str:
    paths = list(run.state.steps)
    found = [name] if name in paths else [path for path in paths if path.endswith(f"/{name}")]
    if len(found) != 1:
        problem = f"run `{run.id}` has begun {'several steps' if found else 'no step'} `{clean(name)[:80]}`"
        raise NotFound(problem, (None if found else did_you_mean(name, paths)) or f"its steps: {some(found or paths)}")
    return found[0]


def _kept_output(event: run_events.Event, payload: Callable[[str], Any]) -> str | None:
    """What the program of a step printed, if this event says it."""
    if isinstance(event, run_events.NodeFailed):
        return event.output if event.payload is None else str(_full_value((None, event.payload), payload) or "")
    value = _full_value((event.value, event.payload), payload) if isinstance(event, run_events.NodeFinished) else None
    output = value.get("output") if isinstance(value, dict) else None
    return output if isinstance(output, str) else None


def _sum(reports: list[Mapping[str, Any]]) -> dict[str, Any]:
    usage = UsageSum()
    for report in reports:
        usage.add(report)
    return usage.to_json() if reports else {}


_OF_TRY = (
    run_events.NodeStarted, run_events.AttemptStarted, run_events.NodeFinished, run_events.NodeFailed,
    run_events.AttemptFailed, run_events.StepFailed, run_events.Checked, run_events.UsageReported,
    run_events.SessionOpened, run_events.AgentActed,
)  # fmt: skip


def _tries(path: str, records: list[EventRecord]) -> tuple[list[StepJson], list[StepJson]]:
    """What the events say about each try of a step, and the artifacts that the step made."""
    tries: list[StepJson] = []
    artifacts: list[StepJson] = []
    for at, event in records:
        if isinstance(event, run_events.RunResumed) and top_phase(path) in event.rewound:
            tries, artifacts = [], []
        if getattr(event, "path", None) != path:
            continue
        if isinstance(event, run_events.ArtifactPublished):
            artifacts.append(event.artifact)
        elif isinstance(event, _OF_TRY):
            last_number = tries[-1]["try"] if tries else 1
            number = (
                event.attempt if isinstance(event, run_events.NodeStarted | run_events.AttemptStarted) else last_number
            )
            if not tries or number != last_number:
                tries.append(_new_try(number, at))
            _take(tries[-1], at, event)
    return tries, artifacts


def _take(row: StepJson, at: float, event: run_events.Event) -> None:
    match event:
        case run_events.NodeStarted():
            row["input"] = (event.given, event.payload)
        case run_events.NodeFinished():
            row.update(value=(event.value, event.payload), ended=at, end="done")
        case run_events.NodeFailed() | run_events.AttemptFailed() | run_events.StepFailed():
            row.update(ended=at, end="failed", why=failure_json(event.code, event.message))
        case run_events.Checked():
            row["checks"] = [{**cleaned_value(one), "at": at} for one in event.results]
        case run_events.UsageReported():
            row["usage"].append(event.usage)
        case run_events.SessionOpened():
            row.update(who=clean(event.agent), conversation=clean(event.session))
        case run_events.AgentActed():
            row["counts"][event.kind] = row["counts"].get(event.kind, 0) + 1


def _new_try(number: int, at: float | None) -> StepJson:
    empty = dict.fromkeys(("ended", "end", "why", "input", "value", "who", "conversation"))
    return {"try": number, "started": at, **empty, "checks": [], "usage": [], "counts": {}}


def _input(input_: tuple[Any, str | None] | None, payload: Callable[[str], Any]) -> StepJson:
    """The prompt and the params; None if they are not recorded, or not readable any more."""
    value = _full_value(input_, payload)
    if not isinstance(value, dict):
        return {"prompt": None, "params": None}
    prompt = None if value.get("prompt") is None else clean(value["prompt"])[:MOST_TEXT]
    return {"prompt": prompt, "params": _limited_value(value.get("params"))[0]}


def _full_value(input_: tuple[Any, str | None] | None, payload: Callable[[str], Any]) -> Any:
    if input_ is None:
        return None
    value, digest = input_
    if digest is None:
        return value
    try:
        return masked(payload(digest))
    except StateError:
        return None


def _limited_value(value: Any) -> tuple[Any, bool]:
    """A value, cleaned. If it is too long, the beginning of its JSON as text."""
    text = jsonlite.dumps(value)
    if len(text) > MOST_TEXT:
        return clean(text[:MOST_TEXT]), True
    return cleaned_value(value), False


LOG_PAGE = 100
PRINTED = ("text", "out")
"""The kinds of printed lines that are in no journal. The other ones are events, too."""
LogRow = dict[str, Any]


class LogQuery(NamedTuple):
    """What is looked for: a literal text without regard to case, some of `LOG_KINDS` (empty: all), below a path.

    `before` is the `before` of the page that was read last; None for the newest page.
    """

    query: str = ""
    kinds: Collection[str] = ()
    under: str = ""
    before: str | None = None

    def fits(self, row: LogRow) -> bool:
        if self.kinds and row["kind"] not in self.kinds:
            return False
        if self.under and not f"{row['path']}/".startswith(f"{self.under}/"):
            return False
        query = self.query.casefold()
        return not query or query in f"{row['path']} {row['what']} {row['text']}".casefold()


def search_log(runs: Runs, id_: str, query: LogQuery) -> LogRow:
    """A page of lines, the newest last. `before` is for the next page; None if this is the oldest one."""
    for kind in query.kinds:
        if kind not in LOG_KINDS:
            raise UsageError(f"there is no kind `{clean(kind)[:40]}` of lines", f"kinds: {', '.join(LOG_KINDS)}")
    limit = None if query.before is None else _key_of(query.before)
    records = runs.records(id_, runs.attempts(id_)[-1])
    newest = heapq.merge(_events(records), _printed_rows(runs, id_), key=lambda row: _key_of(row["id"]), reverse=True)
    rows = (row for row in newest if (limit is None or _key_of(row["id"]) < limit) and query.fits(row))
    page = list(itertools.islice(rows, LOG_PAGE + 1))
    next_place = page[LOG_PAGE - 1]["id"] if len(page) > LOG_PAGE else None
    return {"rows": page[:LOG_PAGE][::-1], "before": next_place, "total": len(records)}


def _events(records: list[Any]) -> Iterator[LogRow]:
    """The lines of the events, the newest first."""
    for number in range(len(records), 0, -1):
        at, event = records[number - 1]
        kind, path, word, text = line_of(masked_event(event))
        yield {"id": f"{at}-e{number}", "t": at, "path": path, "kind": kind, "what": word, "text": text}


def _printed_rows(runs: Runs, id_: str) -> Iterator[LogRow]:
    lines, _ = runs.engine.activity(id_, None)
    for line in reversed(lines):
        if line["kind"] in PRINTED:
            row = {"id": f"{line['t']}-a{line['n']}", "t": line["t"], "path": line["node"], "kind": "agent"}
            yield {**row, "what": line["kind"], "text": clean(line["text"])[:LONGEST_LOG_LINE]}


def _key_of(id_: str) -> tuple[float, str, int]:
    """The place of a line in time. Raises `UsageError` for a text that is not the id of a line."""
    time_text, _, suffix = id_[:80].rpartition("-")
    try:
        return float(time_text), suffix[:1], int(suffix[1:])
    except ValueError as error:
        raise UsageError("`before` is not the id of a line", "use the `before` of the last page") from error
