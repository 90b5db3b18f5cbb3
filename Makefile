# Everything runs in .venv, which this file makes from requirements.lock. `make help` lists the commands.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DOCS   := $(VENV)/.docs
# The tests often wait for other processes: half as many again as there are cores.
JOBS   ?= $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$((n + n / 2)))

.DEFAULT_GOAL := help
# The tests start hundreds of processes; without bytecode each would compile the package.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help run demo test check browser pages docs sbom audit fmt bench chaos property lock clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(READY) ## start the product: an example app, two bots, the console and the chat
	@$(BIN)/python examples/teashop/run.py

demo: $(READY) ## see the life of an execution, crash included, on an embedded store
	@$(BIN)/python examples/lifecycle.py

test: check browser $(DOCS) ## everything CI runs: the checks, then all tests
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal tests

check: $(READY) ## format, lint, types, import layers, sizes, reserved words, Lua
	@$(BIN)/ruff format --check -q .
	@$(BIN)/ruff check -q .
	@$(BIN)/mypy
	@found=$$($(BIN)/lint-imports --no-cache) || { echo "$$found"; exit 1; }; echo "$$found" | tail -n 5
	@$(BIN)/python tools/check_sizes.py
	@$(BIN)/python tools/check_words.py
	@$(BIN)/python tools/check_lua.py
	@$(BIN)/python tools/check_pages.py
	@$(BIN)/python tools/page_types.py

browser: ## install a Chromium for the tests of pages, where that can be done; else they are skipped
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; } || \
	  echo "no Chromium: the tests of pages will be skipped"

pages: $(READY) ## build the web pages from pages/ into the package (needs node and npm)
	@$(BIN)/python tools/page_types.py --write
	@cd pages && npm ci --no-audit --no-fund --silent && npx tsc --noEmit
	@$(BIN)/python tools/check_pages.py --write

docs: $(DOCS) ## build the documentation site into build/docs/site
	@$(BIN)/python tools/build_docs.py

sbom: $(READY) ## write the bill of materials into build/sbom.json
	@$(BIN)/python tools/sbom.py

audit: $(READY) ## look for known vulnerabilities of what is locked; needs the network
	@$(BIN)/python tools/audit.py

fmt: $(READY) ## format the code and fix what can be fixed
	@$(BIN)/ruff check -q --fix-only .
	@$(BIN)/ruff format -q .

bench: $(READY) ## measure all, or PARTS="SDK graphs"; prints a table, writes bench/results/latest.json
	@$(BIN)/python -m bench.run $(PARTS)

chaos: $(READY) ## random faults: SEEDS=n fresh ones, or SEED=n again; TOPOLOGY=single|pair|cluster; AT_ONCE=n
	@$(BIN)/python -m tests.chaos.seeded $(if $(SEED),--seed $(SEED),--seeds $(or $(SEEDS),30)) $(if $(TOPOLOGY),--topology $(TOPOLOGY)) $(if $(AT_ONCE),--at-once $(AT_ONCE))

property: $(READY) ## random tests again and again with fresh seeds: MINUTES=n for each, AT_ONCE=n; TESTS="queues graphs"
	@$(BIN)/python -m tests.property $(TESTS) --minutes $(or $(MINUTES),5) --at-once $(or $(AT_ONCE),2)

lock: $(READY) ## pin the Lua library's digest, with a new release if it moved
	@$(BIN)/python tools/check_lua.py --write

clean: ## remove the virtual environment, the site and caches
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "holdfast needs Python 3.11 or newer: make PYTHON=python3.12"; exit 1; }
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@echo "installing locked dependencies into $(VENV) ..."
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# Versions agree with requirements.lock, so that both fit into one environment.
$(DOCS): $(READY) requirements-docs.lock
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements-docs.lock
	@touch $@
