"""Measures every part, prints a table, writes `docs/benchmarks.md`. The exit code is 1 if a bound is missed."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench import (
    agents,
    artifacts,
    flows,
    gate,
    growth,
    history,
    hooks,
    host,
    injected,
    large,
    loading,
    moves,
    paint,
    peers,
    plugins,
    session,
    starts,
    streams,
)
from bench.measure import BenchError, talk
from bench.page import page, setting, table
from bench.piworkflows import Missing, PiWorkflows, find_pi_workflows
from bench.place import CACHE, ROOT
from bench.rows import Part

PAGE = ROOT / "docs" / "benchmarks.md"
NAMES = ["gate", "hooks", "agents", "starts", "session", "injected", "loading", "moves", "growth", "flows", "large"]
NAMES += ["history", "peers", "artifacts", "plugins", "streams", "paint"]
WITH_PI_WORKFLOWS, WITH_CLAUDE = {"injected", "loading", "moves"}, {"session", "injected"}


def measure(names: list[str], pi: PiWorkflows | Missing, claude: Missing | None) -> list[Part]:
    CACHE.mkdir(parents=True, exist_ok=True)
    parts: dict[str, Callable[[Path], Part]] = {
        "gate": gate.measure,
        "hooks": hooks.measure,
        "agents": agents.measure,
        "starts": starts.measure,
        "session": lambda folder: session.measure(folder, claude),
        "injected": lambda folder: injected.measure(folder, pi, claude),
        "loading": lambda folder: loading.measure(folder, pi),
        "moves": lambda folder: moves.measure(folder, pi),
        "growth": growth.measure,
        "flows": flows.measure,
        "large": large.measure,
        "history": history.measure,
        "peers": peers.measure,
        "artifacts": artifacts.measure,
        "plugins": plugins.measure,
        "streams": streams.measure,
        "paint": paint.measure,
    }
    with tempfile.TemporaryDirectory(prefix="run-", dir=CACHE) as folder:
        return [parts[name](Path(folder)) for name in names]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"only these parts: {', '.join(NAMES)}")
    parser.add_argument("--no-bounds", action="store_true", help="exit with 0 even if a bound is missed")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(NAMES):
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    names = [name for name in NAMES if not options.parts or name in options.parts]
    pi = find_pi_workflows() if WITH_PI_WORKFLOWS.intersection(names) else Missing("not requested")
    if isinstance(pi, Missing) and WITH_PI_WORKFLOWS.intersection(names):
        talk(f"the comparison with pi-workflows is skipped: {pi.why}")
    claude = host.find_claude() if WITH_CLAUDE.intersection(names) else None
    try:
        parts = measure(names, pi, claude)
    except BenchError as error:
        talk(f"error: {error}")
        return 2
    node = pi.version if isinstance(pi, PiWorkflows) else None
    print(f"{table(parts)}\n{setting(node)}")
    if names == NAMES:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(page(parts, node, NAMES), encoding="utf-8")
        talk("wrote docs/benchmarks.md")
    missed = [row for part in parts for row in part.rows if row.missed]
    for row in missed:
        talk(f"bound missed: {row.what}: {row.ratio:.2f}, {row.bound}")
    return 1 if missed and not options.no_bounds else 0


if __name__ == "__main__":
    raise SystemExit(main())
