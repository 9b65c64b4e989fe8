"""Shared by the readers of several agents: safe access to JSON lines, and the sum of the usage. Pure.

Other programs write these lines, so a reader may only assume that each is a JSON object.
"""

from __future__ import annotations

from typing import Any

from handrail.contracts import AgentSaid

PROVIDERS = (
    "ANTHROPIC_*", "OPENAI_*", "AZURE_*", "GEMINI_*", "GOOGLE_*", "AWS_*", "MISTRAL_*", "GROQ_*", "XAI_*", "DEEPSEEK_*",
    "OPENROUTER_*", "CEREBRAS_*", "FIREWORKS_*", "TOGETHER_*", "COHERE_*", "PERPLEXITY_*", "NVIDIA_*", "HF_TOKEN",
    "MOONSHOT_*", "KIMI_*", "ZAI_*", "ZHIPU_*", "MINIMAX_*", "QWEN_*", "DASHSCOPE_*", "XIAOMI_*", "BASETEN_*",
    "CLOUDFLARE_*", "AI_GATEWAY_*", "VERCEL_*", "OPENCODE_*", "OLLAMA_*", "LMSTUDIO_*", "VERTEX_*", "DEEPINFRA_*",
    "GITHUB_TOKEN", "GH_TOKEN", "COPILOT_GITHUB_TOKEN", "GITLAB_*", "SNOWFLAKE_*", "VENICE_*", "META_API_KEY",
    "ANT_LING_*",
)  # fmt: skip


def within(data: Any, *names: str) -> dict[str, Any]:
    """The object at this path of keys; empty if there is none."""
    for name in names:
        data = data.get(name) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def total(data: dict[str, Any], *names: str) -> float:
    """The sum of these members. Members that are not numbers are ignored."""
    values = (data.get(name) for name in names)
    return sum(value for value in values if isinstance(value, int | float))


def status(data: dict[str, Any]) -> int | None:
    """The HTTP status of a response; None if it is missing."""
    value = data.get("statusCode")
    return value if isinstance(value, int) else None


class Spent:
    """Tokens and dollars of one job so far. `tokens` is None if unknown; a price of 0 counts as unknown."""

    def __init__(self) -> None:
        self.tokens: tuple[int, int, int] | None = None
        self.usd = 0.0

    def add(self, whole: float, output: float, cached: float, usd: float) -> bool:
        """Add the tokens of one answer: its whole prompt, its output, the cached part. False if all are 0."""
        if not whole and not output:
            return False
        before = self.tokens or (0, 0, 0)
        self.tokens = (before[0] + int(whole), before[1] + int(output), before[2] + int(cached))
        self.usd += usd
        return True

    def less(self, before: Spent) -> Spent:
        """What was spent since `before`."""
        left = Spent()
        now, then = self.tokens or (0, 0, 0), before.tokens or (0, 0, 0)
        left.add(now[0] - then[0], now[1] - then[1], now[2] - then[2], self.usd - before.usd)
        return left

    def said(self) -> AgentSaid:
        tokens = self.tokens or (None, None, None)
        names = ("inputTokens", "outputTokens", "cachedTokens")
        return AgentSaid("usage", {**dict(zip(names, tokens, strict=True)), "usd": round(self.usd, 6) or None})
