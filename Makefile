# Two commands set up all they need on a fresh machine: `make run` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
UV_FIND_LINKS ?= $(PIP_FIND_LINKS)
export UV_FIND_LINKS

.PHONY: run sandbox test check infra-check test-slow bench clean
.DEFAULT_GOAL := run

# pip takes torch's build for this machine, uv resolves the rest in seconds (docs/architecture.md, "Environment").
$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet "$$(grep '^torch==' constraints.txt)" uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt --editable '.[dev]'
	sh infra/sandbox.sh
	@touch $@

sandbox:
	sh infra/sandbox.sh

run: $(VENV)/.ready
	$(BIN)/sm-ops run

test: check infra-check
	$(BIN)/pytest -m 'not slow and not unit' --durations=10

check: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/pytest -m "unit and not slow" -n 2 --dist worksteal

infra-check: $(VENV)/.ready
	$(BIN)/python -m infra.check

test-slow: $(VENV)/.ready
	$(BIN)/pytest -m slow --durations=10

bench: $(VENV)/.ready
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) .sm-ops out
