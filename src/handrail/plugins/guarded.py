"""Nodes and checks of plugins, as the rest of Handrail sees them: an error names the plugin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.contracts.check import Check, CheckContext, Finding
from handrail.contracts.node import Exhausted, Node, NodeContext, NodeError, Waiting, Work
from handrail.errors import HandrailError
from handrail.plugins.importing import described


class GuardedNode:
    """A node of a plugin. If it raises anything but `NodeError`, the step fails with an error that names the plugin."""

    def __init__(self, plugin: str, name: str, module: Any) -> None:
        self.plugin = plugin
        self.name = name
        self.module = module
        self.NODE: Node = module.NODE

    async def run(self, work: Work, context: NodeContext) -> Any:
        try:
            return await self.module.run(work, context)
        except (NodeError, Waiting, Exhausted, HandrailError):
            raise
        except (Exception, SystemExit) as error:
            message = f"the node `{self.name}` of the plugin `{self.plugin}` failed: {described(error, '')}"
            raise NodeError("plugin-failed", message, transient=False) from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)


class GuardedCheck:
    """A check of a plugin. If it raises, it could not run: nothing holds because of that."""

    def __init__(self, plugin: str, name: str, module: Any) -> None:
        self.plugin = plugin
        self.name = name
        self.module = module
        self.CHECK: Check = module.CHECK

    async def verify(self, params: Mapping[str, Any], context: CheckContext) -> Finding:
        try:
            found = await self.module.verify(params, context)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the code of a plugin may raise anything
            return Finding(None, f"the plugin `{self.plugin}` could not check it: {described(error, '')}")
        if not isinstance(found, Finding):
            return Finding(None, f"the plugin `{self.plugin}` could not check it: `verify` returned no `Finding`")
        return found


class UnusableNode:
    """A node that is declared by a plugin which cannot be used now. Its params are not known, so any are accepted."""

    def __init__(self, error: HandrailError) -> None:
        self.error = error
        self.NODE = Node(
            about=error.message, prompt="optional", others="used", open_outputs=True, routed=True, can_lack_agent=True
        )

    async def run(self, work: Work, context: NodeContext) -> Any:
        del work, context
        error = self.error
        raise NodeError(error.code, error.message, transient=False)


class UnusableCheck:
    """A check that is declared by a plugin which cannot be used now."""

    def __init__(self, name: str, error: HandrailError) -> None:
        self.error = error
        self.CHECK = Check(
            about=error.message, words="holds", short="value", takes_any=True, subject=lambda _params: name
        )

    async def verify(self, params: Mapping[str, Any], context: CheckContext) -> Finding:
        del params, context
        return Finding(None, self.error.message)
