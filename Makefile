# The commands of this project; each installs what it needs into a virtual environment first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# One stamp for each set of packages: a later one contains those before it.
BENCH := $(VENV)/.installed-bench
GUI := $(VENV)/.installed-gui
TEST := $(VENV)/.installed-test
PIP_LOG := $(VENV)/install.log

# The compiler that setuptools will call.
HAS_COMPILER := import os, shutil, sysconfig; \
  command = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"; \
  raise SystemExit(shutil.which(command.split()[0]) is None)

.PHONY: bench test test-fast test-processors fuzz soak coverage mutants check gui pictures benchmarks install wheel wheel-check

bench: $(BENCH)  ## the main job: the starter sweep on every runtime present, results as CSV
	$(BIN)/python -m app run starter

test: $(TEST)  ## all tests: what measures nothing on all cores at once, then the rest
	$(BIN)/python -m tests

test-fast: $(TEST)  ## the tests that start no process, window or session: about two fifths of them
	$(BIN)/python -m tests --fast

test-processors: $(TEST)  ## what depends on the processor's vector units, once more with fewer: three minutes
	$(BIN)/python -m tests.processors

fuzz: $(TEST)  ## property tests with fresh draws, random nodes against ONNX Runtime; FUZZ_MINUTES (5), FUZZ_SEED
	$(BIN)/python -m tests.fuzz

soak: $(TEST)  ## tests that take long and rarely break; for SOAK_MINUTES (10) damage, kills, endurance
	$(BIN)/python -m tests --rare
	$(BIN)/python -m tests.soak

coverage: $(TEST)  ## all tests, and which lines of ours none of them ran
	rm -f .coverage .coverage.*
	$(BIN)/coverage run -m tests
	-$(BIN)/coverage combine --quiet  # a child that a test kills leaves a file that can't be read
	rm -f .coverage.*
	$(BIN)/coverage report

mutants: $(TEST)  ## small defects put into statistics, comparison, run folder and cases: which do fast tests find?
	$(BIN)/python -m tests.mutation

check: $(TEST)  ## lint, types, import contracts, sentences; the size of the product
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.writing
	$(BIN)/python -m tests.size

gui: $(GUI)  ## the desktop window
	$(BIN)/python -m app open

pictures: $(TEST)  ## the documentation's pictures of the window, from written runs
	$(BIN)/python -m tests.pictures

benchmarks: $(TEST)  ## what is timed: our loop against C, start-up, exports, the card, the window
	$(BIN)/python -m tests.benchmarks

install: $(TEST)

wheel: $(TEST)  ## a wheel in dist/
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

wheel-check: $(TEST)  ## the whole suite and the starter sweep on an installed wheel, about an hour
	$(BIN)/python -m tests.installed.check

$(BENCH): EXTRAS := engines
$(BENCH): SIZE := about 0.6 GB
$(BENCH): CONTAINED :=
$(GUI): EXTRAS := all
$(GUI): SIZE := about 0.8 GB
$(GUI): CONTAINED := $(BENCH)
$(TEST): EXTRAS := all,dev
$(TEST): SIZE := about 1 GB
$(TEST): CONTAINED := $(BENCH) $(GUI)

# pip's log is shown only if pip fails, whole, and its exit code is the recipe's.
$(BENCH) $(GUI) $(TEST): pyproject.toml setup.py constraints.txt $(shell find runtimes -name "*.c")
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$(PYTHON) is missing or older than Python 3.11: name another, as in make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c '$(HAS_COMPILER)' || { \
	  echo "no C compiler was found, and the timed loop is built from C: install one (Debian, Ubuntu: apt install gcc libc6-dev), or set CC" >&2; exit 1; }
	@echo "installing graphlap[$(EXTRAS)] into $(VENV), once: $(SIZE) to download, several GB more where pip"
	@echo "takes PyTorch's CUDA build; usually 1 to 5 minutes; pip's log: $(PIP_LOG)"
	@mkdir -p $(VENV)
	@{ $(PYTHON) -m venv $(VENV) \
	  && $(BIN)/pip install -c constraints.txt setuptools wheel \
	  && $(BIN)/pip install -c constraints.txt --no-build-isolation -e '.[$(EXTRAS)]'; \
	} >$(PIP_LOG) 2>&1 || { code=$$?; cat $(PIP_LOG) >&2; exit $$code; }
	@touch $@ $(CONTAINED)
