"""What the readers of several agents share: a careful look into lines, and the sum of what was spent. Pure.

Lines come from other programs: nothing is taken for granted but that they are objects.
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
    """The object at a place in a line; an empty one if there is none."""
    for name in names:
        data = data.get(name) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def total(data: dict[str, Any], *names: str) -> float:
    """The sum of those members that are numbers."""
    values = (data.get(name) for name in names)
    return sum(value for value in values if isinstance(value, int | float))


def status(data: dict[str, Any]) -> int | None:
    """The status of an answer, where it is told."""
    value = data.get("statusCode")
    return value if isinstance(value, int) else None


class Spent:
    """Tokens and dollars of one job so far. What nobody told is not known; a price of nothing is not known either."""

    def __init__(self) -> None:
        self.tokens: tuple[int, int, int] | None = None
        self.usd = 0.0

    def add(self, whole: float, output: float, cached: float, usd: float) -> bool:
        """Count one answer: the tokens of its whole prompt, of itself, and of what the cache gave. False if nothing."""
        if not whole and not output:
            return False
        before = self.tokens or (0, 0, 0)
        self.tokens = (before[0] + int(whole), before[1] + int(output), before[2] + int(cached))
        self.usd += usd
        return True

    def less(self, before: Spent) -> Spent:
        """What was spent since then."""
        left = Spent()
        now, then = self.tokens or (0, 0, 0), before.tokens or (0, 0, 0)
        left.add(now[0] - then[0], now[1] - then[1], now[2] - then[2], self.usd - before.usd)
        return left

    def said(self) -> AgentSaid:
        tokens = self.tokens or (None, None, None)
        names = ("inputTokens", "outputTokens", "cachedTokens")
        return AgentSaid("usage", {**dict(zip(names, tokens, strict=True)), "usd": round(self.usd, 6) or None})
