"""Puts a prompt together: the task, additional instructions, and the language in which an agent writes. Pure."""

from __future__ import annotations

from collections.abc import Sequence

LANGUAGES = {
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fi": "Finnish",
    "fr": "French",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ru": "Russian",
    "sv": "Swedish",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "zh": "Chinese",
}
"""The languages of `--lang`, by their codes."""
DEFAULT_LANGUAGE = "en"


def language_words(code: str) -> str:
    """What an agent is told about the language of the files that it writes for this task."""
    name = LANGUAGES.get(code, code)
    return (
        f"Write the prose of Markdown files for this task in {name}. In JSON files, keep the names and fixed values of "
        "the schema and write other texts in English. Quotations stay as they are. Source code, comments and documents "
        "that belong to the project keep their own language."
    )


def language_part(chosen: str | None, *, is_foreign: bool) -> str:
    """The words about the language: of the chosen one; without a choice, only AgentWeaver's flows have them."""
    return language_words(chosen or DEFAULT_LANGUAGE) if chosen or is_foreign else ""


def composed(task: str, more: Sequence[str], *, is_plain: bool) -> str:
    """The whole prompt. Unless it is plain, the task and the additional instructions have headings."""
    extra = "\n\n".join(part for part in more if part)
    if is_plain:
        return "\n\n".join(part for part in (task, extra) if part)
    parts = [f"# Task\n\n{task.strip()}", f"# Additional instructions\n\n{extra.strip()}" if extra else ""]
    return "\n\n".join(part for part in parts if part)
