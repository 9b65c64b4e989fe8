"""`propose`: shows what another node would change outside, and lets it do so after a person or a rule says yes.

The other node gets the approved state, and refuses to work in another one; then the question is asked again. If the
run is interrupted after the yes, it is resumed without a new question, and the effect happens once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any, cast

from handrail.base.dataclasses import replace
from handrail.extensions.contracts import (
    CHANGED,
    EffectKind,
    LastingError,
    Node,
    NodeContext,
    NodeError,
    NodeKind,
    Preview,
    Work,
)
from handrail.settings.secrets import refuse_lost
from handrail.source.field_checks import Later, check_fields, refuse_unknown
from handrail.source.fields import SCALARS, Field, MappingReader
from handrail.source.suggestions import did_you_mean
from handrail.source.tree import TreeNode
from handrail.source.values import as_text, shown
from handrail.steps.nodes.people.approve import (
    APPROVAL_OUTPUTS,
    OTHERWISE,
    STOP,
    Agreement,
    ApprovalDecision,
    ApprovalQuestion,
    has_asked,
)

Nodes = Mapping[str, NodeKind]
"""All nodes, by name. `propose` runs one of them."""


def _declared(nodes: Nodes, effect: Any) -> Node | None:
    """The declaration of a node that can be proposed. None if there is no such node."""
    node = nodes[effect].NODE if isinstance(effect, str) and effect in nodes else None
    return None if node is None or node.where is None or node.stops is not None else node


def _why_not(nodes: Nodes, effect: str) -> tuple[str, str]:
    """Why a node cannot be proposed, and a hint."""
    known = [name for name in nodes if _declared(nodes, name) is not None]
    if effect in nodes:
        message = f"`{effect}` cannot be proposed: it does not say in advance what it would change outside"
        return message, f"effects: {', '.join(known)}"
    return f"there is no effect `{shown(effect, 40)}`", did_you_mean(effect, known) or f"effects: {', '.join(known)}"


def _check_effect(nodes: Nodes, reader: MappingReader, node: TreeNode) -> None:
    declared = _declared(nodes, node.value) if node.kind == "text" else None
    if node.kind == "text" and declared is None:
        reader.on(node, "bad-value", *_why_not(nodes, node.value))
    elif declared is not None and "params" not in reader.node.value:
        _check_missing(reader, node, node.value, declared, ())


def _check_params(nodes: Nodes, reader: MappingReader, node: TreeNode) -> None:
    """Check the params of the effect by its own declaration."""
    effect = reader.node.value.get("effect")
    declared = _declared(nodes, effect.value) if effect is not None and effect.kind == "text" else None
    if declared is None or node.kind != "mapping":
        return
    inner = MappingReader(reader.source, node._replace(keys={}), declared.shape, reader.report)
    check_fields(inner)
    meant: set[str] = set()
    if declared.others != "used":
        meant = refuse_unknown(inner, node, effect.value, only_typos=declared.others == "ignored")
    _check_missing(reader, node, effect.value, declared, {*node.value, *meant})


def _check_missing(reader: MappingReader, node: TreeNode, effect: str, declared: Node, given: Collection[str]) -> None:
    for field in declared.params:
        if field.required and field.name not in given:
            hint = f"add `params: {{{field.name}: ...}}` below `effect`"
            reader.on(node, "param-missing", f"`{effect}` needs the param `{field.name}`", hint)


def _members(nodes: Nodes, params: Mapping[str, Any]) -> dict[str, Collection[str] | None]:
    effect = params.get("effect")
    declared = None if isinstance(effect, Later) else _declared(nodes, effect)
    is_known = declared is not None and not declared.open_outputs
    return {
        **dict.fromkeys(APPROVAL_OUTPUTS),
        "result": list(declared.outputs) if declared is not None and is_known else None,
    }


def _declaration(nodes: Nodes) -> Node:
    effect = Field(
        "effect",
        ("text",),
        "the node that changes something outside, such as `git-push`",
        required=True,
        shortest=1,
        check=partial(_check_effect, nodes),
        also=("node", "action"),
    )
    return Node(
        about="Shows exactly what another node would change outside: a push, a pull request, a comment, a message. It "
        "is done after a person or a rule says yes. If something that it depends on changes after the yes, the person "
        "is asked again.",
        params=(
            effect,
            Field("params", ("mapping",), "the params of that node", check=partial(_check_params, nodes)),
            Field("title", (*SCALARS, "null"), "the question in one line; by default the effect says it itself"),
            OTHERWISE,
        ),
        outputs={**APPROVAL_OUTPUTS, "result": "the outputs of the other node; null if it did nothing"},
        members=partial(_members, nodes),
        stops="stopped",
    )


class ProposeNode:
    """`propose` for these nodes."""

    def __init__(self, nodes: Nodes) -> None:
        self.NODE = _declaration(nodes)
        self._nodes = nodes

    async def run(self, work: Work, context: NodeContext) -> Any:
        otherwise = work.params[OTHERWISE.name] or STOP
        inner, kind = self._proposed(work)
        own, agreement = _own_memory(context), self._agreement(work, context)
        while True:
            agreed = await agreement.reach()
            if not agreed.approved:
                return {**agreed.outputs(otherwise), "result": None}
            try:
                result = await _perform(kind, inner, own, context, agreed)
            except NodeError as error:
                if error.code != CHANGED:
                    raise
                agreement.void(agreed.number)
                continue
            return {**agreed.outputs(otherwise), "result": result}

    async def changed(self, work: Work, context: NodeContext) -> list[str]:
        return await self._agreement(work, context).changed() if has_asked(context) else []

    def _proposed(self, work: Work) -> tuple[Work, EffectKind]:
        """The work of the other node, and that node."""
        effect = work.params["effect"]
        inner = replace(work, node=effect, params=work.params.get("params") or {})
        if _declared(self._nodes, effect) is None:
            raise LastingError("params", "; ".join(_why_not(self._nodes, effect)))
        kind = cast(EffectKind, self._nodes[effect])
        if wrong := _wrong(kind.NODE, inner.params):
            raise LastingError("params", f"`{effect}`: {wrong}")
        return inner, kind

    def _agreement(self, work: Work, context: NodeContext) -> Agreement:
        inner, kind = self._proposed(work)
        own = _own_memory(context)

        async def look() -> Preview:
            found, title = await kind.preview(inner, own), work.params.get("title")
            if title is None:
                return found
            facts = (("What", found.title), *found.facts)  # another title must not hide what is done
            return replace(found, title=as_text(title), facts=facts)

        return Agreement(ApprovalQuestion(inner.node, "propose", "Do this?", inner.params), look, work, context)


with_nodes = ProposeNode
"""The registry makes the node with all nodes of the project."""


async def _perform(
    kind: EffectKind, inner: Work, own: NodeContext, context: NodeContext, agreed: ApprovalDecision
) -> Any:
    """Let the effect happen. If it had begun before an interruption, its node knows whether it had happened."""
    mark = f"begun.{agreed.number}"
    has_begun, declared = bool(context.recall(mark)), kind.NODE
    if has_begun and declared.rerun != "safe":
        if declared.unknown is not None:
            return dict(declared.unknown)
        raise LastingError("rerun", f"`{inner.node}` was interrupted and may have finished; it must not run twice")
    context.remember(mark, True)
    params = agreed.seen["params"]
    refuse_lost(params)
    return await kind.run(replace(inner, params=params, approved=agreed.seen["state"]), own)


def _wrong(declared: Node, params: Mapping[str, Any]) -> str | None:
    """What is wrong with the params of the effect, as far as only the run knows it."""
    missing = next((field.name for field in declared.params if field.required and field.name not in params), None)
    if missing is not None:
        return f"it needs the param `{missing}`"
    unknown = [name for name in params if name not in declared.shape.by_name]
    if unknown and declared.others == "refused":
        return f"it has no param `{shown(unknown[0], 40)}`"
    return None


def _own_memory(context: NodeContext) -> NodeContext:
    """The context for the effect: what it remembers has names of its own."""
    return replace(
        context,
        remember=lambda name, value: context.remember(f"effect.{name}", value),
        recall=lambda name: context.recall(f"effect.{name}"),
    )
