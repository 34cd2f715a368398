# What there is to do here; each target may be run twice, as root or with sudo.
#
#   PG_CONFIG=…   the PostgreSQL to work with (default: the installed one)
#   ONLY=name     run only the tests with this in their name
#   SEED=…        the seed of the random tests

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help deps install demo test test-matrix bench soak lint clean
export PG_CONFIG ONLY
ifdef SEED
export SHARDID_SEED := $(SEED)
endif

help: ## print this list
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/p' Makefile | expand -t 22

deps: ## install what is missing from apt; starts no server
	@scripts/deps

install: deps ## build and install the extension (PG_CONFIG) and the program
	@scripts/install
	@cargo build --release --package shardid-migrator
	@echo "install: the program is target/release/shardid" >&2

test: deps ## run every test; the last line counts them
	@scripts/test

test-matrix: ## run the server tests on PostgreSQL 17 and 18 as well
	@scripts/deps patchelf debian-archive-keyring
	@scripts/test-matrix

lint: deps ## check formatting and run clippy, warnings denied
	@scripts/test lint

clean: ## remove everything that was built or fetched
	@scripts/clean
