# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint types contracts unit docs bench clean

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group test
	touch $@

demo: $(VENV)/.installed
	mkdir -p demo
	$(BIN)/unveil scan adult --sensitive income-per-year --max-size 3 \
	  --key age --key workclass --key education --key marital-status --key occupation \
	  --key race --key sex --key native-country --out demo/adult-scan.html
	@echo "The report is in demo/adult-scan.html"

test: lint types contracts unit

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-test
	$(BIN)/mypy

contracts: $(VENV)/.installed-test
	$(BIN)/lint-imports

unit: $(VENV)/.installed-test
	$(BIN)/pytest

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group docs
	touch $@

docs: $(VENV)/.installed-docs
	rm -rf build/docs && mkdir -p build/docs && cp -r docs build/docs/pages
	$(BIN)/sphinx-build -q -W --keep-going -c website build/docs/pages build/docs/site
	@echo "The documentation is in build/docs/site/index.html"

bench: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) demo build .mypy_cache .ruff_cache .pytest_cache .hypothesis
