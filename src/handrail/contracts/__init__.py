"""All that an extension implements: Check, Node, Executor, Host, Engine. Plugin authors import from here."""

from handrail.contracts.check import Check, CheckContext, CheckKind, Finding
from handrail.contracts.engine import Done, Durable, Made
from handrail.contracts.executor import OUTCOMES, PERMISSIONS, AgentJob, AgentReader, AgentSaid, Executor, Launch
from handrail.contracts.host import Recipe, Stubs
from handrail.contracts.node import Node, NodeContext, NodeError, NodeKind, Waiting, Work, nobody
from handrail.contracts.session import Guide, Standing

__all__ = [
    "OUTCOMES",
    "PERMISSIONS",
    "AgentJob",
    "AgentReader",
    "AgentSaid",
    "Check",
    "CheckContext",
    "CheckKind",
    "Done",
    "Durable",
    "Executor",
    "Finding",
    "Guide",
    "Launch",
    "Made",
    "Node",
    "NodeContext",
    "NodeError",
    "NodeKind",
    "Recipe",
    "Standing",
    "Stubs",
    "Waiting",
    "Work",
    "nobody",
]
