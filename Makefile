# Commands of the project; `make help` lists them.
# The virtual environment is created once from a lock file. Stamp files record its state: targets that
# run Stretto install requirements.lock, targets that test it also install requirements-dev.lock.
# The configuration of pip applies, or that of uv if uv is on the path.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python

# chaos: number of seeds, and steps of each
SEEDS ?= 200
STEPS ?= 400
# number of test families that run at the same time, and of processes of the long tests
JOBS ?= 2
# kube-tools: programs to build; empty for all
PROGRAMS ?=
# fuzz: seconds of each of the two parts
FUZZ_S ?= 600
# bench: file of the figures
BENCH_OUT ?= out/bench-engine.json

FAMILY := scripts/family.sh

# Bytecode is always written: without it, each of a hundred processes compiles every file again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# ---------------------------------------------------------------- environment

# Stamps of the dependencies of a run and of development. A stamp is newer than its lock file, and
# newer than the pyproject.toml whose entry points are installed.
RUN := $(VENV)/.run
DEV := $(VENV)/.dev

$(RUN): requirements.lock pyproject.toml lab/pyproject.toml
	@scripts/make_venv.sh $(VENV) requirements.lock
	@touch $@

$(DEV): $(RUN) requirements-dev.lock
	@scripts/make_venv.sh $(VENV) requirements-dev.lock
	@touch $@

.PHONY: kernels
kernels: $(RUN) ## Compile missing and outdated kernels (four minutes on two cores)
	@$(BIN)/stretto kernels

.PHONY: venv
venv: $(DEV) ## Create .venv with the development dependencies (other targets create it when needed)

# ---------------------------------------------------------------- the main job

.PHONY: run
run: $(RUN) ## Fill a real fleet of 1,213 GPU servers to 130 % and report
	@$(BIN)/stretto run examples/openb.yaml

# ---------------------------------------------------------------- quality

.PHONY: lint
lint: $(DEV) ## Check style, format and the limits of the structure
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

.PHONY: types
types: $(DEV) ## Check types with mypy, strictly
	$(BIN)/mypy

.PHONY: check
check: lint types ## Run lint and types, without tests

.PHONY: fix
fix: $(DEV) ## Format the code and apply the fixes of ruff
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Each family is one process: it collects tests and imports libraries once, and needs no messages
# between workers. The longest families start first.
BESIDE := -j $(JOBS) $(if $(filter output-sync,$(.FEATURES)),--output-sync)
# Families that depend on the version of Python.
PER_PYTHON := test-unit test-scenarios test-properties

.PHONY: test
test: $(DEV) kernels ## Run all checks, and all tests that are not marked slow (under 5 minutes)
	@$(MAKE) --no-print-directory $(BESIDE) \
	  lint $(PER_PYTHON) test-chaos types test-docs test-structure test-contract test-recipes

.PHONY: test-unit
test-unit: $(DEV) ## Run the tests of single modules
	@$(FAMILY) unit 240 tests/unit

.PHONY: test-properties
test-properties: $(DEV) ## Check the laws on random clusters, and fast code against its references
	@$(FAMILY) properties 120 tests/properties

.PHONY: test-scenarios
test-scenarios: $(DEV) ## Run whole planes, the command line, and comparisons with published results
	@$(FAMILY) scenarios 150 tests/scenarios tests/conformance

.PHONY: test-chaos
test-chaos: $(DEV) ## Run the tests of the fault simulator
	@$(FAMILY) chaos 90 tests/chaos

.PHONY: test-structure
test-structure: $(DEV) ## Check limits of files and functions, generated documents and the glossary
	@$(FAMILY) structure 30 tests/test_structure.py tests/test_assignments.py tests/test_words.py

.PHONY: test-contract
test-contract: $(DEV) ## Run the contract suite of all stores
	@$(FAMILY) contract 30 tests/contract

.PHONY: test-docs
test-docs: $(DEV) ## Run the examples in the documentation
	@$(FAMILY) docs 60 --doctest-modules --ignore=docs/_ext --ignore=docs/conf.py src/stretto/base README.md ARCHITECTURE.md CONTRIBUTING.md docs tests/docs

.PHONY: test-recipes
test-recipes: $(DEV) ## Run the checklists of CONTRIBUTING.md
	@$(FAMILY) recipes 30 tests/recipes

.PHONY: test-python
test-python: $(DEV) ## Run the tests that depend on the version of Python, with the environment VENV
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
test-kube: $(DEV) kernels kube-tools ## Run the tests that need a real API server: the contract, faults, the scheduler in a cluster
	@MARKS="kube and not slow" HYPOTHESIS_PROFILE=server RETRY=1 $(FAMILY) kube 600 --timeout 240 tests/contract tests/e2e

.PHONY: test-mesos
test-mesos: $(DEV) ## Run unmodified Mesos clients against a master and agents that are killed in between
	@MARKS="mesos and not slow" $(FAMILY) mesos 90 --timeout 300 tests/e2e/mesos

.PHONY: test-mesos-all
test-mesos-all: $(DEV) ## Run all Mesos clients that can be installed: avmesos, mesoshttp, task_processing, mesos-framework, msh
	@MARKS=mesos $(FAMILY) mesos-all 600 --timeout 300 tests/e2e/mesos

.PHONY: test-kube-all
test-kube-all: test-kube ## Run the long tests on a real API server too: 5,000 pods at once, upstream's end-to-end suite
	@MARKS="kube and slow" HYPOTHESIS_PROFILE=server $(FAMILY) kube-slow 3600 --timeout 600 tests/contract tests/e2e

.PHONY: kube-suite
kube-suite: $(DEV) kernels kube-tools ## Run Kubernetes' own tests against stretto up, and write their record and page
	@$(PY) bench/kubernetes_e2e.py $(ARGS)
	@$(PY) scripts/suite_page.py

.PHONY: test-browser
test-browser: $(DEV) ## Test the dashboard in a real Chromium (installs Playwright, and Debian's Chromium as root)
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
bench: kernels ## Measure the speed of this machine: 20,000 nodes, 1,000,000 running pods
	@mkdir -p $(dir $(BENCH_OUT))
	@$(BIN)/stretto bench engine --nodes 20000 --running 1000000 --pods 50000 --classes 200 --json $(BENCH_OUT)

.PHONY: one-pool
one-pool: $(RUN) ## Simulate a day of 2,000 machines in one pool and in two, and plot it
	@mkdir -p out
	@$(BIN)/stretto study one-pool --json out/one-pool.json --out out

# ---------------------------------------------------------------- generated files

.PHONY: diagrams
diagrams: $(DEV) ## Generate docs/concepts/lifecycle.md from the transition tables
	@$(PY) scripts/diagrams.py

.PHONY: crds
crds: $(DEV) ## Generate deploy/crds from the structs of the kinds of Stretto
	@$(PY) scripts/crds.py

.PHONY: examples
examples: $(DEV) ## Write the current output of the examples to examples/*.out
	@STRETTO_WRITE_EXAMPLES=1 $(PY) -m pytest --no-header -q tests/docs/test_examples.py

.PHONY: generated
generated: diagrams examples ## Generate all documents and example outputs again

.PHONY: docs
docs: $(DEV) ## Build the documentation site into out/site; warnings are errors
	@$(PY) -m sphinx -q -W -n -b html -d out/doctrees docs out/site
	@echo "out/site/index.html"

.PHONY: man
man: $(RUN) ## Write the manual pages of every command to out/man
	@$(PY) scripts/man.py out/man/man1

.PHONY: lock
lock: ## Resolve both lock files from pyproject.toml, for Python 3.11 to 3.14 (UPGRADE=1: newest versions)
	@scripts/make_lock.sh

.PHONY: clean
clean: ## Remove the environment, caches and outputs
	rm -rf $(VENV) $(VENV)-3.* out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
