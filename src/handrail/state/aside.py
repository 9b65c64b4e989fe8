"""Puts files that cannot be used any more aside. Nothing is deleted."""

from __future__ import annotations

import os

from handrail.state.files import make_private

ASIDE = "aside"


def put_aside(path: str, state: str) -> str:
    """Move a file or folder to the folder `aside` of Handrail's state, and return its new path.

    Raises `OSError` or `StateError` if it cannot be moved.
    """
    place = os.path.join(state, ASIDE)
    make_private(place)
    number = 1
    while os.path.lexists(new := os.path.join(place, f"{os.path.basename(path)}.{number}")):
        number += 1
    os.rename(path, new)
    return new
