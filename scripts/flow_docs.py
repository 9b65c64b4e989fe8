"""The pages of docs/reference about the flows that come with Handrail: a list, and a page with a picture for each."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

from handrail.cli.run_options import OPTION_OF, about_param, examples
from handrail.driven.flows.overview import Brief, PhaseBlock, brief, phase_blocks
from handrail.driven.flows.shipped_flows import ShippedFlow, ShippedFlows
from handrail.extensions.registry import Registry
from handrail.project.definitions import Definitions
from handrail.settings.folders import UserFolders, shipped_flows
from handrail.view.text.diagrams import flow_picture

sys.path.insert(0, str(Path(__file__).parent))
from examples import REPOSITORY, load
from examples import shown as example
from shipped_docs import anchor

FOLDER = "flows"
NOWHERE = "/nowhere"
AGENT = (
    "The [scripted agent](../scripts.md) does what each prompt asks for. It writes the documents that "
    "[the schemas](../schemas.md) show; its first review of a plan or of a change has a finding, later ones have none. "
    "If it has to change code, it adds a line to a file."
)


@cache
def entries() -> list[ShippedFlow]:
    return ShippedFlows(shipped_flows()).entries()


def file_name(id_: str) -> str:
    return id_.replace("/", "-")


def shipped() -> str:
    """The list of all flows."""
    about = (
        "Flows that come with Handrail: `handrail run NAME`, or only `handrail NAME`. `handrail NAME --help` says what "
        "one takes, does and writes. Other ids are those of AgentWeaver, whose files these flows read and write; the "
        "flows are our own. A flow of the project or of the user with the same id, with one of the other ids, or with "
        "the same file name inside another flow of theirs, is used instead; inside shipped flows only if it says "
        "`overrides: true`.\n"
    )
    rows = []
    for entry in entries():
        inside = "" if entry.visible else " (only inside other flows)"
        also = ", ".join(f"`{name}`" for name in entry.also)
        link = f"[`{entry.id}`]({FOLDER}/{file_name(entry.id)}.md)"
        rows.append(f"| {link} | {also} | {entry.description}{inside} |")
    head = "| flow | also | what it does |\n|---|---|---|\n"
    return f"# Flows that come with Handrail\n\n{about}\n{head}" + "\n".join(rows) + "\n"


def flow_pages() -> dict[str, str]:
    """The page of each flow, by its path below docs/reference."""
    return {f"{FOLDER}/{file_name(entry.id)}.md": _page(entry) for entry in entries()}


def flow_pictures() -> dict[str, str]:
    """The picture of each flow, by its path below docs/reference."""
    return {f"{FOLDER}/{file_name(entry.id)}.svg": flow_picture(_brief(entry.id).plan) for entry in entries()}


@cache
def _brief(id_: str) -> Brief:
    definitions = Definitions(NOWHERE, {}, UserFolders({"HOME": NOWHERE}), Registry())
    flows = definitions.with_shipped(id_)
    plan = flows.find(id_).plan
    assert plan is not None, id_
    return brief(plan, flows.plan_named)


def _page(entry: ShippedFlow) -> str:
    told = _brief(entry.id)
    parts = [f"# {entry.id}\n", f"{entry.description}.\n"]
    if told.plan.also:
        parts.append(f"Also: {', '.join(f'`{name}`' for name in told.plan.also)}.\n")
    parts.append(_uses(entry, told))
    if told.plan.params:
        rows = "\n".join(
            f"| `{', '.join([param.name, *filter(None, [OPTION_OF.get(param.name)])])}` | {about_param(param)} |"
            for param in told.plan.params
        )
        parts.append(f"## Parameters\n\n| parameter | |\n|---|---|\n{rows}\n")
    parts.append(f"## Phases\n\n![The phases of {entry.id}]({file_name(entry.id)}.svg)\n\n{_phases(told)}")
    if told.writes:
        parts.append(f"## Files\n\n{_files(told)}")
    return "\n".join([*parts, f"## Example\n\n{_example(entry)}"])


def _uses(entry: ShippedFlow, told: Brief) -> str:
    """Who runs the flow, and what it uses."""
    users = [other.id for other in entries() if entry.id in _brief(other.id).runs]
    facts = [] if entry.visible else ["It only runs inside other flows."]
    if entry.visible:
        calls = "\n".join(f"$ {line}" for line in examples(told))
        facts.append(f"```console\n{calls}\n```\n")
    named = (
        ("Runs", [f"[{one}]({file_name(one)}.md)" for one in told.runs]),
        ("Is run by", [f"[{one}]({file_name(one)}.md)" for one in users]),
        ("Routing groups of its agents", [f"`{group}`" for group in told.groups]),
        ("Forms", [f"`{form}`" for form in told.asks]),
    )
    lines = [f"{title}: {', '.join(names)}." for title, names in named if names]
    return "\n".join([*facts, "  \n".join(lines)]).rstrip() + "\n"


def _phases(told: Brief) -> str:
    rows = "\n".join(f"| `{one.name}` | {_steps(one)} |" for one in phase_blocks(told.blocks))
    return f"| phase | steps |\n|---|---|\n{rows}\n"


def _steps(one: PhaseBlock) -> str:
    return ", ".join(f"`{step.id}` ([{step.node}](../nodes.md#{step.node}))" for step in one.phase.steps)


def _files(told: Brief) -> str:
    rows = []
    for one in told.writes:
        schema = f"[{one.schema}](../schemas.md#{anchor(one.schema)})" if one.schema else ""
        rows.append(f"| `{one.path}` | {schema} |")
    return "| file | schema |\n|---|---|\n" + "\n".join(rows) + "\n"


def _example(entry: ShippedFlow) -> str:
    """What the tests run. Programs and services are stand-ins."""
    found = load("flows", entry.id)
    is_usual = found["changes"] == REPOSITORY["changes"]
    where = "In a repository in which `code.txt` has a change that is not committed. " if is_usual else ""
    scripts = found.get("programs", {}).items()
    programs = "".join(f"`{name}` is a stand-in:\n\n```sh\n{text.rstrip()}\n```\n\n" for name, text in scripts)
    served = "".join(f"`{address}` is a stand-in on loopback.\n\n" for address in found.get("serves", {}))
    env = ", ".join(f"`{name}={value}`" for name, value in found.get("env", {}).items())
    served += f"Variables: {env}.\n\n" if env else ""
    return f"{where}{AGENT}\n\n{programs}{served}{example('flows', entry.id)}"
