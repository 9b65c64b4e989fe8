"""The fixed parts of prompts by which the hook recognises Handrail's commands and reminders. Imports nothing."""

STARTS = "Start a Handrail workflow: "
STARTED = "\n\nHandrail started this workflow. "
CANCELS = "Cancel the Handrail workflow of this conversation."
"""What `/workflow` and `/cancel-workflow` become before a hook sees them."""
SENDS_ON = "Handrail: "
"""The start of a reminder. Gemini CLI reports a reminder like a prompt of a person."""
