"""The agents as hosts: one module each says how the real program is started, typed to and interrupted.

`GUESTS` has one row per agent. The tests in `test_guests_*.py` run for each of them. What an agent cannot do is a row
in its `cannot`, with the reason; the tests then expect exactly that.
"""

from __future__ import annotations

from real.guests.claude import Claude
from real.guests.copilot import Copilot
from real.guests.guest import Guest

GUESTS: dict[str, type[Guest]] = {guest.name: guest for guest in (Claude, Copilot)}
