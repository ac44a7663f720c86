PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input install --quiet
COMPILE := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url \
	--custom-compile-command "make lock"
export UV_PYTHON_DOWNLOADS := never

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test check bench lock clean

help: ## show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile
	@echo "Options: PYTHON=python3.13 (for a new .venv), ARGS='-k name' (for test, demo and bench), UPGRADE=1 (for lock)"

setup: .venv/.ready ## make .venv from the locked requirements

demo: .venv/.ready ## show the engine at work
	$(BIN)/surehand demo $(ARGS)

test: .venv/.ready ## run all tests
	$(BIN)/python -m pytest -n auto $(ARGS)

check: .venv/.ready ## lint, format, types and layers, as in CI
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright --warnings
	$(BIN)/lint-imports --no-cache

bench: .venv/.ready ## measure
	$(BIN)/python -m benchmarks $(ARGS)

lock: .venv/.ready ## rewrite requirements/*.txt from pyproject.toml
	$(COMPILE) pyproject.toml $(if $(UPGRADE),--upgrade) --all-extras --group dev -o requirements/dev.txt
	$(COMPILE) pyproject.toml -c requirements/dev.txt -o requirements/base.txt
	$(COMPILE) pyproject.toml -c requirements/dev.txt --all-extras -o requirements/all.txt
	$(COMPILE) requirements/tau2.in -c requirements/dev.txt --no-deps -o requirements/tau2.txt

clean: ## remove .venv, caches and build output
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist .coverage .coverage.*
	find . -name node_modules -prune -o -type d -name __pycache__ -exec rm -rf {} +

# The stamp goes first and comes last: after an interruption the next run starts from an empty .venv.
.venv/.ready: requirements/dev.txt requirements/tau2.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "Surehand needs Python 3.11 or newer, '$(PYTHON)' is not: say make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "'$(PYTHON)' cannot make virtual environments: install its venv package (Debian: apt install python3-venv)" >&2; exit 1; }
	test -e $@ || { rm -rf .venv && $(PYTHON) -m venv .venv; }
	rm -f $@
	$(PIP) --require-hashes --only-binary :all: -r requirements/dev.txt
	$(PIP) --require-hashes --only-binary :all: --no-deps -r requirements/tau2.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	touch $@
