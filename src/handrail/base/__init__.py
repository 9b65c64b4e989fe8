"""What everything else stands on: errors, files, the journal, locks, processes.

Knows nothing of workflows, flows and agents. Standard library only.
"""

from __future__ import annotations
