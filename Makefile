# One entry point for every chore. Each target prepares what it needs.
.DEFAULT_GOAL := help
SHELL := /bin/sh
# Tests start thousands of Pythons. Without kept bytecode, each would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE
# Tests write many small files and wait for the disk to have them: memory is faster. Sandboxes of agents hide it.
test verify test-long: export PYTEST_DEBUG_TEMPROOT := $(shell test -w /dev/shm && echo /dev/shm)
PYTHON ?= python3
BIN := .venv/bin
# Tests often wait for a program or for a moment: one more worker than cores is faster, up to eight.
PARALLEL := -n $(shell $(PYTHON) -c 'import os; print(min(8, (os.cpu_count() or 1) + 1))')
# Each agent is several processes.
AGENTS := -n 3
# Each worker starts a Chromium of its own.
BROWSER := -n 2 --dist loadfile
# Runs tests, and those that failed once more, alone; the first failures are listed and saved in a file of this name.
TWICE = PYTHONPATH=tests $(BIN)/python -m twice .cache/$(1)-first-failures.txt
# All tests that need neither an agent nor a browser.
TESTS := --ignore=tests/real --ignore=tests/browser --ignore=tests/wheel $(PARALLEL) --dist worksteal
# More arguments for `make test` and `make verify`.
SELECT :=
# What is special to one agent as a host. Claude Code was the first host, so its files have the names of their subjects.
CLAUDE := coming_back driven_claude failures gate interrupts side_by_side stops terminal_conversations whole_workflow
# What only another version of an agent changes: its output, as the samples for the other tests have it.
SAMPLES := hosts pi_versions
SPECIAL := */test_*_host.py */test_opencode_plugin.py $(patsubst %,*/test_%.py,$(CLAUDE) $(SAMPLES))
# One in how many places `make test-long` explores.
EVERY := 1

.PHONY: help env verify ci demo test test-long test-agents test-browser smoke wheel test-special check format bench docs pictures agents-table hosts-table clean

help: ## what each target does
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST)

env: .venv/ready ## a virtual environment with everything for development

.venv/ready: pyproject.toml
	@./scripts/env "$(PYTHON)"
	@touch $@

ci: check demo verify test-long test-browser test-agents wheel ## everything, one after the other

demo: env ## walk a workflow with the scripted agent: no key, no network
	@$(BIN)/handrail demo

test: env ## what a contributor needs before each commit: a few minutes
	@$(if $(CI),$(call TWICE,test),$(BIN)/python -m pytest) $(TESTS) $(SELECT)

verify: env ## every test that needs neither an agent nor a browser; explorations try a spread of places
	@$(BIN)/python -m pytest $(TESTS) --whole --timeout=600 $(SELECT)

test-long: env ## the explorations with every place (or one in EVERY=N) and many inputs
	@$(BIN)/python -m pytest $(TESTS) -m explores --thorough=$(EVERY) --timeout=3600

test-agents: env ## the real agents, offline, against scripted models, and a language server (needs npm and tmux)
	@./scripts/agents
	@./scripts/editors
	@$(call TWICE,agents) tests/real $(AGENTS) --dist worksteal --timeout=600 \
		$(foreach name,$(SPECIAL),--ignore-glob='$(name)')

test-browser: env ## the page in a real Chromium (needs Debian's chromium, npm and tmux)
	@./scripts/browser
	@$(BIN)/python -m pytest tests/browser $(BROWSER)

smoke: env ## one whole guided and one headless walk with each agent, and every page in both sizes
	@./scripts/browser
	@./scripts/agents
	@$(call TWICE,smoke) tests/browser $(BROWSER) --timeout=300 -m smoke
	@$(call TWICE,smoke-agents) tests/real $(AGENTS) --dist worksteal \
		--timeout=300 -m smoke

wheel: env ## build the wheel, install it into an empty environment, and use it there (needs tmux)
	@./scripts/wheel "$(PYTHON)"
	@$(BIN)/python -m pytest tests/wheel -n 2

test-special: env ## what is special to one agent as a host, other versions of it, and every way to fail (long)
	@./scripts/agents
	@$(call TWICE,spread) tests/real $(AGENTS) --dist worksteal \
		-m "spread or rarely" --thorough
	@$(call TWICE,special) $(AGENTS) --dist worksteal \
		$(wildcard $(addprefix tests/real/,$(notdir $(SPECIAL))))

check: env ## format, lint, types, layers
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

format: env ## put the code in shape
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: env ## measure, print a table, write docs/benchmarks.md
	@$(BIN)/python -m bench

docs: env ## write the generated pages of docs/reference
	@$(BIN)/python scripts/generate_docs.py

pictures: env ## the pictures in docs/pictures, in a real Chromium (needs Debian's chromium and fonts-noto-color-emoji)
	@cd tests && ../$(BIN)/python -m browser.pictures

agents-table: env ## run the six agents and write docs/reference/agents.md
	@./scripts/agents
	@cd tests && ../$(BIN)/python -m real.measured

hosts-table: env ## probe the six agents, or only AGENT=NAME, and write docs/reference/hosts.md
	@./scripts/agents
	@cd tests && ../$(BIN)/python -m real.enforced $(AGENT)

clean: ## remove what the targets made
	rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis
