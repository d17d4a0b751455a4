# Each target does its own set-up in .venv; nothing is installed twice.
PYTHON ?= python3
WORKERS ?= 2
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip install -qq --disable-pip-version-check
LAB_OPTIONS ?= $(if $(filter 0,$(shell id -u)),--allow-root)

# TensorFlow's start-up log is noise here; its warnings still show.
export TF_CPP_MIN_LOG_LEVEL ?= 2
# Many processes import this package: the first one keeps its bytecode, also where the shell says not to.
export PYTHONDONTWRITEBYTECODE =

.PHONY: help lab setup test test-all check notebooks screenshots bench corpus fuzz docs build release compat clean
help:
	@echo "make lab        open JupyterLab on the notebooks"
	@echo "make test       everything that a change can break, in ten minutes on two cores"
	@echo "make test-all   the same, and the deep tier: all real graphs, real Jupyter servers, packaging, documentation"
	@echo "make check      ruff, mypy, import contracts, spelling; types and format of the front end"
	@echo "make setup      install Chromium and Node for the tests"
	@echo "make notebooks  run the notebooks and store their outputs (all, or NOTEBOOKS='notebooks/00*.ipynb')"
	@echo "make screenshots  do the notebooks' steps by mouse and picture them (all, or SCREENSHOTS='00 05')"
	@echo "make bench      measure against the peers (all, or BENCH='copy walks')"
	@echo "make corpus     open and copy every real graph beside the checkout, print a table"
	@echo "make fuzz       spoilt files, on from where it stopped (MINUTES=30); what does harm is kept in tests/fuzz_corpus"
	@echo "make docs       build the documentation into build/docs"
	@echo "make build      rebuild the widget's front end (needs Node)"
	@echo "make release    build what would go to PyPI into dist, and check it; publishes nothing"
	@echo "make compat     test with the lowest packages allowed, and with the newest (TESTS='tests/graph tests/plan')"
	@echo "make clean      remove .venv and everything built"

lab: $(VENV)/lab
	$(PY) -m jupyterlab $(LAB_OPTIONS) notebooks

PYTEST := $(PY) -m pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# Other versions of Python are looked for on the PATH and in this folder, where pyenv keeps them.
COMPAT := GRAPHSURGEON_PYTHONS='$(or $(GRAPHSURGEON_PYTHONS),$(shell pyenv root 2>/dev/null)/versions)' $(PYTHON) tools/compat.py

setup: $(VENV)/test
	@tools/setup.sh chromium
	@tools/setup.sh frontend

test: setup check
	$(PYTEST)

test-all: test
	@tools/setup.sh firefox
	$(PYTEST) --tier deep
	$(COMPAT) lowest --tests 'tests/graph tests/plan tests/tf/copy tests/tf/values tests/test_editor.py'

check: $(VENV)/test
	$(PY) -m ruff check .
	$(PY) -m ruff format --check -q .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports --no-logo
	$(VENV)/bin/typos
	$(PY) tools/prose.py
	@tools/setup.sh frontend
	@! command -v npm >/dev/null || npm --prefix graphsurgeon/ui/frontend run --silent lint

notebooks: $(VENV)/test
	$(PY) tools/write_references.py $(or $(NOTEBOOKS),$(wildcard notebooks/*.ipynb))

screenshots: $(VENV)/test
	@tools/setup.sh chromium
	$(PY) tools/write_screenshots.py $(SCREENSHOTS)

bench: $(VENV)/test
	$(PY) -m benchmarks $(BENCH)

corpus: $(VENV)/test
	$(PY) tools/corpus_table.py $(CORPUS)

fuzz: $(VENV)/test
	$(PY) tools/fuzz.py --minutes '$(or $(MINUTES),30)'

docs: $(VENV)/test
	$(PY) tools/build_docs.py

build:
	@tools/setup.sh frontend
	npm --prefix graphsurgeon/ui/frontend run build

release: $(VENV)/test
	$(PY) tools/release.py --tag '$(TAG)'

compat:
	$(COMPAT) --tests '$(TESTS)'

clean:
	rm -rf $(VENV) build dist graphsurgeon/ui/frontend/node_modules

# Stamps: a package list that did not change is not installed again.
$(VENV)/python:
	@tools/setup.sh venv "$(PYTHON)" $(VENV)
	@touch $@

$(VENV)/lab: pyproject.toml | $(VENV)/python
	@echo "Installing graphsurgeon for JupyterLab (TensorFlow is large: some minutes)."
	@$(PIP) -e '.[lab]'
	@touch $@

$(VENV)/test: pyproject.toml | $(VENV)/python
	@echo "Installing graphsurgeon with what its tests need (TensorFlow is large: some minutes)."
	@$(PIP) -e '.[lab,test,docs]'
	@touch $@ $(VENV)/lab
