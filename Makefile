# What there is to do here; each target may be run twice, as root or with sudo.
#
#   PG_CONFIG=…   the PostgreSQL to work with (default: the installed one)
#   ONLY=name     run only the tests with this in their name
#   SEED=…        the seed of the random tests
#   ADVISORIES=1  have check ask the database of advisories as well, which is fetched
#   ARGS=…        arguments for bench and soak; --help prints them
#   CSV=…         photos for the demo: a file with the columns user and caption

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo check test install bench soak lint deps test-matrix clean
export PG_CONFIG ONLY ADVISORIES
ifdef SEED
export SHARDID_SEED := $(SEED)
endif

help: ## print this list
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/p' Makefile | expand -t 22

demo: deps ## two throw-away nodes, 64 shards, real rows; leaves them running
	@CSV='$(CSV)' scripts/demo

check: ## what needs no server: lints, unit, property and model tests, docs
	@scripts/deps shellcheck
	@scripts/test check

test: deps ## run every test; the last line counts them
	@scripts/test

install: deps ## build and install the extension (PG_CONFIG) and the program
	@scripts/install
	@cargo build --release --package shardid-migrator
	@echo "install: the program is target/release/shardid" >&2

bench: deps ## print the ratios that docs/benchmarks.md explains
	@scripts/with-server cargo run --quiet --package shardid-tests --bin bench -- $(ARGS)

soak: deps ## crashes, clock steps, promotions and cut moves at random, as told
	@scripts/with-server cargo run --quiet --package shardid-tests --bin soak -- $(ARGS)

lint: deps ## check formatting and run clippy, warnings denied
	@scripts/test lint

deps: ## install what is missing from apt; starts no server
	@scripts/deps

test-matrix: ## run the server tests and moves on PostgreSQL 17 and 18 as well, and Galera
	@scripts/deps patchelf debian-archive-keyring
	@scripts/test-matrix

clean: ## remove everything that was built or fetched
	@scripts/clean
