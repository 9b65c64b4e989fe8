"""What the nodes of all forges share: the params and outputs of a change, their files, and Markdown."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

from handrail.base.dataclasses import replace
from handrail.extensions.contracts import Node, NodeContext, OneNode, Work
from handrail.source.fields import Field
from handrail.steps.nodes.params import path_param, text_param
from handrail.steps.services import github, gitlab
from handrail.steps.services.forges import FORGES, Forge, ForgeName

FORGE_MODULES: dict[ForgeName, Forge] = {"github": github, "gitlab": gitlab}
OUTPUT_NAMES = ("outputFile", "outputJsonFile")
OUTPUT_FILES = (path_param("outputFile", "the file for Markdown"), path_param("outputJsonFile", "the file for JSON"))


OWN_SCHEMA = "that the forge's own node has"


def file_outputs(schema: str) -> dict[str, str]:
    return {"outputFile": "the file with Markdown", "outputJsonFile": f"the file with JSON of the schema {schema}"}


CHANGES: dict[ForgeName | None, Field] = {
    "github": text_param(
        "pullRequestUrl", "the pull request: its address, or `OWNER/NAME#12`", also=("pullRequest", "pr", "url")
    ),
    "gitlab": text_param("mergeRequestUrl", "the address of the merge request"),
    None: text_param(
        "change",
        "the change: the address of a pull request of GitHub or of a merge request of GitLab, or `OWNER/NAME#12`",
        also=("pullRequestUrl", "mergeRequestUrl", "url"),
    ),
}
"""The param for a change. None: its address says which forge it is on."""
_OF_GITLAB = re.compile(r"\s*https?://.+/merge_requests/[0-9]+")
ChangeRun = Callable[[ForgeName, str, Work, NodeContext], Awaitable[dict[str, Any]]]
"""Runs a node for the change that a text refers to. In its outputs, `url` and `changeState` are about the change."""


def change_node(kind: ForgeName | None, schema: str, own: Node, run_change: ChangeRun) -> OneNode:
    """A node for a change. `own` is what it has beside the change, its address, and the two files of every such node.

    In the names of a node of one forge stands the forge's word for a change.
    """
    names, word, of_forge = {}, "change", {"forge": "`github` or `gitlab`"}
    if kind is not None:
        param, word, of_forge = FORGES[kind].param, FORGES[kind].change, {}
        names = {"url": f"{param}Url", "changeState": f"{param}State"}
    outputs = {
        **file_outputs(schema),
        **{name: own.outputs[name] for name in own.makes},
        **of_forge,
        "url": f"the address of the {word}",
        **own.outputs,
    }
    node = replace(
        own,
        params=(CHANGES[kind], *OUTPUT_FILES, *own.params),
        outputs={names.get(name, name): about for name, about in outputs.items()},
        makes=(*OUTPUT_NAMES, *own.makes),
    )

    async def run(work: Work, context: NodeContext) -> Any:
        params = {name: value for name, value in work.params.items() if name in node.shape.by_name}
        address = params[CHANGES[kind].name]
        forge: ForgeName = kind or ("gitlab" if _OF_GITLAB.match(address) else "github")
        data = await run_change(forge, address, replace(work, params=params), context)
        return {name: data[key] for key in (data if kind else outputs) if (name := names.get(key, key)) in node.outputs}

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
