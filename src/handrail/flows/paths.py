"""The path of a step: `phase/step`, inside a nested flow `phase/step/phase/step`. Pure."""

from __future__ import annotations


def segment(id_: str) -> str:
    """An id, escaped as one part of a path."""
    return id_.replace("%", "%25").replace("/", "%2F")


def top(path: str) -> str:
    """The phase of the outermost flow that contains the path."""
    return path.partition("/")[0]
