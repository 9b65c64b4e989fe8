"""What is built in: one row per check, agent, engine and node. Plugins add theirs beside these tables.

Imports nothing, because hooks read it.
"""

from __future__ import annotations

CHECKS: dict[str, str] = {
    "run": "handrail.checks.run",
    "file": "handrail.checks.file",
    "require-artifacts": "handrail.checks.require_artifacts",
    "require-structured-artifacts": "handrail.checks.require_structured_artifacts",
    "require-file": "handrail.checks.require_file",
    "step-output": "handrail.checks.step_output",
}


def _modules(agent: str, *parts: str, **others: str) -> dict[str, str]:
    """The modules of an agent, by part: of the same name, or of another one."""
    rows = {**{part: part for part in parts}, **others}
    return {part: f"handrail.agents.{agent}.{name}" for part, name in rows.items()}


AGENTS: dict[str, dict[str, str]] = {
    "acp": _modules("acp", "signs", "executor"),
    "claude": _modules("claude", "signs", "host", "executor", "offline", tools="toolnames"),
    "codex": _modules("codex", "signs", "host", "executor", "offline", tools="toolnames"),
    "copilot": _modules("copilot", "signs", "host", "executor", "offline", tools="toolnames"),
    "gemini": _modules("gemini", "signs", "host", "executor", "offline", tools="toolnames"),
    "opencode": _modules("opencode", "signs", "host", "executor", "offline", tools="toolnames"),
    "pi": _modules("pi", "signs", "host", "executor", "offline", tools="toolnames", workflows="definitions"),
    "scripted": _modules("scripted", "signs", "host", "executor", tools="host"),
}
"""One row per agent: a `host` calls us, we call an `executor`, and `workflows` says where it has its definitions.

`offline` says how to run it against a scripted model. `signs` say how a process recognises that the agent started it.
`tools` has the names of a host's tools: `TOOLS`, and `FORMER_TOOLS` of other versions.
"""
OWN_TOOLS = "scripted"  # the agent whose tools have Handrail's own names
ENGINES: dict[str, str] = {"embedded": "handrail.runs.embedded.engine"}
NODES: dict[str, str] = {
    "approve": "handrail.nodes.approvals.approve",
    "build-failure-summary": "handrail.nodes.programs.failure_summary",
    "build-review-fix-prompt": "handrail.nodes.review.fix_prompt",
    "change-checks": "handrail.nodes.changes.checks",
    "change-reviews": "handrail.nodes.changes.reviews",
    "clear-ready-to-merge": "handrail.nodes.review.clear_ready",
    "command": "handrail.nodes.command",
    "command-check": "handrail.nodes.programs.command_check",
    "commit-message-form": "handrail.nodes.forms.commit_message",
    "design-review-verdict": "handrail.nodes.review.design_verdict",
    "ensure-summary-json": "handrail.nodes.summaries.ensure",
    "fetch-gitlab-diff": "handrail.nodes.gitlab.diff",
    "fetch-gitlab-review": "handrail.nodes.gitlab.review",
    "file-check": "handrail.nodes.file_check",
    "find-check": "handrail.nodes.programs.find_check",
    "flow-run": "handrail.nodes.flow_run",
    "git-branch": "handrail.nodes.git.branch",
    "git-commit": "handrail.nodes.git.commit",
    "git-commit-form": "handrail.nodes.forms.git_commit",
    "git-push": "handrail.nodes.git.push",
    "git-status": "handrail.nodes.git.status",
    "git-worktree": "handrail.nodes.git.worktree",
    "github-checks": "handrail.nodes.github.checks",
    "github-comment": "handrail.nodes.github.comment",
    "github-issue": "handrail.nodes.github.issue",
    "github-pr-diff": "handrail.nodes.github.diff",
    "github-reviews": "handrail.nodes.github.reviews",
    "gitlab-checks": "handrail.nodes.gitlab.checks",
    "gitlab-comment": "handrail.nodes.gitlab.comment",
    "gitlab-issue": "handrail.nodes.gitlab.issue",
    "gitlab-review-artifacts": "handrail.nodes.gitlab.findings",
    "gitlab-reviews": "handrail.nodes.gitlab.discussions",
    "jira-context": "handrail.nodes.jira.context",
    "jira-fetch": "handrail.nodes.jira.fetch",
    "jira-issue-check": "handrail.nodes.jira.issue_check",
    "llm-prompt": "handrail.nodes.llm_prompt",
    "local-script-check": "handrail.nodes.programs.script_check",
    "notify": "handrail.nodes.notify.node",
    "plan-codex": "handrail.nodes.plan_codex",
    "planning-bundle": "handrail.nodes.review.planning_bundle",
    "planning-questions-form": "handrail.nodes.forms.planning_questions",
    "playbook-ensure": "handrail.nodes.playbook.ensure",
    "playbook-inventory": "handrail.nodes.playbook.inventory",
    "playbook-questions-form": "handrail.nodes.playbook.questions",
    "playbook-write": "handrail.nodes.playbook.write",
    "pr-open": "handrail.nodes.git.pull_request",
    "project-guidance": "handrail.nodes.playbook.guidance",
    "propose": "handrail.nodes.approvals.propose",
    "read-file": "handrail.nodes.read_file",
    "review-findings-form": "handrail.nodes.forms.review_findings",
    "review-verdict": "handrail.nodes.review.verdict",
    "select-files-form": "handrail.nodes.forms.select_files",
    "set": "handrail.nodes.set_value",
    "structured-summary": "handrail.nodes.summaries.structured",
    "summary-file-load": "handrail.nodes.summaries.file_load",
    "telegram-notify": "handrail.nodes.telegram_notify",
    "user-input": "handrail.nodes.forms.user_input",
    "wait": "handrail.nodes.wait",
    "workflow-run": "handrail.nodes.workflow_run",
    "write-file": "handrail.nodes.write_file",
    "write-selection-file": "handrail.nodes.review.selection",
}
AGENT_NODE = "handrail.nodes.llm_prompt"  # also makes the node `AGENT-prompt` of each executor
