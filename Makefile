# The two commands of the README are `make demo` and `make test`. Each builds .venv itself.
PYTHON ?= python3
BIN := .venv/bin
BASE := .venv/.base
READY := .venv/.ready
# $(call environment,FOLDER) creates an empty environment. $(call install,FOLDER) is the command that installs packages
# into it. Both use uv if it is installed.
ifneq ($(shell command -v uv 2>/dev/null),)
environment = uv venv --quiet --clear --python $(PYTHON) $(1)
install = uv pip install --quiet --python $(1)/bin/python
else
environment = ($(PYTHON) -m venv --clear $(1) || $(PYTHON) -m virtualenv --clear $(1)) >/dev/null
install = $(1)/bin/python -m pip install --quiet --disable-pip-version-check
endif

PYTEST := $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal
# The files whose branches must all be reached. Lines of other rooms are not counted.
TRUSTED = $(shell $(BIN)/python tools/trusted.py --coverage)
ROOMS = $(shell echo $(TRUSTED) | tr , '\n' | sed -E 's|src/privet/([a-z_]+).*|--cov=privet.\1|' | sort -u)

# CI runs the quick tests of trusted rooms once: in `make cover`.
IN_COVER = $(if $(filter true,$(CI)), and not covered)

# One test per core: threads of the linear algebra would only wait for each other.
export OPENBLAS_NUM_THREADS = 1

# Many tests start processes. Without stored bytecode, each process would compile pandas, sqlglot and OR-Tools again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo quick test proofs cover check evidence rest bench peers gpu mutate wheel lock system-deps clean

demo: $(BASE)
	@$(BIN)/privet demo

# The tiers: quick while you work, test before you commit, proofs and cover before you publish. CI runs all but quick.
quick: $(READY)
	$(PYTEST) -m "not proof and not slow"

test: check
	$(PYTEST) -m "not proof$(IN_COVER)"

# Long statistical tests, planted bugs, killed processes.
proofs: $(READY)
	$(PYTEST) -m "proof"

# Branch coverage of the trusted files by their own tests. Fails below 100 %.
cover: $(READY)
	$(PYTEST) -m "covered" $(ROOMS) --cov-report= --cov-fail-under=0
	$(BIN)/python -m coverage report --skip-covered --fail-under=100 --include="$(TRUSTED)"

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/trusted.py --check
	$(BIN)/python tools/file_index.py --check

# Long measurements. Every measured number that a page claims is written to docs/evidence by these commands.
evidence: $(READY) bench peers mutate rest
	$(BIN)/python benchmarks/law.py --draws 100000000 --json docs/evidence/noise-law.json
	$(BIN)/python benchmarks/fuzz.py --cases 200000 --json docs/evidence/sensitivity-fuzz.json
	$(BIN)/python benchmarks/fuzz.py --cases 200000 --origins --json docs/evidence/origins-fuzz.json
	$(BIN)/python benchmarks/fuzz.py --cases 50000 --reading --processes 1 --json docs/evidence/reading-fuzz.json
	$(BIN)/python benchmarks/sql_fuzz.py --strings 200000 --json docs/evidence/sql-fuzz.json
	$(BIN)/python benchmarks/kills.py --kills 200 --json docs/evidence/ledger-kills.json
	$(BIN)/python benchmarks/query_kills.py --json docs/evidence/full-path-kills.json
	$(BIN)/python benchmarks/owner_kills.py --kills 60 --json docs/evidence/owner-kills.json
	$(BIN)/python benchmarks/intervals.py --json docs/evidence/coverage.json
	$(BIN)/python benchmarks/top.py --json docs/evidence/top.json
	$(BIN)/python benchmarks/quantiles.py --json docs/evidence/quantiles.json
	$(BIN)/python benchmarks/questions.py --json docs/evidence/questions-50.json
	$(BIN)/python benchmarks/first_hour.py --json docs/evidence/first-hour.json
	$(BIN)/python benchmarks/accuracy.py --json docs/evidence/accuracy.json
	$(BIN)/python benchmarks/audit_queries.py --json docs/evidence/full-path-audit.json
	$(BIN)/python benchmarks/gallery.py --seeds 20 --twin-seconds 1.6 --processor-time --json docs/evidence/gallery.json
	$(BIN)/python benchmarks/audit_search.py --json docs/evidence/audit-search.json
	$(BIN)/python benchmarks/audit_weak.py --json docs/evidence/audit-weak.json
	$(BIN)/python benchmarks/certified.py --json docs/evidence/certified.json
	$(BIN)/python benchmarks/tables.py --json docs/evidence/tables.json
	$(BIN)/python benchmarks/table_disclosures.py --json docs/evidence/table-disclosures.json
	$(BIN)/python benchmarks/subsets.py --json docs/evidence/subsets.json
	$(BIN)/python benchmarks/subset_forecasts.py --part rounded --json docs/evidence/subset-rounded.json
	$(BIN)/python benchmarks/subset_forecasts.py --part structured --json docs/evidence/subset-structured.json
	$(BIN)/python benchmarks/subset_forecasts.py --part claims --json docs/evidence/subset-claims.json
	$(BIN)/python benchmarks/subset_forecasts.py --part few --json docs/evidence/subset-few.json
	$(BIN)/python benchmarks/membership.py --json docs/evidence/membership.json
	$(BIN)/python benchmarks/models.py --json docs/evidence/models.json

# Branch coverage of all files by all tests that are not proofs. Fails below 98 %.
rest: $(READY)
	$(PYTEST) -m "not proof" --cov --cov-report=term:skip-covered --cov-fail-under=98

bench: $(READY)
	$(BIN)/python benchmarks/noise.py --json docs/evidence/noise-speed.json
	$(BIN)/python benchmarks/ledger.py --json docs/evidence/ledger-speed.json
	$(BIN)/python benchmarks/queries.py --json docs/evidence/queries-speed.json
	$(BIN)/python benchmarks/queries.py --rows 1000 --people 100000000,10000000,50 --json docs/evidence/queries-large.json
	$(BIN)/python benchmarks/plans.py --json docs/evidence/plans-speed.json
	$(BIN)/python benchmarks/pseudonyms.py --json docs/evidence/pseudonyms.json
	$(BIN)/python benchmarks/release_path.py --json docs/evidence/release-path.json
	$(BIN)/python benchmarks/reading.py --json docs/evidence/reading.json
	$(BIN)/python benchmarks/learning.py --speed --json docs/evidence/learning-speed.json

# Compares Privet with other engines: speed, and error at equal privacy. Builds .venv-peers-NAME, and reads real data
# from PRIVET_DATA.
peers: $(READY)
	$(BIN)/python benchmarks/queries.py --peers --json docs/evidence/queries-peers.json
	$(BIN)/python benchmarks/errors.py --json docs/evidence/errors.json
	$(BIN)/python benchmarks/audit_peers.py --json docs/evidence/audit-peers.json
	$(BIN)/python benchmarks/anonymize.py --json docs/evidence/anonymize.json
	$(BIN)/python benchmarks/linkage.py --json docs/evidence/linkage.json
	$(BIN)/python benchmarks/learning.py --json docs/evidence/learning.json
	$(BIN)/python benchmarks/model_peers.py --json docs/evidence/model-peers.json

# Needs torch and CUDA, which no other step has. Opacus is compared if it is installed.
gpu: $(READY)
	$(BIN)/python benchmarks/gpu.py --commit "$(shell git rev-parse --short HEAD)" --json docs/evidence/gpu.json

mutate: $(READY)
	$(BIN)/python benchmarks/mutation.py --json docs/evidence/mutation.json
	$(BIN)/python benchmarks/mutation.py --learners --sample 300 --json docs/evidence/mutation-learners.json

# What users install: the base dependencies and this folder.
$(BASE): requirements.lock pyproject.toml
	@echo "building .venv (once)"
	@$(call environment,.venv)
	@$(call install,.venv) --no-deps --require-hashes -r requirements.lock
	@$(call install,.venv) --no-deps --no-build-isolation -e .
	@touch $(BASE)

# What contributors install on top of that.
$(READY): $(BASE) requirements-dev.lock
	@$(call install,.venv) --no-deps --require-hashes -r requirements-dev.lock
	@touch $(READY)

# Installs the built wheel as a user does, into an empty environment with the base dependencies. Then runs the demo and
# the commands of the README there.
wheel: $(READY)
	rm -rf dist
	$(BIN)/python -m hatchling build --target wheel
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-wheel
	$(BIN)/uv pip install --quiet --python .venv-wheel/bin/python --no-deps --require-hashes -r requirements.lock
	$(BIN)/uv pip install --quiet --python .venv-wheel/bin/python --no-deps dist/*.whl
	.venv-wheel/bin/privet demo
	.venv-wheel/bin/python tests/support/readme.py

# Locks exact versions with hashes and without addresses, for every supported platform and version of Python.
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --group build
lock: $(READY)
	$(LOCK) --extra dev pyproject.toml --output-file requirements-dev.lock
	$(LOCK) --constraint requirements-dev.lock pyproject.toml --output-file requirements.lock

# Installs what some tests use if it is present. Needs root. `make test` never calls it.
system-deps:
	@command -v chromium >/dev/null 2>&1 || { export DEBIAN_FRONTEND=noninteractive; \
	  apt-get update && apt-get install -y --no-install-recommends chromium; }

clean:
	rm -rf .venv .venv-peers* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage dist
