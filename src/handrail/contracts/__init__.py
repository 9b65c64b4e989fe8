"""Everything that an extension implements: Check, Node, Executor, Host, Engine. Plugin authors import from here."""

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
    Observer,
    Outside,
    Publishing,
    Record,
    Site,
)
from handrail.contracts.executor import OUTCOMES, PERMISSIONS, AgentJob, AgentReader, AgentSaid, Executor, Launch
from handrail.contracts.host import Host, Market, Recipe, Stubs
from handrail.contracts.node import Node, NodeContext, NodeError, NodeKind, Waiting, Work
from handrail.contracts.session import Guide, Standing

__all__ = [
    "OUTCOMES",
    "PERMISSIONS",
    "AgentJob",
    "AgentReader",
    "AgentSaid",
    "Asker",
    "Attempt",
    "Check",
    "CheckContext",
    "CheckKind",
    "Done",
    "Durable",
    "Engine",
    "EngineKind",
    "Executor",
    "Finding",
    "Guide",
    "History",
    "Host",
    "Launch",
    "Life",
    "Made",
    "Market",
    "Node",
    "NodeContext",
    "NodeError",
    "NodeKind",
    "Observer",
    "Outside",
    "Publishing",
    "Recipe",
    "Record",
    "Site",
    "Standing",
    "Stubs",
    "Waiting",
    "Work",
]
