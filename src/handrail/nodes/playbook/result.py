"""What became of a playbook, as a file of the schema `playbook-write-result/v1`. Pure."""

from __future__ import annotations

from typing import Any

from handrail.source.fields import Field

RESULT = Field("writeResultJsonFile", ("text",), "the file for the result", required=True, shortest=1, names="path")
OUTPUTS = {
    "status": "what became of it, such as `written`, `skipped_valid_existing`, `blocked` or `missing_playbook`",
    "message": "the status in words",
    "written_files": "the files that were written",
    "skipped_files": "the files that were there and stay as they are",
    "existing_playbook_path": "the manifest that was there; empty if there was none",
    "intended_files": "the files that a playbook has",
    "blocked_paths": "the files that prevent the playbook from being written",
}


def outcome(status: str, message: str, intended: list[str], **more: list[str] | str) -> dict[str, Any]:
    """A result. `more` are the members that are not empty."""
    return {
        "status": status,
        "message": message,
        "written_files": [],
        "skipped_files": [],
        "existing_playbook_path": "",
        "intended_files": intended,
        "blocked_paths": [],
        **more,
    }
