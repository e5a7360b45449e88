# The commands of this project; each sets up its own virtual environment first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
EXTRAS := all,dev

.PHONY: bench test fuzz soak coverage check gui benchmarks install wheel wheel-check

bench: $(STAMP)  ## the main job: the starter sweep on every runtime present, results as CSV
	$(BIN)/python -m app --headless --suite starter

test: $(STAMP)  ## all tests: what measures nothing on all cores at once, then the rest
	$(BIN)/python -m tests

fuzz: $(STAMP)  ## property tests with fresh draws, random nodes against ONNX Runtime; FUZZ_MINUTES (5), FUZZ_SEED
	$(BIN)/python -m tests.fuzz

soak: $(STAMP)  ## tests that take long and rarely break; for SOAK_MINUTES (10) damage, kills, endurance
	$(BIN)/python -m tests --rare
	$(BIN)/python -m tests.soak

coverage: $(STAMP)  ## all tests, and which lines of ours none of them ran
	rm -f .coverage .coverage.*
	$(BIN)/coverage run -m tests
	-$(BIN)/coverage combine --quiet  # a child that a test kills leaves a file that can't be read
	rm -f .coverage.*
	$(BIN)/coverage report

check: $(STAMP)  ## lint, types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

gui: $(STAMP)  ## the desktop window
	$(BIN)/python -m app

benchmarks: $(STAMP)  ## what is timed: our loop against C, start-up, exports, the card, the window
	$(BIN)/python -m tests.benchmarks

install: $(STAMP)

wheel: $(STAMP)  ## a wheel in dist/
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

wheel-check: $(STAMP)  ## the whole suite and the starter sweep on an installed wheel, about an hour
	$(BIN)/python -m tests.installed.check

$(STAMP): pyproject.toml setup.py constraints.txt $(shell find runtimes -name "*.c")
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt setuptools wheel
	$(BIN)/pip install -c constraints.txt --no-build-isolation -e '.[$(EXTRAS)]'
	touch $@
