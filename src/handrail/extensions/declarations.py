"""What the nodes and checks of a registry declare. Each is imported when its declaration is first used."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from handrail.extensions.contracts import Check, Node, NodeKind
from handrail.extensions.lazy_mapping import LazyMapping
from handrail.extensions.registry import Registry


def node_declarations(registry: Registry) -> Mapping[str, Node]:
    kinds = registry.nodes()
    return LazyMapping({name: partial(_node, kinds, name) for name in kinds})


def _node(kinds: Mapping[str, NodeKind], name: str) -> Node:
    declared = getattr(kinds[name], "NODE", None)
    if not isinstance(declared, Node):
        raise TypeError(f"the node `{name}` has no `NODE = Node(...)`: {kinds[name]!r}")
    if declared.where is not None and not callable(getattr(kinds[name], "preview", None)):
        raise TypeError(f"the node `{name}` declares `where`, but has no function `preview`: {kinds[name]!r}")
    return declared


def effects(registry: Registry) -> dict[str, tuple[str, ...]]:
    """The nodes that `propose` can run, and the names that a rule for them can ask for. Imports every node."""
    return {name: node.where for name, node in node_declarations(registry).items() if node.where is not None}


def check_declarations(registry: Registry) -> Mapping[str, Check]:
    """The declarations of all kinds of checks, in the order of the registry."""
    return LazyMapping({name: partial(_check, registry, name) for name in registry.check_names()})


def _check(registry: Registry, name: str) -> Check:
    kind = registry.check_kind(name)
    declared = getattr(kind, "CHECK", None)
    if not isinstance(declared, Check):
        raise TypeError(f"the check `{name}` has no `CHECK = Check(...)`: {kind!r}")
    return declared
