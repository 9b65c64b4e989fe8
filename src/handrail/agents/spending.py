"""What agents with many providers share: the variables that hold their keys, and the sum of what was spent. Pure."""

from __future__ import annotations

from handrail.contracts import AgentSaid

PROVIDERS = (
    "ANTHROPIC_*", "OPENAI_*", "AZURE_*", "GEMINI_*", "GOOGLE_*", "AWS_*", "MISTRAL_*", "GROQ_*", "XAI_*", "DEEPSEEK_*",
    "OPENROUTER_*", "CEREBRAS_*", "FIREWORKS_*", "TOGETHER_*", "COHERE_*", "PERPLEXITY_*", "NVIDIA_*", "HF_TOKEN",
    "MOONSHOT_*", "KIMI_*", "ZAI_*", "ZHIPU_*", "MINIMAX_*", "QWEN_*", "DASHSCOPE_*", "XIAOMI_*", "BASETEN_*",
    "CLOUDFLARE_*", "AI_GATEWAY_*", "VERCEL_*", "OPENCODE_*", "OLLAMA_*", "LMSTUDIO_*", "VERTEX_*", "DEEPINFRA_*",
    "GITHUB_TOKEN", "GH_TOKEN", "COPILOT_GITHUB_TOKEN", "GITLAB_*", "SNOWFLAKE_*", "VENICE_*", "META_API_KEY",
    "ANT_LING_*",
)  # fmt: skip


class Spent:
    """Tokens and dollars of one job so far. What nobody told is not known; a price of nothing is not known either."""

    def __init__(self) -> None:
        self.tokens: tuple[int, int, int] | None = None
        self.usd = 0.0

    def add(self, whole: int, output: int, cached: int, usd: float) -> bool:
        """Count one answer: the tokens of its whole prompt, of itself, and of what the cache gave. False if nothing."""
        if not whole and not output:
            return False
        before = self.tokens or (0, 0, 0)
        self.tokens = (before[0] + whole, before[1] + output, before[2] + cached)
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
