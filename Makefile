# Needs make and python3-venv; everything else is installed into .venv.
PYTHON ?= python3

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

RUN := .venv/bin/python -Im
PIP := $(RUN) pip --disable-pip-version-check --quiet

TOO_OLD := rackproof needs Python 3.11 or later: make PYTHON=python3.11, or whichever is there

# A .venv that was cut short, or made by another Python, is made again.
USABLE = [ -e .venv/pyvenv.cfg ] && $(PIP) --version &>/dev/null && \
	[ "$$(.venv/bin/python --version)" = "$$($(PYTHON) --version)" ]

# The editable install is a tree of links, one a file, so that type checkers see it too. A file that
# comes or goes needs a new tree, hence a stamp named after the list of files (and after this folder
# and the Python, either of which makes a .venv stale).
FILES := find model invariants scenarios checker -name '*.py' -o -name '*.yaml' -o -name '*.j2' -o -name '*.css' -o -name '*.js' -o -name py.typed -o -path '*/data/*'
STAMP := .venv/installed-$(shell { $(FILES) | LC_ALL=C sort; pwd; $(PYTHON) --version 2>&1 || true; } | cksum | cut -d ' ' -f 1)

.PHONY: verify
verify: env ## check every bundled bug and drill
	.venv/bin/rackproof verify scenarios/bugs scenarios/drills

.PHONY: test
test: env ## lint, types, tests
	$(RUN) ruff check
	$(RUN) ruff format --check
	$(RUN) mypy | sed 's|^build/[^/]*/rackproof/||'
	$(RUN) pytest

# What the tests of pages and drawings use beside Python. They say so and pass over what is not there.
.PHONY: browsers
browsers: env ## install what the tests of pages look at them with: chromium, graphviz, mermaid and others
	@command -v chromedriver dot >/dev/null || [ "$$(id -u)" != 0 ] || \
		DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends -y chromium chromium-driver graphviz >/dev/null || \
		echo 'no browser could be installed: the tests of pages will be passed over'
	@timeout 120 npm install --silent --fetch-retries=1 --no-fund --no-audit --no-package-lock --prefix .tools mermaid@11.17.2 axe-core@4.14.1 || \
		echo 'no mermaid and no axe-core: their tests will be passed over'
	@[ -e .tools/xprof ] || { $(PIP) download --no-deps --dest .tools xprof==2.24.2 && \
		.venv/bin/python -Ic "$$TRACE_VIEWER" && rm .tools/xprof-*.whl; } || \
		echo 'no trace viewer: its tests will be passed over'

# Chrome's trace viewer comes in a wheel of which nothing else is wanted.
export TRACE_VIEWER := import glob, zipfile; wheel = zipfile.ZipFile(glob.glob(".tools/xprof-*.whl")[0]); \
	wheel.extractall(".tools", [name for name in wheel.namelist() if "/trace_viewer_index." in name])

.PHONY: docs
docs: env ## write docs/matrix.md, counterexamples, mutants.md and repairs.md
	.venv/bin/python -Es tests/support/tables.py

.PHONY: format
format: env ## rewrite the sources in the common style
	$(RUN) ruff check --fix
	$(RUN) ruff format

.PHONY: env
env: $(STAMP) ## make or refresh .venv

$(STAMP): pyproject.toml setup.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "$(TOO_OLD)")'
	@$(USABLE) || $(PYTHON) -m venv --clear .venv
	@echo 'Installing rackproof and its tools into .venv'
	@$(PIP) install 'setuptools>=77'
	@$(PIP) install --no-build-isolation --config-settings editable_mode=strict --editable '.[dev]'
	@rm -f .venv/installed-*
	@touch $@

.PHONY: clean
clean: ## remove whatever make and the tools have made
	rm -rf .venv .tools build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help
help: ## list these
	@sed -nE 's/^([a-z]+):.*## (.*)/make \1\t\2/p' Makefile
