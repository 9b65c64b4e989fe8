"""Probes in a loop who drives a run, until its input ends: `looking.py FOLDER`. Prints a line when it starts."""

from __future__ import annotations

import select
import sys

from handrail.driven.engines.embedded.run_folders import holder


def main(folder: str) -> None:
    holder(folder)
    sys.stdout.write("looking\n")
    sys.stdout.flush()
    while not select.select([sys.stdin], [], [], 0)[0]:
        holder(folder)


if __name__ == "__main__":
    main(sys.argv[1])
