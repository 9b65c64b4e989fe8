"""Finds where a key of a TOML text stands. Pure.

`tomllib` tells no places. This reads only what a `plugin.toml` needs: headers of tables, and keys that begin a line.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

from handrail.source.diagnostics import Diagnostic
from handrail.source.files import Source

Place = tuple[int, int, int]
_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_HEADER = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*=")


def parse(source: Source) -> tuple[dict[str, Any] | None, list[Diagnostic]]:
    """The tables of a TOML text, or the problem that it has."""
    try:
        return tomllib.loads(source.text), []
    except ValueError as error:
        message = str(error)
        found = _AT.search(message)
        line = int(found[1]) if found and found[1] else max(1, len(source.text.rstrip("\n").split("\n")))
        column = int(found[2]) if found and found[2] else len(source.line(line) or "") + 1
        text = f"the file is not TOML: {_AT.sub('', message)}"
        return None, [source.problem("toml-syntax", (line, column, 1), text, 'write lines like `version = "1.0"`')]


def place_of(source: Source, *path: str) -> Place:
    """The place of a key, or of the nearest table around it; the first line if the text has none of them."""
    best: tuple[int, Place] = (0, (1, 1, 1))
    table: tuple[str, ...] = ()
    for number, line in enumerate(source.lines, 1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header is not None:
            table = _parts(header[1])
            found, at = table, header.start(1)
        elif key is not None:
            found, at = (*table, *_parts(key[1])), key.start(1)
        else:
            continue
        length = len(found)
        if found == path[:length] and length > best[0]:
            text = header[1] if header is not None else key[1] if key is not None else ""
            best = length, (number, at + 1, len(text))
    return best[1]


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))
