"""Forms on a real terminal (a pty), and answers files. A test types only after it has seen the question: no sleeps."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from handrail.base.errors import UsageError
from handrail.cli.forms import print_form, questions_text, skeleton
from handrail.cli.output import Shell
from handrail.driven.forms.answers import answers_for, read_answers, wrong_answers
from handrail.driven.forms.form import problems
from handrail.driven.forms.form_params import form_from, to_json
from handrail.driven.runs.run_rules import assumed_result, interrupted_form
from handrail.source.definition_files import MAX_BYTES
from support import Project

WAIT = 60.0
ON_SCREEN = -100
CHILD = """
import fcntl, json, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
import click
from handrail.cli.forms import ask, can_ask
from handrail.driven.forms.form_params import form_from
assert can_ask()
try:
    print(json.dumps(ask(form_from(json.loads(sys.argv[1])))))
except click.Abort:
    sys.exit(130)
"""


class Terminal:
    """A form on a terminal. Its stdout goes to a pipe or to the terminal."""

    def __init__(self, child: subprocess.Popen[bytes], screen: int) -> None:
        self.child = child
        self.screen = screen
        self.seen = ""
        self.new = ""

    def see(self, text: str) -> None:
        """Wait until a text appears after the texts that were seen before."""
        while text not in self.new:
            ready, _, _ = select.select([self.screen], [], [], WAIT)
            data = os.read(self.screen, 4096) if ready else b""
            assert data, f"{text!r} did not appear in:\n{self.seen}"
            self.seen += data.decode("utf-8", "replace")
            self.new += data.decode("utf-8", "replace")
        self.new = self.new.split(text, 1)[1]

    def type(self, line: str) -> None:
        self.press(line + "\n")

    def press(self, keys: str) -> None:
        os.write(self.screen, keys.encode("utf-8", "surrogateescape"))

    def answers(self) -> Any:
        out, _ = self.child.communicate(timeout=WAIT)
        assert self.child.returncode == 0, self.seen
        return json.loads(out)


@contextmanager
def asked(*fields: dict[str, Any], data: int = subprocess.PIPE, **more: str) -> Iterator[Terminal]:
    """Ask a form. `data` is the stdout of the program; `ON_SCREEN` is the terminal."""
    form = {"formId": "f", "title": "Some questions", "fields": list(fields), **more}
    screen, inside = pty.openpty()
    argv = [sys.executable, "-c", CHILD, json.dumps(form)]
    env = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "PYTHONUTF8": "1"}
    child = subprocess.Popen(
        argv, stdin=inside, stdout=inside if data == ON_SCREEN else data, stderr=inside, env=env, start_new_session=True
    )
    os.close(inside)
    try:
        yield Terminal(child, screen)
    finally:
        child.kill()
        child.wait(WAIT)
        if child.stdout:
            child.stdout.close()
        os.close(screen)


def test_every_kind_of_field_is_asked_and_only_the_answers_go_to_stdout() -> None:
    fields: list[dict[str, Any]] = [
        {"id": "go", "type": "boolean", "label": "Go on?", "required": True},
        {"id": "name", "label": "Name", "required": True, "help": "As in the passport", "placeholder": "Ada"},
        {"id": "story", "label": "Story", "multiline": True},
        {
            "id": "level",
            "label": "Level",
            "options": [{"value": "hi", "label": "High"}, {"value": "lo", "label": "Low"}],
        },
        {"id": "tags", "type": "multi-select", "label": "Tags", "options": ["red", "green", "blue"]},
    ]
    with asked(*fields, description="Please be honest") as terminal:
        terminal.see("Some questions\r\nPlease be honest")
        terminal.see("Go on?\r\n[y/n]> ")
        terminal.type("y")
        terminal.see("Name\r\n  As in the passport\r\n  for example: Ada\r\n> ")
        terminal.type("Grace")
        terminal.see("Story (optional)")
        terminal.see("> ")
        terminal.type("once")
        terminal.see("> ")
        terminal.type("upon a time")
        terminal.see("> ")
        terminal.type("")
        terminal.see("1) High (hi)\r\n  2) Low (lo)\r\n> ")
        terminal.type("2")
        terminal.see("3) blue")
        terminal.see("> ")
        terminal.type("1, blue")
        assert terminal.answers() == {
            "go": True, "name": "Grace", "story": "once\nupon a time", "level": "lo", "tags": ["red", "blue"],
        }  # fmt: skip


def test_a_question_with_names_in_it_is_not_quoted_again() -> None:
    with asked({"id": "level", "label": "run `a/x` again?", "required": True, "options": ["yes", "no"]}) as terminal:
        terminal.see("> ")
        terminal.type("")
        terminal.see("\nthis question is not answered; one of `yes`, `no` is needed\r\n> ")
        terminal.type("yes")
        assert terminal.answers() == {"level": "yes"}


def test_answers_that_do_not_go_together_are_asked_again() -> None:
    fields: list[dict[str, Any]] = [
        {"id": "apply_all", "type": "boolean", "label": "All?", "default": False},
        {"id": "selected_findings", "type": "multi-select", "label": "Which", "options": ["Leak", "Race"]},
    ]
    with asked(*fields, formId="review-fix-selection") as terminal:
        terminal.see("> ")
        terminal.type("n")
        terminal.see("2) Race")
        terminal.see("> ")
        terminal.type("")
        terminal.see("`Which` chooses nothing; choose at least one finding, or fix all with `apply_all`")
        terminal.see("> ")
        terminal.type("2")
        assert terminal.answers() == {"apply_all": False, "selected_findings": ["Race"]}


def test_an_invalid_answer_is_reported_and_asked_again() -> None:
    fields: list[dict[str, Any]] = [
        {"id": "go", "type": "boolean", "label": "Go on?", "required": True},
        {"id": "name", "label": "Name", "required": True},
        {"id": "level", "label": "Level", "required": True, "options": ["low", "high"]},
        {"id": "tags", "type": "multi-select", "label": "Tags", "required": True, "options": ["red", "green"]},
    ]
    with asked(*fields) as terminal:
        terminal.see("[y/n]> ")
        for line in ("", "perhaps"):
            terminal.type(line)
            terminal.see("type y or n\r\n[y/n]> ")
        terminal.type("No")
        terminal.see("Name\r\n> ")
        terminal.type("  ")
        terminal.see("`Name` is blank; text is needed\r\n> ")
        terminal.type("Ada")
        terminal.see("2) high\r\n> ")
        terminal.type("3")
        terminal.see("`3` is not one of the choices; type 1, 2\r\n> ")
        terminal.type("")
        terminal.see("`Level` is not answered; one of `low`, `high` is needed\r\n> ")
        terminal.type("HIGH")
        terminal.see("(several with commas)\r\n> ")
        terminal.type("")
        terminal.see("is empty; choose at least one")
        terminal.see("> ")
        terminal.type("green,red,2")
        assert terminal.answers() == {"go": False, "name": "Ada", "level": "high", "tags": ["green", "red"]}


def test_enter_takes_the_default_and_a_default_can_be_declined() -> None:
    fields: list[dict[str, Any]] = [
        {"id": "go", "type": "boolean", "default": True},
        {"id": "name", "default": "Ada"},
        {"id": "other", "default": "Bob"},
        {"id": "level", "options": ["low", "high"], "default": "high"},
        {"id": "tags", "type": "multi-select", "options": ["a", "b", "c"], "default": ["a", "c"]},
        {"id": "more", "type": "multi-select", "options": ["a"], "default": ["a"]},
    ]
    with asked(*fields) as terminal:
        typed = {"[Y/n]> ": "", "[Ada]> ": "", "[Bob]> ": " ", "[high]> ": "", "[a, c]> ": "", "[a]> ": "-"}
        for prompt, line in typed.items():
            terminal.see(prompt)
            terminal.type(line)
        values = {"go": True, "name": "Ada", "other": "", "level": "high", "tags": ["a", "c"], "more": []}
        assert terminal.answers() == values


def test_a_conditional_field_is_asked_only_if_its_condition_holds() -> None:
    fields: list[dict[str, Any]] = [
        {"id": "go", "type": "boolean", "default": True},
        {"id": "why", "label": "Why not?", "required": True, "when": {"field": "go", "equals": False}},
        {"id": "area", "options": [{"value": "ui", "when": {"field": "go", "equals": False}}, "core"]},
    ]
    with asked(*fields) as terminal:
        terminal.see("[Y/n]> ")
        terminal.type("y")
        terminal.see("1) core\r\n> ")
        terminal.type("1")
        assert terminal.answers() == {"go": True, "why": "", "area": "core"}
        assert "Why not?" not in terminal.seen


def test_options_that_are_numbers_are_chosen_by_their_value() -> None:
    with asked({"id": "size", "label": "Size", "options": [3, 1, 2]}) as terminal:
        terminal.see("3) 3\r\n  1) 1\r\n  2) 2\r\n> ")
        terminal.type("1")
        assert terminal.answers() == {"size": "1"}


def test_a_line_can_be_edited_if_stdout_is_a_terminal() -> None:
    pytest.importorskip("readline")
    with asked({"id": "name", "label": "Name"}, data=ON_SCREEN) as terminal:
        terminal.see("> ")
        terminal.type("bc\x01a")
        terminal.see('{"name": "abc"}')


@pytest.mark.parametrize("data", [subprocess.PIPE, ON_SCREEN], ids=["data-apart", "all-on-screen"])
@pytest.mark.parametrize("key", ["\x03", "\x04"], ids=["ctrl-c", "ctrl-d"])
def test_ctrl_c_and_ctrl_d_abort_the_form(key: str, data: int) -> None:
    with asked({"id": "name", "label": "Name"}, data=data) as terminal:
        terminal.see("> ")
        for _ in range(20):  # readline may notice a signal only at the next key
            terminal.press(key)
            with contextlib.suppress(subprocess.TimeoutExpired):
                terminal.child.wait(WAIT / 20)
                break
        assert terminal.child.returncode == 130
        assert "{" not in terminal.seen
        assert terminal.child.stdout is None or terminal.child.stdout.read() == b""


def test_control_characters_do_not_reach_the_terminal_or_the_flow() -> None:
    evil = "\x1b[2J\x9b31m"
    option = {"value": evil + "!", "label": evil, "description": evil}
    field = {"id": "a", "label": evil, "help": evil, "placeholder": evil, "options": [option], "default": evil + "!"}
    with asked(field, {"id": "t"}) as terminal:
        terminal.see("1) ")
        terminal.see("> ")
        terminal.type("1")
        terminal.see("> ")
        terminal.type("ab\udcffc")
        terminal.see("this is not plain text")
        terminal.see("> ")
        terminal.type("ab\x1b[Dc")
        terminal.see("this is not plain text")
        terminal.see("> ")
        terminal.type("abc")
        assert terminal.answers() == {"a": evil + "!", "t": "abc"}
        assert "\x1b[2J" not in terminal.seen
        assert "\x9b" not in terminal.seen


REVIEW = form_from(
    {
        "formId": "review",
        "title": "Review",
        "fields": [
            {"id": "go", "type": "boolean", "required": True, "help": "really?"},
            {"id": "level", "options": ["low", {"value": "high", "label": "High", "description": "stops"}]},
            {"id": "why", "when": {"field": "go", "equals": False}},
        ],
    }
)


def test_a_waiting_form_is_shown_with_an_answers_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    print_form(Shell("/", as_json=True, quiet=False), REVIEW, is_asked_for=False)
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "Review\n\ngo (boolean, required): go\n  really?\nlevel (single-select, optional): level\n  - low\n"
        "  - High (high) - stops\n  in the file, write the text in brackets where there is one\n"
        "why (text, optional, only if `go` is false): why\n\nas an answers file:\n"
        '{\n  "review": {\n    "go": false,\n    "level": null,\n    "why": ""\n  }\n}\n'
    )
    file = tmp_path / "a.json"
    file.write_text(skeleton(REVIEW))
    assert not problems(REVIEW, read_answers(str(file)).for_form(REVIEW, "p/s") or {})


def test_a_skeleton_escapes_control_characters_in_defaults(tmp_path: Path) -> None:
    form = form_from({"formId": "f", "fields": [{"id": "t", "default": "\u202e\x9b \U0001f600"}]})
    assert "\u202e" not in questions_text(form)
    file = tmp_path / "a.json"
    file.write_text(skeleton(form))
    assert read_answers(str(file)).for_form(form, "p/s") == {"t": "\u202e\x9b \U0001f600"}


@pytest.mark.parametrize(
    "text",
    [
        "go: true\nlevel: high\n",
        "review: {go: true, level: high}\nother: {go: false}\n",
        "review: {go: false}\ngo: false\np/s:\n  go: true\n  level: high\n",
        '{"form_id": "review", "submitted_at": "2024-05-01T10:00:00Z", "values": {"go": true, "level": "high"}}',
        '{"review": {\n\t"go": true, "level": "hi\\u0067h"}}',
        '{"go": true, level: high}',
        "\ufeffgo: true\r\nlevel: high\r\n",
    ],
)
def test_answers_are_found_in_every_format_of_file(text: str, tmp_path: Path) -> None:
    file = tmp_path / "answers"
    file.write_text(text, encoding="utf-8", newline="")
    assert read_answers(str(file)).for_form(REVIEW, "p/s") == {"go": True, "level": "high"}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("{p/s: {go: 1}, review: {go: 2}, go: 3, other: 4}", {"go": "1"}),
        ("{review: {go: 2}, go: 3, other: 4}", {"go": "2"}),
        ("{go: 3, other: 4}", {"go": "3", "other": "4"}),
        ("{other: 4}", None),
        ("{g: {go: true}, p/t: {go: true}}", None),
    ],
)
def test_answers_by_step_win_over_answers_by_form_and_over_answers_for_any_form_with_such_a_field(
    text: str, values: dict[str, Any] | None, tmp_path: Path
) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(text)
    assert read_answers(str(file)).for_form(REVIEW, "p/s") == values


def test_answers_come_from_the_standard_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("go: true")
    with file.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert read_answers("-").for_form(REVIEW, "p/s") == {"go": True}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("f:\n  go:\n    deep: 1\n", "3:5: `go` has to be true or false, found a mapping"),
        ("tags: [a, [b]]\n", "1:7: `tags` may hold only `a`, `b`, found a list"),
        ("note: {a: 1}\ngo: true\n", "1:1: `note` is not answered; text is needed"),
    ],
)
def test_a_list_or_mapping_that_a_field_does_not_take_is_reported_with_its_position(
    text: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(text)
    fields = [
        {"id": "go", "type": "boolean"},
        {"id": "tags", "type": "multi-select", "options": ["a", "b"]},
        {"id": "note", "type": "text", "required": True},
    ]
    with pytest.raises(UsageError) as refused:
        answers_for(read_answers(str(file)), form_from({"formId": "f", "fields": fields}), "a/x", "q1")
    assert said in refused.value.message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("rerun: {rerun: done, outputs.result: {v: 7, w: [1.50, x]}}", {"v": 7, "w": [1.5, "x"]}),
        ("{rerun: done, outputs.result: {v: 7}}", {"v": 7}),
        ('{"rerun": "done", "outputs.result": [1, "2", null]}', [1, "2", None]),
        ("rerun: done\noutputs.result: '{\"v\": 7}'\n", {"v": 7}),
        ("rerun: done\noutputs.result: text\n", "text"),
    ],
)
def test_the_output_of_an_interrupted_command_may_be_written_as_data(text: str, value: object, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(text)
    form = form_from(to_json(form_from(interrupted_form("a/x", 1, ["result"]))))
    answer = answers_for(read_answers(str(file)), form, "a/x", "q1")
    assert assumed_result(answer) == {"assumedDone": True, "result": value}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "1:1: answers have to be a mapping, found nothing"),
        ("- go\n", "1:1: answers have to be a mapping, found a list"),
        ("go: true\ngo: false\n", "2:1: key `go` is given twice"),
        ('{"go": true,\n "go": false}', "2:2: key `go` is given twice"),
        ("go: [true\n", "1:5: this list is not closed"),
        ('{"go": true\n "level": 1}', '2:2: `,` or `}` was expected here, found `"'),
        ("{go: true\n", "1:1: this mapping is not closed"),
        ('{"t": "\\ud83d"}', "1:7: this text holds half of a character"),
        ('{"t": ["ok", "\\ud83d"]}', "1:14: this text holds half of a character"),
        ("a\x00b", "1:2: the file contains a NUL byte"),
        ("{" * 3000, "nested more than"),
        ('{"a":' * 3000 + "1" + "}" * 3000, "nested more than"),
    ],
)
def test_an_invalid_answers_file_is_reported_with_its_position(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(text)
    with pytest.raises(UsageError) as refused:
        read_answers(str(file))
    assert said in refused.value.message
    assert f"{file}:" in refused.value.message
    assert refused.value.exit_code == 2


def test_an_unreadable_answers_file_gets_a_suggestion(tmp_path: Path) -> None:
    (tmp_path / "answers.yaml").write_bytes(b" " * (MAX_BYTES + 1))
    with pytest.raises(UsageError) as missing:
        read_answers(str(tmp_path / "answer.yaml"))
    assert missing.value.hint == "did you mean `answers.yaml`?"
    with pytest.raises(UsageError, match="is a folder, not a file"):
        read_answers(str(tmp_path))
    with pytest.raises(UsageError, match="more than"):
        read_answers(str(tmp_path / "answers.yaml"))
    with pytest.raises(UsageError, match="contains a NUL character"):
        read_answers("a\0b")


def test_invalid_answers_are_reported_with_their_positions(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("other: {}\nreview:\n  level: hgih\n")
    answers = read_answers(str(file))
    found = problems(REVIEW, answers.for_form(REVIEW, "p/s") or {})
    message = wrong_answers(answers, REVIEW, "p/s", found).message
    assert message == (
        f"{file}:2:1: `go` is not answered; true or false is needed\n"
        f"{file}:3:10: `level` has to be one of `low`, `high`, found the text `hgih`; did you mean `high`?"
    )


def test_a_question_that_is_the_title_of_its_form_is_not_printed_twice() -> None:
    text = "`a/x` was running, and may have finished"
    field = {"id": "rerun", "type": "single-select", "label": text, "required": True, "options": ["again", "done"]}
    shown = questions_text(form_from({"formId": "rerun", "title": text, "fields": [field]}))
    assert shown.count(text) == 1
    assert "rerun (single-select, required)\n" in shown


def test_a_form_without_an_id_has_that_of_its_step(project: Project) -> None:
    form = "{title: Who?, fields: [{id: who, type: text, required: true}]}"
    step = f"{{id: 'ask-${{i}}', node: user-input, params: {form}}}"
    text = f"phases:\n- repeat: {{var: i, to: 1}}\n  phases:\n  - {{id: 'a-${{i}}', steps: [{step}]}}\n"
    project.write(".handrail/flows/asks.yaml", text)
    assert project.run("validate").code == 0
    assert project.json("run", "asks", code=4)["questions"][0]["form"]["formId"] == "ask-1"
    answers = project.write("answers.yaml", "ask-1: {who: Ada}\n")
    assert project.json("resume", "last", "--answers", str(answers))["status"] == "completed"
