"""The cases of the corpus: small valid or invalid projects with the expected output of `handrail validate`.

A case is a folder below `corpus/`. A builder with the name of the case creates what cannot be stored as files: links,
pipes, invalid bytes, many folders.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

from handrail.driven.flows.keys import MAX_DEPTH as MAX_DEPTH_OF_FLOWS
from handrail.extensions.plugins.code_import import read_content
from handrail.extensions.plugins.trusted_code import TrustedCode
from handrail.guided.workflows.catalog import MAX_FOLDERS, MAX_NESTING
from handrail.settings.trust import TrustStore
from handrail.source.codes import problem_kinds
from handrail.source.definition_files import MAX_BYTES
from handrail.source.tree import MAX_DEPTH
from handrail.steps.playbook.load import MAX_ENTRIES

CORPUS = Path(__file__).parent / "corpus"
EXPECTED = "expected.txt"
WORKFLOWS = Path(".handrail/workflows")

HEAD = "name: Ship\ncommandName: ship\ninitialMessage: Begin.\n"
WORKFLOW = HEAD + "phases:\n  - plan.md\n"
PHASE = "---\nid: plan\nname: Plan\nemoji: P\n---\nWrite a plan.\n"

CHECK = """\
from handrail.extensions.contracts import Check, Finding

CHECK = Check(about="A tidy tree.", words="is tidy")


async def verify(params, context):
    return Finding(True, "it is tidy")
"""

Builder = Callable[[Path], None]
BUILDERS: dict[str, Builder] = {}


def builds(name: str) -> Callable[[Builder], Builder]:
    """Register a function that creates the project of the case `name`."""

    def register(builder: Builder) -> Builder:
        BUILDERS[name] = builder
        return builder

    return register


def cases(kind: str) -> list[str]:
    """The names of all cases of a kind, for example `err/bad-value`."""
    stored = [f"{kind}/{folder.name}" for folder in (CORPUS / kind).iterdir()]
    return sorted({*stored, *(name for name in BUILDERS if name.startswith(f"{kind}/"))})


def code_of(case: str) -> str | None:
    """The problem code that a case tests: its name, or the longest code that its name begins with."""
    name = case.partition("/")[2]
    return max((code for code in problem_kinds() if name == code or name.startswith(f"{code}-")), key=len, default=None)


def build(case: str, project: Path) -> None:
    """Create the project of a case in an empty folder."""
    stored = CORPUS / case
    if stored.exists():
        shutil.copytree(stored, project, dirs_exist_ok=True, ignore=shutil.ignore_patterns(EXPECTED))
    if case in BUILDERS:
        BUILDERS[case](project)


def _ship(project: Path, workflow: str = WORKFLOW, phase: str | bytes | None = PHASE) -> Path:
    """Create the workflow `ship` with one phase, and return its folder."""
    folder = project / WORKFLOWS / "ship"
    folder.mkdir(parents=True)
    (folder / "workflow.yaml").write_text(workflow, encoding="utf-8", newline="")
    if phase is not None:
        (folder / "plan.md").write_bytes(phase.encode() if isinstance(phase, str) else phase)
    return folder


def _hidden(project: Path, key: str, entries: list[str]) -> Path:
    """Create a workflow that only runs inside others, and return its folder."""
    folder = project / WORKFLOWS / key
    folder.mkdir(parents=True)
    text = f"name: {key}\nshow: workflows\nphases:\n" + "".join(f"  - {entry}\n" for entry in entries)
    (folder / "workflow.yaml").write_text(text, encoding="utf-8")
    return folder


@builds("err/file-encoding")
def latin_1_after_a_multibyte_character(project: Path) -> None:
    _ship(project, phase=PHASE.replace("Write a plan", "Écris un café").encode() + "Écris\tun café".encode("latin-1"))


@builds("err/file-encoding-utf-16")
def utf_16_as_some_editors_save_it(project: Path) -> None:
    _ship(project, phase=PHASE.encode("utf-16"))


@builds("err/file-encoding-line-ends")
def latin_1_in_a_file_with_a_byte_order_mark_and_crlf(project: Path) -> None:
    text = "\ufeff" + PHASE.replace("\n", "\r\n")
    _ship(project, phase=text.encode().replace(b"Write a plan", b"Caf\xe9"))


@builds("err/file-missing-link")
def a_link_to_a_missing_file(project: Path) -> None:
    (_ship(project, phase=None) / "plan.md").symlink_to("gone.md")


@builds("err/file-nul")
def a_nul_byte_in_a_phase_and_in_a_workflow(project: Path) -> None:
    _ship(project, phase=PHASE.replace("a plan", "a\0plan"))
    (_hidden(project, "other", ["plan.md"]) / "workflow.yaml").write_bytes(b"name: Other\0\n")


@builds("err/file-too-large")
def one_byte_more_than_allowed(project: Path) -> None:
    _ship(project, phase=PHASE + "x" * (MAX_BYTES + 1 - len(PHASE)))


@builds("err/file-unreadable")
def a_link_to_itself_that_even_root_cannot_read(project: Path) -> None:
    (_ship(project, phase=None) / "plan.md").symlink_to("plan.md")


@builds("err/folder-link")
def a_workflow_folder_behind_a_link(project: Path) -> None:
    folder = _ship(project)
    (folder.parent / "linked").symlink_to("ship")


@builds("err/folder-unreadable")
def a_folder_with_a_path_that_is_too_long_even_for_root(project: Path) -> None:
    """The path of the project is so long that it still works, but one more folder does not."""
    os.chdir(project)
    limit = os.pathconf("/", "PC_PATH_MAX") - 150
    while len(os.getcwd()) < limit:
        name = "x" * min(200, limit - len(os.getcwd()))
        os.mkdir(name)
        os.chdir(name)
    os.makedirs(WORKFLOWS)
    inside = os.open(WORKFLOWS, os.O_RDONLY)
    os.mkdir("y" * 250, dir_fd=inside)
    os.mkdir("y" * 250 + "/deeper", dir_fd=inside)
    os.close(inside)


@builds("err/path-escape-link")
def links_to_files_outside_of_the_workflows(project: Path) -> None:
    (project / "secret.md").write_text(PHASE)
    (_ship(project, phase=None) / "plan.md").symlink_to("../../../secret.md")
    (project / "elsewhere.yaml").write_text(WORKFLOW)
    folder = project / WORKFLOWS / "linked"
    folder.mkdir()
    (folder / "workflow.yaml").symlink_to("../../../elsewhere.yaml")


@builds("err/path-kind")
def a_pipe_without_a_writer(project: Path) -> None:
    os.mkfifo(_ship(project, phase=None) / "plan.md")


@builds("err/path-kind-socket")
def a_socket(project: Path) -> None:
    os.chdir(_ship(project, phase=None))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("plan.md")
    os.chdir(project)


@builds("err/plan-too-large")
def thirteen_times_thirteen_times_thirteen_phases(project: Path) -> None:
    for level, child in (("one", "two"), ("two", "three")):
        _hidden(project, level, [f"subworkflow: {child}"] * 13)
    folder = _hidden(project, "three", [f"{number}.md" for number in range(13)])
    for number in range(13):
        (folder / f"{number}.md").write_text(PHASE.replace("id: plan", f"id: p{number}"))


@builds("err/plan-too-large-nesting")
def one_level_more_than_allowed(project: Path) -> None:
    for level in range(MAX_NESTING):
        _hidden(project, f"level-{level}", [f"subworkflow: level-{level + 1}"])
    folder = _hidden(project, f"level-{MAX_NESTING}", ["plan.md"])
    (folder / "plan.md").write_text(PHASE)


@builds("err/too-many-folders")
def one_folder_more_than_handrail_searches(project: Path) -> None:
    root = project / WORKFLOWS
    root.mkdir(parents=True)
    for number in range(MAX_FOLDERS):
        os.mkdir(f"{root}/{number}")


@builds("err/yaml-syntax-control")
def an_escape_character_in_a_workflow(project: Path) -> None:
    _ship(project, HEAD + "phases: [plan.md]\nroleInstruction: über \x1b[31mred\n")


@builds("err/yaml-syntax-line-ends")
def a_mistake_after_a_byte_order_mark_and_crlf(project: Path) -> None:
    _ship(project, "\ufeff" + (HEAD + "phases: [plan.md]\nroleInstruction: a: b\n").replace("\n", "\r\n"))


@builds("err/yaml-too-deep")
def one_level_too_deep(project: Path) -> None:
    _ship(project, HEAD + f"phases: {'[' * MAX_DEPTH}{']' * MAX_DEPTH}\n")


@builds("err/yaml-too-deep-blocks")
def very_many_levels_without_brackets(project: Path) -> None:
    _ship(project, HEAD + "phases:\n  " + "- " * 5_000 + "x\n")


@builds("err/yaml-too-deep-itself")
def a_list_that_contains_itself(project: Path) -> None:
    _ship(project, HEAD + "phases: &p [*p]\n")


@builds("err/yaml-too-many")
def a_bomb_of_aliases(project: Path) -> None:
    levels = "".join(f"{'bcdefghi'[n]}: &{'bcdefghi'[n]} [{', '.join(['*' + 'abcdefgh'[n]] * 9)}]\n" for n in range(8))
    _ship(project, "a: &a [x, x]\n" + levels + WORKFLOW)


def _flow(project: Path, text: str, name: str = "ship") -> None:
    folder = project / ".handrail/flows"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


def _rounds(text: str, more: str = "", repeat: str = "{var: i, to: 1000}") -> str:
    """A flow with a thousand rounds of a phase with this text."""
    step = f"{{id: x, node: set, params: {{text: '{text}'{more}}}}}"
    return f"phases:\n  - repeat: {repeat}\n    phases: [{{id: 'p${{i}}', steps: [{step}]}}]\n"


NEARLY = "x" * 14_400
"""A thousand rounds with this text reach nine tenths of the allowed size, and load fast."""


@builds("err/flow-too-large-text")
def a_long_text_in_a_thousand_rounds(project: Path) -> None:
    _flow(project, _rounds("x" * 900_000 + "${i}"))


@builds("err/flow-too-large-references")
def references_that_count_more_than_their_text(project: Path) -> None:
    _flow(project, _rounds(NEARLY + "${params.a}" * 50))


@builds("err/flow-too-large-values")
def many_small_values(project: Path) -> None:
    _flow(project, _rounds(NEARLY, f", all: [{'1, ' * 100}1]", "{var: i, max: 1000, until: '${repeat.i}'}"))


@builds("err/flow-too-large-empty")
def many_empty_rounds(project: Path) -> None:
    """A long name counts as much as many rounds, so the limit is reached after few rounds."""
    inner = f"- repeat: {{var: {'k' * 800}, to: 1000}}\n            phases: []"
    middle = f"- repeat: {{var: j, to: 1000}}\n        phases:\n          {inner}"
    _flow(project, f"phases:\n  - repeat: {{var: i, to: 1000}}\n    phases:\n      {middle}\n")


@builds("err/flow-depth")
def a_chain_of_flows_one_level_too_deep(project: Path) -> None:
    for level in range(MAX_DEPTH_OF_FLOWS + 2):
        step = f"{{id: x, node: flow-run, params: {{fileName: f{level + 1}}}}}" if level <= MAX_DEPTH_OF_FLOWS else ""
        _flow(project, f"phases: [{{id: a, steps: [{step}]}}]\n", f"f{level}")
    _flow(project, "phases: [{id: a, steps: [{id: x, node: flow-run, params: {fileName: f0}}]}]\n", "user")


@builds("err/yaml-too-deep-flow")
def deeply_nested_conditions(project: Path) -> None:
    _flow(project, f"phases: [{{id: a, when: {'{not: ' * 5_000}true{'}' * 5_000}, steps: []}}]\n")


@builds("err/yaml-too-many-flow")
def a_bomb_of_aliases_in_a_flow(project: Path) -> None:
    levels = "".join(f"{'bcdefghi'[n]}: &{'bcdefghi'[n]} [{', '.join(['*' + 'abcdefgh'[n]] * 9)}]\n" for n in range(8))
    _flow(project, "a: &a [x, x]\n" + levels + "phases: []\n")


@builds("err/folder-link-flow")
def a_folder_of_flows_behind_a_link(project: Path) -> None:
    _flow(project, "phases: []\n")
    (project / ".handrail/flows/linked").symlink_to("..")


@builds("err/tool-elsewhere")
def names_of_one_agent_in_a_project_with_another(project: Path) -> None:
    """The record of an installation is outside of the project: beside it is Handrail's home."""
    record = project.parent / "home/state/installed/pi@user.json"
    record.parent.mkdir()
    record.write_text("{}")
    _ship(project, phase=PHASE.replace("---\nW", "tools: {blacklist: [Edit, Write, mcp__notes__add, bash]}\n---\nW"))


@builds("hostile/long")
def very_long_lines_names_and_paths(project: Path) -> None:
    far = " " * 50_000
    keys = f"{'k' * 1_000}: 1\ncommandName: {'c' * 5_000}!\n"
    entries = f"phases: [{'d/' * 5_000}plan.md,{far}plan.md, {{subworkflow: {'w' * 5_000}}}, 7{far}]\n"
    _ship(project, f"name: Ship\ninitialMessage: {'m' * 5_000} {{descripton}} {'m' * 5_000}\n{keys}{entries}")


@builds("hostile/file-names")
def folder_names_with_control_characters(project: Path) -> None:
    for name in (b"new\nline", b"esc\x1b[31m", b"latin\xe9", "bidi\u202e".encode(), b"100%, a:b"):
        folder = os.fsencode(project / WORKFLOWS) + b"/" + name
        os.makedirs(folder)
        with open(folder + b"/workflow.yaml", "wb") as file:
            file.write(b"name: 7\nshow: workflows\nphases: [plan.md]\n")
        with open(folder + b"/plan.md", "wb") as file:
            file.write(PHASE.encode())


@builds("hostile/text-of-a-phase")
def escape_sequences_in_the_line_of_a_problem(project: Path) -> None:
    _ship(project, phase=PHASE + "\x1b[2J\x07\x7f\x9b\u202e\u2066 {descripton} \u2029\n")


@builds("ok/line-ends")
def byte_order_marks_and_other_line_ends(project: Path) -> None:
    entries = "  - old.md\n"
    folder = _ship(
        project, "\ufeff" + (WORKFLOW + entries).replace("\n", "\r\n"), "\ufeff" + PHASE.replace("\n", "\r\n")
    )
    (folder / "old.md").write_bytes(PHASE.replace("plan", "old").replace("\n", "\r").encode())


@builds("ok/links-inside")
def links_to_files_inside_of_the_workflows(project: Path) -> None:
    folder = _ship(project, phase=None)
    (folder.parent / "_lib").mkdir()
    (folder.parent / "_lib" / "plan.md").write_text(PHASE)
    (folder / "plan.md").symlink_to("../_lib/plan.md")


@builds("ok/many-phases")
def the_largest_allowed_workflow(project: Path) -> None:
    _hidden(project, "twice", ["subworkflow: thousand"] * 2)
    folder = _hidden(project, "thousand", [f"{number}.md" for number in range(1_000)])
    for number in range(1_000):
        (folder / f"{number}.md").write_text(PHASE.replace("id: plan", f"id: p{number}"))


@builds("ok/empty")
def a_folder_without_workflows(project: Path) -> None:
    (project / WORKFLOWS / "nothing-here").mkdir(parents=True)


@builds("err/plugin-prints")
def _plugin_that_prints(project: Path) -> None:
    folder = project / ".handrail" / "plugins" / "loud"
    folder.mkdir(parents=True)
    (folder / "plugin.toml").write_text('version = "1.0"\ncontract = 1\n\n[checks]\ntidy = "tidy"\n', encoding="utf-8")
    (folder / "tidy.py").write_text('print("loaded")\n' + CHECK, encoding="utf-8")
    trusted_plugin(project, project.parent / "home" / "state", "loud")


def trusted_plugin(project: Path, state: Path, id_: str) -> None:
    """Trust a project and one of its plugins, as a person does."""
    folder = project / ".handrail" / "plugins" / id_
    TrustStore(str(state)).grant(str(project), 1.0)
    TrustedCode(str(state)).grant(str(folder), read_content(str(folder)), 1.0)


@builds("err/playbook-too-large")
def _many_practices(project: Path) -> None:
    folder = project / ".handrail/playbook"
    (folder / "practices").mkdir(parents=True)
    (folder / "project.md").write_text("# Shop\n")
    (folder / "manifest.yaml").write_text('version: 1\nproject: {name: Shop}\npractices: {globs: ["practices/*.md"]}\n')
    for number in range(MAX_ENTRIES + 1):
        (folder / f"practices/{number:04}.md").write_text(f"---\nid: p{number}\ntitle: T\n---\nx\n")
