# Everything a person or a CI job runs. `make help` lists the targets.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
# pip, which says every two seconds what it does.
INSTALL := $(BIN)/python tools/install.py
LOCKED := --require-hashes --requirement
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-package mooring-client --no-header
SOURCES := server adapters clients tests tools
SEED ?= 1
COUNT ?= 2000
NODES ?= 500
PODS ?= 3000
RUNS ?= 5
MINUTES ?= 10
# One more than there are cores, as tests of processes and deadlines mostly wait.
WORKERS ?= $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN) + 1 )))
# How many examples properties try: `dev` a fifth, `ci` all.
HYPOTHESIS_PROFILE ?= dev
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --hypothesis-profile=$(HYPOTHESIS_PROFILE) --ignore=tests/laboratories/e2e
# Each process that a test starts would compile mooring again: a third of its time.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test test-slow test-clients test-packaging test-web check e2e conformance bench bench-ghz bench-cluster bench-gate upstream soak histories interleavings model fuzz doors format stubs docs names lock licences build build-twice web clean

help: ## Print this list
	@test -t 1 && bold=$$(printf '\033[1m') && plain=$$(printf '\033[0m'); \
	sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | \
	while IFS="$$(printf '\t')" read -r name text; do printf "$$bold%-15s$$plain %s\n" "$$name" "$$text"; done

run: $(VENV)/run.stamp ## Start server and extender adapter on the sample cluster, show a first decision, serve until Ctrl-C
	@exec $(BIN)/mooring run

test: $(VENV)/dev.stamp ## Run the fast tests, which need nothing but Python
	$(PYTEST) --dist worksteal -m "not (slow or packaging or browser or clients)" $(ARGS)

test-slow: $(VENV)/dev.stamp ## Run the tests that find little for their time: processes, most recorded answers, rounds of the laboratories
	$(PYTEST) --dist worksteal -m slow $(ARGS)

test-clients: $(VENV)/dev.stamp ## Build the clients of all languages, play the contract suite with each, and call from C++, C#, Kotlin, PHP and Ruby (needs Go, Java with Maven, Node, Rust; the packages that .ci/run names)
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m clients tests/clients $(ARGS)

test-packaging: $(VENV)/dev.stamp ## Build the distributions and the image's environment, install them and packages of plugins, and try them
	$(PYTEST) --dist loadfile -m packaging $(ARGS)

test-web: $(VENV)/dev.stamp ## Try every view of the page on a live scheduler (needs Chromium and Node)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m browser tests/web $(ARGS)

check: $(VENV)/docs.stamp ## Format, lint, types, layers, contract, stubs, names, licences, documents, Dockerfile: all that can be checked without running
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy $(SOURCES)
	$(BIN)/lint-imports --no-logo
	$(BIN)/buf lint
	$(BIN)/buf breaking --against protos/mooring.binpb
	$(BIN)/python tools/generate_stubs.py --check
	$(BIN)/python -m tools.docs.public_names --check $(AGAINST:%=--against %)
	$(BIN)/python -m tools.docs.interface --check
	$(BIN)/python -m tools.supply.licences --check
	$(BIN)/python -m tools.docs
	$(BIN)/hadolint Dockerfile

e2e: $(VENV)/dev.stamp ## Build etcd, kube-apiserver and kube-scheduler, then test mooring with them (needs Go, Maven and Node)
	$(BIN)/python tests/laboratories/e2e/build.py
	$(BIN)/python -m pytest tests/laboratories/e2e $(ARGS)

conformance: $(VENV)/dev.stamp ## Compare with the plugins of kube-scheduler (VERSION, default the newest) on COUNT random cases from SEED (needs Go)
	$(BIN)/python -m tests.laboratories.conformance.run compare --seed $(SEED) --count $(COUNT) $(VERSION:%=--version %)
	$(BIN)/python -m tests.laboratories.conformance.sequences.run compare --seed $(SEED) --count $(COUNT) $(VERSION:%=--version %)
	$(BIN)/python -m tests.laboratories.conformance.hints.run compare --seed $(SEED) --count $$(( $(COUNT) / 20 + 1 )) $(VERSION:%=--version %)
	$(BIN)/python -m tests.laboratories.conformance.queue.run compare --seed $(SEED) --count $(COUNT) $(patsubst %,--version %,$(filter 1.36 1.37,$(VERSION)))
	$(BIN)/python -m tests.laboratories.conformance.groups.run compare --seed $(SEED) --count $(COUNT) $(patsubst %,--version %,$(filter 1.37,$(VERSION)))

# What the parts of the benchmarks build first.
PROGRAMS_ghz := ghz
PROGRAMS_stored_cluster := etcd kube-apiserver

bench: $(VENV)/dev.stamp ## Measure decisions per second, extender latency and memory at 5,000 nodes; PART=peers or PART=stored_cluster: those (need Go)
	$(if $(PROGRAMS_$(PART)),$(BIN)/python tests/laboratories/e2e/build.py $(PROGRAMS_$(PART)))
	$(BIN)/python -m tests.laboratories.bench$(PART:%=.%) $(ARGS)

bench-ghz: PART = ghz
bench-ghz: bench ## Call each RPC of the core and of commits with ghz, beside a server that does nothing (needs Go)

bench-cluster: $(VENV)/dev.stamp ## Pods bound per second, beside a null binder and kube-scheduler, on NODES nodes with PODS pods, RUNS times (needs Go)
	$(BIN)/python tests/laboratories/e2e/build.py etcd kube-apiserver kube-scheduler
	$(BIN)/python -m tests.laboratories.bench.live --nodes $(NODES) --pods $(PODS) --runs $(RUNS) $(ARGS)

bench-gate: $(VENV)/dev.stamp ## Fail if something has become slow, judged by ratios within the run
	$(BIN)/python -m tests.laboratories.bench.gate $(ARGS)

upstream: $(VENV)/dev.stamp ## Kubernetes' own end-to-end tests of scheduling, with mooring and with kube-scheduler; SUITE=integration: its integration tests (needs Go and half an hour)
	$(BIN)/python tests/laboratories/e2e/build.py etcd kube-apiserver kube-controller-manager kube-scheduler $(if $(SUITE),,kwok e2e.test)
	$(BIN)/python -m tests.laboratories.upstream$(SUITE:%=.%) $(ARGS)

soak: $(VENV)/dev.stamp ## Break bindings, watches, leases and reservations, and attack a server, for MINUTES with fresh seeds, going on from a ledger
	$(BIN)/python -m tests.laboratories.soak --minutes $(MINUTES) $(ARGS)

interleavings: $(VENV)/dev.stamp ## Play threads for MINUTES in an order that a seed decides, going on from a ledger
	$(BIN)/python -m tests.laboratories.interleavings --minutes $(MINUTES) $(ARGS)

model: $(VENV)/dev.stamp ## Visit every state of the model of reserve, bind, groups and lease; ARGS="--walks 10000" drives walks of it through the code
	$(BIN)/python -m tests.laboratories.model $(ARGS)

histories: $(VENV)/dev.stamp ## Play random histories for MINUTES: each cached answer beside an evaluation in full, going on from a ledger
	$(BIN)/python -m tests.laboratories.histories --minutes $(MINUTES) $(ARGS)

fuzz: $(VENV)/dev.stamp ## Send what is nearly right to every door for MINUTES, or to one TARGET, going on from a ledger
	$(BIN)/python -m tests.laboratories.fuzz --minutes $(MINUTES) $(TARGET:%=--target %) $(ARGS)

doors: $(VENV)/dev.stamp ## Put random manifests into a real cluster and through mooring's commands for MINUTES, going on from a ledger (needs Go)
	$(BIN)/python tests/laboratories/e2e/build.py etcd kube-apiserver kube-controller-manager kube-scheduler kwok
	$(BIN)/python -m tests.laboratories.doors --minutes $(MINUTES) $(ARGS)

format: $(VENV)/dev.stamp ## Format the code and repair what can be repaired
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

stubs: $(VENV)/dev.stamp ## Generate the committed stubs, in Python and Go, from protos/ (needs Go)
	$(BIN)/python tools/generate_stubs.py
	cd clients/go && PATH=$(abspath $(BIN)):$$PATH go generate

docs: $(VENV)/docs.stamp ## Build the site of the documents into .cache/docs/site; a link that leads nowhere is an error
	$(BIN)/python -m tools.docs

names: $(VENV)/docs.stamp ## List public names of mooring.framework, flags and metrics, with which `make check` compares
	$(BIN)/python -m tools.docs.public_names
	$(BIN)/python -m tools.docs.interface

lock: $(VENV)/dev.stamp ## Resolve the dependencies again and write requirements/*.txt with hashes
	$(COMPILE) pyproject.toml --output-file requirements/run.txt
	$(COMPILE) pyproject.toml --extra fast --constraint requirements/run.txt --output-file requirements/fast.txt
	$(COMPILE) pyproject.toml --extra lab --constraint requirements/run.txt --output-file requirements/lab.txt
	$(COMPILE) pyproject.toml --extra mcp --constraint requirements/run.txt --output-file requirements/mcp.txt
	$(COMPILE) pyproject.toml --extra ray --constraint requirements/run.txt --output-file requirements/ray.txt
	$(COMPILE) pyproject.toml --extra tracing --constraint requirements/run.txt --output-file requirements/tracing.txt
	$(COMPILE) pyproject.toml --extra wasm --constraint requirements/run.txt --output-file requirements/wasm.txt
	$(COMPILE) --group build --constraint requirements/run.txt --output-file requirements/build.txt
	$(COMPILE) --group dev --constraint requirements/fast.txt --constraint requirements/lab.txt --constraint requirements/mcp.txt --constraint requirements/ray.txt --constraint requirements/tracing.txt --constraint requirements/wasm.txt --output-file requirements/dev.txt
	$(COMPILE) --group docs --constraint requirements/dev.txt --output-file requirements/docs.txt

build: $(VENV)/dev.stamp ## Build wheels, source distributions and the image's context into dist/, with SBOMs and a provenance statement
	$(BIN)/python -m tools.supply.build

build-twice: $(VENV)/dev.stamp ## Build two clones of the last commit, and fail if a file differs
	$(BIN)/python -m tools.supply.build --twice

licences: $(VENV)/docs.stamp ## Bring requirements/licences.toml up to date, and list all packages by licence
	$(BIN)/python -m tools.supply.licences --write
	$(BIN)/python -m tools.supply.licences

web: $(VENV)/dev.stamp ## Test the page and build it into server/mooring/web/static (needs Node)
	cd web && npm install --no-package-lock --ignore-scripts --no-audit --no-fund
	$(BIN)/buf generate --template web/buf.gen.yaml
	cd web && npm test && npm run build

clean: ## Remove what was built, the virtual environment included
	rm -rf $(VENV) dist .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .cache
	find server adapters clients tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps make a second call immediate. The project itself is installed in editable form, so code needs no new install.
$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "make: Python 3.11 or newer is needed; name it with PYTHON=/path/to/python" >&2; exit 1; }
	@echo "Making the virtual environment $(VENV)"
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/run.stamp: requirements/run.txt requirements/build.txt pyproject.toml clients/python/pyproject.toml | $(BIN)/python
	@echo "Installing what mooring needs into $(VENV): $$(grep -c == requirements/run.txt) packages, once"
	@$(INSTALL) $(LOCKED) requirements/run.txt --requirement requirements/build.txt
	@echo "Installing mooring itself"
	@$(INSTALL) --no-deps --no-build-isolation --editable clients/python --editable .
	@touch $@

$(VENV)/dev.stamp: requirements/dev.txt $(VENV)/run.stamp
	@echo "Installing what the tests need: $$(grep -c == requirements/dev.txt) packages, once"
	@$(INSTALL) $(LOCKED) requirements/dev.txt
	@touch $@

$(VENV)/docs.stamp: requirements/docs.txt $(VENV)/dev.stamp
	@echo "Installing what the documents need: $$(grep -c == requirements/docs.txt) packages, once"
	@$(INSTALL) $(LOCKED) requirements/docs.txt
	@touch $@
