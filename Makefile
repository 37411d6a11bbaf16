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

.PHONY: setup tsampler wheel release-check docs site parity parity-full drift follow witness platforms portable distribution \
	laws trie selfcheck engines servers fuzz types lint \
	size profile speed check test pytest nightly scale commands attack fuzz-inputs sanitize selftest coverage native-mutants patches clean

setup: .venv/ready .venv/common
	@$(MAKE) --no-print-directory tsampler || \
	echo "Without npm and its registry the backend tsampler stays unavailable."

tsampler: $(TSAMPLER)/dist/ready

$(TSAMPLER)/dist/ready: $(TSAMPLER_SOURCES)
	cd $(TSAMPLER) && npm ci --silent && npx tsc
	@touch $@

.venv/ready: pyproject.toml setup.py constraints.txt locked.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python scripts/install.py
	@touch $@

# common_sampler, for its tests alone.
.venv/common: .venv/ready scripts/llama_common.py
	$(BIN)/python scripts/llama_common.py
	@touch $@

# The wheel, in dist/, with tsampler's JavaScript.
wheel: tsampler
	$(PYTHON) scripts/wheel.py

# Wheel and source archive in dist/, built twice to the same bytes, with all checks of a release:
# docs/background/releasing.md. TAG=v1.2.3: from that tag. SIGNED=1: require the signature.
release-check: tsampler
	test -d .venv-release || $(PYTHON) -m venv .venv-release
	.venv-release/bin/python scripts/install.py release
	.venv-release/bin/python -m scripts.release $(if $(TAG),--tag $(TAG)) $(if $(SIGNED),--signed)

# The pages as a site, in site/, for any host. It has its own environment: nothing is compiled for it.
# A broken link ends it. -E: the menu is part of the first page.
SITE ?= site

docs:
	test -d .venv-docs || $(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python scripts/install.py docs
	rm -rf $(SITE)
	.venv-docs/bin/sphinx-build -q -E -W --keep-going -d .venv-docs/doctrees -c docs . $(SITE)

# The same with a page for each finding, reports of the bundles in bundles/, the history and badges.
# Every link and its target is checked. docs/background/releasing.md
SOURCE := build/site-source

site: setup
	test -d .venv-docs || $(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python scripts/install.py docs
	$(BIN)/python -m scripts.site source $(SOURCE)
	rm -rf $(SITE)
	.venv-docs/bin/sphinx-build -q -E -W --keep-going -t whole -d .venv-docs/doctrees-whole -c docs $(SOURCE) $(SITE)
	$(BIN)/python -m scripts.site check $(SITE)

# Empty, or the prebuilt llama.cpp that scripts/install.py chose if none could be compiled.
LLAMA = $(shell cat .venv/llama 2>/dev/null)

# llama.cpp alone: nothing of npm.
parity: .venv/ready
	rm -rf $(BUNDLE)
	$(BIN)/sampler-parity run parity generate skip_ratio --require-all $(LLAMA) -o $(BUNDLE)
	$(BIN)/sampler-parity report $(BUNDLE) -o $(REPORT)

parity-full: .venv/ready
	rm -rf $(BUNDLE)-full
	$(BIN)/sampler-parity run parity generate skip_ratio --profile full --require-all $(LLAMA) \
		-o $(BUNDLE)-full
	$(BIN)/sampler-parity report $(BUNDLE)-full -o $(REPORT)

# node-llama-cpp's packages of these releases, in this order; b5640, b6845, b8095 and b8179 are not
# modelled. A second build, newer and by others: xllamacpp's of b11549.
DRIFT_PACKAGES := 3.1.1 3.2.0 3.3.2 3.4.0 3.4.1 3.6.0 3.9.0 3.10.0 3.14.0 3.14.2 3.15.1 3.16.0 3.17.1 3.18.0 \
	3.18.1 3.19.1 3.21.1 3.22.1
DRIFT_RELEASES := b3889 b3995 b4291 b4435 b4529 b4753 b5590 b5640 b6673 b6845 b7836 b8095 b8179 b8352 b8390 \
	b10068 v0.4.0 v0.5.0 b11549
WITNESS := xllamacpp@2026.10.11549

drift: setup
	for version in $(DRIFT_PACKAGES); do \
		$(BIN)/sampler-parity builds add node-llama-cpp@$$version || exit 2; done
	$(BIN)/sampler-parity builds add $(WITNESS)
	rm -rf bundles/drift
	$(BIN)/sampler-parity run parity removed --reference own -o bundles/drift \
		$(DRIFT_RELEASES:%=-b llama.cpp@%)
	$(BIN)/sampler-parity report bundles/drift -o $(REPORT)

# The newest llama.cpp of npm or PyPI, if it is not modelled yet: fetched, compared and run. The page
# that it prints has what a person must decide. WHAT=PACKAGE@VERSION: this one. bundles/follow
follow: setup
	$(BIN)/python -m studies.follow $(WHAT)

# The second build alone: the suites, its structures, and common_sampler command by command.
witness: setup
	$(BIN)/sampler-parity builds add $(WITNESS)
	rm -rf bundles/witness
	$(BIN)/sampler-parity run parity --reference own -b llama.cpp@b11549 -o bundles/witness
	$(PYTEST) tests/reference/test_common_sampler_native.py tests/llama_cpp/test_builds.py -k "b11549 or later_build"

# Builds for other platforms, each judged by the reference of its platform, and the reference's
# predictions for all platforms. All missing tools are named first, with their Debian packages; an
# existing build is not made again.
PLATFORMS := arm64-gcc libc++ wasm
BUILDS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/sampler-parity/builds
UNMADE = $(strip $(foreach name,$(PLATFORMS),$(if $(wildcard $(BUILDS)/$(name)/build.json),,$(name))))

platforms: setup
	$(if $(UNMADE),$(BIN)/sampler-parity builds make $(UNMADE))
	test -f $(BUILDS)/v0.5.0-linux-arm64/build.json || \
		$(BIN)/sampler-parity builds add @node-llama-cpp/linux-arm64@3.22.1
	rm -rf bundles/platforms bundles/predicted
	$(BIN)/sampler-parity predict parity texts -o bundles/predicted || test $$? = 1  # not all repeat
	$(BIN)/sampler-parity run parity texts --reference own -o bundles/platforms \
		-b llama.cpp@v0.5.0-linux-arm64 $(PLATFORMS:%=-b llama.cpp@%)
	$(BIN)/sampler-parity report bundles/platforms bundles/predicted -o $(REPORT)

# llama.cpp with portable.patch, compiled five ways: one reference judges all (docs/background/portable-seed.md).
PORTABLE := portable portable-libc++ portable-x64-v3 portable-arm64-gcc portable-wasm

portable: setup
	$(BIN)/sampler-parity builds make $(PORTABLE)
	rm -rf bundles/portable
	$(BIN)/sampler-parity run parity --reference own -o bundles/portable $(PORTABLE:%=-b llama.cpp@%)
	$(BIN)/sampler-parity report bundles/portable -o $(REPORT)

distribution: setup
	rm -rf bundles/distribution bundles/calibration
	$(BIN)/sampler-parity run distribution -b llama.cpp -o bundles/distribution
	$(BIN)/sampler-parity calibrate -b llama.cpp -o bundles/calibration
	$(BIN)/sampler-parity report bundles/distribution bundles/calibration -o $(REPORT)

# For the night, run by no other target: the full distributions, the trie, false results of timings. For
# the tail at 22 nats llama.cpp would need 2.5 million draws of 1.5 ms: the reference draws for both.
laws: setup
	rm -rf bundles/distribution bundles/distribution-reference
	$(BIN)/sampler-parity run distribution --profile full -b llama.cpp -o bundles/distribution \
		--case 'coupled/*' --case 'dtypes/*' --case 'frequencies/*' --case 'independence/*' \
		--case 'injected/*' --case 'tail/1*'
	$(BIN)/sampler-parity run distribution --profile full -b reference -o bundles/distribution-reference

trie: setup
	rm -rf bundles/trie
	$(BIN)/sampler-parity run trie -b token_trie -b token_trie/compiled -o bundles/trie

selfcheck: setup
	rm -rf bundles/selfcheck
	$(BIN)/sampler-parity timing-selfcheck -o bundles/selfcheck

# Each engine's suites compared with the reference, then its draws: engines/NAME/engine.toml lists them.
# Missing engines are installed into environments of their own. For some only: ENGINES="rwkv mlx".
engines: setup
	rm -rf bundles/engines
	$(BIN)/python -m scripts.make_engines bundles/engines $(REPORT) $(ENGINES)

# Real servers on the golden model, one after the other: the effect of each parameter.
servers: setup
	$(BIN)/sampler-parity engines add xllamacpp llama_cpp_server mlx_lm_server vllm_server
	rm -rf bundles/servers
	$(BIN)/sampler-parity server start -o bundles/servers --report $(REPORT)

# `sampler-parity lint` runs as a test, too: in parallel with the others it takes no extra time.
lint: types
	$(BIN)/sampler-parity lint

# Lines of Python by package and feature, and the limit of the core. BASE=REV: the difference to it.
size:
	@$(PYTHON) scripts/size.py $(if $(BASE),--base $(BASE))

# Where the processor time of a run goes, by process, package and function
RUN ?= parity generate -b llama.cpp -j 1

profile: setup
	rm -rf bundles/profile
	$(BIN)/python -m scripts.profile_run run $(RUN) -o bundles/profile

# The processor time of common commands divided by that of another commit: BASE is its checkout, after
# `make setup` there. Ratios with intervals; ten minutes on two cores.
BASE ?= ../base

speed: setup
	$(BIN)/python -m scripts.compare_speed $(BASE) $(WHAT)

types: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

selftest: setup
	$(BIN)/sampler-parity selftest

# worksteal: idle processes take remaining tests. Three, because many tests wait for other processes.
# check: all but the slow tests, which are those that wait. Each process loads all tests.
# With -k, mypy (one process) and the tests run in parallel, each to its end.
PYTEST = $(BIN)/pytest -n $(or $(PROCESSES),3) --dist worksteal
HANGS = -o faulthandler_timeout=900 -o faulthandler_exit_on_timeout=true

check:
	@$(MAKE) --no-print-directory -j2 -k types pytest PROCESSES=2 SOME="not slow and not nightly"

test:
	@$(MAKE) --no-print-directory -j2 -k types pytest

# A test that takes 15 minutes hangs: pytest prints the stack, ends the process and names the test.
pytest: setup
	$(PYTEST) $(HANGS) -m "$(or $(SOME),not nightly)"

# The engines of the extras (minutes to install), the longest tests, the planted faults.
nightly: setup
	$(BIN)/python scripts/install.py transformers xgrammar llguidance dask docker
	SAMPLER_PARITY_NIGHTLY=1 $(PYTEST) tests/backends tests/reference
	$(PYTEST) -m nightly --ignore $(COMMANDS)
	$(MAKE) --no-print-directory selftest witness

# 1,000,000 cases: run them (13 minutes); report, gate, compare, explain and history: seconds of a core, MiB.
scale: setup
	$(PYTEST) -n 0 -rP -m nightly tests/bundle/test_cases.py

# The commands of the docs that take too long for every commit, as a reader pastes them.
COMMANDS := tests/project/test_commands_of_docs.py

commands: setup
	$(BIN)/python scripts/install.py transformers xgrammar llguidance dask
	$(PYTEST) -m nightly $(COMMANDS)

# Random chains, state scripts and hostile logits on llama.cpp; another seed gives others.
FUZZ_FOR ?= 45m
FUZZ_SEED ?= 0

fuzz: setup
	$(BIN)/sampler-parity fuzz -b llama.cpp --for $(FUZZ_FOR) --seed $(FUZZ_SEED) --resume \
		-o bundles/fuzz-$(FUZZ_SEED)

# Kill runs a thousand times and with every signal: no process may remain, no result may be lost. Kill
# recorded programs, their recorders and checkers 200 times: every recording must be readable. Kill
# `engines add`, `builds make` and `history add` 300 times: nothing may be half or locked.
attack: setup
	$(BIN)/pytest -q tests/attack tests/attack/long_signals.py
	$(BIN)/python -m tests.attack.killing $(or $(KILLS),1000) $(or $(SEED),1)
	$(BIN)/python -m tests.attack.killed_recordings $(or $(KILLED_RECORDINGS),200) $(or $(SEED),1)
	$(BIN)/python -m tests.attack.killed_commands $(or $(KILLED_COMMANDS),300) $(or $(SEED),1)

# Wrong inputs for every parser, a line of figures each. Failing inputs are kept in bundles/fuzzed, with
# the command that reads them again. Ten minutes on one core.
fuzz-inputs: setup
	nice $(BIN)/python -m tests.attack.fuzzing $(or $(INPUTS),100000) $(or $(SEED),1)

# The C and C++ that we ship, under the sanitizers of addresses, undefined behaviour and threads; then
# without memory, and the recorder on disks that fail. PARTS="trie recorder": some only. Needs g++.
sanitize: setup
	$(BIN)/python -m tests.attack.native $(PARTS)

# Coverage of llama.cpp's own code by the quick suites; needs g++ and gcov. bundles/native-coverage
coverage: setup
	$(BIN)/python -m studies.native.coverage

# The faults in that code that they catch, based on the coverage. bundles/native-mutants; an hour on
# two cores. A restart continues.
native-mutants: setup
	$(BIN)/python scripts/install.py native
	test -d bundles/native-coverage/bundles/graph || $(MAKE) --no-print-directory coverage
	$(BIN)/python -m studies.native.mutants

# The patches of docs/findings/patches.md: each compiled, and the cases that it changes compared with
# its list. bundles/patches; needs g++ and patch, a quarter of an hour on two cores.
patches: setup
	$(BIN)/python -m studies.patches

clean:
	rm -rf .venv .venv-docs .venv-release site bundles report build dist *.egg-info $(TSAMPLER)/dist $(TSAMPLER)/node_modules
