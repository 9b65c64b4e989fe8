"""How a process recognises that Codex started it. Imports nothing, because many commands read it."""

VARIABLES: tuple[str, ...] = ("CODEX_THREAD_ID", "CODEX_CI", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED")
PROGRAMS: tuple[str, ...] = ("codex",)
