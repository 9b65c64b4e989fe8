"""Six real agents that print noise before their events: it is ignored."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.agents.probe.scripted_model import Turn
from real.hosts import HOSTS, Seat
from real.measured import Driver

FLOW = "phases:\n- id: a\n  steps:\n  - {id: x, node: llm-prompt, prompt: 'Say it.'}\n"


@pytest.mark.parametrize("name", sorted(HOSTS))
def test_noise_between_the_lines_is_ignored(name: str, tmp_path: Path) -> None:
    with HOSTS[name].protocol() as model:
        driver = Driver(Seat(HOSTS[name], tmp_path, model))
        real = HOSTS[name].program.resolve()
        noisy = tmp_path / "noisy" / name
        noisy.parent.mkdir()
        noise = 'printf \'noise {not json\\n[1, 2]\\n"text"\\n{"type": 7}\\n{}\\n\\377\\376\\n\''
        noisy.write_text(f'#!/bin/sh\n{noise}\nexec "{real}" "$@"\n')
        noisy.chmod(0o755)
        driver.env["PATH"] = f"{noisy.parent}{os.pathsep}{driver.env['PATH']}"
        driver.write(".handrail/flows/ask.yaml", FLOW)
        driver.write(".handrail/settings.yaml", "passEnv: [CODEX_FAKE_KEY]\n")
        model.script(Turn("Said."))
        run = driver.ask()
    assert run["phases"][0]["steps"][0]["value"]["output"] == "Said."
