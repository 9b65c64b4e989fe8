"""What an extension implements: Check, Node, Executor, Host, Engine. Plugin authors import from here.

A name is imported from its module when it is first used: whoever needs a check does not pay for agents and engines.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from handrail.extensions.contracts.agent import (
        OUTCOMES,
        AgentJob,
        AgentReader,
        AgentSaid,
        Executor,
        Forks,
        Host,
        Installs,
        Launch,
        Market,
        Recipe,
        Stubs,
    )
    from handrail.extensions.contracts.check import Check, CheckContext, CheckKind, Finding
    from handrail.extensions.contracts.engine import (
        Asker,
        Attempt,
        Done,
        Durable,
        Engine,
        EngineKind,
        EventRecord,
        History,
        Life,
        Metering,
        Observer,
        Outside,
        PromisedFile,
        Publishing,
        Site,
        StepAttempts,
        Watch,
    )
    from handrail.extensions.contracts.node import (
        CHANGED,
        ApprovalKind,
        EffectKind,
        Exhausted,
        FormAnswer,
        Guide,
        GuideNews,
        GuideStatus,
        Node,
        NodeContext,
        NodeError,
        NodeKind,
        OneNode,
        OutputVerdict,
        Preview,
        Waiting,
        Work,
        refuse_changed,
    )
    from handrail.settings.acp_agents import PERMISSIONS
    from handrail.source.fields import Field

_MODULES = {
    "check": ("Check", "CheckContext", "CheckKind", "Finding"),
    "engine": (
        *("Asker", "Attempt", "Done", "Durable", "Engine", "EngineKind", "EventRecord", "History", "Life"),
        *("Metering", "Observer", "Outside", "PromisedFile", "Publishing", "Site", "StepAttempts", "Watch"),
    ),
    "agent": (
        *("OUTCOMES", "AgentJob", "AgentReader", "AgentSaid", "Executor", "Launch"),
        *("Forks", "Host", "Installs", "Market", "Recipe", "Stubs"),
    ),
    "node": (
        *("Exhausted", "FormAnswer", "Node", "NodeContext", "NodeError", "NodeKind", "OneNode"),
        *("OutputVerdict", "Waiting"),
        *("Work", "CHANGED", "ApprovalKind", "EffectKind", "Preview", "refuse_changed"),
        *("Guide", "GuideNews", "GuideStatus"),
    ),
}
_PLACES = {name: f"handrail.extensions.contracts.{module}" for module, names in _MODULES.items() for name in names}
_PLACES["Field"] = "handrail.source.fields"
_PLACES["PERMISSIONS"] = "handrail.settings.acp_agents"

__all__ = [
    "CHANGED",
    "OUTCOMES",
    "PERMISSIONS",
    "AgentJob",
    "AgentReader",
    "AgentSaid",
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
    "EventRecord",
    "Executor",
    "Exhausted",
    "Field",
    "Finding",
    "Forks",
    "FormAnswer",
    "Guide",
    "GuideNews",
    "GuideStatus",
    "History",
    "Host",
    "Installs",
    "Launch",
    "Life",
    "Market",
    "Metering",
    "Node",
    "NodeContext",
    "NodeError",
    "NodeKind",
    "Observer",
    "OneNode",
    "OutputVerdict",
    "Outside",
    "Preview",
    "PromisedFile",
    "Publishing",
    "Recipe",
    "Site",
    "StepAttempts",
    "Stubs",
    "Waiting",
    "Watch",
    "Work",
    "refuse_changed",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module `handrail.extensions.contracts` has no attribute `{name}`")
    __import__(_PLACES[name])
    return getattr(sys.modules[_PLACES[name]], name)
