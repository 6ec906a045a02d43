# On a machine with Python and make, `make demo` or `make test` is all: the first of them sets up .venv by itself.

PYTHON ?= python3
DEMO   ?=
TEST   ?=
SERVE  ?=
BENCH  ?=
SOAK   ?= 100000
FAULTS ?=
FUZZ   ?=

BIN   := .venv/bin
RUN   := .venv/.installed
DEV   := .venv/.installed-dev

# Extends .venv: only what the benchmarks compare with is installed in it, and .venv stays as it is.
BENCH_VENV := .venv-bench
BENCHED    := $(BENCH_VENV)/.installed
BENTOML    := $(BENCH_VENV)/bentoml
STORES     := $(BENCH_VENV)/object-stores
AZURITE    := $(BENCH_VENV)/azurite
AZURITE_VERSION := 3.37.0
KSERVE     := .venv/kserve
PURELIB    := -c 'import sysconfig; print(sysconfig.get_path("purelib"))'

# The tests that use a database: stores, queries, audit, REST API, and what reads and writes by these.
DATABASE_TESTS := tests/unit/db tests/contract/db tests/contract/test_recorder.py \
	tests/integration/export_formats tests/unit/api/serve/test_standby_wake_forwarding.py \
	tests/contract/sweep/file_store/test_file_stores.py tests/unit/api/rest tests/unit/api/cli/test_app.py \
	tests/integration/database_programs \
	$(patsubst %,tests/unit/api/cli/commands/test_%.py,ensemble ensemble_traffic_and_drift node sweep_curves \
		sweep_export sweep_metadata sweep_submit trial_names) \
	$(patsubst %,tests/unit/api/%.py,client/test_client client/test_notebook_objects client/test_public_surface \
		gateway/test_health_routes gateway/test_inference_protocol_routes gateway/test_main http/test_authenticate_first \
		http/test_authentication http/test_browser_security_middleware node_service/test_clock_offset \
		node_service/test_node_facing_file_routes node_service/test_join_routes node_service/test_node_agent notifications/test_notifications) \
	$(patsubst %,tests/unit/ensemble/host/test_%.py,queued_evaluation_runner host_loop members_over_devices \
		precision_decisions requested_ensemble_builder) \
	$(patsubst %,tests/unit/sweep/%.py,scheduling/test_cluster_file_transfer_token scheduling/test_retention_cleanup \
		scheduling/test_scheduler_epoch_file scheduling/test_sweep_warnings runtime/test_submission_provenance \
		studies/test_study_conversion node_agent/test_carried_files)

DASHBOARD := api/dashboard
NPM_DONE  := $(DASHBOARD)/node_modules/.package-lock.json

# The environment variables hold for pip's build environments too. The path is relative on purpose: pip splits the
# value at spaces, and the folder of a checkout may have some.
PIP_CONSTRAINED := PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt
PIP_ARGUMENTS   := -m pip --disable-pip-version-check install -qq -c constraints.txt
PIP_INSTALL     := $(PIP_CONSTRAINED) $(BIN)/python $(PIP_ARGUMENTS)

.PHONY: help demo test test-all test-postgres test-extras kserve soak faults fuzz check docs audit lint-deploy bench serve dashboard dashboard-check screenshots clean

help:
	@echo 'make demo     search, train and ensemble on this machine; DEMO="--json FILE" keeps the result'
	@echo 'make test     the tests; TEST="tests/unit -k name" for some of them'
	@echo 'make test-all  the slow tests as well: longer campaigns, full disks, every example, test-extras and kserve'
	@echo 'make test-postgres  the tests that use a database on PostgreSQL instead of SQLite, and a standby (as root)'
	@echo 'make test-extras  what needs ray[default], ray[tune], ray[serve], the other peers and emulators of object stores, in .venv-bench'
	@echo 'make kserve   the test of KServe'"'"'s client, which needs an environment of its own'
	@echo 'make soak     100,000 predictions while members stall and die: minutes; SOAK=20000 for fewer'
	@echo 'make faults   200 kills of the service and its parts and 200 of trials: a quarter of an hour; FAULTS="--seed 8"'
	@echo '              FAULTS="--nodes 3": 100 faults of three nodes of a cluster, as root: half an hour'
	@echo '              FAULTS="--postgres --faults 40": faults of the server of a PostgreSQL database: a quarter of an hour'
	@echo '              FAULTS="--standby": 100 takeovers by a standby on PostgreSQL, as root: an hour'
	@echo 'make fuzz     20,000 requests that nobody would write: minutes; FUZZ="--cases 2000 --seed 8"'
	@echo 'make check    format, lint, types, import rules, container files, prose, docs, known vulnerabilities of dependencies'
	@echo 'make audit    only the vulnerabilities; asks pypi.org, and reports if it cannot'
	@echo 'make docs     the documentation as a site, into site/; a broken link fails'
	@echo 'make bench    the benchmarks, in .venv-bench; BENCH="..." for their arguments'
	@echo 'make serve    the service in the foreground; SERVE="--devices cpu:2" for its arguments'
	@echo 'make clean    remove .venv, .venv-bench and caches, and keep podium-data'
	@echo 'make dashboard        build the pages, with Node: api/dashboard into api/static, types first'
	@echo 'make dashboard-check  its types, lint and tests; that api/static is what its sources give, and small'
	@echo 'make screenshots      every page, of a real sweep, into docs/images'

demo: $(RUN)
	@$(BIN)/podium demo $(DEMO)

test: $(DEV)
	@$(BIN)/python -m $(if $(strip $(TEST)),pytest $(TEST),tests)

test-all: $(DEV)
	@failed=0; \
	$(BIN)/python -m tests --all || failed=1; \
	$(MAKE) --no-print-directory test-extras || failed=1; \
	$(MAKE) --no-print-directory kserve || failed=1; \
	exit $$failed

test-postgres: $(DEV)
	@$(BIN)/python -m pytest -n 3 --dist=loadfile --no-loadscope-reorder --postgres -m "" \
		tests/cluster/test_standby.py tests/integration/test_service_on_postgres.py tests/integration/test_ensemble_life.py \
		tests/integration/test_events_stream.py $(DATABASE_TESTS) \
		tests/faults/test_postgres_campaign.py::test_proxy_cuts_a_commit_after_the_server_got_it

test-extras: $(BENCHED) $(BENTOML)/.installed $(STORES)/.installed $(AZURITE)/.installed
	@$(BENCH_VENV)/bin/python -c 'import litserve, ray.serve, ray.tune, ray.dashboard.optional_deps'
	@$(BENCH_VENV)/bin/python -m pytest tests/integration/test_ray_exposure.py \
		tests/integration/test_benchmarks.py::test_ensembles_run_against_peers \
		tests/integration/test_benchmarks_peers.py
	@$(STORES)/bin/python -c 'import adlfs, gcp_storage_emulator, gcsfs, moto, s3fs'
	@$(STORES)/bin/python -m pytest tests/contract/sweep/file_store

kserve: $(DEV) $(KSERVE)/.installed
	@PODIUM_KSERVE_PYTHON=$(KSERVE)/bin/python $(BIN)/python -m pytest tests/integration/third_party/test_inference.py

soak: $(DEV)
	@PODIUM_SOAK=$(SOAK) $(BIN)/python -m pytest tests/integration/test_soak.py

faults: $(DEV)
	@$(BIN)/python -m tests.faults $(FAULTS)

fuzz: $(DEV)
	@$(BIN)/python -m tests.fuzz $(FUZZ)

check: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@PATH="$(CURDIR)/$(BIN):$$PATH" deploy/lint.sh
	@$(BIN)/python .ci/check_prose.py
	@$(BIN)/python .ci/module_map.py --check
	@$(MAKE) --no-print-directory docs
	@$(BIN)/python .ci/audit.py

docs: $(DEV)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

audit: $(DEV)
	@$(BIN)/python .ci/audit.py

lint-deploy:
	@PATH="$(CURDIR)/$(BIN):$$PATH" deploy/lint.sh

bench: $(BENCHED) $(BENTOML)/.installed
	@$(BENCH_VENV)/bin/python -m benchmarks $(BENCH)

serve: $(RUN)
	@exec $(BIN)/podium serve $(SERVE)

dashboard: $(RUN) $(NPM_DONE)
	@cd $(DASHBOARD) && PATH="$(CURDIR)/$(BIN):$$PATH" npm run --silent types && npm run --silent build

dashboard-check: $(RUN) $(NPM_DONE)
	cd $(DASHBOARD) && npm run --silent check
	cd $(DASHBOARD) && npm run --silent test
	$(BIN)/python .ci/check_dashboard_build.py

screenshots: $(DEV)
	@$(BIN)/python -m tests.browser.screenshots docs/images

clean:
	rm -rf $(DASHBOARD)/node_modules
	rm -rf .venv $(BENCH_VENV) dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .grimp_cache
	find . -name __pycache__ -type d -not -path './podium-data/*' -prune -exec rm -rf {} +

$(RUN): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || \
		{ echo 'Podium needs Python 3.11 or newer, and there is no $(PYTHON). Name yours: make PYTHON=/path/to/python3' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Podium needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Name another: make PYTHON=python3.13" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo '$(PYTHON) cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv' >&2; exit 1; }
	@echo 'Installing Podium into .venv: a minute, more where the network is slow; only when its versions change.'
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
	@$(PIP_INSTALL) -e .
	@touch $@

$(DEV): $(RUN)
	@echo 'Installing what the tests need, and all extras.'
	@$(PIP_INSTALL) -e '.[dev]'
	@touch $@

$(KSERVE)/.installed: tests/integration/third_party/kserve-requirements.txt $(RUN)
	@echo 'Installing KServe in an environment of its own.'
	@$(PYTHON) -m venv --clear $(KSERVE)
	@$(KSERVE)/bin/python -m pip --disable-pip-version-check install -qq -r $<
	@touch $@

$(BENCHED): $(DEV)
	@echo 'Installing what the benchmarks compare with into $(BENCH_VENV), on top of .venv.'
	@$(BIN)/python -m venv --clear --without-pip $(BENCH_VENV)
	@$(BIN)/python $(PURELIB) > "$$($(BENCH_VENV)/bin/python $(PURELIB))/podium-dev.pth"
	@$(PIP_CONSTRAINED) $(BENCH_VENV)/bin/python $(PIP_ARGUMENTS) -e '.[bench]'
	@touch $@

$(BENTOML)/.installed: benchmarks/bentoml-requirements.txt $(BENCHED)
	@echo 'Installing BentoML in an environment of its own.'
	@$(BIN)/python -m venv --clear --without-pip $(BENTOML)
	@{ $(BIN)/python $(PURELIB) && echo "$(CURDIR)/src"; } > "$$($(BENTOML)/bin/python $(PURELIB))/podium-dev.pth"
	@$(BENTOML)/bin/python -m pip --disable-pip-version-check install -qq --no-deps -r $<
	@touch $@

$(STORES)/.installed: tests/object-store-requirements.txt $(DEV)
	@echo 'Installing the packages and emulators of object stores in an environment of their own.'
	@$(BIN)/python -m venv --clear --without-pip $(STORES)
	@{ $(BIN)/python $(PURELIB) && echo "$(CURDIR)/src"; } > "$$($(STORES)/bin/python $(PURELIB))/podium-dev.pth"
	@$(BIN)/python -m pip --disable-pip-version-check --python $(STORES)/bin/python install -qq --no-deps -r $<
	@touch $@

# An emulator of Azure's blob storage; without npm, its tests are skipped.
$(AZURITE)/.installed: Makefile
	@mkdir -p $(AZURITE)
	@if command -v npm >/dev/null; then \
		npm install --silent --no-audit --no-fund --prefix $(AZURITE) azurite@$(AZURITE_VERSION); \
	else echo 'Azurite is not installed, since there is no npm: az:// is not tested.'; fi
	@touch $@

$(NPM_DONE): $(DASHBOARD)/package.json $(DASHBOARD)/package-lock.json $(DASHBOARD)/.npmrc
	@command -v npm >/dev/null || \
		{ echo 'The dashboard is built with Node 20.19 or newer and npm, and there is no npm.' >&2; exit 1; }
	@node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' || \
		{ echo "The dashboard is built with Node 20.19 or newer; this is $$(node --version)" >&2; exit 1; }
	@echo 'Installing what the dashboard is built with.'
	@cd $(DASHBOARD) && npm ci --silent
	@touch $@
