"""Gets a yes for exactly what was shown: from a rule or from a person.

Everything is looked at twice, before the question and after the yes. If it differs, the yes does not count: the person
is asked again. What was shown is recorded first, so an answer always belongs to what its person saw, also if the run
was interrupted in between. A run that is resumed while nobody has answered looks, too, so its question is never older
than its last life.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from handrail.contracts import NodeContext, NodeError, Preview, Waiting, Work
from handrail.forms import form as forms
from handrail.forms import read as formspec
from handrail.nodes.approvals.shown import APPROVED, REASON, Record, changed_names, form, is_same, record
from handrail.secrets.redaction import Secrets
from handrail.settings.rules import STEP
from handrail.source.dataclasses import dataclass
from handrail.source.fields import Field
from handrail.source.plain import plain
from handrail.source.values import as_text, shown

MOST_ROUNDS = 50
STOP, SKIP, FAIL = "stop", "skip", "fail"
REFUSED = "not-approved"
OTHERWISE = Field(
    "otherwise",
    ("text",),
    "after a no: `stop` ends the flow as stopped, `skip` continues it, `fail` fails the step",
    default=STOP,
    choices=(STOP, SKIP, FAIL),
)
OUTPUTS = {
    "approved": "true if a person or a rule said yes",
    "by": "who said it: `person` or `rule`",
    "reason": "the reason that the person gave, may be empty",
    "rule": "the rule that said yes; null if a person answered",
    "stopped": "true if the flow ends here because of a no",
}
Look = Callable[[], Awaitable[Preview]]


@dataclass(frozen=True)
class Question:
    """What is asked: `effect` is its name for rules, `id` and `label` are those of the form.

    `params` are recorded with what is shown: after the yes, they are what is used.
    """

    effect: str
    id: str
    label: str
    params: dict[str, Any]


@dataclass(frozen=True)
class Agreed:
    """The decision of round `number`, about what is in `seen`."""

    number: int
    seen: Record
    approved: bool
    by: str
    reason: str = ""
    rule: str | None = None

    def outputs(self, otherwise: str) -> dict[str, Any]:
        """The outputs that every such node has. Raises `NodeError` if a no fails the step."""
        if not self.approved and otherwise == FAIL:
            why = f": {plain(' '.join(self.reason.split()))}" if self.reason.strip() else ""
            raise NodeError(REFUSED, f"a person said no to `{self.seen['title']}`{why}", transient=False)
        stopped = not self.approved and otherwise == STOP
        given = {"approved": self.approved, "by": self.by, "reason": self.reason, "rule": self.rule}
        return {**given, "stopped": stopped}


def otherwise(work: Work) -> str:
    given = work.params.get(OTHERWISE.name)
    value = OTHERWISE.default if given is None else as_text(given)
    if value not in OTHERWISE.choices:
        known = ", ".join(f"`{name}`" for name in OTHERWISE.choices)
        raise NodeError("params", f"`otherwise` has to be one of {known}, found `{shown(value, 40)}`", transient=False)
    return str(value)


def has_asked(context: NodeContext) -> bool:
    """True if this step has recorded what it asks about. Another node may use a form with the same id."""
    return context.recall("seen.0") is not None


class Agreement:
    """The rounds of one step until there is a decision about the present state of things."""

    def __init__(self, question: Question, look: Look, work: Work, context: NodeContext) -> None:
        self.question = question
        self.look = look
        self.work = work
        self.context = context
        self.mask = Secrets(context.env, context.secrets).mask

    async def reach(self) -> Agreed:
        """The decision. A yes is for the state that was found after it, unless the effect has begun."""
        before: Record | None = None
        recall, remember = self.context.recall, self.context.remember
        for number in range(MOST_ROUNDS):
            known: Record | None = recall(f"seen.{number}")
            seen: Record = known or remember(f"seen.{number}", await self._look())
            if not recall(f"void.{number}"):
                try:
                    agreed = await self._decide(number, seen, before)
                except Waiting:
                    if known is None or not await self._has_changed(seen):
                        raise
                else:
                    if await self._counts(agreed):
                        return agreed
                self.void(number)
            before = seen
        message = f"what is to be approved has changed {MOST_ROUNDS} times after it was asked"
        raise NodeError("unstable", message, transient=False)

    async def changed(self) -> list[str]:
        """The names of what has changed since the open question was asked; empty if nothing has. Records nothing."""
        recall = self.context.recall
        numbers = [number for number in range(MOST_ROUNDS) if recall(f"seen.{number}")]
        if not numbers or recall(f"void.{numbers[-1]}"):
            return []
        seen, now = recall(f"seen.{numbers[-1]}"), await self._look()
        return [] if is_same(seen, now) else changed_names(seen, now)

    async def _counts(self, agreed: Agreed) -> bool:
        """True if a decision holds for the present state. A no holds for any, when it is given."""
        recall = self.context.recall
        if agreed.approved and recall(f"begun.{agreed.number}"):
            return True
        if not agreed.approved and not recall(f"no.{agreed.number}"):
            self.context.remember(f"no.{agreed.number}", True)
            return True
        return is_same(agreed.seen, await self._look())

    async def _has_changed(self, seen: Record) -> bool:
        """True if a question that nobody has answered shows something old. False if that cannot be found out."""
        try:
            return not is_same(seen, await self._look())
        except NodeError:
            return False

    def void(self, number: int) -> None:
        """A yes does not count any more: the state has changed before the effect."""
        self.context.remember(f"void.{number}", True)

    async def _look(self) -> Record:
        return {**record(await self.look(), self.mask), "params": self.question.params}

    async def _decide(self, number: int, seen: Record, before: Record | None) -> Agreed:
        known = self.context.recall(f"rule.{number}")
        if known is None and (rule := self._rule(seen)) is not None:
            known = self.context.remember(f"rule.{number}", rule)
        if known is not None:
            self.context.notice(f"a rule said yes to `{seen['title']}`: {known}")
            return Agreed(number, seen, True, "rule", rule=known)
        asked = form(self.question.id, self.question.label, seen, before)
        answer = await self.context.ask(formspec.to_json(asked))
        values = forms.accept(asked, answer.values)
        return Agreed(number, seen, values[APPROVED] is True, "person", values[REASON] or "")

    def _rule(self, seen: Record) -> str | None:
        """The first rule that says yes, as text."""
        values = {**seen["where"], STEP: self.work.path}
        fitting = (rule for rule in self.context.rules if rule.fits(self.question.effect, values, seen["risks"]))
        return next(map(str, fitting), None)
