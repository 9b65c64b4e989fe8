"""`user-input`: puts a form to a person and waits for the answer, however long it takes.

Its value has the answers in `values`. With `outputFile` they are also written there, for later steps and for agents.
"""

from __future__ import annotations

import json
from typing import Any

from handrail.contracts import NodeContext, NodeError, Work
from handrail.forms import form as forms
from handrail.forms import read as formspec
from handrail.nodes.files import put_file
from handrail.source.values import Unresolved
from handrail.state.files import real_inside

RERUN = "safe"


async def run(work: Work, context: NodeContext) -> Any:
    try:
        form = formspec.form_from(work.params)
    except Unresolved as error:
        raise NodeError(error.code, error.message, transient=False) from error
    values = await context.ask(formspec.to_json(form))
    answers = {"formId": form.id, "values": forms.accept(form, values)}
    target = work.params.get("outputFile")
    if not target:
        return answers
    real = real_inside(context.project, str(target))
    if real is None or real == context.project:
        raise NodeError("path-escape", f"`{target}` leads out of the project", transient=False)
    text = json.dumps({"form_id": form.id, "values": answers["values"]}, ensure_ascii=False, indent=2) + "\n"
    put_file(real, text)
    return {**answers, "outputFile": str(target)}
