"""Publishes artifacts over and over; prints the id of each once it is acknowledged.

Begins when its input ends, so that many can begin together: `publishing.py FOLDER RUN TIMES [SIZE]`.
"""

from __future__ import annotations

import sys

from handrail.driven.artifacts.shelf import ArtifactVersion, Shelf


def main(folder: str, run: str, times: int, size: int) -> None:
    shelf = Shelf(folder)
    sys.stdin.read()
    for turn in range(times):
        draft = ArtifactVersion(
            scope="s",
            key="plan.md",
            name="plan",
            path="plan.md",
            run=run,
            step=f"p/{turn}",
            schema="markdown/v1",
            family="markdown",
            created=1.0,
        )
        content = f"{run} {turn} ".encode().ljust(size, b".")
        sys.stdout.write(f"{shelf.publish(draft, content).id}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 0)
