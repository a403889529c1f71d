# Seasoned from a checkout. `make` alone prints what there is.
# Python and the libraries live in .venv; the lock files name each version and hash, so two machines get the same.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo install native test check docs docs-site release bench faults lock clean

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --no-input
UV ?= uv
CANDIDATES := $(or $(PYTHON),python3.13 python3.12 python3.11 python3)

# A pyenv shim can exist and still not run, and Debian ships Python without ensurepip: so ask the Python itself.
IS_NEW := import sys; sys.exit(sys.version_info < (3, 11))
CAN_VENV := import ensurepip, venv

# A .venv that was copied from elsewhere, or whose Python has gone, is made again; one that you made yourself is kept.
MADE_IN := $(shell $(PY) -S -c '' 2>/dev/null && cat $(VENV)/.made-in 2>/dev/null)
ifneq ($(MADE_IN),$(CURDIR))
.PHONY: $(VENV)/.made-in
endif

help:  ## print this list
	@echo "make TARGET, where TARGET is one of:"
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/  \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-10s %s\n", $$1, $$2 }'
	@echo "make test ARGS='-k notes' hands ARGS to pytest; PYTHON=python3.12 chooses the Python for .venv."

demo: $(VENV)/.demo  ## install what the demo needs, then watch an agent learn (one download of 1.1 GB)
	@$(VENV)/bin/seasoned demo

install: $(VENV)/.dev  ## install everything for working on Seasoned into .venv
	@echo "Seasoned is installed: $(VENV)/bin/seasoned --help"

# Without TLS and llguidance, which a model on this machine does not need and which the build would fetch from other hosts;
# without AMX, whose code crashes on some virtual machines.
NO_AMX := $(if $(filter x86_64,$(shell uname -m)),-mno-amx-tile -mno-amx-int8)
native: $(VENV)/.dev  ## build llama.cpp for this processor instead of the wheel (needs CMake and a C++ compiler; some 5 minutes)
	@CFLAGS="$(NO_AMX)" CXXFLAGS="$(NO_AMX)" CMAKE_ARGS="-DLLAMA_BUILD_BORINGSSL=OFF -DLLAMA_LLGUIDANCE=OFF" \
		$(PIP) install --no-cache-dir --no-deps --force-reinstall --no-binary xllamacpp \
		"xllamacpp==$$($(PY) -c 'from importlib.metadata import version; print(version("xllamacpp"))')"

# One process more than cores, since many tests wait: for a server, a browser, a process that is killed.
test: $(VENV)/.dev  ## run all tests, on up to four cores
	@$(PY) -m pytest -n $$($(PY) -c 'import os; print(min((os.cpu_count() or 1) + 1, 4))') --dist worksteal $(ARGS)

check: $(VENV)/.dev  ## lint, formatting, types, import rules, documents, the tour's length, the papers
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(PY) tools/check_docs.py
	$(PY) tools/tree.py
	$(PY) tools/tour.py
	$(PY) tools/check_papers.py

docs: $(VENV)/.dev  ## draw the tree of docs/architecture.md, write each command's help into docs/reference/cli.md
	@$(PY) tools/tree.py --write
	@$(PY) tools/check_docs.py --write

docs-site: $(VENV)/.dev  ## build the docs site into build/site; a warning is an error
	@$(PY) tools/site.py

release: $(VENV)/.dev  ## build wheel and sdist into dist, check them, and try them in a bare environment
	@$(PY) tools/release.py

bench: $(VENV)/.dev  ## measure speed for some 10 minutes; writes benchmarks/results.json and docs/speed.md
	@$(PY) benchmarks/run.py --write $(ARGS)

faults: $(VENV)/.dev  ## kill, fail, fill and crowd for some 20 minutes; writes benchmarks/faults.json and docs/reliability.md
	@$(PY) benchmarks/faults.py --write $(ARGS)

LOCK := $(UV) pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --no-header --no-annotate --quiet --group build $(UPGRADE)

lock:  ## write the lock files anew (needs uv; UPGRADE=--upgrade takes the newest versions)
	@command -v $(UV) >/dev/null 2>&1 || { echo "make lock needs uv, which is not here: pip install uv" >&2; exit 1; }
	$(LOCK) --extra dev -o requirements.lock
	$(LOCK) --extra local --extra eval -c requirements.lock -o requirements-demo.lock

clean:  ## remove .venv, caches and built files; runs, stores and downloaded models stay
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests tools benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(VENV)/.made-in:
	@if [ ! -e $@ ] && $(PY) -c '$(IS_NEW)' 2>/dev/null; then \
		$(PY) -c 'import pip' 2>/dev/null || $(PY) -m ensurepip >/dev/null || \
			{ echo "$(VENV) has no pip: install it there, or remove the folder and try again." >&2; exit 1; }; \
	else \
		python=; old=; \
		for p in $(CANDIDATES); do \
			"$$p" -c '$(IS_NEW)' >/dev/null 2>&1 || continue; \
			if "$$p" -c '$(CAN_VENV)' >/dev/null 2>&1; then python=$$p; break; else old=$$p; fi; \
		done; \
		if [ -z "$$python" ] && [ -n "$$old" ]; then \
			echo "$$old cannot make virtual environments: its venv module is incomplete." >&2; \
			echo "On Debian or Ubuntu: sudo apt-get install python3-venv" >&2; exit 1; \
		elif [ -z "$$python" ]; then \
			echo "Seasoned needs Python 3.11 or newer; none of these is one: $(CANDIDATES)." >&2; \
			echo "On Debian 12 or newer: sudo apt-get install python3 python3-venv" >&2; \
			echo "Or name yours: make PYTHON=/path/to/python3.12" >&2; exit 1; \
		fi; \
		echo "Making $(VENV) with $$("$$python" --version) .."; \
		"$$python" -m venv --clear $(VENV); \
	fi
	@printf '%s\n' '$(CURDIR)' > $@

# The second line builds with the hatchling of the lock, so nothing is fetched that the lock does not name.
define install
@echo "Installing into $(VENV) what $(1) names (once; some minutes on a slow line) .."
@[ -t 1 ] && quiet= || quiet=--quiet; $(PIP) install $$quiet --require-hashes -r $(1)
@$(PIP) install --quiet --no-deps --no-build-isolation -e .
endef

$(VENV)/.demo: $(VENV)/.made-in requirements-demo.lock pyproject.toml
	$(call install,requirements-demo.lock)
	@touch $@

# requirements.lock holds all of requirements-demo.lock, so a demo after this installs nothing.
$(VENV)/.dev: $(VENV)/.made-in requirements.lock pyproject.toml
	$(call install,requirements.lock)
	@touch $(VENV)/.demo $@
