"""The forms that values and conditions of flows may have. Pure."""

from __future__ import annotations

from collections.abc import Collection

PAIRS = ("equals", "differs", "less", "greater", "atMost", "atLeast", "contains", "in", "matches")
ARITHMETIC = {"add": None, "mul": None, "concat": None, "list": None, "sub": 2, "div": 2, "mod": 2}
SEED_FORMS = ("const", "ref", "artifact", "artifactList", "template", "appendPrompt", "add", "concat", "list")
OUR_FORMS = ("default", "object", "sub", "mul", "div", "mod", "length")
VALUE_FORMS = SEED_FORMS + OUR_FORMS
CONDITION_FORMS = ("ref", "not", "all", "any", "equals", "exists", "const", "defined", *PAIRS[1:])


def form_of(keys: Collection[str]) -> str | None:
    """The form of a mapping: the first of the seed's that it has, or one of ours that stands alone."""
    named = [key for key in keys if not key.startswith("_")]
    seeds = (form for form in SEED_FORMS if form in keys)
    return next(seeds, None) or next((form for form in OUR_FORMS if named == [form]), None)
