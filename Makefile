# `make run` and `make test` need Python 3.11 or newer, make and git; they set up .venv themselves.
# PYTHON=/path/to/python3 picks another interpreter.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/python -m pip --quiet --quiet --disable-pip-version-check
PINS := config/constraints.txt

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: run
run: $(VENV)/.ready-to-run ## set up, then run the demo engine in the foreground (Ctrl-C stops it)
	@exec config/demo/run.sh

.PHONY: test
test: $(VENV)/.ready-to-test ## set up, then run the tests
	@$(VENV)/bin/python -m pytest --numprocesses 2 --dist worksteal

.PHONY: check
check: $(VENV)/.ready-to-test ## format, lint, types, import contracts, then the tests
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	@$(MAKE) --no-print-directory test

.PHONY: proof
proof: $(VENV)/.ready-to-test ## kill -9 the engine 200 times under load, then judge what is left (some minutes)
	@$(VENV)/bin/python -m tests.crash.matrix --kills 200

.PHONY: clean
clean: ## remove .venv, the demo's home .tocsin and every cache
	rm -rf $(VENV) .tocsin .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# A second `make run` finds these stamps and is ready at once.

$(VENV)/.ready-to-run: $(VENV)/pyvenv.cfg pyproject.toml $(PINS)
	@echo "installing tocsin into $(VENV) ..." >&2
	@$(PIP) install --constraint $(PINS) --editable .
	@touch $@

$(VENV)/.ready-to-test: $(VENV)/pyvenv.cfg pyproject.toml $(PINS)
	@echo "installing tocsin and its test tools into $(VENV) ..." >&2
	@$(PIP) install --constraint $(PINS) --editable '.[dev]'
	@touch $(VENV)/.ready-to-run $@

$(VENV)/pyvenv.cfg:
	@command -v "$(PYTHON)" >/dev/null 2>&1 || \
	  { echo "$(PYTHON) was not found; tocsin needs Python 3.11 or newer: make PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$$("$(PYTHON)" -V 2>&1) is too old; tocsin needs 3.11 or newer: make PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "no virtual environment could be made (on Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; }
