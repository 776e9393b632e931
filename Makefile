# Development commands; "make" alone lists them.
PYTHON ?= python3
VENV ?= .venv
DIST ?= dist
PINS ?= constraints.txt
ARGS ?=

BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PIP_INSTALL := $(BIN)/python -m pip install --no-input --disable-pip-version-check --quiet
BENCHMARKS := $(sort $(notdir $(basename $(filter-out benchmarks/_%,$(wildcard benchmarks/*.py)))))

.DEFAULT_GOAL := help
.PHONY: help install demo test check bench build audit lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' Makefile
	@echo 'Options: PYTHON=python3.12, VENV=.venv, DIST=dist, PINS=requirements-dev.lock (the versions'
	@echo 'that development was last locked to, Python 3.11); ARGS="..." goes to demo and test,'
	@echo 'such as: make test ARGS="tests/unit -k keep"'

install: $(INSTALLED) ## Make .venv with the package (editable) and all it is developed with

$(INSTALLED): pyproject.toml $(PINS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo 'error: Python 3.10 or later is needed; name one: make install PYTHON=python3.12'; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV) || \
		{ echo 'error: no virtual environment could be made; on Debian: apt-get install python3-venv'; exit 1; }
	@echo 'installing into $(VENV); the first time takes a few minutes'
	@$(PIP_INSTALL) --upgrade pip # Debian's resolves twice as slowly
	@PYTHONWARNINGS='ignore:Editable installation' $(PIP_INSTALL) -c $(PINS) -e ".[dev]"
	@touch $@

demo: install ## Run the demo: collection, training, held-out comparison, saved policy
	$(BIN)/rl-rewriter demo $(ARGS)

test: install ## Run all tests, on two cores
	@$(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

check: install ## Check format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: install ## Run every script in benchmarks/, one after the other
	@set -e; for name in $(BENCHMARKS); do \
		echo "== benchmarks/$$name.py"; $(BIN)/python -m benchmarks.$$name; done

build: install ## Build wheel and source distribution into dist/
	rm -rf build rl_rewriter.egg-info $(DIST)
	$(BIN)/python -m build --no-isolation --outdir $(DIST) .

audit: install ## Look up known vulnerabilities of what development installs; needs the network
	$(BIN)/python -m pip_audit --disable-pip --no-deps -r requirements-dev.lock

lock: install ## Write down the versions in .venv as those to develop with
	$(BIN)/python .ci/lock.py >requirements-dev.lock.new
	mv requirements-dev.lock.new requirements-dev.lock

clean: ## Remove what building, checking and testing left behind; keeps .venv and runs/
	rm -rf build dist rl_rewriter.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find rl_rewriter integrations tests examples benchmarks -name __pycache__ -type d -prune \
		-exec rm -rf {} +
