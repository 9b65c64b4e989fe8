"""Makes the page about the rows that `handrail view`, the page and the terminal surface show."""

from __future__ import annotations

from handrail.view.rows.reference import EVERY, MESSAGE, ONE_RUN_FIELDS, RUN_FIELDS, STEP_FIELDS, TOPICS, Fields

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
