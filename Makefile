# `make parity`, `make check` and `make test` each do their own set-up: .venv, pinned packages, llama.cpp.

PYTHON ?= python3
BIN := .venv/bin
BUNDLE ?= bundles/parity
REPORT ?= report

TSAMPLER := engines/tsampler
TSAMPLER_SOURCES := $(wildcard $(TSAMPLER)/*.json $(TSAMPLER)/src/*/*.ts)

# If the environment forbids compiled modules, each process of pytest would rewrite every assertion
# again: 8 of 19 seconds before its first test.
export PYTHONDONTWRITEBYTECODE =

.PHONY: help setup tsampler wheel docs parity parity-full types lint check test pytest selftest affected clean

help:  ## this list
	@awk -F ':.*  ## ' '/^[a-z-]+:.*  ## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile
	@echo "scripts/slow.mk has the targets that measure or take long: make engines, make nightly, ..."

setup: .venv/ready .venv/common  ## .venv with every locked package; compiles llama.cpp once
	@$(MAKE) --no-print-directory tsampler || \
	echo "Without npm and its registry the backend tsampler stays unavailable."

tsampler: $(TSAMPLER)/dist/ready  ## compile the TypeScript of the engine tsampler; needs npm

$(TSAMPLER)/dist/ready: $(TSAMPLER_SOURCES)
	cd $(TSAMPLER) && npm ci --silent && npx tsc
	@touch $@

.venv/ready: pyproject.toml setup.py locked.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python scripts/install.py
	@touch $@

# common_sampler, for its tests alone.
.venv/common: .venv/ready scripts/llama_common.py
	$(BIN)/python scripts/llama_common.py
	@touch $@

wheel: tsampler  ## the wheel, in dist/, with tsampler's JavaScript
	$(PYTHON) scripts/wheel.py

# The site has its own environment: nothing is compiled for it. -E: the menu is part of the first page.
SITE ?= site

docs:  ## the pages as a site, in site/; a broken link is an error
	test -d .venv-docs || $(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python scripts/install.py docs
	rm -rf $(SITE)
	.venv-docs/bin/sphinx-build -q -E -W --keep-going -d .venv-docs/doctrees -c docs . $(SITE)

# Empty, or the prebuilt llama.cpp that scripts/install.py chose if none could be compiled.
LLAMA = $(shell cat .venv/llama 2>/dev/null)

parity: .venv/ready  ## run the quick suites on llama.cpp, without npm; write a report
	rm -rf $(BUNDLE)
	$(BIN)/sampler-parity run parity generate skip_ratio --require-all $(LLAMA) -o $(BUNDLE)
	$(BIN)/sampler-parity report $(BUNDLE) -o $(REPORT)

parity-full: .venv/ready  ## the same with every case
	rm -rf $(BUNDLE)-full
	$(BIN)/sampler-parity run parity generate skip_ratio --profile full --require-all $(LLAMA) \
		-o $(BUNDLE)-full
	$(BIN)/sampler-parity report $(BUNDLE)-full -o $(REPORT)

# BASE=REV: since then, by default since this branch left main. RUN=1: run them, cheapest first.
affected:  ## the slow targets that cover a change, with their minutes: scripts/affected.toml
	@$(PYTHON) -m scripts.affected $(if $(filter command environment,$(origin BASE)),--base $(BASE)) \
		$(if $(filter-out 1,$(or $(RUN),0)),,--run)

types: setup  ## ruff, and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# `sampler-parity lint` runs as a test, too: in parallel with the others it takes no extra time.
lint: types  ## the same, and sampler-parity lint of the suites
	$(BIN)/sampler-parity lint

# worksteal: idle processes take remaining tests. Three, because many tests wait for other processes.
# check: all but the slow tests, which are those that wait. Each process loads all tests.
# With -k, mypy (one process) and the tests run in parallel, each to its end.
PYTEST = $(BIN)/pytest -n $(or $(PROCESSES),3) --dist worksteal
HANGS = -o faulthandler_timeout=900 -o faulthandler_exit_on_timeout=true

check:  ## make types and the quick tests
	@$(MAKE) --no-print-directory -j2 -k types pytest PROCESSES=2 SOME="not slow and not nightly"

test:  ## make types and all tests that are not nightly
	@$(MAKE) --no-print-directory -j2 -k types pytest

# A test that takes 15 minutes hangs: pytest prints the stack, ends the process and names the test.
pytest: setup  ## the tests alone; SOME=EXPRESSION: those of a marker
	$(PYTEST) $(HANGS) -m "$(or $(SOME),not nightly)"

selftest: setup  ## every planted fault must be caught
	$(BIN)/sampler-parity selftest

clean:  ## remove everything that make and the program wrote here
	rm -rf .venv .venv-docs .venv-release site bundles report build dist *.egg-info $(TSAMPLER)/dist $(TSAMPLER)/node_modules

include scripts/slow.mk
