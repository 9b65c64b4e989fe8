"""`approve` asks a person for a yes before the flow continues; `propose` asks before another node does its work.

A yes of a person or of a rule is for exactly what was shown. Everything is looked at twice, before the question and
after the yes. If it differs, the yes does not count and the person is asked again. What was shown is recorded
before the question, so an answer always belongs to what its person saw, also if the run was interrupted. A resumed
run looks again while nobody has answered, so its question is never out of date.

`propose` shows what another node would change outside. That node gets the approved state, and refuses to work in
another one; then the question is asked again. If the run is interrupted after the yes, it is resumed without a new
question, and the effect happens once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, cast

from handrail.base.dataclasses import dataclass, replace
from handrail.driven.forms import form_params
from handrail.driven.forms.form import Form, FormField, accept
from handrail.extensions.contracts import (
    CHANGED,
    DefaultAnswer,
    EffectKind,
    LastingError,
    Node,
    NodeContext,
    NodeError,
    NodeKind,
    OneNode,
    Preview,
    Waiting,
    Work,
)
from handrail.settings.secrets import Secrets, refuse_lost
from handrail.settings.sections import STEP
from handrail.source.field_checks import Later, check_fields, refuse_unknown
from handrail.source.fields import SCALARS, Field, MappingReader
from handrail.source.plain_text import counted, plain, plain_lines
from handrail.source.suggestions import did_you_mean
from handrail.source.tree import TreeNode
from handrail.source.values import as_text, shown
from handrail.steps.nodes.files import read_bytes

APPROVED, REASON = "approved", "reason"
LONGEST_FACT = 20_000
"""How many characters of one fact are shown."""
LONGEST_TITLE = 200
_COMPARED = ("title", "facts", "state")
PreviewRecord = dict[str, Any]
"""A preview as plain data, as it is recorded: `title`, `facts`, `state`, `where`, `risks`, and the `params`."""


def preview_record(preview: Preview, mask: Callable[[str], str]) -> PreviewRecord:
    """A preview as it is shown and recorded: secrets are masked, long texts are cut, and say so."""
    title = plain(" ".join(mask(preview.title).split()))
    return {
        "title": title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…",
        "facts": [[plain(name), _bounded(mask(text))] for name, text in preview.facts],
        "state": {name: mask(value) for name, value in preview.state.items()},
        "where": {name: mask(value) for name, value in preview.where.items()},
        "risks": list(preview.risks),
    }


def _bounded(text: str) -> str:
    """The text, or its beginning. The digest of the rest lets a later look find a change in it."""
    lines = plain_lines(text)
    if len(lines) <= LONGEST_FACT:
        return lines
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    rest = len(lines) - LONGEST_FACT
    return f"{lines[:LONGEST_FACT]}\n… NOT SHOWN: {rest} more characters (sha256 of the whole: {digest})"


def is_same(before: Mapping[str, Any], current: Mapping[str, Any]) -> bool:
    return all(before[name] == current[name] for name in _COMPARED)


def change_list(before: Mapping[str, Any], current: Mapping[str, Any]) -> list[str]:
    """The names of what is different, in the words of the preview."""
    states = [
        f"{name} ({plain(before['state'].get(name, 'none'))[:12]} → {plain(current['state'].get(name, 'none'))[:12]})"
        for name in _different(before["state"], current["state"])
    ]
    return [*_different(_by_name(before), _by_name(current)), *states] or ["title"]


def changed_names(before: Mapping[str, Any], current: Mapping[str, Any]) -> list[str]:
    """The names of what is different, such as files: of the state, or of facts if the state is the same."""
    states = [plain(name) for name in _different(before["state"], current["state"])]
    return states or _different(_by_name(before), _by_name(current)) or ["title"]


def _different(before: Mapping[str, Any], current: Mapping[str, Any]) -> list[str]:
    return [name for name in dict.fromkeys((*before, *current)) if before.get(name) != current.get(name)]


def _by_name(record: Mapping[str, Any]) -> dict[str, list[str]]:
    facts: dict[str, list[str]] = {}
    for name, text in record["facts"]:
        facts.setdefault(name, []).append(text)
    return facts


def approval_form(id_: str, label: str, record: Mapping[str, Any], before: Mapping[str, Any] | None) -> Form:
    """The question for a person. `before` is what it was about when it was asked last, if that has changed since."""
    parts = []
    if before is not None:
        changes = ", ".join(change_list(before, record))
        parts.append(f"This has changed since it was asked last, so an earlier answer does not count: {changes}")
    for name, text in record["facts"]:
        indented = "".join(f"\n  | {line}" for line in text.split("\n"))
        parts.append(f"{name}:{indented}" if "\n" in text else f"{name}: {text}")
    fields = (
        FormField(APPROVED, "boolean", label, required=True),
        FormField(REASON, "text", "Reason", help="for the record, and for later steps"),
    )
    return Form(id_, record["title"], "\n".join(parts), fields)


MOST_ROUNDS = 50
STOP, SKIP, FAIL = "stop", "skip", "fail"
REFUSED = "not-approved"
_AFTER_NO = "after a no: `stop` ends the flow as stopped, `skip` continues it, `fail` fails the step"
OTHERWISE = Field("otherwise", ("text",), _AFTER_NO, default=STOP, choices=(STOP, SKIP, FAIL))
APPROVAL_OUTPUTS = {
    "approved": "true if a person or a rule said yes",
    "by": "who said it: `person`, `rule`, or `deadline` if nobody answered before it",
    "reason": "the reason that the person gave, may be empty",
    "rule": "the rule that said yes; null if a person answered",
    "stopped": "true if the flow ends here because of a no",
}


@dataclass(frozen=True)
class ApprovalQuestion:
    """What is asked: `effect` is its name for rules, `id` and `label` are those of the form.

    `params` are recorded with what is shown: after the yes, they are what is used.
    """

    effect: str
    id: str
    label: str
    params: dict[str, Any]


@dataclass(frozen=True)
class ApprovalDecision:
    """The decision of round `number`, about what is in `record`."""

    number: int
    record: PreviewRecord
    approved: bool
    by: str
    reason: str = ""
    rule: str | None = None

    def outputs(self, otherwise: str) -> dict[str, Any]:
        """The outputs that every such node has. Raises `NodeError` if a no fails the step."""
        if not self.approved and otherwise == FAIL:
            why = f": {plain(' '.join(self.reason.split()))}" if self.reason.strip() else ""
            who = "a person said no to" if self.by == "person" else "nobody said yes in time to"
            raise LastingError(REFUSED, f"{who} `{self.record['title']}`{why}")
        outputs = {"approved": self.approved, "by": self.by, "reason": self.reason, "rule": self.rule}
        return {**outputs, "stopped": not self.approved and otherwise == STOP}


def has_asked(context: NodeContext) -> bool:
    """True if this step has recorded what it asks about. Another node may use a form with the same id."""
    return context.recall("seen.0") is not None


class Agreement:
    """The rounds of one step until there is a decision about the present state of things."""

    def __init__(
        self, question: ApprovalQuestion, look: Callable[[], Awaitable[Preview]], work: Work, context: NodeContext
    ) -> None:
        self.question = question
        self.look = look
        self.work = work
        self.context = context
        self.mask = Secrets(context.env, context.secrets).mask

    async def reach(self) -> ApprovalDecision:
        """The decision. A yes is for the state that was found after it, unless the effect has begun."""
        before: PreviewRecord | None = None
        recall, remember = self.context.recall, self.context.remember
        for number in range(MOST_ROUNDS):
            recorded: PreviewRecord | None = recall(f"seen.{number}")
            record: PreviewRecord = recorded or remember(f"seen.{number}", await self._look())
            if not recall(f"void.{number}"):
                try:
                    decision = await self._decide(number, record, before)
                except Waiting:
                    if recorded is None or not await self._is_outdated(record):
                        raise
                else:
                    if await self._counts(decision):
                        return decision
                self.void(number)
            before = record
        raise LastingError("unstable", f"what is to be approved has changed {MOST_ROUNDS} times after it was asked")

    async def changed(self) -> list[str]:
        """The names of what has changed since the open question was asked; empty if nothing has. Records nothing."""
        recall = self.context.recall
        numbers = [number for number in range(MOST_ROUNDS) if recall(f"seen.{number}")]
        if not numbers or recall(f"void.{numbers[-1]}"):
            return []
        record, current = recall(f"seen.{numbers[-1]}"), await self._look()
        return [] if is_same(record, current) else changed_names(record, current)

    async def _counts(self, decision: ApprovalDecision) -> bool:
        """True if a decision holds for the present state. A no holds for any, when it is given."""
        recall = self.context.recall
        if decision.approved and recall(f"begun.{decision.number}"):
            return True
        if not decision.approved and not recall(f"no.{decision.number}"):
            self.context.remember(f"no.{decision.number}", True)
            return True
        return is_same(decision.record, await self._look())

    async def _is_outdated(self, record: PreviewRecord) -> bool:
        """True if a question that nobody has answered shows something old. False if that cannot be found out."""
        try:
            return not is_same(record, await self._look())
        except NodeError:
            return False

    def void(self, number: int) -> None:
        """Make a yes invalid, because the state has changed before the effect."""
        self.context.remember(f"void.{number}", True)

    async def _look(self) -> PreviewRecord:
        return {**preview_record(await self.look(), self.mask), "params": self.question.params}

    async def _decide(self, number: int, record: PreviewRecord, before: PreviewRecord | None) -> ApprovalDecision:
        rule = self.context.recall(f"rule.{number}")
        if rule is None and (first_rule := self._rule(record)) is not None:
            rule = self.context.remember(f"rule.{number}", first_rule)
        if rule is not None:
            self.context.notice(f"a rule said yes to `{record['title']}`: {rule}")
            return ApprovalDecision(number, record, True, "rule", rule=rule)
        form = approval_form(self.question.id, self.question.label, record, before)
        answer = await self.context.ask(form_params.to_json(form))
        values = accept(form, answer.values)
        by = "deadline" if isinstance(answer, DefaultAnswer) else "person"
        return ApprovalDecision(number, record, values[APPROVED] is True, by, values[REASON] or "")

    def _rule(self, record: PreviewRecord) -> str | None:
        """The first rule that says yes, as text."""
        values = {**record["where"], STEP: self.work.path}
        rules = (rule for rule in self.context.rules if rule.fits(self.question.effect, values, record["risks"]))
        return next(map(str, rules), None)


LONGEST_PATH = 500
_APPROVE = Node(
    about="Asks a person for a yes, and waits for the answer. If one of the files changes after the yes, the person is "
    "asked again.",
    params=(
        Field("question", SCALARS, "the question, in one line", required=True, shortest=1, also=("title",)),
        Field("details", (*SCALARS, "null"), "a text below the question, or the path of a file with it"),
        Field("files", ("list", "null"), "files that the question is about", items=("text",)),
        OTHERWISE,
    ),
    outputs=APPROVAL_OUTPUTS,
    stops="stopped",
    where=(),
    is_harmless=True,
    asks=(APPROVED, REASON),
)


async def _approve(work: Work, context: NodeContext) -> Any:
    return (await _agreement(work, context).reach()).outputs(work.params[OTHERWISE.name] or STOP)


async def _changed(work: Work, context: NodeContext) -> list[str]:
    return await _agreement(work, context).changed()


def _agreement(work: Work, context: NodeContext) -> Agreement:
    question = ApprovalQuestion(work.node, "approve", "Do you approve it?", {})
    return Agreement(question, lambda: _preview(work, context), work, context)


async def _preview(work: Work, context: NodeContext) -> Preview:
    title = " ".join(as_text(work.params["question"]).split())
    facts: list[tuple[str, str]] = []
    state: dict[str, str] = {}
    if work.params.get("details") is not None:
        details = as_text(work.params["details"])
        data = _details_file(context, details)
        if data is not None:
            facts.append(("File", details))
            state[details] = _digest(data)
            details = data.decode("utf-8", "replace").strip()
        facts.append(("Details", details))
    for path in dict.fromkeys(work.params.get("files") or ()):
        data = read_bytes(context, path)
        facts.append(("File", f"{path} ({counted(len(data), 'byte')})"))
        state[path] = _digest(data)
    return Preview(title=title, facts=tuple(facts), state=state)


def _details_file(context: NodeContext, text: str) -> bytes | None:
    """The content of the file that the details name. None if they name no file of the project: then they are text."""
    if not text.strip() or len(text) > LONGEST_PATH or "\n" in text:
        return None
    try:
        return read_bytes(context, text)
    except NodeError:
        return None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


APPROVE = OneNode(_APPROVE, _approve, _preview, _changed)
Nodes = Mapping[str, NodeKind]
"""All nodes, by name. `propose` runs one of them."""


def _check_missing(
    reader: MappingReader, node: TreeNode, effect: str, declaration: Node, names: Collection[str]
) -> None:
    for field in declaration.params:
        if field.required and field.name not in names:
            hint = f"add `params: {{{field.name}: ...}}` below `effect`"
            reader.on(node, "param-missing", f"`{effect}` needs the param `{field.name}`", hint)


class ProposeNode:
    """`propose` for these nodes."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        effect = Field(
            "effect",
            ("text",),
            "the node that changes something outside, such as `git-push`",
            required=True,
            shortest=1,
            check=self._check_effect,
            also=("node", "action"),
        )
        self.NODE = Node(
            about="Shows exactly what another node would change outside: a push, a pull request, a comment, a message. "
            "It is done after a person or a rule says yes. If something that it depends on changes after the yes, the "
            "person is asked again.",
            params=(
                effect,
                Field("params", ("mapping",), "the params of that node", check=self._check_params),
                Field("title", (*SCALARS, "null"), "the question in one line; by default the effect says it itself"),
                OTHERWISE,
            ),
            outputs={**APPROVAL_OUTPUTS, "result": "the outputs of the other node; null if it did nothing"},
            members=self._members,
            stops="stopped",
            asks=(APPROVED, REASON),
        )

    def _declaration(self, effect: Any) -> Node | None:
        """The declaration of a node that can be proposed. None if there is no such node."""
        node = self._nodes[effect].NODE if isinstance(effect, str) and effect in self._nodes else None
        return None if node is None or node.where is None or node.stops is not None else node

    def _why_not(self, effect: str) -> tuple[str, str]:
        names = [name for name in self._nodes if self._declaration(name) is not None]
        hint = f"effects: {', '.join(names)}"
        if effect in self._nodes:
            return f"`{effect}` cannot be proposed: it does not say in advance what it would change outside", hint
        return f"there is no effect `{shown(effect, 40)}`", did_you_mean(effect, names) or hint

    def _check_effect(self, reader: MappingReader, node: TreeNode) -> None:
        declaration = self._declaration(node.value) if node.kind == "text" else None
        if node.kind == "text" and declaration is None:
            reader.on(node, "bad-value", *self._why_not(node.value))
        elif declaration is not None and "params" not in reader.node.value:
            _check_missing(reader, node, node.value, declaration, ())

    def _check_params(self, reader: MappingReader, node: TreeNode) -> None:
        effect = reader.node.value.get("effect")
        declaration = self._declaration(effect.value) if effect is not None and effect.kind == "text" else None
        if declaration is None or node.kind != "mapping":
            return
        inner = MappingReader(reader.source, node._replace(keys={}), declaration.shape, reader.report)
        check_fields(inner)
        meant: set[str] = set()
        if declaration.others != "used":
            meant = refuse_unknown(inner, node, effect.value, only_typos=declaration.others == "ignored")
        _check_missing(reader, node, effect.value, declaration, {*node.value, *meant})

    def _members(self, params: Mapping[str, Any]) -> dict[str, Collection[str] | None]:
        effect = params.get("effect")
        declaration = None if isinstance(effect, Later) else self._declaration(effect)
        result = None if declaration is None or declaration.open_outputs else list(declaration.outputs)
        return {**dict.fromkeys(APPROVAL_OUTPUTS), "result": result}

    async def run(self, work: Work, context: NodeContext) -> Any:
        otherwise = work.params[OTHERWISE.name] or STOP
        inner, kind = self._proposed(work)
        own, agreement = _own_memory(context), self._agreement(work, context)
        while True:
            decision = await agreement.reach()
            if not decision.approved:
                return {**decision.outputs(otherwise), "result": None}
            try:
                result = await _perform(kind, inner, own, context, decision)
            except NodeError as error:
                if error.code != CHANGED:
                    raise
                agreement.void(decision.number)
                continue
            return {**decision.outputs(otherwise), "result": result}

    async def changed(self, work: Work, context: NodeContext) -> list[str]:
        return await self._agreement(work, context).changed() if has_asked(context) else []

    def _proposed(self, work: Work) -> tuple[Work, EffectKind]:
        effect = work.params["effect"]
        inner = replace(work, node=effect, params=work.params.get("params") or {})
        if self._declaration(effect) is None:
            raise LastingError("params", "; ".join(self._why_not(effect)))
        kind = cast(EffectKind, self._nodes[effect])
        if problem := _problem(kind.NODE, inner.params):
            raise LastingError("params", f"`{effect}`: {problem}")
        return inner, kind

    def _agreement(self, work: Work, context: NodeContext) -> Agreement:
        inner, kind = self._proposed(work)
        own = _own_memory(context)

        async def look() -> Preview:
            preview, title = await kind.preview(inner, own), work.params.get("title")
            if title is None:
                return preview
            facts = (("What", preview.title), *preview.facts)  # another title must not hide what is done
            return replace(preview, title=as_text(title), facts=facts)

        return Agreement(ApprovalQuestion(inner.node, "propose", "Do this?", inner.params), look, work, context)


class Propose:
    """The registry makes the node with all nodes of the project."""

    with_nodes = ProposeNode


async def _perform(
    kind: EffectKind, inner: Work, own: NodeContext, context: NodeContext, decision: ApprovalDecision
) -> Any:
    """Let the effect happen. If it had begun before an interruption, its node knows whether it had happened."""
    mark = f"begun.{decision.number}"
    has_begun, declaration = bool(context.recall(mark)), kind.NODE
    if has_begun and declaration.rerun != "safe":
        if declaration.unknown is not None:
            return dict(declaration.unknown)
        raise LastingError("rerun", f"`{inner.node}` was interrupted and may have finished; it must not run twice")
    context.remember(mark, True)
    params = decision.record["params"]
    refuse_lost(params)
    return await kind.run(replace(inner, params=params, approved=decision.record["state"]), own)


def _problem(declaration: Node, params: Mapping[str, Any]) -> str | None:
    """What is wrong with the params of the effect that only the run can see; None if nothing is."""
    missing = next((field.name for field in declaration.params if field.required and field.name not in params), None)
    if missing is not None:
        return f"it needs the param `{missing}`"
    unknown = [name for name in params if name not in declaration.shape.by_name]
    if unknown and declaration.others == "refused":
        return f"it has no param `{shown(unknown[0], 40)}`"
    return None


def _own_memory(context: NodeContext) -> NodeContext:
    """The context for the effect: what it remembers has names of its own."""
    return replace(
        context,
        remember=lambda name, value: context.remember(f"effect.{name}", value),
        recall=lambda name: context.recall(f"effect.{name}"),
    )
