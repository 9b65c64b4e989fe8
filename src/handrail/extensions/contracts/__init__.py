"""What an extension implements: Check, Node, Executor, Host, Engine. Plugin authors import from here.

Modules on the hook's path import this package only for type checking.
"""

from __future__ import annotations

from handrail.extensions.contracts.agent import OUTCOMES as OUTCOMES
from handrail.extensions.contracts.agent import AgentJob as AgentJob
from handrail.extensions.contracts.agent import AgentReader as AgentReader
from handrail.extensions.contracts.agent import AgentSaid as AgentSaid
from handrail.extensions.contracts.agent import Executor as Executor
from handrail.extensions.contracts.agent import Host as Host
from handrail.extensions.contracts.agent import Installs as Installs
from handrail.extensions.contracts.agent import Launch as Launch
from handrail.extensions.contracts.agent import Market as Market
from handrail.extensions.contracts.agent import Recipe as Recipe
from handrail.extensions.contracts.agent import Stubs as Stubs
from handrail.extensions.contracts.check import Check as Check
from handrail.extensions.contracts.check import CheckContext as CheckContext
from handrail.extensions.contracts.check import CheckKind as CheckKind
from handrail.extensions.contracts.check import Finding as Finding
from handrail.extensions.contracts.check import OneCheck as OneCheck
from handrail.extensions.contracts.engine import Asker as Asker
from handrail.extensions.contracts.engine import Attempt as Attempt
from handrail.extensions.contracts.engine import Done as Done
from handrail.extensions.contracts.engine import Durable as Durable
from handrail.extensions.contracts.engine import Engine as Engine
from handrail.extensions.contracts.engine import EngineKind as EngineKind
from handrail.extensions.contracts.engine import EventRecord as EventRecord
from handrail.extensions.contracts.engine import History as History
from handrail.extensions.contracts.engine import Life as Life
from handrail.extensions.contracts.engine import Metering as Metering
from handrail.extensions.contracts.engine import Observer as Observer
from handrail.extensions.contracts.engine import Outside as Outside
from handrail.extensions.contracts.engine import PromisedFile as PromisedFile
from handrail.extensions.contracts.engine import Publishing as Publishing
from handrail.extensions.contracts.engine import Site as Site
from handrail.extensions.contracts.engine import StepAttempts as StepAttempts
from handrail.extensions.contracts.engine import Watch as Watch
from handrail.extensions.contracts.node import CHANGED as CHANGED
from handrail.extensions.contracts.node import ApprovalKind as ApprovalKind
from handrail.extensions.contracts.node import DefaultAnswer as DefaultAnswer
from handrail.extensions.contracts.node import EffectKind as EffectKind
from handrail.extensions.contracts.node import Exhausted as Exhausted
from handrail.extensions.contracts.node import FormAnswer as FormAnswer
from handrail.extensions.contracts.node import Guide as Guide
from handrail.extensions.contracts.node import GuideNews as GuideNews
from handrail.extensions.contracts.node import GuideStatus as GuideStatus
from handrail.extensions.contracts.node import LastingError as LastingError
from handrail.extensions.contracts.node import Node as Node
from handrail.extensions.contracts.node import NodeContext as NodeContext
from handrail.extensions.contracts.node import NodeError as NodeError
from handrail.extensions.contracts.node import NodeKind as NodeKind
from handrail.extensions.contracts.node import OneNode as OneNode
from handrail.extensions.contracts.node import OutputVerdict as OutputVerdict
from handrail.extensions.contracts.node import Preview as Preview
from handrail.extensions.contracts.node import Waiting as Waiting
from handrail.extensions.contracts.node import Work as Work
from handrail.extensions.contracts.node import refuse_changed as refuse_changed
from handrail.settings.sections import PERMISSIONS as PERMISSIONS
from handrail.source.fields import Field as Field
