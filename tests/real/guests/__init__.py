"""The agents as hosts: one module each says how the real program is started, typed to and interrupted.

`GUESTS` has one row per agent. The tests in `test_guests_*.py` run for each of them.
"""

from __future__ import annotations

from real.guests.claude import Claude
from real.guests.codex import Codex
from real.guests.copilot import Copilot
from real.guests.gemini import Gemini
from real.guests.guest import Guest
from real.guests.opencode import OpenCode
from real.guests.pi import Pi

GUESTS: dict[str, type[Guest]] = {guest.name: guest for guest in (Claude, Codex, Copilot, Gemini, OpenCode, Pi)}
