"""What the nodes of GitHub share: their params, and the files that these mean."""

from __future__ import annotations

from typing import Any, NamedTuple

from handrail.contracts import NodeContext, NodeError, Work
from handrail.nodes.outputs import FILES
from handrail.nodes.write_file import inside
from handrail.source.fields import Field
from handrail.source.values import as_text

PULL_REQUEST = Field(
    "pullRequestUrl",
    ("text",),
    "the pull request: its address, or `OWNER/NAME#12`",
    required=True,
    shortest=1,
    also=("pullRequest", "pr", "url"),
)


class Place(NamedTuple):
    """The paths of a step's files as they were given, and their real paths, by the name of the param."""

    given: dict[str, str]
    real: dict[str, str]


def place(work: Work, context: NodeContext, *optional: str) -> Place:
    """The files of a step. Raises `NodeError` if one is outside of the project, or if two are the same."""
    names = (*FILES, *(name for name in optional if work.params.get(name) is not None))
    given: dict[str, Any] = {name: as_text(work.params[name]) for name in names}
    real = {name: inside(context, path) for name, path in given.items()}
    if len(set(real.values())) < len(real):
        raise NodeError("params", f"{', '.join(f'`{name}`' for name in real)} have to be different", transient=False)
    return Place(given, real)
