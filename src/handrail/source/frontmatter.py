"""Front matter of Markdown files, and mappings at the top of YAML texts, with located problems."""

from __future__ import annotations

from handrail.source import simpleyaml
from handrail.source.diagnostics import Diagnostic
from handrail.source.fields import Reader, Report, Shape, found
from handrail.source.files import Source


def split_front_matter(text: str) -> tuple[str, str, int] | None:
    """(front matter, body, line on which the body starts); None if there is no front matter."""
    if not text.startswith("---"):
        return None
    begin = text.find("\n")
    end = text.find("\n---", begin)
    if begin < 0 or end < 0 or text[:begin].strip("- "):
        return None
    front = text[begin + 1 : end]
    closing = text.find("\n", end + 1)
    body = text[closing + 1 :] if closing >= 0 else ""
    return front, body, text.count("\n", 0, end) + 3


def no_front_matter(source: Source) -> Diagnostic:
    """The problem of a file that `split_front_matter` cannot split."""
    begin = len(source.text) - len(source.text.lstrip())
    place = (*source.place(begin), 3)
    if not source.text.startswith("---", begin):
        hint = "begin the file, on its first line, with `---`"
        return source.problem("front-matter", (1, 1, 1), "the file has no front matter", hint)
    if begin:
        message, hint = "the front matter does not begin on the first line", "remove the text above `---`"
        return source.problem("front-matter", place, message, hint)
    return source.problem("front-matter", place, "the front matter is not closed", "end it with a line `---`")


def read_mapping(source: Source, text: str, first_line: int, shape: Shape, report: Report) -> Reader | None:
    """The top-level mapping of a YAML text, ready to be read by its shape. `first_line`: where the text begins."""
    tree, troubles = simpleyaml.read_yaml(text, first_line)
    for t in troubles:
        report(source.problem(t.code, (t.line, t.column, t.width), t.message, t.hint))
    if any(t.fatal for t in troubles):
        return None
    if tree is None or tree.kind != "mapping":
        what = "nothing" if tree is None else found(tree)
        place = (first_line, 1, 1) if tree is None else (tree.line, tree.column, tree.width)
        hint = f"begin with a key: `{shape.fields[0].name}: ...`"
        subject = "the front matter" if first_line > 1 else f"`{shape.title}`"
        report(source.problem("not-mapping", place, f"{subject} has to be `key: value` lines, found {what}", hint))
        return None
    return Reader(source, tree, shape, report)
