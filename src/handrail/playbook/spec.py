"""What a playbook says: its manifest and its entries, as checked values. Pure."""

from __future__ import annotations

from typing import Literal

from handrail.source.dataclasses import dataclass, field

MANIFEST = "manifest.yaml"
PAGE = "project.md"
OWN, FOREIGN = ".handrail/playbook", ".agentweaver/playbook"
FOLDERS = (OWN, FOREIGN)
"""Where a project has its playbook. The first one with a manifest is used. AgentWeaver reads the second one."""
SECTIONS = ("practices", "examples", "templates")
SEVERITIES = ("must", "should", "info")
MATCHING = ("strict", "agentweaver")
BUDGETS = {"plan": 1200, "design_review": 1000, "implement": 1400, "review": 1000, "repair": 1000}
"""The phases that AgentWeaver knows → how many tokens the practices may have, if the manifest does not say."""
PHASES = tuple(BUDGETS)
OTHER_BUDGET = 1000
"""The budget of a phase that is none of these."""

Kind = Literal["practice", "example"]


def phase_key(name: str) -> str:
    """The name of a phase as entries and budgets have it: `Design review` and `design-review` are `design_review`."""
    key = "_".join(name.strip().lower().replace("-", "_").split())
    return "repair" if key in ("review_fix", "repair/review_fix") else key


@dataclass(frozen=True)
class AppliesTo:
    """For which tasks an entry is. None: the entry does not say."""

    languages: tuple[str, ...] | None = None
    frameworks: tuple[str, ...] | None = None
    globs: tuple[str, ...] | None = None
    keywords: tuple[str, ...] | None = None

    @property
    def is_open(self) -> bool:
        """True if the entry is for every task."""
        return not (self.languages or self.frameworks or self.globs or self.keywords)


@dataclass(frozen=True)
class Entry:
    """A practice or an example. `path` is relative to the folder of the playbook. No `phases` means all."""

    kind: Kind
    id: str
    title: str
    path: str
    body: str
    phases: tuple[str, ...] = ()
    applies: AppliesTo = AppliesTo()
    priority: int | None = None
    severity: str | None = None
    related: tuple[str, ...] = ()


@dataclass(frozen=True)
class Playbook:
    """A valid playbook. `folder` is relative to the project, all other paths to that folder.

    `matching`: `strict` chooses what fits a task, `agentweaver` what AgentWeaver 0.1.18 would choose. `max_examples` is
    None if there is no limit.
    """

    folder: str
    name: str
    languages: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()
    practices: tuple[Entry, ...] = ()
    examples: tuple[Entry, ...] = ()
    templates: tuple[str, ...] = ()
    always: tuple[str, ...] = ()
    budgets: dict[str, int] = field(default_factory=dict)
    include_examples: bool = True
    max_examples: int | None = None
    matching: str = MATCHING[0]

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (*self.practices, *self.examples)

    def budget(self, phase: str) -> int:
        """How many tokens the practices of a phase may have."""
        key = phase_key(phase)
        return self.budgets.get(key, BUDGETS.get(key, OTHER_BUDGET))
