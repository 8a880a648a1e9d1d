# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: app screenshots soak demo test lint types contracts unit docs docs-reference coverage oldest bare fuzz bench clean

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group test
	touch $@

$(VENV)/.installed-app: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[app,excel,stats-files]"
	touch $@

KEYS := --key age --key workclass --key education --key marital-status --key race --key sex --key native-country
UNVEIL := $(BIN)/unveil

soak: $(VENV)/.installed-test
	PYTHONPATH=tests $(BIN)/python tests/soak.py

screenshots: $(VENV)/.installed-test
	PYTHONPATH=tests $(BIN)/python website/screenshots.py

app: $(VENV)/.installed-app
	$(UNVEIL) app adult

LINKS := $(foreach name,plain close groups swapped,--link $(name)=demo/$(name)-link.csv)

demo: $(VENV)/.installed
	@mkdir -p demo
	@echo "1. Adult: 30,162 people of a census. What does the table give away of them?"
	@$(UNVEIL) assess adult $(KEYS) --sensitive occupation --out demo/assessment.html
	@echo; echo "2. Four ways to protect it: every class of at least 10 people (plain); occupations spread in each class as in"
	@echo "   the whole table (close); finer groups where people are many (groups); ages and educations swapped (swapped)."
	@$(UNVEIL) anonymize adult $(KEYS) --k 10 --suppression 0.05 --out demo/plain.csv --link demo/plain-link.csv --json > demo/plain.json
	@$(UNVEIL) anonymize adult $(KEYS) --k 10 --t 0.3:equal:occupation --suppression 0.05 \
	  --out demo/close.csv --link demo/close-link.csv --json > demo/close.json
	@$(UNVEIL) anonymize adult $(KEYS) --mechanism mondrian --k 10 --out demo/groups.csv --link demo/groups-link.csv \
	  --json > demo/groups.json
	@$(UNVEIL) anonymize adult --mechanism swap --attribute age --attribute education \
	  --out demo/swapped.csv --link demo/swapped-link.csv --json > demo/swapped.json
	@echo; echo "3. What is each worth? Safer is k upwards, better is what can still be learnt of incomes."
	@$(UNVEIL) compare adult plain=demo/plain.csv close=demo/close.csv groups=demo/groups.csv swapped=demo/swapped.csv $(KEYS) \
	  --sensitive occupation --privacy k --privacy t --policy cell-size-5 \
	  --need 'income: income-per-year given age, education, race, native-country at least 0.1' $(LINKS) \
	  --out demo/comparison.html
	@$(UNVEIL) compare adult plain=demo/plain.csv close=demo/close.csv groups=demo/groups.csv swapped=demo/swapped.csv $(KEYS) \
	  --privacy k --loss suppressed --need 'income: income-per-year given age, education, race, native-country' $(LINKS)
	@echo; echo "4. May the finer groups be released?"
	@$(UNVEIL) check demo/groups.csv --policy cell-size-5 $(KEYS) --sensitive occupation --sheet demo/verdict.html
	@echo; echo "What Adult gives away: demo/assessment.html"
	@echo "The verdict on one page: demo/verdict.html"
	@echo "The four releases compared: $(CURDIR)/demo/comparison.html"

WORKERS ?= 2

test: lint types contracts unit

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-test
	$(BIN)/mypy

contracts: $(VENV)/.installed-test
	$(BIN)/lint-imports

unit: $(VENV)/.installed-test
	$(BIN)/pytest --numprocesses $(WORKERS) --dist loadgroup

coverage: $(VENV)/.installed-test
	$(BIN)/pytest -q --numprocesses $(WORKERS) --dist loadgroup --cov --cov-report term --cov-report html:build/coverage/html

# The lowest version of every dependency that pyproject.toml allows, and the tests of everything but documentation and processes.
OLDEST := $(VENV)-oldest
CORE := $(filter-out $(addprefix tests/,__pycache__ app assess cli contract fuzz undo),$(patsubst %/,%,$(wildcard tests/*/))) \
  $(filter-out tests/test_docs.py tests/test_benchmarks.py,$(wildcard tests/test_*.py))

$(OLDEST)/.installed: pyproject.toml
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check "uv>=0.9"
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python --resolution lowest-direct \
	  --only-binary :all: --no-binary unveil --no-binary pyspark \
	  --editable ".[charts,dp,duckdb,excel,kafka,metrics,optimal,postgres,query,redis,sign,spark,stats-files,tables,tasks]" \
	  "hypothesis>=6.130" "openpyxl>=3.1" "pytest>=8.3"
	touch $@

oldest: $(OLDEST)/.installed # the first PySpark 4 leaves sockets to the garbage collector, which Python warns about
	$(OLDEST)/bin/python -m pytest -q -W ignore::pytest.PytestUnraisableExceptionWarning $(CORE)

# Only the hard dependencies: what needs no extra works, and what needs one says how to install it.
BARE := $(VENV)-bare

$(BARE)/.installed: pyproject.toml
	$(PYTHON) -m venv --clear $(BARE)
	$(BARE)/bin/python -m pip install --quiet --disable-pip-version-check --editable . "pytest>=8.3"
	touch $@

bare: $(BARE)/.installed
	$(BARE)/bin/python -m pytest -q --noconftest tests/bare.py

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group docs
	touch $@

docs: $(VENV)/.installed-docs
	rm -rf build/docs && mkdir -p build/docs && cp -r docs build/docs/pages
	$(BIN)/sphinx-build -q -W --keep-going -c website build/docs/pages build/docs/site
	@echo "The documentation is in build/docs/site/index.html"

docs-reference: $(VENV)/.installed
	$(BIN)/python -m website.reference

CASES ?= 100000
START ?= 0

fuzz: $(VENV)/.installed-test
	PYTHONPATH=tests $(BIN)/python -m fuzz --start $(START) --cases $(CASES)

bench: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks $(PARTS)

clean:
	rm -rf $(VENV) $(OLDEST) $(BARE) demo build .mypy_cache .ruff_cache .pytest_cache .hypothesis
