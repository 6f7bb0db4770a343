# Every target makes what it needs from nothing. PYTHON picks the interpreter of the environment:
#   make test PYTHON=python3.13
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
INSTALLED_DOCS := $(VENV)/.installed-docs
# The oldest Python and core dependencies that pyproject.toml declares, and the tests run on them.
# (And the oldest data frames: new ones need a newer NumPy.)
OLDEST := .venv-oldest
OLDEST_PYTHON ?= python$(shell sed -n 's/^requires-python = ">=\(.*\)"/\1/p' pyproject.toml)
OLDEST_TESTS := $(addprefix tests/,divergences games ledger accounting mechanisms) \
	$(wildcard tests/ensemble/test_*.py) tests/checks/test_bag_estimator.py
WORKERS ?= auto

.PHONY: help demo test test-oldest lint format docs docs-test dist bench audit
.DELETE_ON_ERROR:

help:
	@echo "make demo    private labels and a student from the Adult data, alike for all and by choice;"
	@echo "             pictures in output/"
	@echo "make test    the tests and the examples in the docstrings"
	@echo "make test-oldest  the tests of the core, on the oldest Python and dependencies declared"
	@echo "make lint    ruff, mypy and spelling: what .pre-commit-config.yaml lists"
	@echo "make format  let ruff rewrite the layout"
	@echo "make docs    the documentation and its examples, in docs/_build/html"
	@echo "make docs-test  the same, looked at in a browser; screens in output/site"
	@echo "make dist    what is published, in dist/, checked and tested"
	@echo "make bench   published tables (their quick versions), labels per budget, and speed;"
	@echo "             SUBJECT=ledger for one subject ('python benchmarks' lists them)"
	@echo "make audit   the long statistical tests, the quick versions of all benchmarks, and the table"
	@echo "             of audits in docs/"

# Written last, so that an interrupted installation is taken up again.
$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[plot,test]"
	@touch $@

$(INSTALLED_DOCS): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	@touch $@

demo: $(INSTALLED)
	$(BIN)/python examples private_labels individual_budgets

# As many processes as there are cores: more threads would wait for each other.
test test-oldest docs-test audit: export OMP_NUM_THREADS = 1

test: $(INSTALLED)
	$(BIN)/python -m pytest -n $(WORKERS)

$(OLDEST)/.installed: pyproject.toml
	$(OLDEST_PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
		frames = [d for d in p['optional-dependencies']['test'] if d.startswith(('pandas', 'pyarrow'))]; \
		print('\n'.join(p['dependencies'] + frames).replace('>=', '=='))" > $(OLDEST)/oldest.txt
	$(OLDEST)/bin/python -m pip install --quiet --constraint $(OLDEST)/oldest.txt --editable ".[test]"
	@touch $@

test-oldest: $(OLDEST)/.installed
	$(OLDEST)/bin/python -m pytest -n $(WORKERS) $(OLDEST_TESTS)

lint: $(INSTALLED)
	$(BIN)/pre-commit run --all-files --show-diff-on-failure

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# From nothing, but for examples that didn't change: pages of what is gone would stay.
docs: $(INSTALLED_DOCS)
	@rm -rf docs/_build/html docs/api/generated
	$(BIN)/sphinx-build -W --keep-going -q -E -a -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

docs-test: docs
	$(BIN)/python -m pytest -n $(WORKERS) -m site tests/site

# Both are built as an installer would, and the core is tested from the source that is published.
dist: $(INSTALLED)
	@rm -rf dist
	$(BIN)/python -m pip install --quiet --editable ".[dist]"
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	cd dist && tar xzf secretballot-*.tar.gz && cd secretballot-*/ && PYTHONPATH="$$PWD/src" \
		$(CURDIR)/$(BIN)/python -m pytest -q -n $(WORKERS) tests/ledger/test_ledger.py tests/ledger/file/test_restored.py \
		tests/datasets tests/test_package.py

# Some of them would take hours without --quick. SUBJECT=ledger runs the benchmarks of one subject.
bench: $(INSTALLED)
	$(BIN)/python benchmarks $(or $(SUBJECT),--all) --quick

audit: $(INSTALLED)
	$(BIN)/python -m pytest -n $(WORKERS) -m slow
	$(BIN)/python -m tests.checks docs/theory/audit-table.md
