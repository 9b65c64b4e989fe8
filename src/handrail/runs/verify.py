"""Verifies an expectation of a step, for any engine. An error inside a check fails the step."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from handrail import registry
from handrail.contracts import CheckContext, Finding, NodeContext, NodeError
from handrail.secrets.redaction import Secrets
from handrail.secrets.rules import without_secrets
from handrail.source.dataclasses import replace
from handrail.source.given import unusable


async def verify(kind: str, params: Mapping[str, Any], context: NodeContext) -> Finding:
    """Run the check and return what it found. It gets the environment without secrets, as a command does."""
    env = without_secrets(context.env, context.pass_env, context.secrets)
    check = registry.check_kind(kind)
    if wrong := unusable(check.CHECK.params, params):
        raise NodeError("expectation", f"`{kind}` cannot be checked: {wrong}", transient=False)

    def mask(text: str) -> str:
        return Secrets(context.env, context.secrets).mask(text)

    try:
        begin = time.monotonic()
        finding = await check.verify(params, CheckContext(context.project, env, mask, context.definitions))
        return replace(finding, seconds=round(time.monotonic() - begin, 3))
    except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        message = f"`{kind}` could not be checked: {type(error).__name__}: {error}"
        raise NodeError("expectation", message, transient=False) from error
