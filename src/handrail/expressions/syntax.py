"""The forms that values and conditions of flows may have. Pure."""

from __future__ import annotations

from collections.abc import Collection

PAIRS = ("equals", "differs", "less", "greater", "atMost", "atLeast", "contains", "in", "matches")
ARITHMETIC = {"add": None, "mul": None, "concat": None, "list": None, "sub": 2, "div": 2, "mod": 2}
AGENTWEAVER_FORMS = ("const", "ref", "artifact", "artifactList", "template", "appendPrompt", "add", "concat", "list")
HANDRAIL_FORMS = ("default", "object", "sub", "mul", "div", "mod", "length")
VALUE_FORMS = AGENTWEAVER_FORMS + HANDRAIL_FORMS
CONDITION_FORMS = ("ref", "not", "all", "any", "equals", "exists", "const", "defined", *PAIRS[1:])


def form_of(keys: Collection[str]) -> str | None:
    """The form of a mapping: the first AgentWeaver form among its keys, else a Handrail form if it is the only key."""
    named = [key for key in keys if not key.startswith("_")]
    found = (form for form in AGENTWEAVER_FORMS if form in keys)
    return next(found, None) or next((form for form in HANDRAIL_FORMS if named == [form]), None)
