# Every target sets up what it needs first. `make PYTHON=/path/to/python3 …` chooses the interpreter.
PYTHON ?= python3
BIN := .venv/bin
TESTS := -m pytest -n auto --dist worksteal
.DEFAULT_GOAL := help
# Where it is set, each program that a test or a benchmark starts would compile Hookline again: half of its start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run test test-slow test-long test-all smoke-others check sizes api docs bench bench-team bench-large fuzz fuzz-api soak mutation screenshots package package-test guide-test lock clean set-up-run set-up-dev

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' Makefile

run: set-up-run ## start Hookline (make run ARGS="serve --port 9000")
	@$(BIN)/python -m hookline $(ARGS)

test: set-up-dev ## run the tests, but for those of `make test-slow` and `make test-long` (make test ARGS="-k slug")
	QT_QPA_PLATFORM=offscreen $(BIN)/python $(TESTS) -m "not slow and not long" $(ARGS)

test-slow: set-up-dev ## run the tests that take longest: kills, whole programs, large bodies, random input
	QT_QPA_PLATFORM=offscreen $(BIN)/python $(TESTS) -m "slow and not long" $(ARGS)

test-long: set-up-dev docs ## run the tests of the fuzzers, the benchmarks, the packages and the guide, and make the site
	QT_QPA_PLATFORM=offscreen $(BIN)/python $(TESTS) -m long $(ARGS)

test-all: ## run all tests on every installed Python from 3.11 on (PATH, pyenv), one after the other
	QT_QPA_PLATFORM=offscreen $(PYTHON) packaging/each_python.py -- $(TESTS) $(ARGS)

smoke-others: ## run the tests of start, stop and event loop on every other installed Python
	QT_QPA_PLATFORM=offscreen $(PYTHON) packaging/each_python.py --others -- $(TESTS) -m smoke $(ARGS)

check: set-up-dev ## lint, formatting, types, then the tests, with the slow ones
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy app hookline benchmarks docs/examples/shop/shop docs/examples/shop/tests packaging/*.py packaging/*/*.py
	$(BIN)/mypy --explicit-package-bases docs/api*.py docs/openapi*.py docs/book*.py docs/picture_data.py docs/screenshots.py
	$(MAKE) test-slow
	$(MAKE) test

sizes: ## list files over 400 lines, functions over 60 and classes over 25 methods, for a review
	@$(PYTHON) -m benchmarks.sizes

api: set-up-dev ## write resources/openapi.json and docs/api.html anew from the calls of the local API
	$(BIN)/python docs/api.py

docs: ## make the site of the pages in docs/, into build/docs, and check their links, anchors, pictures and navigation
	@$(PYTHON) packaging/environment.py docs --venv .venv-docs
	@rm -rf build/docs
	@.venv-docs/bin/python -m sphinx -W --keep-going -n -q -d build/docs-cache docs build/docs
	@echo "$$(find build/docs -name '*.html' | wc -l) pages. Open build/docs/index.html in a browser."

bench: set-up-dev ## measure the numbers Hookline promises (HOOKLINE_EVENT_LOOP=qasync make bench: on stock qasync)
	QT_QPA_PLATFORM=offscreen $(BIN)/python -m benchmarks.bench $(ARGS)
	$(BIN)/python -m benchmarks.processor_time
	$(BIN)/python -m benchmarks.deliveries
	$(BIN)/python -m benchmarks.retention
	$(BIN)/python -m benchmarks.event_readers
	$(BIN)/python -m benchmarks.commands
	$(BIN)/python -m benchmarks.strangers
	$(BIN)/python -m benchmarks.fixture

bench-team: set-up-dev ## cost of a node on PostgreSQL, and kills of nodes and servers under load (needs haproxy)
	$(BIN)/python -m benchmarks.team_cost
	$(BIN)/python -m benchmarks.team $(ARGS)
	$(BIN)/python -m benchmarks.failover

bench-large: set-up-dev ## search among a million requests, and the window on them (make bench-large ARGS="--rows 200000 --folder /var/tmp/hookline", or "--store postgresql://…")
	QT_QPA_PLATFORM=offscreen $(BIN)/python -m benchmarks.large $(ARGS)

fuzz: set-up-dev ## valid and broken requests against the running program (make fuzz ARGS="--minutes 10 --seed 7")
	$(BIN)/python -m benchmarks.fuzz $(ARGS)

fuzz-api: set-up-dev ## schemathesis against the local API of a running program (make fuzz-api ARGS="--minutes 1 --seed 7")
	$(BIN)/python -m benchmarks.fuzz_api $(ARGS)

soak: set-up-dev ## the program with its window under all it does, for half an hour (make soak ARGS="--minutes 10")
	QT_QPA_PLATFORM=offscreen $(BIN)/python -m benchmarks.soak $(ARGS)

mutation: set-up-dev ## put 300 seeded faults into core, db and server, one at a time, and list those no test finds (hours)
	test -f .coverage || QT_QPA_PLATFORM=offscreen $(BIN)/python $(TESTS) -m "not long" --cov=app/core --cov=app/data_folder --cov=app/db --cov=app/server --cov-context=test --cov-report= --durations=0 --durations-min=0 >durations.txt
	$(BIN)/python -m benchmarks.mutation choose 300 >mutants.json
	QT_QPA_PLATFORM=offscreen $(BIN)/python -m benchmarks.mutation run mutants.json results.json --durations durations.txt $(ARGS)

screenshots: ## draw the pictures of the documentation anew
	@$(PYTHON) packaging/environment.py dev --fonts
	$(BIN)/python docs/screenshots.py $(ARGS)

package: ## make the packages for Linux, into dist/ (make package ARGS="deb rpm")
	@$(PYTHON) packaging/environment.py dev --build
	@$(BIN)/python packaging/package.py $(ARGS)

package-test: ## try, on a bare system, what `make package` made
	@$(PYTHON) packaging/environment.py dev --trial
	$(BIN)/python packaging/package_test.py

guide-test: ## follow the guide on a bare system, with each kind of installation (make guide-test ARGS=pip)
	@$(PYTHON) packaging/environment.py dev --trial
	$(BIN)/python packaging/guide_test.py $(ARGS)

lock: ## write requirements/*.txt anew from pyproject.toml (make lock ARGS=--upgrade)
	$(PYTHON) packaging/lock.py $(ARGS)

clean: ## remove the virtual environments and all caches
	rm -rf .venv .venv-* .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

set-up-run:
	@$(PYTHON) packaging/environment.py run

set-up-dev:
	@$(PYTHON) packaging/environment.py dev
