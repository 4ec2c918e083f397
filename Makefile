# Every target sets up what it needs in .venv; nothing outside the checkout is touched.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help setup demo run test lint types imports bench check format clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 18

.venv/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "nonoka needs Python 3.11 or newer; set PYTHON=python3.x")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

setup: .venv/ready ## Make .venv with everything that is needed

demo: setup ## See a worker killed and its work recovered: no key, no server
	@$(BIN)/nonoka demo

run: setup ## Have PROMPT="..." done in CWD (or here): with the key of the model that NONOKA_MODEL names
	@$(BIN)/nonoka run --cwd "$${CWD:-.}" "$${PROMPT:?say what is to be done: make run PROMPT=...}"

test: setup ## Run the tests
	@$(BIN)/python -m pytest -q -n auto

lint: setup ## Check format and lint
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

types: setup ## Check the types (strict)
	@$(BIN)/mypy

imports: setup ## Check that imports go down the house only
	@$(BIN)/lint-imports

bench: setup ## Measure, and keep the figures in benchmarks/RESULTS.md (about 8 minutes)
	@$(BIN)/python benchmarks/all.py

check: lint types imports test ## Exactly what CI runs

format: setup ## Format, and fix what can be fixed
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

clean: ## Remove .venv and caches
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
