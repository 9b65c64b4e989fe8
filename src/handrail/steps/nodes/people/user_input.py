"""`user-input`: asks a person to fill in a form and waits for the answer, however long it takes.

The answers are in its output `values`. With `outputFile` they are also written to a file, for later steps and
agents. A form without fields is answered at once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from handrail.driven.forms import form_params
from handrail.driven.forms.form import answers_summary, prompt_suffix, with_initial
from handrail.extensions.contracts import Node, NodeContext, Work
from handrail.source import field_checks
from handrail.source.fields import SCALARS, Field, MappingReader
from handrail.source.tree import TreeNode
from handrail.steps.nodes.people import form_steps
from handrail.steps.nodes.people.form_steps import DESCRIPTION, FORM_ID, TITLE


def _check_fields(reader: MappingReader, node: TreeNode) -> None:
    """Report the problems of the fields of a form, each with its position."""
    for problem in form_params.field_problems(field_checks.plain_data(node)):
        place = field_checks.node_at(node, problem.path)
        if len(problem.path) == 1 and place.kind != "mapping":
            continue  # already reported: an item of `fields` has to be a mapping
        if problem.key is not None and problem.key in place.keys:
            key = reader.source.key_place(problem.key, place.keys[problem.key])
            reader.at(key, "form-field", problem.message, problem.hint)
        else:
            reader.on(place, "form-field", problem.message, problem.hint)


def _members(params: Mapping[str, Any]) -> dict[str, Collection[str] | None]:
    """The outputs of a step. The members of `values` are the ids of its fields."""
    fields = params.get("fields")
    ids = [field.get("id") if isinstance(field, dict) else None for field in fields] if isinstance(fields, list) else []
    is_known = bool(ids) and all(isinstance(id_, str) and not isinstance(id_, field_checks.Later) for id_ in ids)
    return {**dict.fromkeys(OUTPUTS), "values": [str(id_) for id_ in ids] if is_known else None}


OUTPUTS = {
    **form_steps.ANSWER_OUTPUTS,
    "promptSuffix": "a text about the answers, for the prompt of a later step",
    "summaryText": "the answers as text, for people",
}
NODE = Node(
    about="Asks a person to fill in a form, and waits for the answer.",
    params=(
        FORM_ID,
        TITLE,
        DESCRIPTION,
        Field(
            "fields",
            ("list",),
            "the questions, each with `id`, `type`, `label`, `help`, `required`, `default`, `options`, `multiline`, "
            "`rows`, `placeholder`, `when`",
            required=True,
            items=("mapping",),
            check=_check_fields,
        ),
        Field("outputFile", ("text", "null"), "a file for the answers, as JSON", shortest=1, names="path"),
        Field(
            "initialValues",
            ("mapping", "null"),
            "answers to begin with: field id → value; they take the place of `default` where they fit",
        ),
        Field("submitLabel", (*SCALARS, "null"), "the text of the button that sends the form"),
    ),
    others="ignored",
    outputs=OUTPUTS,
    members=_members,
    makes=("outputFile",),
)


async def run(work: Work, context: NodeContext) -> Any:
    form = with_initial(form_steps.form_of(work.params), work.params.get("initialValues"))
    answers = await form_steps.fill_in(form, work.params.get("outputFile"), context)
    suffix = prompt_suffix(form, answers["values"], answers.get("outputFile"))
    return {**answers, "promptSuffix": suffix, "summaryText": answers_summary(form, answers["values"])}
