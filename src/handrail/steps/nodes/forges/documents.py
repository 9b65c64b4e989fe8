"""What the nodes of all forges share: the params and outputs of a change, their files, and Markdown."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

from handrail.base.dataclasses import replace
from handrail.extensions.contracts import Node, NodeContext, OneNode, Work
from handrail.source.fields import Field
from handrail.steps.nodes.params import path_param, text_param
from handrail.steps.services.forges import FORGES, Forge, ForgeName


def forge_named(kind: ForgeName) -> Forge:
    """The module of a forge. It imports the HTTP library, so only a running node asks for it."""
    if kind == "github":
        from handrail.steps.services import github

        return github
    from handrail.steps.services import gitlab

    return gitlab


OUTPUT_NAMES = ("outputFile", "outputJsonFile")
OUTPUT_FILES = (path_param("outputFile", "the file for Markdown"), path_param("outputJsonFile", "the file for JSON"))


def file_outputs(schema: str) -> dict[str, str]:
    return {"outputFile": "the file with Markdown", "outputJsonFile": f"the file with JSON of the schema `{schema}`"}


CHANGE = text_param(
    "change",
    "the change: the address of a pull request of GitHub or of a merge request of GitLab, or `OWNER/NAME#12`",
    also=("pullRequestUrl", "mergeRequestUrl", "url"),
)
CHANGES: dict[ForgeName, Field] = {
    "github": text_param(
        "pullRequestUrl", "the pull request: its address, or `OWNER/NAME#12`", also=("pullRequest", "pr", "url")
    ),
    "gitlab": text_param("mergeRequestUrl", "the address of the merge request"),
}
FORGE_FILE_OUTPUTS = {
    "outputFile": "the file with Markdown",
    "outputJsonFile": "the file with JSON, of the schema of the forge's own node",
}
FORGE_OUTPUTS = {"forge": "`github` or `gitlab`", "url": "the address of the change"}
_OF_GITLAB = re.compile(r"https?://.+/merge_requests/[0-9]+")
ChangeRun = Callable[[ForgeName, str, Work, NodeContext], Awaitable[dict[str, Any]]]
"""Runs a node for the change that a text refers to. In its outputs, `url` and `changeState` are about the change."""


def node_of_forge(kind: ForgeName, node: Node, run_change: ChangeRun) -> OneNode:
    """The node of one forge, in whose names of params and outputs the forge's word for a change stands."""
    param = FORGES[kind].param
    names = {"url": f"{param}Url", "changeState": f"{param}State"}

    async def run(work: Work, context: NodeContext) -> Any:
        params = {name: value for name, value in work.params.items() if name in node.shape.by_name}
        found = await run_change(kind, params[names["url"]], replace(work, params=params), context)
        return {name: found[key] for key in found if (name := names.get(key, key)) in node.outputs}

    return OneNode(node, run)


def node_of_all_forges(node: Node, run_change: ChangeRun) -> OneNode:
    """The node for a change whose address says which forge it is on."""

    async def run(work: Work, context: NodeContext) -> Any:
        address = work.params[CHANGE.name].strip()
        kind: ForgeName = "gitlab" if _OF_GITLAB.match(address) else "github"
        found = await run_change(kind, address, work, context)
        return {name: value for name, value in found.items() if name in node.outputs}

    return OneNode(node, run)


_FENCES = re.compile(r"`{3,}")


def fenced(text: str, language: str = "") -> str:
    """A block of code. The fence is longer than every one inside the text."""
    longest = max((len(marks) for marks in _FENCES.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def one_line(text: str, most: int = 0) -> str:
    """The words of a text on one line; with `most`, cut after so many characters."""
    line = " ".join(text.split())
    return line if not most or len(line) <= most else f"{line[: most - 3]}..."


def document(title: str, facts: dict[str, str], sections: list[tuple[str, str]], nothing: str) -> str:
    """A heading, a list of facts, and a section for each item; the text `nothing` if there is none."""
    head = [f"# {title}", "\n".join(f"- {name}: {value}" for name, value in facts.items())]
    parts = [f"## {heading}\n\n{body}" for heading, body in sections] or [nothing]
    return "\n\n".join([*head, *parts]) + "\n"
