# `make parity` and `make test` each do all their set-up: .venv, pinned packages, llama.cpp.

PYTHON ?= python3
BIN := .venv/bin
BUNDLE ?= bundles/parity
REPORT ?= report

# Only the libraries that sampling needs are built: no tools, no server, no multimodal part.
export CMAKE_ARGS ?= -DLLAVA_BUILD=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_TOOLS=OFF \
	-DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_APP=OFF
export SKBUILD_BUILD_TARGETS ?= llama;ggml;llama-common
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell nproc 2>/dev/null || echo 2)

TSAMPLER := harness/backends/tsampler
TSAMPLER_SOURCES := $(wildcard $(TSAMPLER)/*.json $(TSAMPLER)/src/*/*.ts)

.PHONY: setup tsampler parity parity-full test lint selftest clean

setup: .venv/ready
	@$(MAKE) --no-print-directory tsampler || \
	echo "Without npm and its registry the backend tsampler stays unavailable."

tsampler: $(TSAMPLER)/dist/ready

$(TSAMPLER)/dist/ready: $(TSAMPLER_SOURCES)
	cd $(TSAMPLER) && npm ci --silent && npx tsc
	@touch $@

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	@echo "Installing. The first time this compiles llama.cpp: three to eight minutes on two cores."
	$(BIN)/python scripts/install.py
	@touch $@

parity: setup
	rm -rf $(BUNDLE)
	$(BIN)/sampler-parity run parity generate -o $(BUNDLE)
	$(BIN)/sampler-parity report $(BUNDLE) -o $(REPORT)

parity-full: setup
	rm -rf $(BUNDLE)-full
	$(BIN)/sampler-parity run parity generate --profile full -o $(BUNDLE)-full
	$(BIN)/sampler-parity report $(BUNDLE)-full -o $(REPORT)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/sampler-parity lint

selftest: setup
	$(BIN)/sampler-parity selftest

test: lint
	$(BIN)/pytest

clean:
	rm -rf .venv bundles report build *.egg-info $(TSAMPLER)/dist $(TSAMPLER)/node_modules
