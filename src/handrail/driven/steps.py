"""The steps of a phase, read from their nodes: node, params, prompt, expectations. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from handrail.driven.expressions import Expressions
from handrail.driven.plan import After, Expectation, Prompt, Retry, Step
from handrail.driven.reading import Reading, Slot
from handrail.driven.spec import AFTER_KINDS, EXPECT_KINDS, PROMPT, RETRY, STEP, NodeInfo
from handrail.fields import Reader, found
from handrail.suggest import did_you_mean
from handrail.values import Artifact, Const, Expression
from handrail.yamltree import Node


class Steps:
    """Reads the steps of one phase in one round."""

    def __init__(self, flow: Reading, phase: int, rounds: dict[str, int]) -> None:
        self.flow = flow
        self.phase = phase
        self.rounds = rounds

    def read(self, node: Node) -> tuple[Step, ...]:
        steps: list[Step] = []
        for item in node.value:
            if item.kind != "mapping":
                self.flow.problem(item, "wrong-type", f"a step has to be a mapping, found {found(item)}")
                continue
            steps.append(self.step(Reader(self.flow.source, item, STEP, self.flow.report), len(steps)))
        ids = [step.id for step in steps]
        for place, id_ in enumerate(ids):
            if id_ and ids.index(id_) != place:
                self.flow.problem(node.value[place], "step-id-twice", f"step id `{id_}` is used twice in this phase")
        return tuple(steps)

    def step(self, reader: Reader, number: int) -> Step:
        before, after = self.flow.expressions(self.rounds), self.flow.expressions(self.rounds)
        node = reader.text("node") or ""
        info = self.node(reader, node)
        when, stop_if = reader.child("when"), reader.child("stopFlowIf")
        outcome, group = reader.child("stopFlowOutcome"), reader.child("routingGroup")
        step = Step(
            before.fill(reader.text("id") or ""),
            node,
            before.condition(when) if when is not None else None,
            self.params(reader, before, info),
            self.prompt(reader, before, info),
            self.expectations(reader, after),
            after.condition(stop_if) if stop_if is not None else None,
            outcome.value if outcome is not None else "success",
            self.after(reader, after),
            group.value if group is not None else None,
            self.retry(reader),
            self.timeout(reader),
        )
        self.route(reader, info, step)
        self.remember(number, before, after)
        return step

    def remember(self, number: int, before: Expressions, after: Expressions) -> None:
        self.flow.slots.append(Slot(self.phase, number, False, tuple(before.used)))
        self.flow.slots.append(Slot(self.phase, number, True, tuple(after.used)))

    def node(self, reader: Reader, name: str) -> NodeInfo:
        known = self.flow.known.nodes
        if name and name not in known:
            hint = did_you_mean(name, known) or "`handrail nodes` lists them"
            reader.on(reader.node.value["node"], "node-unknown", f"there is no node `{name}`", hint)
        return known.get(name, NodeInfo("optional"))

    def params(self, reader: Reader, expressions: Expressions, info: NodeInfo) -> dict[str, Expression]:
        node = reader.child("params")
        members: dict[str, Node] = node.value if node is not None else {}
        params = {name: expressions.value(child) for name, child in members.items()}
        for name in info.required:
            if name not in params:
                place = reader.node if node is None else node
                reader.on(place, "param-missing", f"the node needs the param `{name}`", f"add `{name}:` to `params`")
        for name, expression in params.items():
            self.artifacts(members[name], expression)
        nested = params.get(info.nested) if info.nested else None
        if isinstance(nested, Const) and isinstance(nested.value, str):
            self.flow.nested.append(nested.value)
        return params

    def artifacts(self, node: Node, expression: Expression) -> None:
        for found_ in _walk(expression):
            if isinstance(found_, Artifact):
                kinds = self.flow.known.artifact_lists if found_.is_list else self.flow.known.artifact_kinds
                if found_.kind not in kinds:
                    hint = did_you_mean(found_.kind, kinds)
                    self.flow.problem(node, "artifact-kind", f"there is no artifact kind `{found_.kind}`", hint)

    def prompt(self, reader: Reader, expressions: Expressions, info: NodeInfo) -> Prompt | None:
        node = reader.child("prompt")
        if node is None:
            if info.prompt == "required":
                reader.on(reader.node, "prompt-required", "the node needs a prompt", "add `prompt:`")
            return None
        if info.prompt == "forbidden":
            reader.on(node, "prompt-forbidden", "the node takes no prompt", "remove `prompt`")
        prompt = Reader(self.flow.source, node, PROMPT, self.flow.report)
        template, inline, form = prompt.text("templateRef"), prompt.text("inlineTemplate"), prompt.child("format")
        if template is None and inline is None:
            prompt.on(node, "prompt-template", "a prompt needs `templateRef` or `inlineTemplate`")
        elif inline is None and template not in self.flow.known.prompts:
            hint = did_you_mean(template or "", self.flow.known.prompts)
            prompt.on(node.value["templateRef"], "prompt-unknown", f"there is no prompt `{template}`", hint)
        variables, extra = prompt.child("vars"), prompt.child("extraPrompt")
        members: dict[str, Node] = variables.value if variables is not None else {}
        return Prompt(
            template,
            None if inline is None else expressions.fill(inline),
            tuple(members),
            tuple(expressions.value(child) for child in members.values()),
            expressions.value(extra) if extra is not None else None,
            form is not None and form.value == "plain",
        )

    def route(self, reader: Reader, info: NodeInfo, step: Step) -> None:
        group = reader.node.value.get("routingGroup")
        if group is not None and not info.routed:
            reader.on(group, "routing-group", f"`{step.node}` is not routed", "remove `routingGroup`")
        if info.routed and group is None and "executor" not in step.params:
            reader.on(reader.node, "route-missing", "the node needs `routingGroup` or a param `executor`")

    def expectations(self, reader: Reader, expressions: Expressions) -> tuple[Expectation, ...] | None:
        node = reader.child("expect")
        if node is None:
            return None
        found_ = self.listed(node, EXPECT_KINDS, "expectation")
        return tuple(self.expectation(item, kind, expressions) for item, kind in found_)

    def expectation(self, item: Node, kind: str, expressions: Expressions) -> Expectation:
        members: dict[str, Node] = item.value
        message, when = members.get("message"), members.get("when")
        told = expressions.fill(message.value) if message is not None and message.kind == "text" else ""
        names = [name for name in members if name not in ("kind", "message", "when")]
        params = {name: expressions.value(members[name]) for name in names}
        return Expectation(kind, expressions.condition(when) if when is not None else None, params, told, item.line)

    def after(self, reader: Reader, expressions: Expressions) -> tuple[After, ...]:
        node = reader.child("after")
        actions = []
        for item, kind in self.listed(node, AFTER_KINDS, "action") if node is not None else ():
            when = item.value.get("when")
            params = {n: expressions.value(c) for n, c in item.value.items() if n not in ("kind", "when")}
            actions.append(After(kind, expressions.condition(when) if when is not None else None, params))
        return tuple(actions)

    def listed(self, node: Node, kinds: Mapping[str, tuple[str, ...]], what: str) -> Iterator[tuple[Node, str]]:
        """The items of a list that are mappings of a known kind with all that it needs."""
        for item in node.value:
            kind = item.value.get("kind") if item.kind == "mapping" else None
            name: Any = kind.value if kind is not None else None
            if name not in kinds:
                hint = did_you_mean(str(name), kinds) or "known: " + ", ".join(kinds)
                self.flow.problem(kind or item, f"{what}-unknown", f"there is no {what} `{name}`", hint)
                continue
            missing = [need for need in kinds[name] if need not in item.value]
            if missing:
                self.flow.problem(item, "missing-key", f"`{name}` needs `{missing[0]}`")
                continue
            yield item, name

    def retry(self, reader: Reader) -> Retry:
        node = reader.child("retry")
        if node is None:
            return Retry()
        retry = Reader(self.flow.source, node, RETRY, self.flow.report)
        attempts, wait, factor = retry.integer("attempts"), retry.child("wait"), retry.child("factor")
        if attempts is not None and not 1 <= attempts <= 100:
            retry.on(node.value["attempts"], "bad-value", f"`attempts` has to be between 1 and 100, found {attempts}")
        return Retry(attempts or 1, float(wait.value) if wait else 1.0, float(factor.value) if factor else 2.0)

    def timeout(self, reader: Reader) -> float | None:
        node = reader.child("timeout")
        if node is None:
            return None
        if not 0 < node.value <= 604_800:
            reader.on(node, "bad-value", f"`timeout` has to be a positive number of seconds, found {found(node)}")
        return float(node.value)


def _walk(expression: Any) -> Iterator[Any]:
    """An expression and everything inside it."""
    waiting = [expression]
    while waiting:
        item = waiting.pop()
        yield item
        if isinstance(item, tuple):
            waiting.extend(part for part in item if isinstance(part, tuple))
