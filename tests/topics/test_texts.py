"""Texts of rows, in few words."""

from __future__ import annotations

import pytest

from handrail.topics.texts import called


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('edit {"path": "src/cart.py", "old": "a", "new": "b"}', "edit src/cart.py"),
        ('Bash {"command": "echo \\"hi\\"", "description": "say hi"}', 'Bash echo "hi"'),
        ('Read {"limit": 3, "file_path": "src/a.py"}', "Read src/a.py"),
        ('write {"path": "very/long…', "write very/long…"),
        ('write {"path": "a\\u00', "write a\\u00"),
        ('TodoWrite {"todos": []}', 'TodoWrite {"todos": []}'),
        ("git push is not allowed", "git push is not allowed"),
    ],
)
def test_a_call_of_a_tool_is_its_name_and_what_it_is_about(text: str, words: str) -> None:
    assert called(text) == words
