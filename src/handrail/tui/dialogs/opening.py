"""Which screen asks a question: an approval, or a form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.tui.dialogs.approval import ApprovalScreen
from handrail.tui.dialogs.form import FormScreen


def screen_of(need: Mapping[str, Any], name: str = "") -> FormScreen | ApprovalScreen:
    """The screen for a need. A form that asks for a yes and a reason, and nothing else, is an approval, too."""
    is_approval = _is_verdict(need.get("form")) if need.get("form") else True
    return ApprovalScreen(need, name) if is_approval else FormScreen(need, name)


def _is_verdict(form: Any) -> bool:
    fields = form.get("fields") if isinstance(form, Mapping) else None
    kinds = [(one.get("id"), one.get("type")) for one in fields or () if isinstance(one, Mapping)]
    return kinds == [("approved", "boolean"), ("reason", "text")]
