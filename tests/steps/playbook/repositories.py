"""Three small projects of different languages, and what an agent proposes for each of them."""

from __future__ import annotations

from typing import Any, NamedTuple


class Repository(NamedTuple):
    """A project. `proposed` are the rules of an agent; the others are what a playbook has to say about it."""

    files: dict[str, str]
    proposed: list[dict[str, Any]]
    file: str
    foreign: str
    test: tuple[str, str]
    lint: tuple[str, str]
    layout: tuple[str, ...]


def rule(id_: str, text: str, *evidence: str, **more: Any) -> dict[str, Any]:
    return {"id": id_, "title": id_.capitalize(), "rule": text, "evidence_paths": list(evidence), **more}


def rules(language: str, test: tuple[str, str], lint: tuple[str, str], layout: tuple[str, str]) -> list[dict[str, Any]]:
    """What a careful agent proposes: the tests, the linter and the layout."""
    here = {"applies_to": {"languages": [language]}}
    return [
        rule("tests", f"Run `{test[0]}` before you finish.", test[1], severity="must", **here),
        rule("linter", f"Run `{lint[0]}` on every change.", lint[1], severity="must", **here),
        rule("layout", layout[0], layout[1], **here),
    ]


PYTHON = Repository(
    files={
        "pyproject.toml": """\
[project]
name = "shop"
dependencies = ["flask>=3"]

[dependency-groups]
dev = ["pytest"]

[tool.ruff]
line-length = 100
""",
        "src/shop/__init__.py": "",
        "src/shop/cart.py": "def total(prices):\n    return sum(prices)\n",
        "tests/test_cart.py": "from shop.cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n",
        "AGENTS.md": "# How to work here\n\nSmall commits.\n",
        ".github/workflows/ci.yml": "on: push\n",
    },
    proposed=rules(
        "python",
        ("python3 -m pytest", "pyproject.toml:6"),
        ("ruff check", "pyproject.toml:8"),
        ("Code is in `src/shop`, and each module has a file in `tests`.", "tests/test_cart.py:1"),
    ),
    file="src/shop/order.py",
    foreign="web/app.ts",
    test=("python3 -m pytest", "pyproject.toml:6"),
    lint=("ruff check", "pyproject.toml:8"),
    layout=("`src/`", "`tests/`"),
)
TYPESCRIPT = Repository(
    files={
        "package.json": """\
{
  "name": "shop",
  "scripts": {
    "build": "tsc",
    "lint": "eslint .",
    "test": "vitest run"
  },
  "dependencies": {
    "react": "19.0.0"
  },
  "devDependencies": {
    "vitest": "3.0.0"
  }
}
""",
        "tsconfig.json": "{}\n",
        "src/cart.ts": "export const total = (prices: number[]) => prices.reduce((a, b) => a + b, 0)\n",
        "src/cart.test.ts": "import { total } from './cart'\n",
        "CONTRIBUTING.md": "# Contributing\n",
    },
    proposed=rules(
        "typescript",
        ("npm run test", "package.json:6"),
        ("npm run lint", "package.json:5"),
        ("A test is beside its module: `cart.ts`, `cart.test.ts`.", "src/cart.test.ts:1"),
    ),
    file="src/order.tsx",
    foreign="tools/release.py",
    test=("npm run test", "package.json:6"),
    lint=("npm run lint", "package.json:5"),
    layout=("`src/`",),
)
GO = Repository(
    files={
        "go.mod": "module example.com/shop\n\ngo 1.23\n\nrequire github.com/spf13/cobra v1.8.0\n",
        "Makefile": "build:\n\tgo build ./...\n\ntest:\n\tgo test -race ./...\n",
        ".golangci.yml": "linters:\n  enable: [errcheck]\n",
        "cmd/shop/main.go": "package main\n\nfunc main() {}\n",
        "internal/cart/cart.go": "package cart\n",
        "internal/cart/cart_test.go": "package cart\n",
    },
    proposed=rules(
        "go",
        ("make test", "Makefile:4"),
        ("golangci-lint run", ".golangci.yml:1"),
        ("Programs are in `cmd`, all other packages in `internal`.", "cmd/shop/main.go:1"),
    ),
    file="internal/order/order.go",
    foreign="docs/build.py",
    test=("make test", "Makefile:4"),
    lint=("golangci-lint run", ".golangci.yml:1"),
    layout=("`cmd/`", "`internal/`"),
)
REPOSITORIES = {"python": PYTHON, "typescript": TYPESCRIPT, "go": GO}
