"""Which forge a change is on, and the node of that forge that does the work."""

from __future__ import annotations

import re
from typing import Any

from handrail import registry
from handrail.contracts import NodeContext, Work
from handrail.source.dataclasses import replace
from handrail.source.fields import Field
from handrail.source.values import as_text

_OF_GITLAB = re.compile(r"https?://.+/merge_requests/[0-9]+")
CHANGE = Field(
    "change",
    ("text",),
    "the change: the address of a pull request of GitHub or of a merge request of GitLab, or `OWNER/NAME#12`",
    required=True,
    shortest=1,
    also=("pullRequestUrl", "mergeRequestUrl", "url"),
)
FORGE = {"forge": "`github` or `gitlab`", "url": "the address of the change"}


async def pass_on(work: Work, context: NodeContext, what: str) -> dict[str, Any]:
    """The outputs of the forge's own node, such as `github-checks` for `checks`.

    What it calls pull request or merge request is called change.
    """
    address = as_text(work.params["change"]).strip()
    forge, name = ("gitlab", "mergeRequest") if _OF_GITLAB.match(address) else ("github", "pullRequest")
    params = {**{key: value for key, value in work.params.items() if key != "change"}, f"{name}Url": address}
    node = f"{forge}-{what}"
    found = await registry.nodes()[node].run(replace(work, node=node, params=params), context)
    named = {f"{name}Url": "url", f"{name}State": "changeState"}
    return {"forge": forge, **{named.get(key, key): value for key, value in found.items()}}
