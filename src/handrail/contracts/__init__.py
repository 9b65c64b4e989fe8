"""Everything that an extension implements: Check, Node, Executor, Host, Engine. Plugin authors import from here.

A name is imported from its module when it is first used: whoever needs a check does not pay for agents and engines.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from handrail.contracts.check import Check, CheckContext, CheckKind, Finding
    from handrail.contracts.engine import (
        Asker,
        Attempt,
        Done,
        Durable,
        Engine,
        EngineKind,
        History,
        Life,
        Made,
        Metering,
        Observer,
        Outside,
        Publishing,
        Record,
        Site,
        Tried,
        Watch,
    )
    from handrail.contracts.executor import OUTCOMES, PERMISSIONS, AgentJob, AgentReader, AgentSaid, Executor, Launch
    from handrail.contracts.host import Forks, Host, Market, Recipe, Stubs
    from handrail.contracts.node import (
        Answer,
        Exhausted,
        Node,
        NodeContext,
        NodeError,
        NodeKind,
        Verdict,
        Waiting,
        Work,
    )
    from handrail.contracts.preview import CHANGED, ApprovalKind, EffectKind, Preview, refuse_changed
    from handrail.contracts.session import Guide, GuideNews, Standing
    from handrail.contracts.signs import Signs
    from handrail.source.fields import Field

_MODULES = {
    "check": ("Check", "CheckContext", "CheckKind", "Finding"),
    "engine": (
        *("Asker", "Attempt", "Done", "Durable", "Engine", "EngineKind", "History", "Life", "Made"),
        *("Metering", "Observer", "Outside", "Publishing", "Record", "Site", "Tried", "Watch"),
    ),
    "executor": ("OUTCOMES", "PERMISSIONS", "AgentJob", "AgentReader", "AgentSaid", "Executor", "Launch"),
    "host": ("Forks", "Host", "Market", "Recipe", "Stubs"),
    "node": ("Answer", "Exhausted", "Node", "NodeContext", "NodeError", "NodeKind", "Verdict", "Waiting", "Work"),
    "preview": ("CHANGED", "ApprovalKind", "EffectKind", "Preview", "refuse_changed"),
    "session": ("Guide", "GuideNews", "Standing"),
    "signs": ("Signs",),
}
_PLACES = {name: f"handrail.contracts.{module}" for module, names in _MODULES.items() for name in names}
_PLACES["Field"] = "handrail.source.fields"

__all__ = [
    "CHANGED",
    "OUTCOMES",
    "PERMISSIONS",
    "AgentJob",
    "AgentReader",
    "AgentSaid",
    "Answer",
    "ApprovalKind",
    "Asker",
    "Attempt",
    "Check",
    "CheckContext",
    "CheckKind",
    "Done",
    "Durable",
    "EffectKind",
    "Engine",
    "EngineKind",
    "Executor",
    "Exhausted",
    "Field",
    "Finding",
    "Forks",
    "Guide",
    "GuideNews",
    "History",
    "Host",
    "Launch",
    "Life",
    "Made",
    "Market",
    "Metering",
    "Node",
    "NodeContext",
    "NodeError",
    "NodeKind",
    "Observer",
    "Outside",
    "Preview",
    "Publishing",
    "Recipe",
    "Record",
    "Signs",
    "Site",
    "Standing",
    "Stubs",
    "Tried",
    "Verdict",
    "Waiting",
    "Watch",
    "Work",
    "refuse_changed",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module `handrail.contracts` has no attribute `{name}`")
    __import__(_PLACES[name])
    return getattr(sys.modules[_PLACES[name]], name)
