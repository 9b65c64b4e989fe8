"""Two small projects, and what an agent writes in them: a mistake that a check finds, and one that a review finds."""

from __future__ import annotations

import json
from typing import NamedTuple

from agentweaver.agent import place
from builtin.shop import KEY, REPORT


class Kind(NamedTuple):
    """A project: its files, the versions of its code that the agent writes one after the other, and its check."""

    files: dict[str, str]
    code: str
    wrong: str
    checked: str
    reviewed: str
    test_file: str
    test: str
    check: str

    @property
    def writes(self) -> dict[str, dict[str, str]]:
        """What the agent writes, by a part of its prompt."""
        scope = f".agentweaver/scopes/{KEY}"
        report = {place("review-fix-json-file", KEY): json.dumps(REPORT), place("review-fix-file", KEY): "# Fixed\n"}
        return {
            "Implement this task.": {self.code: self.wrong, self.test_file: self.test},
            "A check of this project fails.": {self.code: self.checked},
            "Fix findings of a review.": {self.code: self.reviewed, **report},
            f"pr-fix-{KEY}-1.json": {
                "CHANGELOG.md": "# Changes\n",
                f"{scope}/.artifacts/pr-fix-{KEY}-1.json": json.dumps(REPORT),
                f"{scope}/pr-fix-{KEY}-1.md": "`ci`: added the changelog.\n",
            },
            f"pr-fix-{KEY}-2.json": {
                "README.md": "# Slugs\n\n`slug` makes slugs.\n",
                f"{scope}/.artifacts/pr-fix-{KEY}-2.json": json.dumps({**REPORT, "summary": "Document slug"}),
                f"{scope}/pr-fix-{KEY}-2.md": "Documented it.\n",
            },
        }


PYTHON = Kind(
    files={
        "pyproject.toml": '[project]\nname = "slugs"\nversion = "1"\n',
        "slugs/__init__.py": "",
        "README.md": "# Slugs\n",
        "tests/test_import.py": "import unittest\n\nimport slugs\n\n\nclass Imports(unittest.TestCase):\n"
        "    def test_it_can_be_imported(self):\n        self.assertEqual(slugs.__name__, 'slugs')\n",
    },
    code="slugs/slug.py",
    wrong="def slug(text):\n    return text.replace(' ', '-')\n",
    checked="def slug(text):\n    return text.lower().replace(' ', '-')\n",
    reviewed="def slug(text):\n    return '-'.join(text.lower().split())\n",
    test_file="tests/test_slug.py",
    test=(
        "import unittest\n\nfrom slugs.slug import slug\n\n\nclass Slugs(unittest.TestCase):\n"
        "    def test_a_slug_is_lower_case(self):\n        self.assertEqual(slug('Keep It'), 'keep-it')\n"
    ),
    check="python3 -m unittest discover -s tests",
)
PACKAGE = {"name": "slugs", "type": "module", "private": True, "scripts": {"test": "node --test test/*.test.ts"}}
TYPESCRIPT = Kind(
    files={
        "package.json": json.dumps(PACKAGE),
        "tsconfig.json": '{"compilerOptions": {"strict": true}}\n',
        "README.md": "# Slugs\n",
    },
    code="src/slug.ts",
    wrong="export function slug(text: string): string {\n  return text.replaceAll(' ', '-')\n}\n",
    checked="export function slug(text: string): string {\n  return text.toLowerCase().replaceAll(' ', '-')\n}\n",
    reviewed="export function slug(text: string): string {\n"
    "  return text.toLowerCase().trim().split(/\\s+/).join('-')\n}\n",
    test_file="test/slug.test.ts",
    test=(
        "import assert from 'node:assert/strict'\nimport { test } from 'node:test'\n"
        "import { slug } from '../src/slug.ts'\n\n"
        "test('a slug is lower case', () => assert.equal(slug('Keep It'), 'keep-it'))\n"
    ),
    check="npm run test",
)
