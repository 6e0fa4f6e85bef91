# Every target sets up what it needs: `make test` on a bare clone is enough.
# Needs make and a Python of 3.11 or later; uv and node come from PyPI when the machine has none.
# UV_PYTHON chooses the Python of the environment, STAGE the deployment.

STAGE ?= dev
CDK_FLAGS ?=
LOCK_FLAGS ?=

VENV := .venv
BIN := $(VENV)/bin
SYNCED := $(VENV)/.synced
NODE := $(VENV)/.node
CDK := node_modules/.installed

export PATH := $(CURDIR)/$(BIN):$(CURDIR)/node_modules/.bin:$(PATH)
# The environment of this folder, whichever one the shell has on.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export CDK_DISABLE_CLI_TELEMETRY := true

.DEFAULT_GOAL := help
.PHONY: help setup local local-reset test check lint types infra bundle openapi openapi-check bench bootstrap deploy destroy \
	format lock clean

help: ## what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(SYNCED) $(NODE) $(CDK) ## the environment: Python packages, node, the CDK command line

local: setup ## the whole product on this machine, and a chat in this terminal
	@python -m local

local-reset: setup ## forget what the local cloud has stored
	@python -m local reset

test: setup ## every test, end to end too
	pytest

check: lint types infra openapi-check ## everything but the tests

lint: $(SYNCED) ## style, direction of imports, unused and undeclared dependencies
	ruff check
	ruff format --check
	lint-imports
	deptry .

types: $(SYNCED) $(NODE) ## pyright
	pyright

infra: setup ## the templates: synthesised, checked by cdk-nag and cfn-lint
	cdk synth --quiet -c stage=$(STAGE) -c bundles=none
	cfn-lint cdk.out/*.template.json

bundle: setup ## the functions' code as it is uploaded, in build/lambda
	python -m infra.bundling

openapi: $(SYNCED) ## docs/api, from the apps
	python -m functions.chat.openapi
	python -m functions.memory_api.openapi

# What is committed is what the apps say.
openapi-check: openapi
	git diff --exit-code -- docs/api

bench: setup ## what docs/performance.md reports
	@set -e; for script in bench/[a-z]*.py; do python -m bench.$$(basename $$script .py); done

bootstrap: setup ## once an account and region, before the first deployment
	cdk bootstrap -c bundles=none

deploy: setup ## the stacks, to the AWS account that the environment names
	@mkdir -p build
	cdk deploy --all -c stage=$(STAGE) --outputs-file build/outputs-$(STAGE).json $(CDK_FLAGS)

destroy: setup ## the stacks again; what stays is in the README
	cdk destroy --all -c stage=$(STAGE) -c bundles=none $(CDK_FLAGS)

format: $(SYNCED) ## style, applied
	ruff check --fix
	ruff format

lock: $(SYNCED) ## requirements/*.txt, from pyproject.toml
	requirements/lock $(LOCK_FLAGS)

clean: ## what the build made, not the environment
	rm -rf build dist cdk.out

$(BIN)/uv:
	requirements/environment $(VENV)

# --python: UV_PYTHON would have uv install into the Python it names, not into the environment made from it.
$(SYNCED): requirements/dev.txt pyproject.toml | $(BIN)/uv
	uv pip sync --quiet --python $(VENV) requirements/dev.txt
	uv pip install --quiet --python $(VENV) --no-deps --editable .
	@touch $@

$(NODE): $(SYNCED)
	@python -m infra.node
	@touch $@

$(CDK): package-lock.json $(NODE)
	@npm ci --loglevel=error >/dev/null
	@touch $@
