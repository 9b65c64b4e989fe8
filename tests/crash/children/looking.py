"""Looks who drives a run, over and over, until its input ends: `looking.py FOLDER`. Says when it has begun."""

from __future__ import annotations

import select
import sys

from handrail.runs.embedded import lease


def main(folder: str) -> None:
    lease.holder(folder)
    sys.stdout.write("looking\n")
    sys.stdout.flush()
    while not select.select([sys.stdin], [], [], 0)[0]:
        lease.holder(folder)


if __name__ == "__main__":
    main(sys.argv[1])
