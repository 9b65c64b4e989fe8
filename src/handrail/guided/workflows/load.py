"""`workflow.yaml` and its phase files → a spec, and the problems of all these files.

There is a spec only if the workflow's own files have no errors. Warnings are allowed. The exit checks of a phase have a
long and a short form; the kinds of checks are imported only if a phase has any.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import partial

from handrail.extensions import contracts
from handrail.extensions.declarations import check_declarations
from handrail.extensions.registry import Registry
from handrail.guided.workflows import rules
from handrail.guided.workflows.keys import EXIT, GUIDANCE, PHASE, TEXTS, WORKFLOW
from handrail.guided.workflows.plan import ExitCheck
from handrail.guided.workflows.spec import WORKFLOW_FILE, PhaseSpec, Reference, WorkflowSpec
from handrail.guided.workflows.tool_names import WRITING_HINT, can_write, read_tools
from handrail.source import fields
from handrail.source.definition_files import Root, Source, UnopenedFile, decode, reopen, stamp
from handrail.source.diagnostics import Diagnostic, file_problem, has_errors
from handrail.source.field_checks import check_bounds, check_fields, value_of
from handrail.source.fields import ChosenKind, Field, MappingReader, found, quoted, shape
from handrail.source.suggestions import did_you_mean, nearest
from handrail.source.tree import TreeNode
from handrail.source.yaml_text import no_front_matter, read_mapping, read_yaml, split_front_matter

CheckDeclarations = Mapping[str, contracts.Check]


def exit_checks(registry: Registry) -> dict[str, contracts.Check]:
    """The kinds of checks that are allowed in `exit`."""
    return {name: check for name, check in check_declarations(registry).items() if "exit" in check.places}


def read_exit(phase: MappingReader, registry: Registry) -> tuple[tuple[ExitCheck, ...], tuple[int, ...]]:
    """The exit checks of a phase, and their lines. The kinds are imported only if the phase has any."""
    if "exit" not in phase.node.value:
        return (), ()
    checks = exit_checks(registry)
    short = fields.kinds_with_short_form(checks)
    examples = " or ".join(f"`- {fields.short_example(name, checks[name])}`" for name in short)
    node = phase.child("exit", f"write {examples} below `exit:`")
    if node is None:
        return (), ()
    items: list[TreeNode] = [node] if node.kind == "mapping" else node.value
    pairs: list[tuple[ExitCheck, int]] = []
    for item in items:
        if item.kind != "mapping":
            message = f"an exit check has to be a mapping, found {found(item)}"
            phase.on(item, "wrong-type", message, f"write {examples}")
            continue
        kind = _chosen_check(phase, item, checks, registry.check_names())
        check = _exit_check(phase, item, kind, checks[kind.kind], registry) if kind is not None else None
        pairs += [(check, item.line)] if check is not None else []
    return tuple(check for check, _ in pairs), tuple(line for _, line in pairs)


def _chosen_check(
    phase: MappingReader, item: TreeNode, checks: CheckDeclarations, every: list[str]
) -> ChosenKind | None:
    """The kind of a check; None if that is not clear. `every` kind may be written, some only elsewhere."""
    kind, names = item.value.get(fields.KIND), fields.short_forms(item, checks)
    if kind is not None:
        if kind.kind == "text" and kind.value in checks:
            return fields.choose_kind(kind.value, checks[kind.value], is_short=False)
        hint = (did_you_mean(kind.value, checks) if kind.kind == "text" else None) or f"known: {', '.join(checks)}"
        if kind.kind == "text" and kind.value in every:
            hint = f"`{kind.value}` is only for `expect` of a step in a flow; known here: {', '.join(checks)}"
        phase.on(kind, "exit-check", f"there is no exit check {quoted(kind)}", hint)
        return None
    if len(names) == 1:
        return fields.choose_kind(names[0], checks[names[0]], is_short=True)
    if names:
        last = max(names, key=lambda name: item.keys[name])
        place = phase.source.key_place(last, item.keys[last])
        phase.at(place, "exit-check", fields.several_kinds_message(names), "write each as its own list item")
        return None
    _report_no_kind(phase, item, checks)
    return None


def _report_no_kind(phase: MappingReader, item: TreeNode, checks: CheckDeclarations) -> None:
    """Report a check without a kind, at the key that was probably meant as one, and problems of its other keys."""
    problems: list[Diagnostic] = []
    reader = MappingReader(phase.source, item, fields.union_shape("exit", "", checks, EXIT), problems.append)
    strange = [name for name in item.keys if fields.meant_kind(name, checks)]
    strange += [name for name in item.keys if name not in reader.shape.by_name]
    short = fields.kinds_with_short_form(checks)
    examples = " or ".join(f"`{fields.short_example(name, checks[name])}`" for name in short)
    if strange and not reader.misspelt & checks.keys():
        place = phase.source.key_place(strange[0], item.keys[strange[0]])
        suggestion = fields.meant_kind(strange[0], checks)
        problems = [problem for problem in problems if (problem.line, problem.column) != place[:2]]
        hint = f"did you mean `{suggestion}`?" if suggestion else f"write {examples}"
        phase.at(place, "exit-check", f"there is no exit check `{strange[0]}`", hint)
    elif not strange:
        kinds = " or ".join(f"`{name}`" for name in short)
        phase.at((item.line, item.column, 1), "exit-check", f"an exit check needs {kinds}", f"add {examples}")
    rest = item._replace(value={name: node for name, node in item.value.items() if name not in strange})
    check_fields(MappingReader(phase.source, rest._replace(keys={}), reader.shape, problems.append))
    for problem in problems:
        phase.report(problem)


def _exit_check(
    phase: MappingReader, item: TreeNode, kind: ChosenKind, declaration: contracts.Check, registry: Registry
) -> ExitCheck | None:
    if declaration.takes_any:  # of a plugin that cannot be used now; the workflow is known, but cannot be started
        if (error := registry.unusable(kind.kind)) is not None:
            name = fields.KIND if fields.KIND in item.value else kind.kind
            place, message = phase.source.key_place(name, item.keys[name]), f"cannot be used: {error.message}"
            phase.at(place, "plugin-unusable", f"`{kind.kind}` {message}", error.hint, "warning")
        return ExitCheck(kind.kind, {}, kind.kind, declaration.words, kind.kind)
    problems: list[Diagnostic] = []
    kind_field = () if kind.short else (Field(fields.KIND, ("text",), "what is verified"),)
    whole = shape("exit", "", *kind_field, *kind.shape.fields, *EXIT)
    reader = MappingReader(phase.source, item, whole, problems.append)
    names = item.value.keys() | reader.misspelt
    for field in [field for field in kind.shape.fields if field.required and field.name not in names]:
        reader.on(item.value[fields.KIND], "missing-key", f"`{kind.kind}` needs `{field.name}`", f"add `{field.name}:`")
    check_fields(reader)
    for problem in problems:
        phase.report(problem)
    if has_errors(problems):
        return None
    nodes = kind.params(item)
    params = {
        param.name: value_of(param, nodes[param.name]) if param.name in nodes else param.default
        for param in declaration.params
        if param.name in nodes or param.default is not None
    }
    subject = declaration.subject(params)
    name = item.value["name"].value if "name" in item.value else subject
    return ExitCheck(kind.kind, params, name, declaration.words, subject)


_PHASE_KEY = re.compile(r"^(?:id|emoji|tools|exit)\s*:", re.MULTILINE)
_START = {"commandName": "the name it is started by", "initialMessage": "the first message to the agent"}
_KEY_HINT = "name the key of a workflow: the name of its folder"


class Loaded:
    """One workflow folder: a spec or None, all problems, and a stamp for each file."""

    def __init__(self, root: Root, folder: str, registry: Registry) -> None:
        self.root = root
        self.registry = registry
        self.folder = folder
        self.key = os.path.basename(folder)
        self.spec: WorkflowSpec | None = None
        self.problems: list[Diagnostic] = []
        self.stamps: dict[str, os.stat_result | None] = {}
        self.references: list[Reference] = []
        self.has_entries = False
        self.unwritable: dict[str, Diagnostic] = {}

    def read(self, entry: str, place: Callable[[], Diagnostic]) -> Source | None:
        """The text of a file of this workflow. `place` locates the reference to the file if it cannot be opened."""
        is_plain = "/" not in entry and entry not in ("", ".", "..")
        path = f"{self.folder}/{entry}" if is_plain else os.path.normpath(os.path.join(self.folder, entry))
        file = self.root.open(self.folder, entry)
        if isinstance(file, UnopenedFile):
            self.stamps[path] = stamp(path)
            self.problems.append(place()._replace(code=file.code, message=file.message, hint=file.hint))
            return None
        self.stamps[path] = file.stamp
        source, problems = decode(path, file.data)
        source.is_foreign = self.root.is_foreign
        self.problems.extend(problems)
        return None if problems else source


def load(root: Root, folder: str, registry: Registry) -> Loaded:
    job = Loaded(root, folder, registry)
    file = os.path.join(folder, WORKFLOW_FILE)
    source = job.read(WORKFLOW_FILE, lambda: file_problem("", file, ""))
    reader = read_mapping(source, source.text, 1, WORKFLOW, job.problems.append) if source else None
    spec = _workflow(job, reader, file) if reader else None
    _check_unnamed(job)
    job.spec = None if has_errors(job.problems) else spec
    return job


def _check_unnamed(job: Loaded) -> None:
    """Check the phase files that no entry names. An entry may be misspelt, or `phases` could not be read.

    If neither is the case, the file has no effect: a warning. Other programs ignore such files.
    """
    folder = job.folder
    job.stamps[folder] = stamp(folder)
    try:
        names = [name for name in os.listdir(folder) if name.endswith(".md") and f"{folder}/{name}" not in job.stamps]
    except OSError:
        return
    missing = [os.path.basename(path) for path, status in job.stamps.items() if status is None]
    named_files = {(status.st_dev, status.st_ino) for status in job.stamps.values() if status is not None}
    for name in sorted(names):
        path, file = f"{folder}/{name}", job.root.open(folder, name)
        if isinstance(file, UnopenedFile):
            continue
        source, wrong = decode(path, file.data)
        parts = split_front_matter(source.text) if not wrong else None
        if parts is None or not _PHASE_KEY.search(parts[0]):
            continue
        job.stamps[path] = file.stamp
        if (file.stamp.st_dev, file.stamp.st_ino) in named_files:
            continue
        source.is_foreign = job.root.is_foreign
        if not job.has_entries or any(nearest(entry, [name]) for entry in missing):
            _phase(job, source)
        elif not source.is_foreign:
            message, hint = "no entry of `phases` names this file", f"add `- {name}` to `phases`, or remove the file"
            job.problems.append(source.problem("phase-unused", (1, 1, 3), message, hint, "warning"))


def _workflow(job: Loaded, reader: MappingReader, file: str) -> WorkflowSpec | None:
    name = reader.text("name")
    show_node = reader.child("show")
    show = show_node.value if show_node else "user"
    is_unclear = show_node is None and "show" in reader.node.value
    command, message = _start(reader, show, is_unclear)
    phases = reader.child("phases")
    entries = _entries(job, reader, phases) if phases else None
    texts = {field.name: text for field in TEXTS if (text := reader.text(field.name)) is not None}
    loopable = reader.flag("loopable", True)
    length = reader.child("sessionNameMaxLength")
    if length is not None:
        check_bounds(reader, WORKFLOW.by_name["sessionNameMaxLength"], length)
    for field, text in (("initialMessage", message), *texts.items()):
        if text:
            node = reader.node.value[field]
            _placeholders(job, reader.source, text, (node.line, node.column))
    if name is None or entries is None:
        return None
    return WorkflowSpec(
        key=job.key,
        file=file,
        name=name,
        command=command,
        show=show,
        loopable=loopable,
        initial_message=message,
        entries=entries,
        texts=texts,
        session_name_length=50 if length is None else int(length.value),
        cancel=reader.text("cancel") or "",
    )


def _start(reader: MappingReader, show: str, is_unclear: bool) -> tuple[str, str]:
    """(command name, first message). Both are required if `show` is `user`; `is_unclear` means `show` is invalid."""
    texts = {name: reader.text(name) for name in _START}
    for name, about in _START.items() if show == "user" else ():
        value, node = texts[name], reader.node.value.get(name)
        if node is None and not is_unclear and name not in reader.misspelt:
            place = (reader.node.line, reader.node.column, 1)
            hint = f"add `{name}:`, {about}, or `show: workflows` if it only runs inside others"
            reader.at(place, "missing-key", f"key `{name}` is missing", hint)
        elif value is not None and not value.strip():
            reader.on(node, "blank-text", f"`{name}` is blank", f"fill it in: {about}")
        elif name == "commandName" and value is not None and not rules.is_command_name(value):
            suggestion = rules.as_command_name(value)
            hint = "use letters, digits, `_` and `-` only" + (f", such as `{suggestion}`" if suggestion else "")
            reader.on(node, "command-name", f"`{value}` cannot be typed as the name of a command", hint)
    return texts["commandName"] or "", texts["initialMessage"] or ""


def _entries(job: Loaded, reader: MappingReader, node: TreeNode) -> tuple[PhaseSpec | Reference, ...] | None:
    if not node.value:
        reader.on(node, "phases-empty", "`phases` is empty", "list at least one phase file")
        return None
    job.has_entries = True
    entries: list[PhaseSpec | Reference | None] = []
    files: dict[str, str] = {}
    for item in node.value:
        if item.kind == "text":
            source = None
            if item.value.strip():
                source = job.read(item.value, partial(reader.source.problem, "", item.place, ""))
            else:
                reader.on(item, "phase-entry", "the path of a phase file is blank", "write the path of a phase file")
            phase, id_ = _phase(job, source) if source else (None, None)
            entries.append(phase)
            if id_ is not None and id_ in files:
                hint = f"`{files[id_]}` has it already; give each phase its own id"
                reader.on(item, "phase-id-twice", f"phase id `{id_}` is used twice in this workflow", hint)
            elif id_ is not None:
                files[id_] = item.value
        elif item.kind == "mapping" and "subworkflow" in item.value:
            reference = _reference(reader, item)
            entries.append(reference)
            job.references.extend([reference] if reference else [])
        else:
            names = item.value if item.kind == "mapping" else ()
            near = any(nearest(name, ["subworkflow"]) for name in names)
            hint = "did you mean `subworkflow`?" if near else "write the path of a phase file, or `subworkflow: KEY`"
            message = f"a phase has to be a path or a subworkflow, found {found(item)}"
            reader.on(item, "phase-entry", message, hint)
            entries.append(None)
    read_entries = tuple(entry for entry in entries if entry is not None)
    for entry in read_entries:
        if not isinstance(entry, PhaseSpec) or can_write(entry.allow):
            break
        if entry.file in job.unwritable:
            job.problems.append(job.unwritable[entry.file])
    return read_entries if len(read_entries) == len(entries) else None


def _reference(reader: MappingReader, item: TreeNode) -> Reference | None:
    target: TreeNode = item.value["subworkflow"]
    if target.kind != "text":
        is_scalar = target.kind in ("integer", "number", "boolean")
        hint = f'put it in quotes: `subworkflow: "{reader.written(target)}"`' if is_scalar else _KEY_HINT
        reader.on(target, "phase-entry", f"`subworkflow` has to be text, found {found(target)}", hint)
        return None
    if not target.value.strip():
        reader.on(target, "subworkflow-blank", "`subworkflow` is blank", _KEY_HINT)
        return None
    for name, (line, column) in item.keys.items():
        if name != "subworkflow":
            hint = "a subworkflow takes no other keys"
            reader.at((line, column, len(name)), "unknown-key", f"unknown key `{name}`", hint, "warning")
    excerpt = reader.source.line(target.line)
    return Reference(target.value, target.line, target.column, target.width, excerpt)


def _phase(job: Loaded, source: Source) -> tuple[PhaseSpec | None, str | None]:
    """(the phase, its id). The id is known even if other parts of the phase are wrong."""
    parts = split_front_matter(source.text)
    if parts is None:
        job.problems.append(no_front_matter(source))
        return None, None
    front, body, body_line = parts
    reader = read_mapping(source, front, 2, PHASE, job.problems.append)
    if reader is None:
        return None, None
    id_, name, emoji = reader.text("id"), reader.text("name"), reader.text("emoji")
    deny, allow = read_tools(reader, job.registry)
    profiles, (checks, lines) = reader.texts("availableProfiles") or (), read_exit(reader, job.registry)
    require, guidance = reader.text("require") or "", _guidance(reader, id_, name)
    if any(check.words == "exists" for check in checks) and not can_write(allow):
        message = "this phase waits for a file, but no phase so far allows a tool that writes files"
        place = (*reader.node.keys["exit"], 4)
        job.unwritable[source.file] = source.problem("exit-unwritable", place, message, WRITING_HINT, "warning")
    instructions = body.strip()
    if not instructions:
        hint = "write what the agent has to do below the front matter"
        place = (min(body_line, source.text.count("\n") + 1), 1, 1)
        job.problems.append(source.problem("instructions-blank", place, "the phase has no instructions", hint))
    _placeholders(job, source, body, (body_line, 1))
    if id_ is None or name is None or emoji is None:
        return None, id_
    front_matter = id_, name, emoji, instructions, deny, allow, profiles, checks
    return PhaseSpec(*front_matter, source.file, require, lines, guidance), id_


def _guidance(reader: MappingReader, id_: str | None, name: str | None) -> tuple[str, ...]:
    """The names of the playbook's phase, the best first. Empty if the phase gets no practices."""
    node = reader.child("guidance")
    if node is None or node.kind == "boolean":
        return tuple(filter(None, (id_, name))) if node is not None and node.value else ()
    phase = MappingReader(reader.source, node, GUIDANCE, reader.report).text("phase")
    return (phase,) if phase is not None else ()


def _placeholders(job: Loaded, source: Source, text: str, start: tuple[int, int]) -> None:
    """Warn about misspelt placeholders. `start` is where the text begins in the file."""
    misspelt = rules.misspelt_placeholders(text)
    at = source.starts[start[0] - 1] + start[1] - 1 if misspelt else 0
    for placeholder, hint in misspelt:
        mark = "{" + placeholder + "}"
        offset = source.text.find(mark, at)
        place = (*start, 1) if offset < 0 else (*source.place(offset), len(mark))
        at = max(at, offset + 1)
        message = f"`{mark}` is not a placeholder; it will be shown as it is"
        job.problems.append(source.problem("placeholder", place, message, hint, "warning"))


def at_key(problem: Diagnostic, key: str) -> Diagnostic:
    """A problem of a whole workflow, moved to a key of its file. Specs do not store the place of every key."""
    source = reopen(problem.file)
    tree = read_yaml(source.text)[0] if source else None
    if source is None or tree is None or key not in tree.keys:
        return problem
    node = tree.value[key]
    line, column, width = (*tree.keys[key], len(key)) if node.kind == "list" else node.place
    return problem._replace(line=line, column=column, width=width, excerpt=source.line(line))
