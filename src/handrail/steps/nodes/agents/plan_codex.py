"""`plan-codex`: gives the prompt in a param to the agent in its name. AgentWeaver's older flows have it."""

from __future__ import annotations

from typing import Any

from handrail.base.dataclasses import replace
from handrail.extensions.contracts import Node, NodeContext, Work
from handrail.source.fields import Field
from handrail.steps.nodes.agents.llm_prompt import OUTPUTS, PARAMS, fixed
from handrail.steps.nodes.files.json_files import text_param

NODE = Node(
    about="Gives the text in the param `prompt` to the agent in its name. New flows have `AGENT-prompt` for this.",
    params=(Field("prompt", ("text",), "the prompt", required=True, shortest=1), *PARAMS),
    others="ignored",
    outputs=OUTPUTS,
)


async def run(work: Work, context: NodeContext) -> Any:
    agent = fixed(work.node.removeprefix("plan-"))
    return await agent.run(replace(work, prompt=text_param(work.params, "prompt")), context)
