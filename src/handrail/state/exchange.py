"""Exchanges two folders in one step, if the system can: at every moment both names lead to a whole folder."""

from __future__ import annotations

import ctypes
import os
import sys

_HERE = -100
_EXCHANGE = 2
"""The same number on Linux (`renameat2`) and macOS (`renamex_np`)."""


def exchange(left: str, right: str) -> bool:
    """Exchange two paths on the same disk. False if this system or this file system cannot do it."""
    paths = os.fsencode(left), os.fsencode(right)
    try:
        system = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            return bool(system.renamex_np(*paths, _EXCHANGE) == 0)
        return bool(system.renameat2(_HERE, paths[0], _HERE, paths[1], _EXCHANGE) == 0)
    except (OSError, AttributeError):  # the function does not exist here
        return False
