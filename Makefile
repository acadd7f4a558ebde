# Everything a newcomer types. Each target carries its sentence; `make help` prints them.
# The virtual environment is made once from requirements.lock and then only checked by its
# stamps, so a second `make run` starts at once. pip's own configuration applies throughout.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python

# chaos: how many seeds, and how many steps each
SEEDS ?= 200
STEPS ?= 400
# how many processes the heavier test families use
JOBS ?= 2
# kube-tools: which programs; all where empty
PROGRAMS ?=
# bench: where the figures go
BENCH_OUT ?= out/bench-engine.json

FAMILY := scripts/family.sh

# Whatever the shell says: without bytecode each of a hundred processes compiles every file anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# ---------------------------------------------------------------- environment

$(VENV)/.locked: requirements.lock
	@scripts/make_venv.sh $(VENV)
	@touch $@

# Kernels are compiled here rather than in the first run, and kept beside the sources: a minute for
# what a first run needs, two more for the rest, which tests and benches need.
$(VENV)/.installed: $(VENV)/.locked pyproject.toml
	@$(PY) -m pip install --quiet --no-deps --no-build-isolation --editable . --editable ./lab
	@echo "compiling the kernels for this machine (once, about a minute)"
	@$(PY) scripts/compile_kernels.py --first
	@touch $@

.PHONY: kernels
kernels: $(VENV)/.installed ## Compile the kernels that are not, or whose sources have changed (up to three minutes)
	@echo "looking for kernels to compile"
	@$(PY) scripts/compile_kernels.py

.PHONY: venv
venv: $(VENV)/.installed ## Make .venv from the lock file (done once; the other targets do it too)

# ---------------------------------------------------------------- the main job

.PHONY: run
run: $(VENV)/.installed ## Fill a real fleet of 1,213 GPU servers to 130 % and report
	@$(BIN)/stretto run examples/openb.yaml

# ---------------------------------------------------------------- quality

.PHONY: lint
lint: $(VENV)/.installed ## Check style, format and the floors of the house
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

.PHONY: types
types: $(VENV)/.installed ## Check the types, strictly
	$(BIN)/mypy

.PHONY: check
check: lint types ## Check style, floors and types, without running a test

.PHONY: fix
fix: $(VENV)/.installed ## Format the code and mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# What needs one core runs side by side; the other families take all there are.
BESIDE := -j $(JOBS) $(if $(filter output-sync,$(.FEATURES)),--output-sync)

.PHONY: test
test: kernels ## Check everything and run every test that is not marked slow (under 5 minutes)
	@$(MAKE) --no-print-directory $(BESIDE) lint types test-house test-contract test-docs
	@$(FAMILY) unit 60 tests/unit
	@$(FAMILY) properties 60 tests/properties
	@$(FAMILY) scenarios 60 tests/scenarios tests/conformance
	@$(FAMILY) chaos 60 tests/chaos

.PHONY: test-house
test-house: $(VENV)/.installed ## Hold files, functions and documents to the budgets of the house
	@$(FAMILY) house 20 tests/test_house.py

.PHONY: test-contract
test-contract: $(VENV)/.installed ## Run the one suite of all stores
	@$(FAMILY) contract 40 tests/contract

.PHONY: test-docs
test-docs: $(VENV)/.installed ## Run what the documents show
	@$(FAMILY) docs 60 --doctest-modules src/stretto/base README.md ARCHITECTURE.md CONTRIBUTING.md docs tests/docs

.PHONY: test-all
test-all: test ## Run the long tests too (properties with many examples, full protocols, long chaos)
	@MARKS="slow and not kube" $(FAMILY) slow 1200 --timeout 900 tests

.PHONY: kube-tools
kube-tools: $(VENV)/.installed ## Build etcd, Kubernetes, kwok and helm into the user's cache folder (once, ten minutes)
	@$(PY) -m stretto_lab.control_plane.tools $(PROGRAMS)

.PHONY: test-kube
test-kube: kernels kube-tools ## Run what needs a real API server: the contract, faults, the scheduler in a cluster
	@MARKS="kube and not slow" HYPOTHESIS_PROFILE=server $(FAMILY) kube 600 --timeout 240 tests/contract tests/e2e

.PHONY: test-kube-all
test-kube-all: test-kube ## Run what takes minutes on a real API server too: 5,000 pods at once, nodes that go
	@MARKS="kube and slow" HYPOTHESIS_PROFILE=server $(FAMILY) kube-slow 900 --timeout 600 tests/contract tests/e2e

.PHONY: chaos
chaos: $(VENV)/.installed ## Run the fault simulator: make chaos SEEDS=200 STEPS=400
	@mkdir -p out
	@$(BIN)/stretto chaos --seeds $(SEEDS) --steps $(STEPS) --json out/chaos.json --out out

.PHONY: bench
bench: kernels ## Measure what this machine can do: 20,000 nodes, 1,000,000 running pods
	@mkdir -p $(dir $(BENCH_OUT))
	@$(BIN)/stretto bench engine --nodes 20000 --running 1000000 --pods 50000 --classes 200 --json $(BENCH_OUT)

.PHONY: one-pool
one-pool: $(VENV)/.installed ## Run a day of 2,000 machines in one pool and in two, and draw it
	@mkdir -p out
	@$(BIN)/stretto study one-pool --json out/one-pool.json --out out

# ---------------------------------------------------------------- made files

.PHONY: diagrams
diagrams: $(VENV)/.installed ## Draw docs/concepts/lifecycle.md from the transition tables
	@$(PY) scripts/diagrams.py

.PHONY: crds
crds: $(VENV)/.installed ## Write deploy/crds from the structs of our kinds
	@$(PY) scripts/crds.py

.PHONY: examples
examples: $(VENV)/.installed ## Write what the examples say now to examples/*.out
	@STRETTO_WRITE_EXAMPLES=1 $(PY) -m pytest --no-header -q tests/docs/test_examples.py

.PHONY: generated
generated: diagrams examples ## Write every generated document and example output again

.PHONY: docs
docs: $(VENV)/.installed ## Build the documentation site into out/site; warnings are errors
	@$(PY) -m sphinx -q -W -n -b html -d out/doctrees docs out/site
	@echo "out/site/index.html"

.PHONY: lock
lock: ## Make requirements.lock again from pyproject.toml, for Python 3.11 to 3.14
	@scripts/make_lock.sh

.PHONY: clean
clean: ## Remove the environment, caches and outputs
	rm -rf $(VENV) out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
