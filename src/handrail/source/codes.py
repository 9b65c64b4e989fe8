"""What every problem code means, with an example and its cure. The page of codes is generated from this. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from handrail.source.diagnostics import Severity
from handrail.source.flowcodes import FLOW_ROWS


@dataclass(frozen=True)
class Rule:
    """One kind of problem."""

    code: str
    severity: Severity
    meaning: str
    example: str
    cure: str


def _rules(*rows: tuple[str, Severity, str, str, str]) -> dict[str, Rule]:
    return {row[0]: Rule(*row) for row in rows}


RULES = _rules(
    (
        "bad-value",
        "error",
        "A value is of the right type and still not one that is allowed here.",
        "show: everyone",
        "Use one of the values that the message names, such as `show: user`.",
    ),
    (
        "blank-text",
        "error",
        "A text that has to say something is empty or only spaces.",
        'name: "  "',
        "Write the text, or remove the key if it is optional.",
    ),
    (
        "command-name",
        "error",
        "A workflow is started by typing one word; this name is not one.",
        'commandName: "plan it!"',
        "Use letters, digits, `_` and `-`: `commandName: plan-it`.",
    ),
    (
        "command-twice",
        "warning",
        "Two workflows are started by the same name. The nearer one wins (project before user before built-in).",
        "commandName: review   # and another workflow has it too",
        "Give one of them another `commandName`. The other can still be started by its key.",
    ),
    (
        "exit-check",
        "error",
        "An exit check is neither a command nor a file, is both, or has nothing to run.",
        "exit:\n  - timeout: 10",
        "Write each check as one list item: `- run: make test` or `- file: docs/plan.md`.",
    ),
    (
        "exit-path",
        "error",
        "An exit check looks at a file outside the project.",
        "exit:\n  - file: ../other/notes.md",
        "Name a file below the project, without `..` and without a leading `/`.",
    ),
    (
        "file-encoding",
        "error",
        "The file is not UTF-8.",
        "name: Caf\\xe9   # saved as Latin-1",
        "Save the file as UTF-8.",
    ),
    (
        "file-missing",
        "error",
        "A file that is named here does not exist.",
        "phases:\n  - paln.md",
        "Correct the path. It is relative to the folder of the file that names it.",
    ),
    (
        "file-name",
        "warning",
        "A file is there that looks like a workflow and is not read.",
        "my-flow/workflow.yml",
        "Rename it to `workflow.yaml`.",
    ),
    (
        "file-nul",
        "error",
        "The file contains a NUL byte: it is binary or damaged.",
        "name: A\\0B",
        "Save the file as plain UTF-8 text.",
    ),
    (
        "file-too-large",
        "error",
        "A definition file is larger than 1 MiB.",
        "a phase file with a log pasted into it",
        "Keep instructions short; let the agent read large material itself.",
    ),
    (
        "file-unreadable",
        "error",
        "The file is there and cannot be read.",
        "a phase file without read permission",
        "Give yourself permission to read it.",
    ),
    (
        "folder-link",
        "warning",
        "A folder of workflows is a symbolic link; links to folders are not followed.",
        "workflows/shared -> ../../elsewhere",
        "Copy or move the folder itself here.",
    ),
    (
        "folder-unreadable",
        "error",
        "A folder of workflows cannot be listed.",
        "a folder without permission",
        "Give yourself permission to list it.",
    ),
    (
        "front-matter",
        "error",
        "A phase file does not begin with a block of front matter that is closed again.",
        "id: plan\nname: Plan\nemoji: P\n---\nWrite a plan.",
        "Put `---` on the very first line and on the line after the last key.",
    ),
    (
        "instructions-blank",
        "error",
        "A phase says nothing: there is no text below its front matter.",
        "---\nid: plan\nname: Plan\nemoji: P\n---\n",
        "Write what the agent has to do in this phase.",
    ),
    (
        "key-twice",
        "error",
        "Two folders in one place have the same name, so two workflows would have one key.",
        "workflows/a/review/workflow.yaml and workflows/b/review/workflow.yaml",
        "Rename one of the folders.",
    ),
    (
        "missing-key",
        "error",
        "A key that has to be there is not.",
        "commandName: plan\nphases: [plan.md]   # no name",
        "Add the key that the message names.",
    ),
    (
        "not-mapping",
        "error",
        "The file, or its front matter, has to be `key: value` lines and is something else.",
        "- plan.md\n- build.md",
        "Begin with keys: `name: ...`.",
    ),
    (
        "path-escape",
        "error",
        "A path leads out of the folder that holds the workflows: by `..`, by a link, or because it is absolute.",
        "phases:\n  - ../../../secrets.md",
        "Move the file into the folder of the workflows and name it relative to its user.",
    ),
    (
        "path-folder",
        "error",
        "A path names a folder where a file is needed.",
        "phases:\n  - phases/",
        "Name the file in it.",
    ),
    (
        "path-kind",
        "error",
        "A path names a pipe, a socket or a device.",
        "phases:\n  - fifo.md",
        "Use an ordinary file.",
    ),
    (
        "phase-entry",
        "error",
        "An item of `phases` is neither the path of a file nor a subworkflow.",
        "phases:\n  - 7",
        "Write `- plan.md` or `- subworkflow: review`.",
    ),
    (
        "phase-id-twice",
        "error",
        "Two phases of one workflow have the same id, so a running session could not be found again.",
        "phases: [plan.md, plan.md]",
        "Give each phase an id of its own.",
    ),
    (
        "phases-empty",
        "error",
        "A workflow has no phases.",
        "phases: []",
        "List at least one phase file.",
    ),
    (
        "placeholder",
        "warning",
        "A text uses a placeholder that does not exist but is close to one that does.",
        "Start with {phaseNmae}.",
        "Correct the name. `handrail explain placeholder` lists them all.",
    ),
    (
        "plan-too-large",
        "error",
        "With its subworkflows unfolded, the workflow has more phases than anyone can follow.",
        "a workflow that uses a workflow that uses a workflow ... ten times each",
        "Use subworkflows fewer times.",
    ),
    (
        "subworkflow-blank",
        "error",
        "A subworkflow has no name.",
        'phases:\n  - subworkflow: ""',
        "Name the key of a workflow: the name of its folder.",
    ),
    (
        "subworkflow-cycle",
        "error",
        "Workflows contain each other in a circle. None of them can ever end, so none is used.",
        "a: [{subworkflow: b}]   b: [{subworkflow: a}]",
        "Take one of the references out.",
    ),
    (
        "subworkflow-missing",
        "error",
        "A workflow uses another one that does not exist or is broken itself; then neither can be used.",
        "phases:\n  - subworkflow: reveiw",
        "Correct the key, or mend the other workflow first.",
    ),
    (
        "too-many-folders",
        "error",
        "There are more folders below the workflows, or more flows, than are searched.",
        "workflows/ is a link farm or holds a whole checkout",
        "Keep only definitions there.",
    ),
    (
        "tools-both",
        "error",
        "A phase lists the tools it denies and the tools it allows; only one of them can be meant.",
        "tools:\n  blacklist: [write]\n  whitelist: [read]",
        "Keep one list.",
    ),
    (
        "unknown-key",
        "warning",
        "A key that means nothing here, most often a slip of the keyboard. It has no effect.",
        "comandName: plan",
        "Correct or remove it.",
    ),
    (
        "wrong-type",
        "error",
        "A value is of another type than the key wants. YAML reads `10` as a number and `true` as a truth value.",
        "id: 10",
        'Put text in quotes (`id: "10"`), write lists as lists.',
    ),
    (
        "yaml-duplicate-key",
        "error",
        "The same key stands twice in one mapping; one of the two would be lost.",
        "name: A\nname: B",
        "Remove one of them.",
    ),
    (
        "yaml-key",
        "error",
        "A key is a list or a mapping.",
        "? [a, b]\n: c",
        "Use text as keys.",
    ),
    (
        "yaml-many-documents",
        "error",
        "The file holds more than one YAML document.",
        "name: A\n---\nname: B",
        "Keep one document a file.",
    ),
    (
        "yaml-syntax",
        "error",
        "The text is not YAML.",
        "phases: [plan.md",
        "Look at the place the message names: brackets, quotes, indents, `: ` inside text.",
    ),
    (
        "yaml-tag",
        "error",
        "A value carries a tag that is not one of YAML's own simple types.",
        "name: !!python/name:os.system",
        "Remove the tag.",
    ),
    (
        "yaml-too-deep",
        "error",
        "Values are nested deeper than any definition needs.",
        "[[[[[[[[ ... ]]]]]]]]",
        "Flatten the file.",
    ),
    (
        "yaml-too-many",
        "error",
        "The file holds more values than any definition needs, aliases counted as often as they are used.",
        "a: &a [x, x]\nb: &b [*a, *a]   # and so on",
        "Remove the aliases.",
    ),
    *FLOW_ROWS,
)
