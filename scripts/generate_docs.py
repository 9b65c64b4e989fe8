"""Writes the generated pages of docs/reference. A test fails if a page is out of date."""

from __future__ import annotations

import sys
from itertools import starmap
from pathlib import Path

import click

import handrail as handrail_package
from handrail.agents.scripted.player import ACTIONS, CHOICE
from handrail.base.errors import EXIT_CODES
from handrail.cli.group import command_at, handrail
from handrail.cli.table import SECTIONS
from handrail.doctor.examination import CATEGORIES, EXAMS
from handrail.driven.flows.catalog import ENDINGS
from handrail.driven.flows.keys import AFTER
from handrail.driven.flows.keys import SHAPES as FLOW_SHAPES
from handrail.extensions import registry
from handrail.extensions.contracts import Check, Node
from handrail.extensions.declarations import check_declarations, node_declarations
from handrail.extensions.plugins.manifest import MANIFEST_FILE
from handrail.extensions.plugins.search import plugin_folders
from handrail.extensions.registry import Registry
from handrail.guided.workflows.keys import GUIDANCE, PHASE, TOOLS, WORKFLOW
from handrail.guided.workflows.plan import PLACEHOLDERS
from handrail.guided.workflows.spec import VOCABULARY
from handrail.settings.folders import MARKERS, UserFolders, flow_roots, shipped_flows, workflow_roots
from handrail.settings.settings import SETTINGS
from handrail.source.codes import endings, problem_kinds
from handrail.source.fields import ANYTHING, Field, Shape, limits
from handrail.steps.playbook.spec import SHAPES as PLAYBOOK

sys.path.insert(0, str(Path(__file__).parent))
from examples import AGENT, load, needed
from examples import shown as example
from flow_docs import FOLDER as FLOW_FOLDER
from flow_docs import flow_pages, flow_pictures, shipped
from shipped_docs import prompts, schemas
from value_docs import values
from view_docs import rows

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"
NOTE = "<!-- written by `make docs`; do not edit -->\n\n"

STATE_FOLDERS = {
    "sessions": "guided sessions: a journal, the pinned plan and the card of each, by project",
    "runs": "runs: a journal and the pinned flows of each attempt, by project",
    "artifacts": "published files and where they come from, by project and scope",
    "scopes": "locks of scopes that are reset, by project",
    "imported": "when `handrail import` last looked at a project or at your home folder",
    "worktrees": "records of the worktrees of runs: which run and project each belongs to",
    "trees": "the worktrees of runs, unless `worktree: {folder: …}` in the user's settings names another folder",
    "hosts": "links from the conversations of agents to their sessions",
    "installed": "what `handrail install` changed, so that `uninstall` can undo it",
    "probes": "what `handrail doctor AGENT --probe` measured, by agent",
    "trust": "which projects and which code of plugins a person [trusts](../guides/trust.md), with a copy of that code",
    "aside": "sessions and runs that could not be read and were moved away",
    "reports": "reports about bugs of Handrail",
}


def exit_codes() -> str:
    rows = "\n".join(f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items())
    return f"# Exit codes\n\n| code | meaning |\n|---|---|\n{rows}\n"


def codes() -> str:
    what = "First the codes of problems in files, then [those of how something ends](#how-things-end)."
    parts = [f"# Codes\n\n{what} `handrail explain CODE` prints the same.\n"]
    parts.extend(
        f"## {rule.code}\n\n*{rule.severity}.* {rule.meaning}\n\n```text\n{rule.example}\n```\n\n{rule.cure}\n"
        for rule in problem_kinds().values()
    )
    where = (
        "a run has it in `reason` (`CODE at STEP`), a step in the events of `handrail log RUN --events`, a session in "
        "`refused`, a command in `error.code` of `--json`"
    )
    parts.append(f"## How things end\n\nThe codes of what ended without success: {where}.\n")
    rows = [f"| `{one.code}` | {', '.join(one.of)} | {one.meaning} | {one.cure} |\n" for one in endings().values()]
    parts.append("| code | of a | meaning | solution |\n|---|---|---|---|\n" + "".join(rows))
    return "\n".join(parts)


def placeholders() -> str:
    where = "In every text of a workflow and in the instructions of every phase. Unknown names stay as written."
    head = f"# Placeholders\n\n{where}\n"
    rows = "\n".join(f"| `{{{name}}}` | {about} |" for name, about in PLACEHOLDERS.items())
    return f"{head}\n| placeholder | value |\n|---|---|\n{rows}\n"


def tools() -> str:
    agents = Registry().installable()
    head = (
        "# Names of tools\n\n"
        "The lists `blacklist` and `whitelist` of a phase mean the same to every agent if they use these names. "
        "Below each agent are the tools that a name stands for; *other versions* are tools that the tested version "
        "does not have.\n"
    )
    rows = [
        f"| `{name}` | {about} | {' | '.join(_tools(agent, name) for agent in agents)} |"
        for name, about in VOCABULARY.items()
    ]
    more = (
        "Codex reads and searches with the shell, so a shell command that surely only reads is also called `read` and "
        "`search`.\n\n"
        "`mcp:SERVER/TOOL` is a tool of an MCP server. An agent's own names work as well, but only in that agent. "
        "`install`, `validate` and every start warn about a name that means nothing to the agent "
        "([tool-elsewhere](codes.md#tool-elsewhere)), and about a name that no agent has "
        "([tool-unknown](codes.md#tool-unknown)).\n"
    )
    table = f"| name | to | {' | '.join(agents)} |\n|{'---|' * (len(agents) + 2)}\n" + "\n".join(rows)
    return f"{head}\n{table}\n\n{more}"


def _tools(agent: str, name: str) -> str:
    """The tools of an agent that have this name."""
    now, former = Registry().own_tools(agent)
    parts = [
        ", ".join(f"`{tool}`" for tool in own if name in (tool, *Registry().host(agent).aliases(tool)))
        for own in (now, former)
    ]
    return "<br>".join(filter(None, [parts[0], parts[1] and f"*other versions:* {parts[1]}"])) or "has none"


def files() -> str:
    shapes = [WORKFLOW, PHASE, TOOLS, GUIDANCE]
    checks = "Items of `exit` are [checks](checks.md).\n"
    settings = [f"### {field.name}\n\n{example('settings', field.name)}" for field in SETTINGS.fields]
    return "# Files\n\n" + "\n".join([*(_shape(shape) for shape in shapes), checks, _shape(SETTINGS), *settings])


def playbook() -> str:
    about = (
        "A [playbook](../guides/playbook.md) is a folder: `.handrail/playbook`, or `.agentweaver/playbook` as "
        "AgentWeaver has it. It has a `manifest.yaml`, a page `project.md`, and practices and examples as Markdown "
        "files.\n"
    )
    return f"# Playbook files\n\n{about}\n" + "\n".join(_shape(shape) for shape in PLAYBOOK)


def variables() -> str:
    about = (
        "Environment variables that Handrail reads, and those that it sets for the programs of a run. Those of Jira, "
        "GitLab and Telegram may also be in `~/.agentweaver/.env` or in the project's `.agentweaver/.env`, as for "
        "AgentWeaver.\n"
    )
    return f"# Variables\n\n{about}\n" + "\n".join(_variable(name) for name in needed()["variables"])


def _variable(name: str) -> str:
    """A variable. If the example of a node shows its use, the page refers to that node."""
    found = load("variables", name)
    if "like" not in found:
        return f"## {name}\n\n{example('variables', name)}"
    values = "\n".join(f"{key}={value}" for key, value in found["env"].items())
    used = f"Used by the step of [`{found['like']}`](nodes.md#{found['like']}):"
    return f"## {name}\n\n{found['about']}\n\n{used}\n\n```sh\n{values}\n```\n\n```json\n{found['prints']}```\n"


def flows() -> str:
    more = (
        "The `params` of a step are those of [its node](nodes.md); items of `expect` are [checks](checks.md). "
        "Values and conditions (`when`, `until`, `stopFlowIf`) have [forms](values.md).\n"
    )
    return f"# Flow files\n\n{more}\n" + "\n".join(_shape(shape) for shape in FLOW_SHAPES)


def scripts() -> str:
    about = (
        "What the scripted agent does. A script is a YAML list of lines, and each line has exactly one action. Instead "
        "of a list, a script may have `prompts`: the first entry whose `match` is part of the prompt is played.\n\n"
        "Every call of the agent plays its script from the beginning, also the call after a `crash` or a resume. Its "
        "prompt then begins with `You were interrupted`, so a script can have the rest of the work there:\n\n"
        "```yaml\nprompts:\n- {match: You were interrupted, play: [{say: finished}]}\n"
        "- play: [{say: begun}, {crash: true}]\n```\n"
    )
    return f"# Scripts\n\n{about}\n" + "\n".join(_shape(shape) for shape in (*ACTIONS.values(), CHOICE))


def nodes() -> str:
    about = (
        "The kinds of steps that a flow may have. A param is a value, or an expression that is resolved when the step "
        "runs. Values that the file spells out are checked by `handrail validate`.\n\n"
        "*Interrupted* says what happens to a step that was running when Handrail was killed, unless the step has "
        "`rerun`: `safe` runs it again, `ask` asks a person, `never` fails the run.\n"
    )
    agents = ", ".join(f"`{agent}-prompt`" for agent in Registry().executors())
    more = f"{agents} are `llm-prompt` for one agent: they take the same params except `executor`. "
    more += "A file in `outputFile` has to exist afterwards.\n"
    declared = node_declarations(Registry())
    agent = f"## {AGENT}-prompt\n\n{more}\n{example('nodes', AGENT)}"
    return f"# Nodes\n\n{about}\n" + "\n".join([*(_node(name, declared[name]) for name in registry.NODES), agent])


def _node(name: str, node: Node) -> str:
    ends = "" if node.unknown is None else ", but the run continues and the outputs say that the result is not known"
    facts = [f"Interrupted: `{node.rerun}`{ends}.", f"Prompt: {node.prompt}."]
    facts += ["May have a `routingGroup`."] if node.routed else []
    facts += [f"Files in {', '.join(f'`{made}`' for made in node.makes)} are published."] if node.makes else []
    params = _fields(node.params) if node.params else ""
    others = {"refused": "", "ignored": "Other params are ignored.\n", "used": "Takes any other params.\n"}[node.others]
    rows = "\n".join(f"| `{output}` | {about} |" for output, about in node.outputs.items())
    outputs = f"| output | holds |\n|---|---|\n{rows}\n" if node.outputs else ""
    parts = (f"## {name}\n", f"{node.about}\n", params, others, outputs, " ".join(facts) + "\n", example("nodes", name))
    return "\n".join(part for part in parts if part)


def checks() -> str:
    about = (
        "What Handrail verifies itself: before a phase is left (`exit`), and after a step (`expect`). Both places take "
        "both spellings:\n\n```yaml\nexit:\n  - run: make test          # short: the kind and its main param\n"
        "    timeout: 60\n  - kind: file              # long: `kind`, and all params by name\n    path: docs/plan.md\n"
        "```\n\nIn `exit` a check may have a `name`, in `expect` a `when` and a `message`.\n"
    )
    declared = check_declarations(Registry())
    rows = [
        f"| [{name}](#{name}) | {', '.join(f'`{place}`' for place in check.places)} | {check.about} |"
        for name, check in declared.items()
    ]
    kinds = "| kind | in | holds if |\n|---|---|---|\n" + "\n".join(rows)
    return f"# Checks\n\n{about}\n{kinds}\n\n{_after()}\n" + "\n".join(starmap(_check, declared.items()))


def _after() -> str:
    rows = "\n".join(
        f"| `{kind}` | {', '.join(f'`{field.name}`' for field in action.params)} |" for kind, action in AFTER.items()
    )
    about = "`after` of a step is not a check: its actions run when the expectations hold."
    return f"{about}\n\n| action | params |\n|---|---|\n{rows}\n"


def folders() -> str:
    """What marks a project, where definitions are found, and where state is kept: from `handrail.settings.folders`."""
    marks = ", ".join(f"`{marker}`" for marker in MARKERS)
    places = UserFolders({"HOME": "/~", "XDG_CONFIG_HOME": "/~/.config", "XDG_STATE_HOME": "/~/.local/state"})
    workflows = _roots(workflow_roots("/PROJECT", places, registry.workflow_folders({}, "/~")))
    flows = _roots([*flow_roots("/PROJECT", places), ("builtin", shipped_flows())])
    kept = "\n".join(f"| `{_home(places.state)}/{name}` | {about} |" for name, about in STATE_FOLDERS.items())
    return (
        f"# Where things are\n\n## The project\n\nThe nearest folder, from the working directory upwards, that has one "
        f"of {marks}; if there is none, the working directory. `--project DIR` chooses another one. "
        "In a worktree of a run, it is the project of the run.\n\n"
        f"## Definitions\n\nThe first one that is found wins.\n\n### Workflows\n\nA workflow is a folder with a file "
        f"`workflow.yaml`; `workflow.yml` is not read, as in pi-workflows.\n\n{workflows}\n"
        f"### Flows\n\nA flow is a file that ends with {_endings()}.\n\n{flows}\n"
        "JSON Schemas of a project are in `.handrail/schemas`, its settings in `.handrail/settings.yaml`, and "
        "[schemas for editors](../guides/editors.md) in `.handrail/editor`; the user's "
        f"settings are in `{_home(places.config)}/settings.yaml`.\n\n"
        f"### Plugins\n\nA plugin is a folder with a file `{MANIFEST_FILE}`, in one of these folders, "
        "or an installed package. "
        "Its definitions come after those of the user, and before those that are built in; their names begin with the "
        f"id of the plugin.\n\n{_roots(list(plugin_folders('/PROJECT', places).items()))}\n"
        "## State\n\nOutside the project, so that an agent does not hold its own leash. If `HANDRAIL_HOME` is set, "
        "`config`, `state` and `cache` are folders below it; otherwise the XDG folders are used:\n\n"
        f"| folder | what is in it |\n|---|---|\n{kept}\n"
        f"| `{_home(places.cache)}` | what can be computed again; may be removed at any time |\n"
    )


def _endings() -> str:
    *some, last = (f"`{ending}`" for ending in ENDINGS)
    return f"{', '.join(some)} or {last}"


def _home(path: str) -> str:
    return path.replace("/~", "~", 1)


def _roots(roots: list[tuple[str, str]]) -> str:
    package = str(Path(handrail_package.__file__).parent)
    rows = [
        f"| {source} | `{_home(path).replace('/PROJECT/', '').replace(package, 'handrail')}` |"
        for source, path in roots
    ]
    return "| source | folder |\n|---|---|\n" + "\n".join(rows) + "\n"


def _check(name: str, check: Check) -> str:
    where = " and ".join(f"`{place}`" for place in check.places)
    short = f" Short: `{name}: {check.short.upper()}`." if check.short else ""
    claim = f"`{check.params[0].name.upper()}` {check.words}"
    head = f'## {name}\n\n{check.about} In {where}.{short} Agents read: "{claim}".\n'
    return f"{head}\n{_fields(check.params)}"


def _shape(shape: Shape) -> str:
    return f"## {shape.title}\n\n{shape.about}\n\n{_fields(shape.fields)}"


def _fields(fields: tuple[Field, ...]) -> str:
    rows = [
        f"| `{field.name}` | {_type(field)} | {field.about} | {'; '.join(filter(None, _notes(field)))} |"
        for field in fields
    ]
    table = "\n".join(rows)
    return f"| key | type | meaning | |\n|---|---|---|---|\n{table}\n"


def _type(field: Field) -> str:
    return "anything" if field.kinds == ANYTHING else " or ".join(field.kinds)


def _notes(field: Field) -> tuple[str, ...]:
    return (
        f"one of {', '.join(f'`{choice}`' for choice in field.choices)}" if field.choices else "",
        "items: " + ", ".join(f"`{inner.name}` ({inner.about})" for inner in field.item.fields) if field.item else "",
        "inside the project" if field.names == "path" else "",
        limits(field),
        "required" if field.required else _default(field.default),
    )


def _default(value: object) -> str:
    if value is None:
        return ""
    return f"default `{str(value).lower() if isinstance(value, bool) else value}`"


def commands() -> str:
    parts = ["# Commands\n"]
    top = handrail.make_context("handrail", ["list"], resilient_parsing=True)
    for title, members in SECTIONS.items():
        parts.append(f"## {title}\n")
        for place, _ in members.values():
            command = command_at(place)
            context = click.Context(command, parent=top, info_name=command.name)
            parts.append(f"### {command.name}\n\n```text\n{command.get_help(context)}\n```\n")
            for name, inner in command.commands.items() if isinstance(command, click.Group) else ():
                below = click.Context(inner, parent=context, info_name=name)
                parts.append(f"#### {command.name} {name}\n\n```text\n{inner.get_help(below)}\n```\n")
    return "\n".join(parts)


def doctor() -> str:
    about = (
        "What [`handrail doctor`](../guides/doctor.md) looks at. `--only` and `--skip` take a category, the name of a "
        "check, or the id of a result. A check of an agent has one result per agent, such as `claude.program`.\n"
    )
    parts = [f"# Checks of the doctor\n\n{about}"]
    for category, what in CATEGORIES.items():
        rows = [
            f"| {', '.join(f'`{id_}`' for id_ in _ids(name))} | {exam.about} | {exam.seconds:g} s |"
            for name, exam in EXAMS.items()
            if exam.category == category
        ]
        table = "| result | what is checked | at most |\n|---|---|---|\n" + "\n".join(rows)
        parts.append(f"## {category}\n\nAbout {what}.\n\n{table}\n")
    return "\n".join(parts)


def _ids(name: str) -> list[str]:
    exam = EXAMS[name]
    own = [id_ for id_ in exam.ids if id_.startswith(f"{name}.")] or [name, *exam.ids]
    return [f"AGENT.{id_}" if exam.of_agents else id_ for id_ in own]


PAGES = {
    "checks.md": checks,
    "codes.md": codes,
    "commands.md": commands,
    "doctor.md": doctor,
    "exit-codes.md": exit_codes,
    "files.md": files,
    "flows.md": flows,
    "folders.md": folders,
    "nodes.md": nodes,
    "placeholders.md": placeholders,
    "playbook.md": playbook,
    "prompts.md": prompts,
    "schemas.md": schemas,
    "shipped-flows.md": shipped,
    "tools.md": tools,
    "scripts.md": scripts,
    "values.md": values,
    "variables.md": variables,
    "view.md": rows,
}


def pages() -> dict[Path, str]:
    made = {name: make() for name, make in PAGES.items()} | flow_pages()
    return {REFERENCE / name: NOTE + text for name, text in made.items()} | {
        REFERENCE / name: text for name, text in flow_pictures().items()
    }


def main() -> None:
    made = pages()
    for path in (REFERENCE / FLOW_FOLDER).glob("*"):
        if path not in made:
            path.unlink()
    for path, text in made.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"wrote docs/reference/{path.relative_to(REFERENCE)}\n")


if __name__ == "__main__":
    main()
