"""The six real agents, started directly: each uses its own tools, and its output matches the samples.

The samples in `tests/agents/samples/AGENT` are used to test executors without an agent: `CASE.jsonl` is stdout of the
program, `CASE.json` has its exit code and stderr. `HANDRAIL_UPDATE_SAMPLES=1` rewrites them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.agents.probe.scripted_model import Json, Turn, Usage, tool_turn
from real.hosts import CACHE, HOSTS, Host, Ran, Seat
from service_errors import SPENT, failed_turn

SAMPLES = Path(__file__).parents[1] / "agents" / "samples"
UPDATE = os.environ.get("HANDRAIL_UPDATE_SAMPLES") == "1"
PROMPT = "Write the word made into made.txt"
DONE = Turn("It is written.", usage=Usage(1200, 20, 1000))
FAILURES = {
    "401": failed_turn(401),
    "429": failed_turn(429, retry_after=1),
    "spent": failed_turn(429, SPENT, retry_after=3600),
}
WAITS = {("opencode", "spent")}
"""It would retry for more than a minute, or for as long as the answer demands."""
SUBSCRIBED = {"claude": {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-fake"}}
"""Only a subscription has these limits."""
CASES = [(name, case) for name in HOSTS for case in FAILURES if (name, case) not in WAITS]


@pytest.fixture
def host(request: pytest.FixtureRequest) -> Host:
    return HOSTS[request.param]


@pytest.fixture
def seat(host: Host, tmp_path: Path) -> Iterator[Seat]:
    with host.protocol() as model:
        yield Seat(host, tmp_path, model)


each = pytest.mark.parametrize("host", HOSTS, indirect=True)


def write(seat: Seat) -> Turn:
    call = seat.host.write(seat.project / "made.txt", "made\n")
    return tool_turn(call, text="I write it.", usage=Usage(1000, 50, 400))


def assert_written(seat: Seat, ran: Ran) -> None:
    assert ran.code == 0, ran
    assert (seat.project / "made.txt").read_text() == "made\n"
    assert "It is written." in ran.out


@each
def test_it_writes_a_file_with_its_own_tool(seat: Seat) -> None:
    seat.model.script(write(seat), DONE)
    ran = seat.run(PROMPT)
    assert_written(seat, ran)
    asked, answered = seat.model.received()
    assert PROMPT in asked.text
    assert f'"{PROMPT}"' not in asked.text
    assert len(answered.text) > len(asked.text)
    compare(seat, "success", ran)


@each
def test_it_runs_a_command_and_reads_a_file(seat: Seat) -> None:
    path = seat.project / "there.txt"
    path.write_text("words of the file\n")
    shell, read = seat.host.shell("printf '%s-%s' 40 two"), seat.host.read(path)
    seat.model.script(tool_turn(shell), tool_turn(read), DONE)
    ran = seat.run(PROMPT)
    assert ran.code == 0, ran
    _, after_shell, after_read = (request.text for request in seat.model.received())
    assert "40-two" in after_shell
    assert "words of the file" not in after_shell
    assert "words of the file" in after_read


@each
def test_it_retries_after_a_service_error(seat: Seat) -> None:
    seat.model.script(failed_turn(500), write(seat), DONE)
    ran = seat.run(PROMPT)
    assert_written(seat, ran)
    compare(seat, "500-then-fine", ran)


@pytest.mark.parametrize(("host", "case"), CASES, indirect=["host"])
def test_it_ends_when_the_service_refuses(seat: Seat, case: str) -> None:
    seat.model.script(*[FAILURES[case]] * 20)
    ran = seat.run(PROMPT, **SUBSCRIBED.get(seat.host.name, {}) if case == "spent" else {})
    assert "It is written." not in ran.out
    assert len(seat.model.received()) < 20
    compare(seat, case, ran)


def compare(seat: Seat, case: str, ran: Ran) -> None:
    """The exit code and the kinds of events match the sample; other details may differ between runs."""
    lines, about = SAMPLES / seat.host.name / f"{case}.jsonl", SAMPLES / seat.host.name / f"{case}.json"
    if UPDATE:
        tidy = Tidy(seat)
        lines.parent.mkdir(parents=True, exist_ok=True)
        lines.write_text("".join(f"{line(tidy(event))}\n" for event in ran.events))
        argv = [seat.host.name, *seat.host.argv(PROMPT)[1:]]
        facts = {"package": seat.host.package, "argv": argv, "code": ran.code, "stderr": tidy.text(ran.err, 1500)}
        about.write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
    sample = json.loads(about.read_text())
    assert sample["package"] == seat.host.package, "the samples are from another version; set HANDRAIL_UPDATE_SAMPLES=1"
    assert sample["code"] == ran.code
    assert kinds([json.loads(text) for text in lines.read_text().splitlines()]) == kinds(ran.events)


def line(event: Json) -> str:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


def kinds(events: list[Json]) -> set[tuple[str, ...]]:
    """The kinds of events. Events that the program marks as ephemeral may be missing."""
    lasting = [event for event in events if not event.get("ephemeral")]
    return {tuple(str(event.get(name)) for name in ("type", "subtype", "status")) for event in lasting}


class Tidy:
    """Replaces ids, times and paths by fixed words and cuts long texts. Equal ids stay equal."""

    ID = re.compile(
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
        r"|(?P<kind>msg|toolu|call|chatcmpl|resp|ses|prt|fc|ctc)[_-][A-Za-z0-9]{12,}"
        r"|\b[0-9a-f]{40}\b|^[0-9a-f]{8}$"
    )
    TEXTS = (
        (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)"), "2026-01-01T00:00:00.000Z"),
        (re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT"), "Thu, 01 Jan 2026 00:00:00 GMT"),
        (re.compile(r"\w{3} \d+\w\w, \d{4} \d+:\d\d [AP]M"), "Jan 1st, 2026 1:00 AM"),
        (re.compile(r"resets \d+(:\d\d)?[ap]m"), "resets 1am"),
        (re.compile(r"127\.0\.0\.1:\d{4,5}"), "127.0.0.1:8000"),
        (re.compile(r"/cc-socks/\d+"), "/cc-socks/1"),
        (re.compile(r"\d+\.\d+ seconds"), "1.00 seconds"),
        (re.compile(r"/\w[\w-]*\.js:\d+:\d+"), "/bundle.js:1:1"),
    )
    SPAN = re.compile(r"(?i)duration|ms$|bytes$|current_tokens$")
    LONG_TEXT, LONG_LIST = 400, 6

    def __init__(self, seat: Seat) -> None:
        self.ids: dict[str, str] = {}
        slug = str(seat.project).replace("/", "-").replace("_", "-")
        self.places = {str(seat.project): "/project", str(seat.home): "/home", str(CACHE): "/agents", slug: "-project"}

    def __call__(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: self(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [self(item, key) for item in value[: self.LONG_LIST]]
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        return self.number(value, key)

    def number(self, value: float, key: str) -> float:
        if 1.7e9 < value < 2e9:
            return 1767229200
        if 1.7e12 < value < 2e12:
            return 1767225600000
        return 1000 if self.SPAN.search(key) and value else value

    def text(self, value: str, longest: int = LONG_TEXT) -> str:
        for place, name in self.places.items():
            value = value.replace(place, name)
        for pattern, instead in self.TEXTS:
            value = pattern.sub(instead, value)
        value = self.ID.sub(self.known, value)
        return value if len(value) <= longest else f"{value[:longest]} … (cut)"

    def known(self, found: re.Match[str]) -> str:
        kind = found["kind"]
        return self.ids.setdefault(found[0], f"{kind or 'id'}_{len(self.ids) + 1:04}")
