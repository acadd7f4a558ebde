# Everything a newcomer types. Each target carries its sentence; `make help` prints them.
# The virtual environment is made once from a lock file and then only checked by its stamps: the
# targets that run Stretto install requirements.lock, those that test it requirements-dev.lock.
# The configuration of pip (or of uv, which is used if it is on the path) applies throughout.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python

# chaos: how many seeds, and how many steps each
SEEDS ?= 200
STEPS ?= 400
# how many test families run side by side, and how many processes the long tests use
JOBS ?= 2
# kube-tools: which programs; all where empty
PROGRAMS ?=
# fuzz: how many seconds each of its two parts takes
FUZZ_S ?= 600
# bench: where the figures go
BENCH_OUT ?= out/bench-engine.json

FAMILY := scripts/family.sh

# Regardless of the shell: without bytecode each of a hundred processes compiles every file again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# ---------------------------------------------------------------- environment

# The stamps: what a run needs, and what development needs on top of it. A stamp is newer than the
# lock that it stands for, and than the pyproject.toml whose entry points are installed.
RUN := $(VENV)/.run
DEV := $(VENV)/.dev

$(RUN): requirements.lock pyproject.toml lab/pyproject.toml
	@scripts/make_venv.sh $(VENV) requirements.lock
	@touch $@

$(DEV): $(RUN) requirements-dev.lock
	@scripts/make_venv.sh $(VENV) requirements-dev.lock
	@touch $@

.PHONY: kernels
kernels: $(RUN) ## Compile the kernels that are not, or whose sources have changed (four minutes on two cores)
	@$(BIN)/stretto kernels

.PHONY: venv
venv: $(DEV) ## Make .venv with all that development needs (the other targets make what they need)

# ---------------------------------------------------------------- the main job

.PHONY: run
run: $(RUN) ## Fill a real fleet of 1,213 GPU servers to 130 % and report
	@$(BIN)/stretto run examples/openb.yaml

# ---------------------------------------------------------------- quality

.PHONY: lint
lint: $(DEV) ## Check style, format and the floors of the house
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

.PHONY: types
types: $(DEV) ## Check the types, strictly
	$(BIN)/mypy

.PHONY: check
check: lint types ## Check style, floors and types, without running a test

.PHONY: fix
fix: $(DEV) ## Format the code and mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Each family is one process: one collection of tests, one import of the libraries, no messages
# between workers. The longest start first.
BESIDE := -j $(JOBS) $(if $(filter output-sync,$(.FEATURES)),--output-sync)
# What depends on the version of Python.
PER_PYTHON := test-unit test-scenarios test-properties

.PHONY: test
test: $(DEV) kernels ## Check everything and run every test that is not marked slow (under 5 minutes)
	@$(MAKE) --no-print-directory $(BESIDE) \
	  lint $(PER_PYTHON) test-chaos types test-docs test-house test-contract test-recipes

.PHONY: test-unit
test-unit: $(DEV) ## Run the tests of single modules
	@$(FAMILY) unit 240 tests/unit

.PHONY: test-properties
test-properties: $(DEV) ## Check the laws over random clusters, and fast code against its reference
	@$(FAMILY) properties 120 tests/properties

.PHONY: test-scenarios
test-scenarios: $(DEV) ## Run whole planes, the command line, and comparisons with published results
	@$(FAMILY) scenarios 150 tests/scenarios tests/conformance

.PHONY: test-chaos
test-chaos: $(DEV) ## Run the tests of the fault simulator
	@$(FAMILY) chaos 90 tests/chaos

.PHONY: test-house
test-house: $(DEV) ## Check budgets of files and functions, generated documents and the glossary
	@$(FAMILY) house 30 tests/test_house.py tests/test_assignments.py tests/test_words.py

.PHONY: test-contract
test-contract: $(DEV) ## Run the one suite of all stores
	@$(FAMILY) contract 30 tests/contract

.PHONY: test-docs
test-docs: $(DEV) ## Run what the documents show
	@$(FAMILY) docs 60 --doctest-modules --ignore=docs/_ext --ignore=docs/conf.py src/stretto/base README.md ARCHITECTURE.md CONTRIBUTING.md docs tests/docs

.PHONY: test-recipes
test-recipes: $(DEV) ## Execute the checklists of CONTRIBUTING.md
	@$(FAMILY) recipes 30 tests/recipes

.PHONY: test-python
test-python: $(DEV) ## Run what depends on the version of Python, with the environment VENV
	@$(MAKE) --no-print-directory $(BESIDE) $(PER_PYTHON)

.PHONY: test-pythons
test-pythons: $(DEV) ## Run unit, property and scenario tests on every other supported Python that is installed
	@scripts/test_pythons.sh $(VENV) 3.11 3.12 3.13 3.14

.PHONY: test-all
test-all: test ## Run the long tests too (properties with many examples, full protocols, long chaos)
	@MARKS="slow and not kube and not mesos" $(FAMILY) slow 1200 --timeout 900 tests

.PHONY: kube-tools
kube-tools: $(DEV) ## Build etcd, Kubernetes, kwok and helm into the user's cache folder (once, ten minutes)
	@$(PY) -m stretto_lab.control_plane.tools $(PROGRAMS)

.PHONY: test-kube
test-kube: $(DEV) kernels kube-tools ## Run what needs a real API server: the contract, faults, the scheduler in a cluster
	@MARKS="kube and not slow" HYPOTHESIS_PROFILE=server RETRY=1 $(FAMILY) kube 600 --timeout 240 tests/contract tests/e2e

.PHONY: test-mesos
test-mesos: $(DEV) ## Run unmodified Mesos clients against a master and agents that are killed in between
	@MARKS="mesos and not slow" $(FAMILY) mesos 90 --timeout 300 tests/e2e/mesos

.PHONY: test-mesos-all
test-mesos-all: $(DEV) ## Run all Mesos clients that can be installed: avmesos, mesoshttp, task_processing, mesos-framework, msh
	@MARKS=mesos $(FAMILY) mesos-all 600 --timeout 300 tests/e2e/mesos

.PHONY: test-kube-all
test-kube-all: test-kube ## Run what takes minutes on a real API server too: 5,000 pods at once, upstream's end-to-end suite
	@MARKS="kube and slow" HYPOTHESIS_PROFILE=server $(FAMILY) kube-slow 3600 --timeout 600 tests/contract tests/e2e

.PHONY: kube-suite
kube-suite: $(DEV) kernels kube-tools ## Run Kubernetes' own tests against stretto up, and write their record and page
	@$(PY) bench/kubernetes_e2e.py $(ARGS)
	@$(PY) scripts/suite_page.py

.PHONY: test-browser
test-browser: $(DEV) ## Open the dashboard in a real Chromium (installs Playwright, and Debian's Chromium as root)
	@scripts/browser_tools.sh $(VENV) requirements-browser.lock
	@MARKS=browser $(FAMILY) browser 240 tests/browser

.PHONY: fuzz
fuzz: $(DEV) kernels kube-tools ## Fuzz the decoders and the routes of the API server: make fuzz FUZZ_S=3600
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-fuzz.lock
	@$(PY) bench/fuzz_decoders.py --seconds $(FUZZ_S) --findings out/fuzz
	@$(PY) bench/fuzz_api.py --seconds $(FUZZ_S)

.PHONY: chaos
chaos: $(RUN) ## Run the fault simulator: make chaos SEEDS=200 STEPS=400
	@mkdir -p out
	@$(BIN)/stretto chaos --seeds $(SEEDS) --steps $(STEPS) --json out/chaos.json --out out

.PHONY: bench
bench: kernels ## Measure what this machine can do: 20,000 nodes, 1,000,000 running pods
	@mkdir -p $(dir $(BENCH_OUT))
	@$(BIN)/stretto bench engine --nodes 20000 --running 1000000 --pods 50000 --classes 200 --json $(BENCH_OUT)

.PHONY: one-pool
one-pool: $(RUN) ## Run a day of 2,000 machines in one pool and in two, and draw it
	@mkdir -p out
	@$(BIN)/stretto study one-pool --json out/one-pool.json --out out

# ---------------------------------------------------------------- made files

.PHONY: diagrams
diagrams: $(DEV) ## Draw docs/concepts/lifecycle.md from the transition tables
	@$(PY) scripts/diagrams.py

.PHONY: crds
crds: $(DEV) ## Write deploy/crds from the structs of our kinds
	@$(PY) scripts/crds.py

.PHONY: examples
examples: $(DEV) ## Write what the examples say now to examples/*.out
	@STRETTO_WRITE_EXAMPLES=1 $(PY) -m pytest --no-header -q tests/docs/test_examples.py

.PHONY: generated
generated: diagrams examples ## Write every generated document and example output again

.PHONY: docs
docs: $(DEV) ## Build the documentation site into out/site; warnings are errors
	@$(PY) -m sphinx -q -W -n -b html -d out/doctrees docs out/site
	@echo "out/site/index.html"

.PHONY: man
man: $(RUN) ## Write the manual pages of every command to out/man
	@$(PY) scripts/man.py out/man/man1

.PHONY: lock
lock: ## Make both lock files from pyproject.toml, for Python 3.11 to 3.14 (UPGRADE=1: newest versions)
	@scripts/make_lock.sh

.PHONY: clean
clean: ## Remove the environment, caches and outputs
	rm -rf $(VENV) $(VENV)-3.* out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
