"""The format of a script: a table of its actions. The reader, the messages and the reference page come from it.

A script is a YAML list of lines, each with one action; or `prompts`, a list of `{match, play}`: the first entry whose
`match` is part of the prompt is played, and an entry without `match` fits every prompt.
"""

from __future__ import annotations

from typing import Any

from handrail.errors import HandrailError
from handrail.source.dataclasses import dataclass
from handrail.source.diagnostics import Diagnostic, in_order
from handrail.source.fields import ANYTHING, SCALARS, Field, Reader, Shape, found, shape
from handrail.source.files import MAX_BYTES, Source, decode
from handrail.source.given import check_fields, plain
from handrail.source.simpleyaml import read_yaml
from handrail.source.suggest import did_you_mean
from handrail.source.yamltree import Node
from handrail.state.regular import Unreadable, read_regular

USED = ("inputTokens", "outputTokens", "cachedTokens", "usd")
STEPS = ("next", "loop", "status", "cancel")


def _refuse_step(reader: Reader, node: Node) -> None:
    if node.value.endswith("workflow_step"):
        reader.on(node, "script", f"`{node.value}` is not called as a tool", "write `step: next`")


def _check_usage(reader: Reader, node: Node) -> None:
    for name, child in node.value.items():
        if name not in USED:
            hint = did_you_mean(name, USED) or f"its numbers: {', '.join(USED)}"
            reader.on(child, "script", f"`usage` has no number `{name}`", hint)
        elif child.kind not in ("integer", "number", "null"):
            reader.on(child, "script", f"`{name}` has to be a number, found {found(child)}")


ACTIONS: dict[str, Shape] = {
    row.title: row
    for row in (
        shape("say", "Says something.", Field("say", SCALARS, "the text", required=True)),
        shape(
            "tool",
            "Calls a tool, if the gate allows it.",
            Field("tool", ("text",), "`bash`, `read`, `write` or `edit`", required=True, check=_refuse_step),
            Field(
                "input",
                ("mapping",),
                "its arguments: `command`; `path`; `path` and `content`; `path`, `old` and `new`",
            ),
        ),
        shape(
            "step",
            "Does what a real agent does with `workflow_step`.",
            Field("step", ("text",), "the action", required=True, choices=STEPS),
            Field("summary", SCALARS, "what it did in this phase, for `next`"),
        ),
        shape(
            "stop", "Ends the turn early. If told to continue, it plays the rest.", Field("stop", ANYTHING, "`true`")
        ),
        shape("interrupt", "Ends the turn as a person does with Esc.", Field("interrupt", ANYTHING, "`true`")),
        shape(
            "hang",
            "Does nothing for a while.",
            Field("hang", ("integer", "number"), "how long", required=True, least=0, unit="seconds"),
        ),
        shape("crash", "Its program dies.", Field("crash", ANYTHING, "`true`")),
        shape(
            "usage",
            "Reports tokens and cost.",
            Field(
                "usage",
                ("mapping",),
                "what it used so far: `inputTokens`, `outputTokens`, `cachedTokens`, `usd`; each is optional",
                required=True,
                check=_check_usage,
            ),
        ),
        shape(
            "retry",
            "Reports that its service failed and that it tries again.",
            Field("retry", SCALARS, "what it says about it", required=True),
        ),
        shape(
            "fail",
            "Fails as an agent does.",
            Field("fail", ("text",), "the outcome, such as `rate-limit` or `auth`", required=True),
            Field("message", SCALARS, "what the agent says about it"),
            Field("resetsIn", ("integer", "number"), "after which time the limit resets", unit="seconds"),
            Field("unless", ("text",), "a path; if it exists, this line does nothing"),
        ),
        shape("print", "Prints a line that is not part of its protocol.", Field("print", SCALARS, "the line")),
    )
}
CHOICE = shape(
    "prompt",
    "What is played for which prompt.",
    Field("match", SCALARS, "a part of the prompt"),
    Field("play", ("list",), "the lines to play", required=True),
)


@dataclass(frozen=True)
class Line:
    """One line of a script: an action, its value and its other keys."""

    kind: str
    value: Any
    rest: dict[str, Any]


def read_script(path: str, prompt: str = "") -> list[Line]:
    """The lines to play for a prompt. Raises `HandrailError` with the places of all mistakes in the script."""
    try:
        source, problems = decode(path, read_regular(path, MAX_BYTES))
    except Unreadable as error:
        raise HandrailError(f"the script `{path}` {error.message}") from error
    reading = _Reading(source, problems)
    tree, troubles = read_yaml(source.text)
    for t in troubles:
        problems.append(source.problem(t.code, (t.line, t.column, t.width), t.message, t.hint))
    lines = reading.lines_for(tree, prompt) if not problems else []
    if problems:
        raise _error(problems)
    return lines


def _error(problems: list[Diagnostic]) -> HandrailError:
    told = [
        f"{p.file}:{p.line}:{p.column}: {p.message}" + (f" ({p.hint})" if p.hint else "") for p in in_order(problems)
    ]
    return HandrailError("\n".join(told))


class _Reading:
    def __init__(self, source: Source, problems: list[Diagnostic]) -> None:
        self.source = source
        self.problems = problems

    def wrong(self, node: Node | None, message: str, hint: str) -> None:
        place = (1, 1, 1) if node is None else (node.line, node.column, node.width)
        self.problems.append(self.source.problem("script", place, message, hint))

    def reader(self, node: Node, shape: Shape) -> Reader:
        return Reader(self.source, node, shape, self.problems.append)

    def lines_for(self, tree: Node | None, prompt: str) -> list[Line]:
        """The lines for a prompt. All other lines are checked, too."""
        choices = (
            tree.value["prompts"] if tree is not None and tree.kind == "mapping" and "prompts" in tree.value else None
        )
        if choices is None:
            return self.lines(tree)
        chosen: list[Line] | None = None
        for choice in choices.value if choices.kind == "list" else ():
            if choice.kind != "mapping":
                self.wrong(
                    choice, f"an entry of `prompts` has to be a mapping, found {found(choice)}", "`match`, `play`"
                )
                continue
            reader = self.reader(choice, CHOICE)
            match, play = reader.child("match"), reader.child("play")
            lines = self.lines(play) if play is not None else []
            if chosen is None and ("match" not in choice.value or (match is not None and str(match.value) in prompt)):
                chosen = lines
        if chosen is None:
            self.wrong(choices, "no entry fits the prompt", "add one without `match`")
        return chosen or []

    def lines(self, node: Node | None) -> list[Line]:
        if node is None or node.kind != "list":
            what = "nothing" if node is None else found(node)
            self.wrong(node, f"a script has to be a list of lines, found {what}", "begin with `- say: ...`")
            return []
        return [line for item in node.value if (line := self.line(item)) is not None]

    def line(self, item: Node) -> Line | None:
        known = f"actions: {', '.join(ACTIONS)}"
        if item.kind != "mapping":
            self.wrong(item, f"a line has to be a mapping with one action, found {found(item)}", known)
            return None
        kinds = [kind for kind in ACTIONS if kind in item.value]
        if len(kinds) != 1:
            near = next(filter(None, (did_you_mean(name, ACTIONS) for name in item.value)), None)
            what = f"this line has {len(kinds)} actions: {', '.join(kinds)}" if kinds else "this line has no action"
            self.wrong(item, f"{what}; a line has exactly one", near if near and not kinds else known)
            return None
        check_fields(self.reader(item, ACTIONS[kinds[0]]))
        data = plain(item)
        return Line(kinds[0], data.pop(kinds[0]), data)
