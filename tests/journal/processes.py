"""Starting the programs in `children`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CHILDREN = Path(__file__).parent / "children"


def spawn(program: str, *arguments: object) -> subprocess.Popen[str]:
    argv = [sys.executable, str(CHILDREN / program), *map(str, arguments)]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def output_of(program: str, *arguments: object) -> str:
    argv = [sys.executable, str(CHILDREN / program), *map(str, arguments)]
    return subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True, timeout=120).stdout
