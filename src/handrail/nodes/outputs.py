"""The params of nodes that fetch something: a file for people, as Markdown, and one for programs, as JSON."""

from __future__ import annotations

from handrail.source.fields import Field

FILES = ("outputFile", "outputJsonFile")
OUTPUT_FILES = (
    Field("outputFile", ("text",), "the file for Markdown", required=True, shortest=1, names="path"),
    Field("outputJsonFile", ("text",), "the file for JSON", required=True, shortest=1, names="path"),
)
