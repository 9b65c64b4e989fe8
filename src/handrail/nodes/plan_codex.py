"""`plan-codex`: gives a prompt that is a param to the agent in its name. AgentWeaver's older flows have it."""

from __future__ import annotations

from typing import Any

from handrail.contracts import Node, NodeContext, Work
from handrail.nodes.jsonfiles import text_param
from handrail.nodes.llm_prompt import OUTPUTS, PARAMS, fixed
from handrail.source.dataclasses import replace
from handrail.source.fields import Field

NODE = Node(
    about="Gives the text in the param `prompt` to the agent in its name. New flows have `AGENT-prompt` for this.",
    params=(Field("prompt", ("text",), "the prompt", required=True, shortest=1), *PARAMS),
    others="ignored",
    outputs=OUTPUTS,
)


async def run(work: Work, context: NodeContext) -> Any:
    agent = fixed(work.node.removeprefix("plan-"))
    return await agent.run(replace(work, prompt=text_param(work.params, "prompt")), context)
