# Each target alone does all the set-up it needs. The Python side is handled by uv, which is taken from
# the PATH or fetched once into .tools; system programs by tools/system_programs.sh.

SHELL := /bin/sh
PYTHON ?= python3
UV := $(shell command -v uv 2>/dev/null || echo .tools/uv/bin/uv)
SYNC := UV_PYTHON_DOWNLOADS=never $(UV) sync --quiet --frozen --compile-bytecode
RUN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev quickstart check test coverage bench docs clean

help:  ## say what the targets do
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' $(MAKEFILE_LIST) | expand -t 20

.tools/uv/bin/uv:
	@echo "uv is not on the PATH; fetching it into .tools/uv"
	@$(PYTHON) -m venv .tools/uv && .tools/uv/bin/python -m pip install --quiet --disable-pip-version-check uv

ifneq ($(UV),.tools/uv/bin/uv)
UV_READY :=
else
UV_READY := .tools/uv/bin/uv
endif

setup: $(UV_READY)  ## .venv with waypost in it
	@$(SYNC) --no-dev
	@echo "ready: .venv/bin/waypost"

setup-dev: $(UV_READY)  ## .venv with waypost and everything to work on it
	@$(SYNC) --all-groups

quickstart: $(UV_READY)  ## set up, find transcripts, read them, show what happened
	@test -x $(RUN)/waypost || $(SYNC) --no-dev
	@$(RUN)/waypost quickstart

check: setup-dev  ## format, lint, types, import contracts
	@$(RUN)/ruff format --check --quiet src tests tools bench
	@$(RUN)/ruff check --quiet src tests tools bench
	@$(RUN)/mypy --no-error-summary
	@$(RUN)/lint-imports --no-cache >/dev/null || $(RUN)/lint-imports --no-cache

test: setup-dev  ## the whole test suite
	@sh tools/system_programs.sh
	@sh tools/install_agents.sh || echo "the real agents are not installed; their tests are skipped"
	@$(RUN)/python -m pytest -n auto --dist worksteal -q

coverage: setup-dev  ## branch coverage of the in-process tests, shown, not a gate
	@$(RUN)/coverage erase
	@$(RUN)/coverage run -m pytest -q -p no:cacheprovider tests/unit tests/corpus tests/property >/dev/null || true
	@$(RUN)/coverage combine --quiet
	@$(RUN)/coverage report --skip-covered --sort=cover | tail -25

bench: setup-dev  ## timed scenarios, as ratios; see bench/README.md
	@$(RUN)/python bench/run.py

docs: setup-dev  ## build the documentation into site/
	@$(RUN)/zensical build --clean

clean:  ## remove what was built here
	@rm -rf .venv .tools site dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
