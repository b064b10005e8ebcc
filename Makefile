# Needs Python 3.11+ with venv and pip, and make. Another interpreter: make PYTHON=python3.13 test
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INTERPRETER := $(VENV)/.interpreter-$(notdir $(PYTHON))
RUNS := $(VENV)/.runs
READY := $(VENV)/.ready
WHEEL := build/wheel
PIP := -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help setup run stack test soak matrix lint format coverage wheel-test docs docs-serve bench bench-peers profile clean

help: ## say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## create the virtual environment, or bring it up to date

run: $(RUNS) ## start a node with sample jobs on http://127.0.0.1:8080
	$(BIN)/tocsin serve --samples

stack: $(READY) ## start PostgreSQL, Redis and three nodes on both, on http://127.0.0.1:8081 to 8083
	$(BIN)/python -m deploy.local.stack

# One after the other, to see where one stands: make test WORKERS=0
WORKERS ?= auto
PYTEST := -m pytest --numprocesses $(WORKERS) --dist loadscope
test: $(READY) ## run every test, on all processors
	$(BIN)/python $(PYTEST)

# Another length: make soak MINUTES=5
MINUTES ?= 60
soak: $(READY) ## kill, cut and pause a large cluster; the kills alone go on for MINUTES=60
	FAULTS_MINUTES=$(MINUTES) $(BIN)/python -m pytest -s -o faulthandler_timeout=0 tests/faults

# Engines elsewhere: make matrix MATRIX_POSTGRES=/opt/postgresql-17/bin MATRIX_REDIS=/opt/valkey/bin/valkey-server
matrix: $(READY) ## run the engine suites on every PostgreSQL, pgbouncer, Redis and Valkey of this machine
	$(BIN)/python -m tests.matrix

lint: $(READY) ## judge style, format, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## put the code into shape
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

coverage: $(READY) ## run every test and list the lines that none of them reached
	$(BIN)/coverage run -m pytest
	$(BIN)/coverage report

# Pages and the reference that is made from the code; a warning is an error.
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs
docs: $(READY) ## build the documentation into build/site
	$(MKDOCS) build --strict

# Another address: make docs-serve DOCS=127.0.0.1:9001
DOCS ?= 127.0.0.1:8000
docs-serve: $(READY) ## show the documentation while it is being written
	$(MKDOCS) serve --dev-addr $(DOCS)

# What a wheel could lack shows elsewhere too, and in minutes.
SLOW := contracts faults deploy docs dashboard
wheel-test: $(READY) ## build the wheel and run the quicker tests against its installation
	rm -rf $(WHEEL)
	$(BIN)/python -m build --outdir $(WHEEL)/dist
	$(BIN)/python -m venv $(WHEEL)/venv
	$(WHEEL)/venv/bin/python $(PIP) install -c constraints.txt "$$(ls $(WHEEL)/dist/*.whl)[test]"
	$(WHEEL)/venv/bin/python -c 'import sys, tocsin; assert tocsin.__file__.startswith(sys.prefix), tocsin.__file__'
	$(WHEEL)/venv/bin/python $(PYTEST) $(addprefix --ignore tests/,$(SLOW))

# Some of it, for a look: make bench BENCH="drain lateness --quick"
BENCH ?= --json build/benchmarks.json --plots docs/benchmarks
bench: $(READY) ## measure every scenario on every engine, five times: hours
	$(BIN)/python -m benchmarks $(BENCH)

# Another: make profile SCENARIO=burst ENGINE=sqlite
SCENARIO ?= drain
ENGINE ?= postgres
profile: $(READY) ## show where the time of one run of a scenario goes
	$(BIN)/python -m benchmarks.profile $(SCENARIO) --engine $(ENGINE)

# Some of them: make bench-peers PEERS="pgqueuer bullmq --tests A"
PEERS ?= --json build/peers.json --plots docs/benchmarks
bench-peers: $(READY) ## measure side by side with other schedulers, which pip and npm fetch
	$(BIN)/python -m benchmarks.peers $(PEERS)

clean: ## remove everything that make has made, but for tocsin.db
	rm -rf $(VENV) .editable .stack build dist .coverage htmlcov .hypothesis .*_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Tocsin alone, for who only wants to see it; what tests and tools need is ten times as much.
INSTALLED := $(INTERPRETER) pyproject.toml constraints.txt hatch_build.py src/__init__.py
$(RUNS): $(INSTALLED)
	$(BIN)/python $(PIP) install -c constraints.txt -e .
	@touch $@

$(READY): $(INSTALLED)
	$(BIN)/python $(PIP) install -c constraints.txt -e '.[dev]'
	@touch $(RUNS) $@

# One environment, made anew when another interpreter is asked for.
$(INTERPRETER):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo 'Tocsin needs Python 3.11 or later; name one with make PYTHON=python3.13' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' \
	  || { echo 'This Python cannot make a virtual environment; on Debian and Ubuntu: apt install python3-venv' >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@
