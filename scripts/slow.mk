# Targets that measure, need an hour or run at night. The Makefile includes this file, and its variables
# hold here. `make -n TARGET` prints what a target runs.

.PHONY: release-check vectors site drift follow witness platforms portable distribution laws trie selfcheck \
	engines servers size profile speed nightly scale commands fuzz attack fuzz-inputs sanitize coverage \
	native-mutants patches

# Built twice to the same bytes: docs/background/releasing.md. TAG=v1.2.3: from that tag. SIGNED=1: require
# the signature.
release-check: tsampler  ## the archives of a release, in dist/, and all its checks
	test -d .venv-release || $(PYTHON) -m venv .venv-release
	.venv-release/bin/python scripts/install.py release
	.venv-release/bin/python -m scripts.release $(if $(TAG),--tag $(TAG)) $(if $(SIGNED),--signed)

# Ready to publish: docs/test-vectors.md
vectors: setup  ## the test vectors as a crate, an npm package and a wheel, in dist/vectors/
	$(BIN)/python -m scripts.vector_packages

# The docs, a page for each finding, reports of the bundles in bundles/, the history and badges. Every link
# and its target is checked. docs/background/releasing.md
SOURCE := build/site-source

site: setup  ## the whole site, in site/
	test -d .venv-docs || $(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python scripts/install.py docs
	$(BIN)/python -m scripts.site source $(SOURCE)
	rm -rf $(SITE)
	.venv-docs/bin/sphinx-build -q -E -W --keep-going -t whole -d .venv-docs/doctrees-whole -c docs $(SOURCE) $(SITE)
	$(BIN)/python -m scripts.site check $(SITE)

# node-llama-cpp's packages of these releases, in this order; b5640, b6845, b8095 and b8179 are not
# modelled. A second build, newer and by others: xllamacpp's of b11549.
DRIFT_PACKAGES := 3.1.1 3.2.0 3.3.2 3.4.0 3.4.1 3.6.0 3.9.0 3.10.0 3.14.0 3.14.2 3.15.1 3.16.0 3.17.1 3.18.0 \
	3.18.1 3.19.1 3.21.1 3.22.1
DRIFT_RELEASES := b3889 b3995 b4291 b4435 b4529 b4753 b5590 b5640 b6673 b6845 b7836 b8095 b8179 b8352 b8390 \
	b10068 v0.4.0 v0.5.0 b11549
WITNESS := xllamacpp@2026.10.11549

drift: setup  ## each modelled release of llama.cpp against its own meaning
	for version in $(DRIFT_PACKAGES); do \
		$(BIN)/sampler-parity builds add node-llama-cpp@$$version || exit 2; done
	$(BIN)/sampler-parity builds add $(WITNESS)
	rm -rf bundles/drift
	$(BIN)/sampler-parity run parity removed --reference own -o bundles/drift \
		$(DRIFT_RELEASES:%=-b llama.cpp@%)
	$(BIN)/sampler-parity report bundles/drift -o $(REPORT)

# It is fetched from npm or PyPI, compared and run. The page that it prints has what a person must decide.
# WHAT=PACKAGE@VERSION: this one. bundles/follow
follow: setup  ## the newest llama.cpp that is not modelled yet
	$(BIN)/python -m scripts.follow $(WHAT)

witness: setup  ## a second build: suites, structures, common_sampler
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

platforms: setup  ## builds for other platforms, and predictions for all
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

portable: setup  ## the portable builds, all judged by one reference
	$(BIN)/sampler-parity builds make $(PORTABLE)
	rm -rf bundles/portable
	$(BIN)/sampler-parity run parity --reference own -o bundles/portable $(PORTABLE:%=-b llama.cpp@%)
	$(BIN)/sampler-parity report bundles/portable -o $(REPORT)

distribution: setup  ## the quick distributions, and their calibration
	rm -rf bundles/distribution bundles/calibration
	$(BIN)/sampler-parity run distribution -b llama.cpp -o bundles/distribution
	$(BIN)/sampler-parity calibrate -b llama.cpp -o bundles/calibration
	$(BIN)/sampler-parity report bundles/distribution bundles/calibration -o $(REPORT)

# For the tail at 22 nats llama.cpp would need 2.5 million draws of 1.5 ms: the reference draws for both.
laws: setup  ## the full distributions of llama.cpp and the reference
	rm -rf bundles/distribution bundles/distribution-reference
	$(BIN)/sampler-parity run distribution --profile full -b llama.cpp -o bundles/distribution \
		--case 'coupled/*' --case 'dtypes/*' --case 'frequencies/*' --case 'independence/*' \
		--case 'injected/*' --case 'tail/1*'
	$(BIN)/sampler-parity run distribution --profile full -b reference -o bundles/distribution-reference

trie: setup  ## the token trie, in Python and compiled
	rm -rf bundles/trie
	$(BIN)/sampler-parity run trie -b token_trie -b token_trie/compiled -o bundles/trie

selfcheck: setup  ## how often a timing gives a false result
	rm -rf bundles/selfcheck
	$(BIN)/sampler-parity timing-selfcheck -o bundles/selfcheck

# Each engine's suites compared with the reference, then its draws: engines/NAME/engine.toml lists them.
# Missing engines are installed into environments of their own. For some only: ENGINES="rwkv mlx".
engines: setup  ## each engine's suites and draws
	rm -rf bundles/engines
	$(BIN)/python -m scripts.make_engines bundles/engines $(REPORT) $(ENGINES)

servers: setup  ## real servers on the golden model: the effect of each parameter
	$(BIN)/sampler-parity engines add xllamacpp llama_cpp_server mlx_lm_server vllm_server
	rm -rf bundles/servers
	$(BIN)/sampler-parity server start -o bundles/servers --report $(REPORT)

# BASE=REV: the difference to it.
size:  ## lines of Python by package and feature, and the limit of the core
	@$(PYTHON) scripts/size.py $(if $(BASE),--base $(BASE))

# RUN: the command that is profiled.
RUN ?= parity generate -b llama.cpp -j 1

profile: setup  ## the processor time of a run, by process, package and function
	rm -rf bundles/profile
	$(BIN)/python -m scripts.profile_run run $(RUN) -o bundles/profile

# The processor time of common commands divided by that of another commit: BASE is its checkout, ../base
# by default, after `make setup` there. Ratios with intervals; ten minutes on two cores.
speed: setup  ## the processor time of common commands, against another commit
	$(BIN)/python -m scripts.compare_speed $(or $(BASE),../base) $(WHAT)

# The engines of the extras (minutes to install), the longest tests, the planted faults.
nightly: setup  ## the nightly tests, the self-test, the second build
	$(BIN)/python scripts/install.py transformers xgrammar llguidance dask docker
	SAMPLER_PARITY_NIGHTLY=1 $(PYTEST) tests/backends tests/reference
	$(PYTEST) -m nightly --ignore $(COMMANDS)
	$(MAKE) --no-print-directory selftest witness

# 1,000,000 cases: run them (13 minutes); report, gate, compare, explain and history: seconds of a core, MiB.
scale: setup  ## a bundle of 1,000,000 cases
	$(PYTEST) -n 0 -rP -m nightly tests/bundle/test_cases.py

# The commands of the docs that take too long for every commit, as a reader pastes them.
COMMANDS := tests/project/test_commands_of_docs.py

commands: setup  ## the long commands of the docs
	$(BIN)/python scripts/install.py transformers xgrammar llguidance dask
	$(PYTEST) -m nightly $(COMMANDS)

# Random chains, state scripts and hostile logits on llama.cpp; another seed gives others.
FUZZ_FOR ?= 45m
FUZZ_SEED ?= 0

fuzz: setup  ## random chains on llama.cpp, for FUZZ_FOR
	$(BIN)/sampler-parity fuzz -b llama.cpp --for $(FUZZ_FOR) --seed $(FUZZ_SEED) --resume \
		-o bundles/fuzz-$(FUZZ_SEED)

# Kill runs a thousand times and with every signal: no process may remain, no result may be lost. Kill
# recorded programs, their recorders and checkers 200 times: every recording must be readable. Kill
# `engines add`, `builds make` and `history add` 300 times: nothing may be half or locked.
attack: setup  ## kill runs, recordings and commands at any time
	$(BIN)/pytest -q tests/attack tests/attack/long_signals.py
	$(BIN)/python -m tests.attack.killing $(or $(KILLS),1000) $(or $(SEED),1)
	$(BIN)/python -m tests.attack.killed_recordings $(or $(KILLED_RECORDINGS),200) $(or $(SEED),1)
	$(BIN)/python -m tests.attack.killed_commands $(or $(KILLED_COMMANDS),300) $(or $(SEED),1)

# Wrong inputs for every parser, a line of figures each. Failing inputs are kept in bundles/fuzzed, with
# the command that reads them again. Ten minutes on one core.
fuzz-inputs: setup  ## wrong inputs for every parser
	nice $(BIN)/python -m tests.attack.fuzzing $(or $(INPUTS),100000) $(or $(SEED),1)

# The C and C++ that we ship, under the sanitizers of addresses, undefined behaviour and threads; then
# without memory, and the recorder on disks that fail. PARTS="trie recorder": some only. Needs g++.
sanitize: setup  ## our C and C++ under sanitizers
	$(BIN)/python -m tests.attack.native $(PARTS)

# Coverage of llama.cpp's own code by the quick suites; needs g++ and gcov. bundles/native-coverage
coverage: setup  ## the coverage of llama.cpp's own code
	$(BIN)/python -m studies.native.coverage

# The faults in that code that they catch, based on the coverage. bundles/native-mutants; an hour on
# two cores. A restart continues.
native-mutants: setup  ## faults planted in llama.cpp's own code
	$(BIN)/python scripts/install.py native
	test -d bundles/native-coverage/bundles/graph || $(MAKE) --no-print-directory coverage
	$(BIN)/python -m studies.native.mutants

# The patches of docs/findings/patches.md: each compiled, and the cases that it changes compared with
# its list. bundles/patches; needs g++ and patch, a quarter of an hour on two cores.
patches: setup  ## the patches of findings, and the cases that each changes
	$(BIN)/python -m studies.patches
